"""Rendering of a schema as text for a prompt.

Names are quoted for the dialect. Text from the database is truncated and kept on one line.
"""

from collections.abc import Callable, Mapping, Sequence

from agent.schema.catalog import Catalog, Column, Table

Selection = Mapping[str, Sequence[str]]
"""Selected columns by table key."""

_CHARS_PER_TOKEN = 3.5
_MAX_CHARS = 60
_MAX_VALUES = 5


def describe(catalog: Catalog, selection: Selection, quote: Callable[[str], str], *, values: bool = True) -> str:
    """Return the tables and columns of `selection`, one column a line, with types, keys, comments and a few values.

    Tables that no longer exist are left out.
    """
    blocks = []
    for key, names in selection.items():
        table = catalog.tables.get(key)
        if table is None:
            continue
        columns = [column for column in table.columns if column.name in set(names)]
        lines = [_column_line(catalog, table, column, quote, values) for column in columns]
        blocks.append("\n".join([f"table {quoted_key(table, quote)}{_comment(table.comment)}", *lines]))
    return "\n\n".join(blocks)


def describe_compactly(catalog: Catalog, selection: Selection, quote: Callable[[str], str]) -> str:
    """Return the tables and columns of `selection`, one table a line, followed by the joins between them."""
    lines, joins = [], []
    for key, names in selection.items():
        table = catalog.tables.get(key)
        if table is None:
            continue
        lines.append(f"{quoted_key(table, quote)}({', '.join(quote(name) for name in names)})")
        for foreign_key in table.foreign_keys:
            pairs = zip(foreign_key.columns, foreign_key.target_columns, strict=False)
            joins += [f"{quote(key)}.{quote(a)} = {quote(foreign_key.target)}.{quote(b)}" for a, b in pairs]
    return "\n".join([*lines, *joins])


def estimate_tokens(text: str) -> int:
    """Return the approximate number of tokens in `text`, at 3.5 characters per token."""
    return int(len(text) / _CHARS_PER_TOKEN) + 1


def quoted_key(table: Table, quote: Callable[[str], str]) -> str:
    """Return the quoted name of `table`, including its schema if it has one."""
    return ".".join(quote(part) for part in (table.schema, table.name) if part)


def one_line(text: str, limit: int = _MAX_CHARS) -> str:
    """Return `text` without line breaks and control characters, truncated to `limit` characters."""
    printable = text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)
    flat = " ".join(printable.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def _column_line(catalog: Catalog, table: Table, column: Column, quote: Callable[[str], str], values: bool) -> str:
    parts = [f"  {quote(column.name)} {column.type}"]
    if column.name in table.primary_key:
        parts.append("primary key")
    for foreign_key in table.foreign_keys:
        if column.name in foreign_key.columns:
            target = foreign_key.target_columns[foreign_key.columns.index(column.name)]
            parts.append(f"references {quote(foreign_key.target)}.{quote(target)}")
    samples = catalog.values.get((table.key, column.name), ()) if values else ()
    if samples:
        examples = ", ".join("'" + one_line(value).replace("'", "''") + "'" for value in samples[:_MAX_VALUES])
        parts.append(f"values {examples}{', ...' if len(samples) > _MAX_VALUES else ''}")
    return ", ".join(parts) + _comment(column.comment)


def _comment(comment: str | None) -> str:
    return f"  -- {one_line(comment, 200)}" if comment else ""
