"""Results as plain text, without a model: every figure is a value of the result."""

import re
from typing import Any

from agent.messages import Language, render
from agent.schema.describe import one_line
from agent.types import Result

_GROUPING = {"en": ",", "ru": "\u00a0", "zh": ","}
_DECIMAL_POINT = {"en": ".", "ru": ",", "zh": "."}
_CELL_CHARS = 80
_LABEL = re.compile(r"(^|[^a-z])(id|ids|year|code|zip)([^a-z]|$)|год|номер|код|индекс|年|号|码", re.IGNORECASE)
"""Columns whose integers are identifiers, not measures; keep equal to the pattern in `agent/web/js/measures.js`."""


def format_value(value: Any, language: Language) -> str:
    """Return `value` formatted for `language`, with grouped digits and at most four decimals; NULL is a dash.

    >>> format_value(1234.5, "en"), format_value(None, "en")
    ('1,234.5', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return one_line(str(value), _CELL_CHARS)
    if isinstance(value, float) and 0 < abs(value) < 0.0001:
        return f"{value:.4g}".replace(".", _DECIMAL_POINT[language])
    digits = f"{value:,}" if isinstance(value, int) else f"{value:,.4f}".rstrip("0").rstrip(".")
    return digits.translate({ord(","): _GROUPING[language], ord("."): _DECIMAL_POINT[language]})


def format_cell(value: Any, language: Language) -> str:
    """Return `value` formatted for a table cell: integers, which may be years or ids, have no digit grouping."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return format_value(value, language)


def _escape(text: str) -> str:
    """Return `text` with the characters escaped that would end a cell of a Markdown table."""
    return text.replace("\\", "\\\\").replace("|", "\\|")


def plain_text(result: Result, language: Language, max_rows: int) -> str:
    """Return a single value as one line, any other result as a Markdown table of at most `max_rows` rows."""
    rows = result["rows"]
    if not rows:
        return render("no_rows", language)
    if len(rows) == 1 and len(result["columns"]) == 1:
        (column,), value = result["columns"], rows[0][0]
        formatted_value = (format_cell if _LABEL.search(column) else format_value)(value, language)
        if not column.isidentifier():
            return formatted_value
        return render("single_value", language, column=column.replace("_", " "), value=formatted_value)
    head = f"| {' | '.join(_escape(one_line(name)) for name in result['columns'])} |"
    line = f"|{'---|' * len(result['columns'])}"
    body = [f"| {' | '.join(_escape(format_cell(value, language)) for value in row)} |" for row in rows[:max_rows]]
    parts = ["\n".join([head, line, *body])]
    if len(rows) > max_rows:
        parts.append(render("row_count", language, count=format_value(len(rows), language)))
    return "\n\n".join(parts)
