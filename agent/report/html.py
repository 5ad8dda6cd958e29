"""A report as one HTML document without scripts and external requests: each figure is a link to its rows and SQL."""

from html import escape
from pathlib import Path

from datasphinx.agent.charts.cells import axis_title
from datasphinx.agent.formatting.formats import answer_table
from datasphinx.agent.messages import Language, render
from datasphinx.agent.record.step import Audit
from datasphinx.agent.report.markdown import cost_of, is_single
from datasphinx.agent.responses import MAX_ROWS, drawing_of, table_of
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.types import Report, ReportPart, ReportText, Result

_ROWS_OF_SECTION, _MAX_CHARS = 10, 2000
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def html_of(report: Report, language: Language, audit: Audit) -> str:
    """Return `report` as a document, with the cost in `audit` at its end."""
    parts = {part["id"]: part for part in report["parts"]}
    title = escape(one_line(report["title"], _MAX_CHARS))
    body = [f"<h1>{title}</h1>", _text(report["summary"], parts, "summary")]
    for section in report["sections"]:
        body += [f"<section><h2>{escape(one_line(section['title'], _MAX_CHARS))}</h2>", _text(section["text"], parts)]
        body += [_evidence(parts[name], language) for name in section["parts"]]
        body.append("</section>")
    if report["limits"]:
        limits = "".join(f"<li>{_spans(limit, parts)}</li>" for limit in report["limits"])
        body.append(f"<section><h2>{escape(render('report_limits', language))}</h2><ul>{limits}</ul></section>")
    sources = "".join(_source(part, language) for part in report["parts"])
    body.append(f'<section class="sources"><h2>{escape(render("report_sources", language))}</h2>{sources}</section>')
    body.append(f"<footer>{escape(cost_of(audit, language))}</footer>")
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{style}</style>'
    )
    return f'<!doctype html>\n<html lang="{language}"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _text(text: ReportText, parts: dict[str, ReportPart], kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f"<p{name}>{_spans(text, parts)}</p>" if text["text"] else ""


def _spans(text: ReportText, parts: dict[str, ReportPart]) -> str:
    """Return a text as HTML in which each figure links to its row, or to its part."""
    html, at = "", 0
    for figure in text["figures"]:
        shown = escape(text["text"][figure["start"] : figure["end"]])
        if part := parts.get(figure["part"]):
            rows = figure["rows"]
            row = f"-{rows[0] + 1}" if len(rows) == 1 and rows[0] < MAX_ROWS else ""
            shown = f'<a href="#{part["id"]}{row}" title="{escape(part["sql"] or "")}">{shown}</a>'
        html += escape(text["text"][at : figure["start"]]) + shown
        at = figure["end"]
    return html + escape(text["text"][at:])


def _evidence(part: ReportPart, language: Language) -> str:
    """Return the chart of a part, or its first rows; nothing for a single value, which the text tells."""
    result = part["result"]
    drawing = drawing_of(part["chart"]) if part["chart"] else ""
    if drawing or not result or is_single(result):
        return drawing
    shown = _table({**result, "rows": result["rows"][:_ROWS_OF_SECTION]}, language)
    more = f'<p class="more"><a href="#{part["id"]}">{part["id"]}</a></p>'
    return shown + (more if len(result["rows"]) > _ROWS_OF_SECTION else "")


def _table(result: Result, language: Language, row_ids: str = "") -> str:
    """Return the rows of a part, whose columns are named in words; see `table_of`."""
    names = [axis_title(name, language) for name in result["columns"]]
    return f'<div class="rows">{table_of(answer_table("", {**result, "columns": names}), language, row_ids)}</div>'


def _source(part: ReportPart, language: Language) -> str:
    """Return the question of a part with its filters, rows and statement, or its error."""
    result, purpose = part["result"], f"<p>{escape(part['purpose'])}</p>" if part["purpose"] else ""
    lines = "".join(f"<li>{escape(each)}</li>" for each in part["filters"])
    table = _table(result, language, f"{part['id']}-") if result else ""
    error = f"<p>{escape(part['error']['message'])}</p>" if part["error"] else ""
    sql = f"<pre>{escape(part['sql'])}</pre>" if part["sql"] else ""
    heading = f"<h3>{part['id']}: {escape(one_line(part['question'], _MAX_CHARS))}</h3>"
    filters = f"<ul>{lines}</ul>" if lines else ""
    return f'<article id="{part["id"]}">{heading}{purpose}{filters}{error}{table}{sql}</article>'
