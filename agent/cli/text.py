"""Safe terminal output of names and values from databases, files and models, without control characters."""

import json
import logging
import re
import unicodedata
from typing import Any

import typer

_UNSAFE_CANDIDATE = re.compile(r"[^\x20-\x7e\w]")
"""Characters that may be control, format or surrogate characters; letters and digits never are."""


def printable(text: str) -> str:
    r"""Return `text` with a space for each character that moves the cursor, changes direction or is invisible.

    These are all control characters (C0 except line feed, DEL, C1), format characters such as bidirectional marks,
    line and paragraph separators, surrogates and unassigned characters.

    >>> printable("name\x1b[2J\u202e")
    'name [2J '
    """
    return _UNSAFE_CANDIDATE.sub(lambda match: match[0] if match[0] == "\n" or _is_printable(match[0]) else " ", text)


def json_text(value: Any) -> str:
    r"""Return `value` as JSON on one line, with a `\u` escape for each character that `printable` removes.

    A JSON reader gets the same value; letters of all scripts stay readable.

    >>> print(json_text({"name": "Zoë \u202e\x9b"}))
    {"name": "Zoë \u202e\u009b"}
    """
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE_CANDIDATE.sub(
        lambda match: match[0] if _is_printable(match[0]) else json.dumps(match[0])[1:-1], text
    )


def echo(text: str, *, error: bool = False, color: str | None = None) -> None:
    """Print `printable(text)`, with `error` to standard error."""
    typer.secho(printable(text), fg=color, err=error)


class PrintableFormatter(logging.Formatter):
    """Formats log messages and tracebacks with `printable`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the formatted message."""
        return printable(super().format(record))


def _is_printable(character: str) -> bool:
    return unicodedata.category(character)[0] != "C" and character not in "\u2028\u2029"
