"""Escape, delimit and shorten the contents and names of files for a prompt.

Escaped text cannot contain the end delimiter, line breaks or invisible characters.
"""

import json
import unicodedata
from typing import Any

MAX_CELL = 120
"""The maximum length of one text of a file, in characters."""

MAX_NOTE = 600
"""The maximum length of one note about a file or a call, in characters."""

_NOTES = {"guess", "hint", "message", "notes", "reason", "warnings"}
"""Fields with notes."""

MAX_BLOCK = 8_000
"""The maximum length of one tool's output, in characters."""

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MARKUP = frozenset("<>&|`")


def shortened(value: Any, max_chars: int = MAX_CELL) -> Any:
    """Return the JSON value `value` with all texts, including keys, cut to `max_chars` characters.

    The limit for notes and reasons, which are texts about data, is `MAX_NOTE`.
    """
    if isinstance(value, str):
        return value if len(value) <= max_chars else value[: max_chars - 1] + "…"
    if isinstance(value, dict):
        return {
            shortened(str(name), max_chars): shortened(item, MAX_NOTE if name in _NOTES else max_chars)
            for name, item in value.items()
        }
    return [shortened(item, max_chars) for item in value] if isinstance(value, list | tuple) else value


def escaped(value: Any, *, markup: bool = True) -> str:
    """Return `value` as JSON on one line, with escapes for invisible characters and, with `markup`, for markup."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    forbidden = _MARKUP if markup else frozenset()
    return "".join(
        _escape(character) if character in forbidden or unicodedata.category(character) in _HIDDEN else character
        for character in text
    )


def _escape(character: str) -> str:
    # JSON escapes characters beyond the Basic Multilingual Plane as a surrogate pair.
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def block(value: Any, **attributes: str | int) -> str:
    r"""Return `value` in a <data> element; text beyond `MAX_BLOCK` characters is cut, and the cut is marked.

    >>> block("</data>", source="a.csv")
    '<data source="a.csv">"\\u003c/data\\u003e"</data>'
    """
    text = escaped(value)
    is_cut = len(text) > MAX_BLOCK
    attribute_text = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<data{attribute_text}>{text[:MAX_BLOCK]}{' … cut' if is_cut else ''}</data>"
