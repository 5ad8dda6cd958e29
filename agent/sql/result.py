"""What a statement gives."""

from typing import Any

from typing_extensions import TypedDict


class Result(TypedDict):
    """Rows of JSON-safe values; `types` has a type for each column; `truncated` is True where more rows exist."""

    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    truncated: bool
