"""Errors that tests expect."""

import string
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from datasphinx.agent.errors import BY_CODE, Coded, DatasphinxError
from datasphinx.agent.messages import TEXTS

_EXAMPLES: dict[str, Any] = {"float": 1.5, "int": 7, "tuple": ("first", "second")}


def placeholders(text: str) -> set[str]:
    """Return the names of the facts that `text` shows."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def example_facts(code: str) -> dict[str, Any]:
    """Return facts for the error of `code`: those of its text, or of its class."""
    kind = BY_CODE[code]
    if issubclass(kind, Coded):
        return {name: 7 if f"{{{name}:" in TEXTS["en"][code] else "fact" for name in placeholders(TEXTS["en"][code])}
    return {field.name: _EXAMPLES.get(getattr(field.type, "__name__", ""), "fact") for field in fields(kind)}  # type: ignore[arg-type]


def of_code(code: str) -> Callable[[DatasphinxError], bool]:
    """Return the `check` of `pytest.raises` for an error with this code."""
    return lambda error: error.code == code
