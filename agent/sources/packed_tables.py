"""Tables and values as compressed blocks of JSON, decoded on access and validated."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from sys import intern
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasphinx.agent.retrieval.arrays import READ_ERRORS, Arrays, array_1d, check_starts, pack_json, unpack_json
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, FullName, Table

Values = dict[tuple[str, str], tuple[str, ...]]

_BOOLEANS, _LISTS = frozenset([bool]), frozenset([list])
_TEXTS, _NUMBERS = frozenset([str, type(None)]), frozenset([int, float, type(None)])

_TABLES_PER_BLOCK = 16
"""Smaller blocks compress worse; larger ones delay the first access. 16 tables of 20 columns take about 2 ms."""


def encode_table(table: Table) -> list[Any]:
    """Return `table` as lists that can be encoded as JSON."""
    keys = [[key.columns, key.target, key.target_columns, key.inferred, key.likely] for key in table.foreign_keys]
    facts = [table.name, table.columns, table.schema, table.primary_key, keys, table.comment, table.is_view]
    return [*facts, table.parents, table.shares_rows, table.computes_columns, table.rows]


def decode_table(row: list[Any]) -> Table:
    """Return the table encoded by `encode_table`.

    Raises:
        TypeError, ValueError: `row` is not an encoded table.
    """
    name, columns, schema, primary, keys, comment, is_view, parents, shares_rows, computes_columns, rows = row
    return Table(
        as_text(name),
        _decode_columns(columns),
        None if schema is None else as_text(schema),
        tuple(map(as_text, primary)),
        tuple(
            ForeignKey(
                tuple(map(as_text, names)),
                as_text(target),
                tuple(map(as_text, target_names)),
                bool(is_inferred),
                bool(is_likely),
            )
            for names, target, target_names, is_inferred, is_likely in keys
        ),
        None if comment is None else as_text(comment),
        bool(is_view),
        tuple(map(as_text, parents)),
        bool(shares_rows),
        bool(computes_columns),
        None if rows is None else int(rows),
    )


def decode_values(rows: Iterable[list[Any]]) -> Values:
    """Return values by table key and column name, from rows that begin with these two.

    Raises:
        TypeError, ValueError: a row is malformed.
    """
    values = {(key, name): tuple(rest) for key, name, *rest in rows}
    if not {str}.issuperset(map(type, chain(chain.from_iterable(values), chain.from_iterable(values.values())))):
        raise TypeError("a value is not text")
    return values


def as_text(value: Any) -> str:
    """Return `value`, which must be a string.

    Raises:
        TypeError: it is not.
    """
    if type(value) is not str:
        raise TypeError("a value is not text")
    return value


def _decode_columns(rows: list[Any]) -> tuple[Column, ...]:
    """Decode all rows field by field, because a catalog can have hundreds of thousands of columns."""
    if not rows:
        return ()
    names, types, nullable, comments, shares, distincts, examples, secret, minima, maxima, parts = zip(
        *rows, strict=True
    )
    field_types = (
        (nullable, _BOOLEANS), (secret, _BOOLEANS), (comments, _TEXTS), (shares, _NUMBERS), (distincts, _NUMBERS),
        (minima, _TEXTS), (maxima, _TEXTS), (examples, _LISTS), (chain.from_iterable(examples), frozenset([str])),
        (parts, _LISTS), (chain.from_iterable(parts), frozenset([str])),
    )  # fmt: skip
    if not all(allowed.issuperset(map(type, values)) for values, allowed in field_types):
        raise TypeError("a field of a column has an unexpected type")
    example_tuples = map(tuple, examples)
    fields = zip(
        map(intern, names),
        map(intern, types),
        nullable,
        comments,
        shares,
        distincts,
        example_tuples,
        secret,
        minima,
        maxima,
        map(tuple, parts),
        strict=True,
    )
    return tuple(map(Column._make, fields))


def encode(catalog: Catalog) -> Arrays:
    """Return the tables and values of `catalog` as arrays for a file."""
    tables = iter(catalog.tables.items())
    rows, values = [], []
    while block := list(islice(tables, _TABLES_PER_BLOCK)):
        rows.append(pack_json([encode_table(table) for _, table in block]))
        columns = [(key, name) for key, table in block for name in table.column_names]
        values.append(pack_json([[*column, *catalog.values[column]] for column in columns if column in catalog.values]))
    return {
        "names": pack_json([[table.schema, table.name] for table in catalog.tables.values()]),
        "columns": pack_json(list(catalog.selection().values())),
        **_concatenate("table", rows),
        **_concatenate("value", values),
    }


def decode(arrays: Arrays, rebuild: Callable[[], Catalog]) -> tuple["PackedTables", "PackedValues"]:
    """Return mappings that decode the arrays written by `encode` on access; `rebuild` is called once if decoding fails.

    Raises:
        READ_ERRORS: the arrays are in another format.
    """
    blocks = _Blocks(arrays, rebuild)
    blocks.check_first()
    return PackedTables(blocks), PackedValues(blocks)


class _Blocks:
    """Blocks of tables and values, cached once decoded. Thread-safe: a block may be decoded twice."""

    def __init__(self, arrays: Arrays, rebuild: Callable[[], Catalog]) -> None:
        rows = unpack_json(arrays["names"])
        names = [FullName(None if schema is None else as_text(schema), as_text(name)) for schema, name in rows]
        self.names = {name.key: name for name in names}
        self.keys = list(self.names)
        self.numbers = {key: number for number, key in enumerate(self.keys)}
        if len(self.names) != len(names):
            raise ValueError("two tables have the same key")
        self._arrays, self._rebuild, self._lock = arrays, rebuild, threading.Lock()
        self._rebuilt_catalog: Catalog | None = None
        self._tables: dict[int, dict[str, Table]] = {}
        self._values: dict[int, Values] = {}
        for kind in ("table", "value"):
            starts = array_1d(arrays, f"{kind}_starts", np.int64, len(self) + 1)
            check_starts(starts, len(array_1d(arrays, f"{kind}_blocks", np.uint8)))

    def __len__(self) -> int:
        return -(-len(self.names) // _TABLES_PER_BLOCK)

    def check_first(self) -> None:
        """Decode the first block, to detect a file of another format."""
        if len(self):
            self._tables[0], self._values[0] = self._decode_tables(0), self._decode_values(0)

    def tables(self, block: int) -> dict[str, Table]:
        if block not in self._tables:
            try:
                tables = self._decode_tables(block)
            except READ_ERRORS:
                rebuilt = self._rebuild_once().tables
                tables = {
                    key: rebuilt.get(key) or Table(self.names[key].name, (), self.names[key].schema)
                    for key in self._keys(block)
                }
            self._tables.setdefault(block, tables)
        return self._tables[block]

    def values(self, block: int) -> Values:
        if block not in self._values:
            try:
                values = self._decode_values(block)
            except READ_ERRORS:
                # A rebuilt catalog has no samples yet.
                self._rebuild_once()
                values = {}
            self._values.setdefault(block, values)
        return self._values[block]

    def columns(self) -> dict[str, Sequence[str]]:
        """Return the column names of every table, without decoding tables if possible."""
        try:
            columns = [tuple(map(as_text, names)) for names in unpack_json(self._arrays["columns"])]
            return dict(zip(self.names, columns, strict=True))
        except READ_ERRORS:
            self._rebuild_once()
        return {key: self.tables(number // _TABLES_PER_BLOCK)[key].column_names for key, number in self.numbers.items()}

    def _decode_tables(self, block: int) -> dict[str, Table]:
        tables = {table.key: table for table in map(decode_table, self._block("table", block))}
        if list(tables) != self._keys(block):
            raise ValueError("the block has unexpected tables")
        return tables

    def _decode_values(self, block: int) -> Values:
        values = decode_values(self._block("value", block))
        if not {key for key, _ in values} <= set(self._keys(block)):
            raise ValueError("the block has values of unexpected tables")
        return values

    def _block(self, kind: str, block: int) -> Any:
        start, end = self._arrays[f"{kind}_starts"][block : block + 2]
        return unpack_json(self._arrays[f"{kind}_blocks"][start:end])

    def _keys(self, block: int) -> list[str]:
        return self.keys[block * _TABLES_PER_BLOCK : (block + 1) * _TABLES_PER_BLOCK]

    def _rebuild_once(self) -> Catalog:
        with self._lock:
            if self._rebuilt_catalog is None:
                self._rebuilt_catalog = self._rebuild()
            return self._rebuilt_catalog


class PackedTables(Mapping[str, Table]):
    """The tables of a cached catalog by key. Keys are available at once; a table is decoded on access."""

    def __init__(self, blocks: _Blocks) -> None:
        """Wrap the blocks created by `decode`."""
        self._blocks = blocks

    def __getitem__(self, key: str) -> Table:
        """Return the decoded table."""
        return self._blocks.tables(self._blocks.numbers[key] // _TABLES_PER_BLOCK)[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._blocks.names)

    def __len__(self) -> int:
        """Return the number of tables."""
        return len(self._blocks.names)

    def __contains__(self, key: object) -> bool:
        """Return whether the catalog has a table with this key."""
        return key in self._blocks.names

    def full_names(self) -> Mapping[str, FullName]:
        """Return the schema and name of every table by its key."""
        return self._blocks.names

    def column_names(self) -> Mapping[str, Sequence[str]]:
        """Return the column names of every table by its key."""
        return self._blocks.columns()


class PackedValues(Mapping[tuple[str, str], tuple[str, ...]]):
    """The sampled values of a cached catalog, by table key and column name."""

    def __init__(self, blocks: _Blocks) -> None:
        """Wrap the blocks created by `decode`."""
        self._blocks = blocks

    def __getitem__(self, column: tuple[str, str]) -> tuple[str, ...]:
        """Return the values of a column."""
        return self._blocks.values(self._blocks.numbers[column[0]] // _TABLES_PER_BLOCK)[column]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Iterate over the columns that have values."""
        return (column for block in range(len(self._blocks)) for column in self._blocks.values(block))

    def __len__(self) -> int:
        """Return the number of columns that have values."""
        return sum(len(self._blocks.values(block)) for block in range(len(self._blocks)))


def _concatenate(kind: str, blocks: list[NDArray[np.uint8]]) -> Arrays:
    starts = np.cumsum([0, *map(len, blocks)], dtype=np.int64)
    return {f"{kind}_blocks": np.concatenate([np.zeros(0, np.uint8), *blocks]), f"{kind}_starts": starts}
