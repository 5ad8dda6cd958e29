"""A schema as the embedded model is shown it: one table a line, types or a few values, and the keys between tables."""

from collections.abc import Iterator, Mapping, Sequence

from agent.catalog.describe import one_line
from agent.catalog.schema import Catalog, Column, Table
from agent.sql.compact_joins import join_condition, keys_of
from agent.sql.compact_names import quoted

_VALUE_CHARS = 16
_SHOWN_VALUES = 2
_MOST_DISTINCT = 20


def describe_briefly(catalog: Catalog, selection: Mapping[str, Sequence[str]]) -> str:
    """Return the tables and columns of `selection` in the catalog's order, then the foreign keys between them.

    Names stand as compact statements write them. A column has its type or, where it holds few texts, some of these. A
    table that is gone since it was selected is left out.
    """
    tables = [catalog.tables[key] for key in selection if key in catalog.tables]
    lines = [f"{_name(table)}({', '.join(_columns(table, set(selection[table.key])))})" for table in tables]
    return "\n".join([*lines, *dict.fromkeys(_keys(catalog, tables))])


def _name(table: Table) -> str:
    return ".".join(quoted(part) for part in (table.schema, table.name) if part)


def _columns(table: Table, names: set[str]) -> Iterator[str]:
    for column in table.columns:
        if column.name in names:
            yield f"{quoted(column.name)} {_kind(table, column)}"


def _kind(table: Table, column: Column) -> str:
    if table.primary_key == (column.name,):
        return "key"
    few = column.type_class == "text" and column.distinct is not None and column.distinct <= _MOST_DISTINCT
    shown = [value for value in column.examples if 0 < len(value) <= _VALUE_CHARS][:_SHOWN_VALUES] if few else []
    return " ".join("'" + one_line(value).replace("'", "''") + "'" for value in shown) or column.type_class


def _keys(catalog: Catalog, tables: Sequence[Table]) -> Iterator[str]:
    shown = {table.key for table in tables}
    for table in tables:
        yield from (join_condition(catalog, pair).sql() for pair in keys_of(catalog, table.key) if pair.right in shown)
