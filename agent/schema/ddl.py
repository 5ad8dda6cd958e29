"""Rendering of a schema as CREATE TABLE statements, which models that are trained on code read best."""

from collections.abc import Callable, Iterator, Sequence

from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.describe import Selection, literal, one_line, prompt_line, quoted_key
from datasphinx.agent.schema.personal import personal_content

_MAX_VALUES = 8
_MAX_VALUE_CHARS = 24


def create_statements(catalog: Catalog, selection: Selection, quote: Callable[[str], str]) -> str:
    """Return a CREATE TABLE statement for each table of `selection`, with its selected columns and all keys of these.

    A comment after a column holds its comment and its stored texts, if these are short, at most 8, and do not look
    personal. Tables that no longer exist are left out, and so are inferred keys that are not likely.
    """
    tables = [catalog.tables[key] for key in selection if key in catalog.tables]
    return "\n\n".join(_create_statement(table, set(selection[table.key]), catalog, quote) for table in tables)


def _create_statement(table: Table, names: set[str], catalog: Catalog, quote: Callable[[str], str]) -> str:
    columns = [column for column in table.columns if column.name in names]
    lines = [_column(catalog, table, column, quote) for column in columns]
    lines += _constraints(table, names, catalog, quote)
    ends = [","] * (len(lines) - 1) + [""]
    body = [f"  {text}{end}{remark}" for (text, remark), end in zip(lines, ends, strict=True)]
    comment = [f"-- {one_line(table.comment, 200)}"] if table.comment else []
    return "\n".join(map(prompt_line, [*comment, f"CREATE TABLE {quoted_key(table, quote)} (", *body, ");"]))


def _column(catalog: Catalog, table: Table, column: Column, quote: Callable[[str], str]) -> tuple[str, str]:
    """Return the declaration of a column and the comment that follows it, if any."""
    key = " PRIMARY KEY" if table.primary_key == (column.name,) else ""
    values = ", ".join(map(literal, _values(catalog, table, column)))
    parts = [one_line(column.comment, 200) if column.comment else "", values]
    text = "; ".join(filter(None, parts))
    return f"{quote(column.name)} {column.type}{key}", f" -- {text}" if text else ""


def _values(catalog: Catalog, table: Table, column: Column) -> Sequence[str]:
    """Return all stored texts of the column if they are few, short and not personal, else none."""
    if column.secret or column.type_class != "text" or column.distinct is None or column.distinct > _MAX_VALUES:
        return ()
    values = catalog.values.get((table.key, column.name)) or column.examples
    if personal_content(catalog, table, column):
        return ()
    are_short = all(len(value) <= _MAX_VALUE_CHARS and value.isprintable() for value in values)
    return values if are_short and len(values) <= _MAX_VALUES else ()


def _constraints(
    table: Table, names: set[str], catalog: Catalog, quote: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    """Yield the keys of the selected columns, each with a remark."""
    if len(table.primary_key) > 1 and names.issuperset(table.primary_key):
        yield f"PRIMARY KEY ({_names(table.primary_key, quote)})", ""
    for foreign_key in table.foreign_keys:
        target = catalog.tables.get(foreign_key.target)
        if target and foreign_key.likely and names.issuperset(foreign_key.columns):
            references = f"{quoted_key(target, quote)} ({_names(foreign_key.target_columns, quote)})"
            key = f"FOREIGN KEY ({_names(foreign_key.columns, quote)}) REFERENCES {references}"
            yield key, " -- inferred" if foreign_key.inferred else ""


def _names(names: Sequence[str], quote: Callable[[str], str]) -> str:
    return ", ".join(map(quote, names))
