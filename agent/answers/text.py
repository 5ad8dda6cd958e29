"""Results as plain text, without a model: every figure is a value of the result."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from agent.formatting.formats import format_rows, format_single
from agent.messages import CONVENTIONS, Language, render
from agent.schema.describe import one_line
from agent.types import AnswerTable, Result

_CELL_CHARS = 80
_LABEL = re.compile(r"(^|[^a-z])(id|ids|year|code|zip)([^a-z]|$)|год|номер|код|индекс|年|号|码", re.IGNORECASE)
"""Columns whose integers are identifiers, not measures; keep equal to the pattern in `agent/web/js/measures.js`."""

_MARKUP = re.compile(r"(?<!\\)(\\*)(\[|<(?=[A-Za-z/!?])|`(?=``)|~(?=~~))")
"""The beginning of a link, image, HTML tag or code block, with the backslashes before it; an odd number escapes it."""


def format_value(value: Any, language: Language) -> str:
    """Return `value` formatted for `language`, with grouped digits and at most four decimals; NULL is a dash.

    Of a float, those digits are shown that tell it from other floats. Booleans are yes and no.

    >>> format_value(1234.5, "en"), format_value(None, "en")
    ('1,234.5', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return render("answer_yes" if value else "answer_no", language).lower()
    if not isinstance(value, int | float):
        return one_line(str(value), _CELL_CHARS)
    if isinstance(value, float) and 0 < abs(value) < 0.0001:
        return CONVENTIONS[language].separated(f"{value:.4g}")
    digits = f"{value:,}" if isinstance(value, int) else f"{Decimal(repr(value)):,.4f}".rstrip("0").rstrip(".")
    return CONVENTIONS[language].separated(digits)


def format_cell(value: Any, language: Language) -> str:
    """Return `value` formatted for a table cell: integers, which may be years or ids, have no digit grouping."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return format_value(value, language)


def _escape(text: str) -> str:
    """Return `text` with the characters escaped that would end a cell of a Markdown table."""
    return text.replace("\\", "\\\\").replace("|", "\\|")


def is_identifier(column: str) -> bool:
    """Return whether the name of a column says that its integers are ids, codes or years."""
    return _LABEL.search(column) is not None


def format_measure(value: Any, column: str, language: Language) -> str:
    """Return `value` of `column` for a sentence.

    Digits are grouped unless the name of the column says that it is an id or a year. A fraction with more than four
    decimals, such as an average, has two if it is at least 1.
    """
    if isinstance(value, float) and abs(value) >= 1 and round(value, 4) != round(value, 12):
        value = round(value, 2)
    return (format_cell if is_identifier(column) else format_value)(value, language)


def joined(names: Sequence[str], language: Language, most: int | None = None) -> str:
    """Return `names` as a list in words, the first `most` of them if there are more.

    >>> joined(["a", "b", "c"], "en"), joined(["a", "b", "c"], "en", 2)
    ('a, b and c', 'a, b and others')
    """
    comma = CONVENTIONS[language].list_comma
    if most is not None and len(names) > most:
        return render("answer_and_others", language, names=comma.join(names[:most]))
    if len(names) < 2:
        return "".join(names)
    return render("answer_and", language, names=comma.join(names[:-1]), last=names[-1])


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


def markdown_table(result: Result | AnswerTable, language: Language, max_rows: int) -> str:
    """Return the first `max_rows` rows as a Markdown table, followed by the number of rows if there are more."""
    rows = result["rows"]
    head = f"| {' | '.join(_escape(one_line(name)) for name in result['columns'])} |"
    line = f"|{'---|' * len(result['columns'])}"
    body = [f"| {' | '.join(map(_escape, row))} |" for row in format_rows(result, language, max_rows)]
    table = "\n".join([head, line, *body])
    if len(rows) <= max_rows:
        return table
    return f"{table}\n\n{render('row_count', language, count=format_single(len(rows), language))}"
