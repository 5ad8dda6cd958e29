"""Tables and values as compressed blocks of JSON, decoded on access."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from sys import intern
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasphinx.agent.retrieval.arrays import Arrays, pack_json, unpack_json
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, FullName, Table

Values = dict[tuple[str, str], tuple[str, ...]]

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
    """Return mappings that decode the arrays written by `encode` on access.

    Raises:
        READ_ERRORS: an array is missing.
    """
    blocks = _Blocks(arrays)
    return PackedTables(blocks), PackedValues(blocks)


class _Blocks:
    """Blocks of tables and values, cached once decoded. Thread-safe: a block may be decoded twice."""

    def __init__(self, arrays: Arrays) -> None:
        names = [FullName(schema, name) for schema, name in unpack_json(arrays["names"])]
        self.names = {name.key: name for name in names}
        self.numbers = {key: at // _TABLES_PER_BLOCK for at, key in enumerate(self.names)}
        self._columns = arrays["columns"]
        self._blocks = {kind: (arrays[f"{kind}_blocks"], arrays[f"{kind}_starts"]) for kind in ("table", "value")}
        self._tables: dict[int, dict[str, Table]] = {}
        self._values: dict[int, Values] = {}

    def __len__(self) -> int:
        return -(-len(self.names) // _TABLES_PER_BLOCK)

    def tables(self, block: int) -> dict[str, Table]:
        if block not in self._tables:
            tables = map(decode_table, self._block("table", block))
            self._tables.setdefault(block, {table.key: table for table in tables})
        return self._tables[block]

    def values(self, block: int) -> Values:
        if block not in self._values:
            self._values.setdefault(block, decode_values(self._block("value", block)))
        return self._values[block]

    def columns(self) -> dict[str, Sequence[str]]:
        """Return the column names of every table, without decoding tables."""
        return dict(zip(self.names, map(tuple, unpack_json(self._columns)), strict=True))

    def _block(self, kind: str, block: int) -> Any:
        blocks, starts = self._blocks[kind]
        return unpack_json(blocks[starts[block] : starts[block + 1]])


class PackedTables(Mapping[str, Table]):
    """The tables of a cached catalog by key. Keys are available at once; a table is decoded on access."""

    def __init__(self, blocks: _Blocks) -> None:
        """Wrap the blocks created by `decode`."""
        self._blocks = blocks

    def __getitem__(self, key: str) -> Table:
        """Return the decoded table."""
        return self._blocks.tables(self._blocks.numbers[key])[key]

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
        return self._blocks.values(self._blocks.numbers[column[0]])[column]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Iterate over the columns that have values."""
        return (column for block in range(len(self._blocks)) for column in self._blocks.values(block))

    def __len__(self) -> int:
        """Return the number of columns that have values."""
        return sum(len(self._blocks.values(block)) for block in range(len(self._blocks)))


def _concatenate(kind: str, blocks: list[NDArray[np.uint8]]) -> Arrays:
    starts = np.cumsum([0, *map(len, blocks)], dtype=np.int64)
    return {f"{kind}_blocks": np.concatenate([np.zeros(0, np.uint8), *blocks]), f"{kind}_starts": starts}
