"""Find the columns that mark rows of a table as deleted or archived."""

from collections.abc import Mapping, Sequence

from datasphinx.agent.schema.catalog import TIMES, Column, ColumnKey, Table
from datasphinx.agent.schema.words import words

_DELETED = words(
    "deleted deletion removed archived gelöscht geloescht entfernt archiviert удалён удаления архив 删除 归档"
)
"""Words in the languages of the messages. A mark of deletion differs from other moments and flags in its name alone."""
_MAX_STATES = 20


Values = Mapping[ColumnKey, Sequence[str]]
"""Sampled values by table and column."""


def deletion_marks(table: Table, values: Values) -> list[Column]:
    """Return the columns that mark rows of `table`."""
    return [column for column in table.columns if marks_deletion(table, column, values)]


def marks_deletion(table: Table, column: Column, values: Values) -> bool:
    """Return whether a column marks rows: a moment, a flag, or a state of which one value says so.

    A column whose sampled rows are all alike marks none.
    """
    if column.secret or column.name in table.key_columns:
        return False
    states = values.get((table.key, column.name), ())
    if column.type_class == "text" and 1 < len(states) <= _MAX_STATES and any(words(v) & _DELETED for v in states):
        return True
    # The deleted rows have a time; texts and numbers are read as such if some are empty.
    is_time = column.type_class in TIMES or (column.null_share or 0) > 0
    is_partly_empty = column.nullable if column.null_share is None else 0 < column.null_share < 1
    has_two_values = column.type_class == "boolean" if column.distinct is None else column.distinct == 2
    is_named = not _DELETED.isdisjoint(words(column.name) | words(column.comment or ""))
    return is_named and (has_two_values or (is_time and is_partly_empty))
