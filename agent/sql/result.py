"""What a statement gives."""

from collections.abc import Collection, Sequence
from typing import Any, NotRequired

from typing_extensions import TypedDict


class Result(TypedDict):
    """Rows of JSON-safe values; `types` has a type for each column; `truncated` is True where more rows exist."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    truncated: bool
    secret: NotRequired[list[int]]
    """Positions of the columns that hold values of secret columns, or may; left out where there are none."""


MASK = "***"
"""Stands for a secret value where a model or a log reads the rows."""


def masked_rows(rows: Sequence[Sequence[Any]], secret: Collection[int]) -> list[list[Any]]:
    """Return `rows` with `MASK` in place of every value but NULL in the columns at the positions `secret`."""
    return [[MASK if at in secret and value is not None else value for at, value in enumerate(row)] for row in rows]


def masked(result: Result) -> Result:
    """Return `result` as a model or a log may have it: without the values of secret columns."""
    secret = result.get("secret")
    return {**result, "rows": masked_rows(result["rows"], set(secret))} if secret else result
