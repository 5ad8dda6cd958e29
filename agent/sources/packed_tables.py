"""Tables and values as compressed blocks of JSON, decoded on access."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from sys import intern
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from datasphinx.agent.retrieval.arrays import Arrays, pack_json, unpack_json
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, FullName, Table

Values = dict[tuple[str, str], tuple[str, ...]]
K = TypeVar("K")
V = TypeVar("V")

_TABLES_PER_BLOCK = 16
"""Smaller blocks compress worse; larger ones delay the first access. 16 tables of 20 columns take about 2 ms."""


def encode_table(table: Table) -> list[Any]:
    """Return `table` as lists that can be encoded as JSON."""
    keys = [[key.columns, key.target, key.target_columns, key.inferred, key.likely] for key in table.foreign_keys]
    facts = [table.name, table.columns, table.schema, table.primary_key, keys, table.comment, table.is_view]
    return [*facts, table.parents, table.shares_rows, table.rows]


def decode_table(row: list[Any]) -> Table:
    """Return the table encoded by `encode_table`."""
    name, columns, schema, primary, keys, comment, is_view, parents, shares_rows, rows = row
    foreign = tuple(ForeignKey(tuple(own), target, tuple(others), *marks) for own, target, others, *marks in keys)
    facts = (comment, is_view, tuple(parents), shares_rows, rows)
    return Table(name, tuple(map(_decode_column, columns)), schema, tuple(primary), foreign, *facts)


def _decode_column(row: list[Any]) -> Column:
    name, kind, nullable, comment, share, distinct, examples, secret, minimum, maximum, parts = row
    # A catalog can have hundreds of thousands of columns, with few names and types.
    known = (intern(name), intern(kind), nullable, comment, share, distinct)
    return Column(*known, tuple(examples), secret, minimum, maximum, tuple(parts))


def decode_values(rows: Iterable[list[Any]]) -> Values:
    """Return values by table key and column name, from rows that begin with these two."""
    return {(key, name): tuple(rest) for key, name, *rest in rows}


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


def decode(arrays: Arrays) -> tuple["PackedTables", "PackedValues"]:
    """Return mappings that decode the arrays of `encode` on access. Raise one of READ_ERRORS if an array is missing."""
    tables = PackedTables(arrays)
    return tables, PackedValues(arrays, tables.numbers)


class _Blocks(Generic[K, V]):
    """Blocks of rows, each decoded at its first access. Thread-safe: a block may be decoded twice."""

    def __init__(self, arrays: Arrays, kind: str, decode: Callable[[Any], dict[K, V]]) -> None:
        self._blocks, self._starts, self._decode = arrays[f"{kind}_blocks"], arrays[f"{kind}_starts"], decode
        self._decoded: dict[int, dict[K, V]] = {}

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> dict[K, V]:
        if number not in self._decoded:
            rows = unpack_json(self._blocks[self._starts[number] : self._starts[number + 1]])
            self._decoded.setdefault(number, self._decode(rows))
        return self._decoded[number]


class PackedTables(Mapping[str, Table]):
    """The tables of a cached catalog by key. Keys are available at once; a table is decoded on access."""

    def __init__(self, arrays: Arrays) -> None:
        names = [FullName(schema, name) for schema, name in unpack_json(arrays["names"])]
        self._names = {name.key: name for name in names}
        self._columns = arrays["columns"]
        self._blocks = _Blocks(arrays, "table", lambda rows: {table.key: table for table in map(decode_table, rows)})
        self.numbers = {key: at // _TABLES_PER_BLOCK for at, key in enumerate(self._names)}
        """The numbers of the blocks by key."""

    def __getitem__(self, key: str) -> Table:
        return self._blocks[self.numbers[key]][key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def full_names(self) -> Mapping[str, FullName]:
        """Return the schema and name of every table by its key."""
        return self._names

    def column_names(self) -> Mapping[str, Sequence[str]]:
        """Return the column names of every table by its key, without decoding tables."""
        return dict(zip(self._names, map(tuple, unpack_json(self._columns)), strict=True))


class PackedValues(Mapping[tuple[str, str], tuple[str, ...]]):
    """The sampled values of a cached catalog, by table key and column name."""

    def __init__(self, arrays: Arrays, numbers: Mapping[str, int]) -> None:
        """Wrap arrays written by `encode`; `numbers` are those of the blocks by table."""
        self._blocks, self._numbers = _Blocks(arrays, "value", decode_values), numbers

    def __getitem__(self, column: tuple[str, str]) -> tuple[str, ...]:
        return self._blocks[self._numbers[column[0]]][column]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return (column for number in range(len(self._blocks)) for column in self._blocks[number])

    def __len__(self) -> int:
        return sum(len(self._blocks[number]) for number in range(len(self._blocks)))


def _concatenate(kind: str, blocks: list[NDArray[np.uint8]]) -> Arrays:
    starts = np.cumsum([0, *map(len, blocks)], dtype=np.int64)
    return {f"{kind}_blocks": np.concatenate([np.zeros(0, np.uint8), *blocks]), f"{kind}_starts": starts}
