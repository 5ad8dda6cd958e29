"""Markdown in answers: tables of results, statements, and the escaping of markup in values."""

import re

from datasphinx.agent.charts.cells import axis_title
from datasphinx.agent.formatting.formats import format_rows, format_single
from datasphinx.agent.messages import Language, render
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.types import AnswerTable, Result

SHORT_TABLE_ROWS = 20
"""Number of rows in the text of an answer; all are in its tables."""
_MARKUP = re.compile(r"(?<!\\)(\\*)(\[|<(?=[A-Za-z/!?])|`(?=``)|~(?=~~))")
"""The beginning of a link, image, HTML tag or code block, with the backslashes before it; an odd number escapes it."""


def _escape(text: str) -> str:
    """Return `text` with the characters escaped that would end a cell of a Markdown table."""
    return text.replace("\\", "\\\\").replace("|", "\\|")


def has_table(answer: str) -> bool:
    """Return whether `answer` contains a Markdown table."""
    return any(part.startswith("| ") for part in answer.split("\n\n"))


def without_tables(answer: str) -> str:
    """Return `answer` without its Markdown tables, for a reader who sees the rows elsewhere."""
    return "\n\n".join(part for part in answer.split("\n\n") if not part.startswith("| "))


def escape_markup(text: str) -> str:
    r"""Return Markdown `text` with links, images, HTML and code blocks shown as text; tables and lists stay.

    Values of a database are part of answers, and a page that renders an image requests it from a host they name.

    >>> print(escape_markup("![x](http://host/) <b> a < b"))
    !\[x](http://host/) \<b> a < b
    """
    return _MARKUP.sub(lambda match: match[0] if len(match[1]) % 2 else f"{match[1]}\\{match[2]}", text)


def markdown_table(result: Result | AnswerTable, language: Language, max_rows: int = SHORT_TABLE_ROWS) -> str:
    """Return the first `max_rows` rows as a Markdown table, followed by how many they are of all if there are more."""
    rows = result["rows"]
    head = f"| {' | '.join(_escape(axis_title(one_line(name), language)) for name in result['columns'])} |"
    line = f"|{'---|' * len(result['columns'])}"
    body = [f"| {' | '.join(map(_escape, row))} |" for row in format_rows(result, language, max_rows)]
    table = "\n".join([head, line, *body])
    if len(rows) <= max_rows:
        return table
    return f"{table}\n\n{row_count(max_rows, len(rows), language)}"


def row_count(shown: int, count: int, language: Language) -> str:
    """Return how many rows are shown, of how many."""
    return render("row_count", language, shown=format_single(shown, language), count=format_single(count, language))


def sql_block(sql: str) -> str:
    """Return `sql` as a code block, whose fence is longer than those in the statement."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`+", sql))])
    return f"{fence}sql\n{sql}\n{fence}"
