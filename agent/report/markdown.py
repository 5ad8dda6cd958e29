"""A report as Markdown."""

from datasphinx.agent.answers.markdown import escape_markup, markdown_table, sql_block
from datasphinx.agent.formatting.formats import format_single
from datasphinx.agent.messages import Language, render
from datasphinx.agent.record.step import Audit
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.types import Report, Result

_MAX_ROWS, _MAX_CHARS = 20, 2000


def markdown_of(report: Report, language: Language) -> str:
    """Return `report` with the rows of its sections, its limits, and the statement of each question."""
    parts = {part["id"]: part for part in report["parts"]}
    paragraphs = [f"# {_line(report['title'])}", escape_markup(report["summary"]["text"])]
    for section in report["sections"]:
        paragraphs += [f"## {_line(section['title'])}", escape_markup(section["text"]["text"])]
        for part in map(parts.__getitem__, section["parts"]):
            result = part["result"]
            if result and not is_single(result):
                paragraphs.append(escape_markup(markdown_table(result, language, _MAX_ROWS)))
    if report["limits"]:
        paragraphs += [f"## {render('report_limits', language)}"]
        paragraphs.append("\n".join(f"- {_line(limit['text'])}" for limit in report["limits"]))
    paragraphs.append(f"## {render('report_sources', language)}")
    for part in report["parts"]:
        paragraphs.append(f"{part['id']}: {_line(part['question'])}")
        paragraphs += [sql_block(part["sql"])] if part["sql"] else []
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def markdown_without_secrets(report: Report, language: Language) -> str:
    """Return `report` for a log or a model: the rows and plain texts of answers may have values of secret columns."""
    has_secrets = any(part["result"] and part["result"].get("secret") for part in report["parts"])
    return markdown_of({**report, "sections": []} if has_secrets else report, language)


def is_single(result: Result) -> bool:
    """Return whether `result` has at most one value, which the text of an answer tells."""
    return len(result["rows"]) * len(result["columns"]) < 2


def cost_of(audit: Audit, language: Language) -> str:
    """Return the calls, tokens, cost and time of a report in one line, with its trace id."""
    cost = audit["llm_cost_usd"]
    return render(
        "report_cost",
        language,
        calls=format_single(audit["llm_calls"], language),
        tokens=format_single(audit["prompt_tokens"] + audit["completion_tokens"], language),
        cost="–" if cost is None else f"${cost:.4f}",
        seconds=format_single(round(audit["latency_ms"] / 1000, 1), language),
        trace_id=audit["trace_id"][:8],
    )


def _line(text: str) -> str:
    return escape_markup(one_line(text, _MAX_CHARS))
