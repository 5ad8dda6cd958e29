"""Application of entries to a catalog: comments, declared and forbidden joins, hidden tables and columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from datasphinx.agent.knowledge.entries import ColumnEntry, ForbiddenJoinEntry, JoinEntry, TableEntry
from datasphinx.agent.knowledge.knowledge import Knowledge
from datasphinx.agent.knowledge.references import Unresolved, column_or_none, find_column, find_column_or_table
from datasphinx.agent.schema.catalog import Catalog, ColumnKey, ForeignKey, FullName, Table

JoinEnd = tuple[str, str | None]
"""A table, and one of its columns; None for any."""


class ChangedTables(Mapping[str, Table]):
    """The tables of another mapping, some of them replaced or, with None, left out. The others are not loaded."""

    def __init__(self, catalog: Catalog, changes: Mapping[str, Table | None]) -> None:
        self._catalog, self._changes = catalog, changes

    def __getitem__(self, key: str) -> Table:
        """Return a table. Raise KeyError if there is no such table, or it is left out."""
        table = self._changes[key] if key in self._changes else self._catalog.tables[key]
        if table is None:
            raise KeyError(key)
        return table

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._catalog.tables if self._changes.get(key, self) is not None)

    def __len__(self) -> int:
        return len(self._catalog.tables) - sum(table is None for table in self._changes.values())

    def full_names(self) -> Mapping[str, FullName]:
        """Return the schema and name of every table by its key."""
        return {key: full for key, full in self._catalog.full_names.items() if self._changes.get(key, self) is not None}

    def column_names(self) -> Mapping[str, Sequence[str]]:
        """Return the column names of every table by its key."""
        names: dict[str, Sequence[str]] = dict(self._catalog.selection())
        for key, table in self._changes.items():
            if table is None:
                del names[key]
            else:
                names[key] = table.column_names
        return names


def with_knowledge(catalog: Catalog, knowledge: Knowledge) -> Catalog:
    """Return `catalog` with descriptions as comments, and with the declared joins as foreign keys.

    A declared join replaces inferred ones of the same columns; forbidden joins are removed. Entries that name unknown
    tables or columns are ignored. The same catalog is returned if nothing changes.
    """
    changes: dict[str, Table] = {}
    _add_comments(catalog, knowledge, changes)
    _add_joins(catalog, knowledge, changes)
    _remove_joins(catalog, forbidden_joins(catalog, knowledge), changes)
    changes = {key: table for key, table in changes.items() if table != catalog.tables[key]}
    return replace(catalog, tables=ChangedTables(catalog, changes)) if changes else catalog


def without_hidden(catalog: Catalog, knowledge: Knowledge) -> Catalog:
    """Return `catalog` without hidden tables and columns, and without foreign keys to them."""
    changes: dict[str, Table | None] = {}
    for item, table_entry in knowledge.entries(TableEntry):
        key = catalog.key_of(item.name)
        if table_entry.hidden and key:
            changes[key] = None
    hidden_names = (item.name for item, entry in knowledge.entries(ColumnEntry) if entry.hidden)
    hidden = {column for name in hidden_names if (column := column_or_none(name, catalog))}
    if not changes and not hidden:
        return catalog
    for key, table in catalog.tables.items():
        if changes.get(key, table) is None:
            continue
        columns = tuple(column for column in table.columns if (key, column.name) not in hidden)
        foreign_keys = tuple(
            foreign
            for foreign in table.foreign_keys
            if changes.get(foreign.target, table) is not None
            and hidden.isdisjoint((key, column) for column in foreign.columns)
            and hidden.isdisjoint((foreign.target, column) for column in foreign.target_columns)
        )
        if len(columns) < len(table.columns) or len(foreign_keys) < len(table.foreign_keys):
            names = {column.name for column in columns}
            primary_key = table.primary_key if names.issuperset(table.primary_key) else ()
            changes[key] = replace(table, columns=columns, foreign_keys=foreign_keys, primary_key=primary_key)
    values = {key: texts for key, texts in catalog.values.items() if key not in hidden} if hidden else catalog.values
    return replace(catalog, tables=ChangedTables(catalog, changes), values=values)


def forbidden_joins(catalog: Catalog, knowledge: Knowledge) -> list[tuple[JoinEnd, JoinEnd]]:
    """Return the ends of the forbidden joins that name existing tables and columns."""
    pairs = []
    for _, entry in knowledge.entries(ForbiddenJoinEntry):
        try:
            ends = find_column_or_table(entry.source, catalog), find_column_or_table(entry.target, catalog)
        except Unresolved:
            continue
        pairs.append(ends)
    return pairs


def is_forbidden(first: ColumnKey, second: ColumnKey, forbidden: Iterable[tuple[JoinEnd, JoinEnd]]) -> bool:
    """Return whether one of `forbidden` excludes the join of two columns."""

    def matches(end: JoinEnd, column: ColumnKey) -> bool:
        return end[0] == column[0] and end[1] in (None, column[1])

    return any(
        matches(source, one) and matches(target, other)
        for source, target in forbidden
        for one, other in ((first, second), (second, first))
    )


def _add_comments(catalog: Catalog, knowledge: Knowledge, changes: dict[str, Table]) -> None:
    for item, entry in knowledge.entries(TableEntry):
        key = catalog.key_of(item.name)
        if key and entry.description:
            changes[key] = replace(catalog.tables[key], comment=entry.description)
    for item, column_entry in knowledge.entries(ColumnEntry):
        place = column_or_none(item.name, catalog)
        if place is None:
            continue
        key, name = place
        table = changes.get(key) or catalog.tables[key]
        columns = tuple(
            column._replace(comment=_comment(column_entry, column.comment)) if column.name == name else column
            for column in table.columns
        )
        changes[key] = replace(table, columns=columns)


def _comment(entry: ColumnEntry, comment: str | None) -> str | None:
    codes = ", ".join(
        code if names[0] == code else f"{code} = {names[0]}" for code, names in entry.labels.items() if names
    )
    parts = [
        entry.description or comment or "",
        f"unit: {entry.unit}" if entry.unit else "",
        f"format: {entry.format}" if entry.format else "",
        # A comment of the database that lists the codes is not repeated.
        f"codes: {codes}" if codes and (entry.description or not comment) else "",
    ]
    return "; ".join(filter(None, parts)) or None


def _add_joins(catalog: Catalog, knowledge: Knowledge, changes: dict[str, Table]) -> None:
    for _, entry in knowledge.entries(JoinEntry):
        try:
            source = [find_column(name, catalog) for name in entry.source]
            target = [find_column(name, catalog) for name in entry.target]
        except Unresolved:
            continue
        is_pair = len({key for key, _ in source}) == len({key for key, _ in target}) == 1
        if not is_pair or len(source) != len(target) or entry.cardinality == "many-to-many":
            # A foreign key means that its target has one row for each value.
            continue
        if entry.cardinality == "one-to-many":
            source, target = target, source
        key, columns = source[0][0], tuple(column for _, column in source)
        foreign_key = ForeignKey(columns, target[0][0], tuple(column for _, column in target))
        table = changes.get(key) or catalog.tables[key]
        others = [
            other
            for other in table.foreign_keys
            if not (other.inferred and set(other.columns) & set(columns)) and _ends(other) != _ends(foreign_key)
        ]
        changes[key] = replace(table, foreign_keys=(*others, foreign_key))


def _ends(foreign_key: ForeignKey) -> tuple[str, frozenset[tuple[str, str]]]:
    return foreign_key.target, frozenset(zip(foreign_key.columns, foreign_key.target_columns, strict=False))


def _remove_joins(catalog: Catalog, forbidden: Sequence[tuple[JoinEnd, JoinEnd]], changes: dict[str, Table]) -> None:
    for key in {key for pair in forbidden for key, _ in pair}:
        table = changes.get(key) or catalog.tables[key]
        allowed = tuple(
            foreign
            for foreign in table.foreign_keys
            if not any(
                is_forbidden((key, column), (foreign.target, target), forbidden)
                for column, target in zip(foreign.columns, foreign.target_columns, strict=False)
            )
        )
        if len(allowed) < len(table.foreign_keys):
            changes[key] = replace(table, foreign_keys=allowed)
