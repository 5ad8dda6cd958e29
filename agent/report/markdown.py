"""A report as Markdown."""

from datasphinx.agent.answers.text import markdown_table
from datasphinx.agent.messages import Language, render
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.types import Report, ReportPart

_MAX_ROWS = 20


def markdown_of(report: Report, language: Language) -> str:
    """Return `report` with the rows of its sections, its limits, and the statement of each question."""
    parts = {part["id"]: part for part in report["parts"]}
    paragraphs = [f"# {one_line(report['title'])}", report["summary"]["text"]]
    for section in report["sections"]:
        paragraphs += [f"## {one_line(section['title'])}", section["text"]["text"]]
        for part in map(parts.__getitem__, section["parts"]):
            paragraphs.append(markdown_table(part["result"], language, _MAX_ROWS) if part["result"] else "")
    if report["limits"]:
        paragraphs += [f"## {render('report_limits', language)}"]
        paragraphs.append("\n".join(f"- {one_line(limit['text'], 2000)}" for limit in report["limits"]))
    paragraphs += [f"## {render('report_sources', language)}", *map(_statement, report["parts"])]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _statement(part: ReportPart) -> str:
    head = f"{part['id']}: {one_line(part['question'], 2000)}"
    return f"{head}\n\n```sql\n{part['sql']}\n```" if part["sql"] else head
