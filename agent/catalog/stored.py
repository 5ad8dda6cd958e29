"""Tables that stay as compressed bytes until they are asked for, a few at a time."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.catalog.archive import UNUSABLE, Arrays, check_starts, flat, packed, unpacked
from agent.catalog.encoding import Values, as_text, decode_table, decode_values, encode_table
from agent.catalog.schema import Catalog, FullName, Table

_TABLES_A_BLOCK = 16
"""Fewer compress worse; more make the first table of a block slower. 16 of 20 columns take about 2 ms."""


def encode(catalog: Catalog) -> Arrays:
    """Return the tables and values of `catalog` as arrays, for a file; values of other tables are left out."""
    tables = iter(catalog.tables.items())
    rows, values = [], []
    while block := list(islice(tables, _TABLES_A_BLOCK)):
        rows.append(packed([encode_table(table) for _, table in block]))
        values.append(packed([found for key, table in block for found in _values_of(catalog, key, table)]))
    return {
        "names": packed([[table.schema, table.name] for table in catalog.tables.values()]),
        "columns": packed(list(catalog.selection().values())),
        **_joined("table", rows),
        **_joined("value", values),
    }


def decode(arrays: Arrays, rebuild: Callable[[], Catalog]) -> tuple["StoredTables", "StoredValues"]:
    """Return what `encode` took, decoded as far as it is asked for. `rebuild` is called once if that fails.

    Raises:
        UNUSABLE: these are other arrays.
    """
    blocks = _Blocks(arrays, rebuild)
    blocks.check_first()
    return StoredTables(blocks), StoredValues(blocks)


class _Blocks:
    """Blocks of tables and of values, each kept once it was decoded. Threads that decode the same one do no harm."""

    def __init__(self, arrays: Arrays, rebuild: Callable[[], Catalog]) -> None:
        rows = unpacked(arrays["names"])
        names = [FullName(None if schema is None else as_text(schema), as_text(name)) for schema, name in rows]
        self.names = {name.key: name for name in names}
        self.keys = list(self.names)
        self.numbers = {key: number for number, key in enumerate(self.keys)}
        if len(self.names) != len(names):
            raise ValueError("two tables have one name")
        self._arrays, self._rebuild, self._lock = arrays, rebuild, threading.Lock()
        self._tables: dict[int, dict[str, Table]] = {}
        self._values: dict[int, Values] = {}
        for kind in ("table", "value"):
            starts = flat(arrays, f"{kind}_starts", np.int64, len(self) + 1)
            check_starts(starts, len(flat(arrays, f"{kind}_blocks", np.uint8)))

    def __len__(self) -> int:
        return -(-len(self.names) // _TABLES_A_BLOCK)

    def check_first(self) -> None:
        """Raise what is wrong with the first block, as it would be with all in a file of another format."""
        if len(self):
            self._tables[0], self._values[0] = self._decode_tables(0), self._decode_values(0)

    def tables(self, block: int) -> dict[str, Table]:
        if block not in self._tables:
            try:
                found = self._decode_tables(block)
            except UNUSABLE:
                found = self._tables_anew(block)
            self._tables.setdefault(block, found)
        return self._tables[block]

    def values(self, block: int) -> Values:
        if block not in self._values:
            try:
                found = self._decode_values(block)
            except UNUSABLE:
                # A rebuilt catalog has no samples yet.
                self._fresh()
                found = {}
            self._values.setdefault(block, found)
        return self._values[block]

    def columns(self) -> dict[str, Sequence[str]]:
        """Return the names of the columns of every table, without decoding tables where that is possible."""
        try:
            found = [tuple(map(as_text, names)) for names in unpacked(self._arrays["columns"])]
            return dict(zip(self.names, found, strict=True))
        except UNUSABLE:
            self._fresh()
        return {key: self.tables(number // _TABLES_A_BLOCK)[key].column_names for key, number in self.numbers.items()}

    def _decode_tables(self, block: int) -> dict[str, Table]:
        found = {table.key: table for table in map(decode_table, self._block("table", block))}
        if list(found) != self._keys(block):
            raise ValueError("the tables of another block")
        return found

    def _decode_values(self, block: int) -> Values:
        found = decode_values(self._block("value", block))
        if not {key for key, _ in found} <= set(self._keys(block)):
            raise ValueError("the values of another block")
        return found

    def _block(self, kind: str, block: int) -> Any:
        start, end = self._arrays[f"{kind}_starts"][block : block + 2]
        return unpacked(self._arrays[f"{kind}_blocks"][start:end])

    def _keys(self, block: int) -> list[str]:
        return self.keys[block * _TABLES_A_BLOCK : (block + 1) * _TABLES_A_BLOCK]

    def _tables_anew(self, block: int) -> dict[str, Table]:
        fresh = self._fresh().tables
        keys = self._keys(block)
        return {key: fresh.get(key) or Table(self.names[key].name, (), self.names[key].schema) for key in keys}

    def _fresh(self) -> Catalog:
        with self._lock:
            return self._rebuilt

    @cached_property
    def _rebuilt(self) -> Catalog:
        return self._rebuild()


class StoredTables(Mapping[str, Table]):
    """The tables of a stored catalog by their key. Names are known at once; a table is decoded when it is asked for."""

    def __init__(self, blocks: _Blocks) -> None:
        """Take the blocks, as `decode` makes them."""
        self._blocks = blocks

    def __getitem__(self, key: str) -> Table:
        """Return a table, all of it."""
        return self._blocks.tables(self._blocks.numbers[key] // _TABLES_A_BLOCK)[key]

    def __iter__(self) -> Iterator[str]:
        """Go through the keys."""
        return iter(self._blocks.names)

    def __len__(self) -> int:
        """Return how many tables there are."""
        return len(self._blocks.names)

    def __contains__(self, key: object) -> bool:
        """Return whether there is such a table."""
        return key in self._blocks.names

    def full_names(self) -> Mapping[str, FullName]:
        """Return schema and name of every table by its key."""
        return self._blocks.names

    def column_names(self) -> Mapping[str, Sequence[str]]:
        """Return the names of the columns of every table by its key."""
        return self._blocks.columns()


class StoredValues(Mapping[tuple[str, str], tuple[str, ...]]):
    """The sampled values of a stored catalog, by table key and column name."""

    def __init__(self, blocks: _Blocks) -> None:
        """Take the blocks, as `decode` makes them."""
        self._blocks = blocks

    def __getitem__(self, place: tuple[str, str]) -> tuple[str, ...]:
        """Return the values of a column."""
        return self._blocks.values(self._blocks.numbers[place[0]] // _TABLES_A_BLOCK)[place]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Go through the columns that have values."""
        return (place for block in range(len(self._blocks)) for place in self._blocks.values(block))

    def __len__(self) -> int:
        """Return how many columns have values."""
        return sum(len(self._blocks.values(block)) for block in range(len(self._blocks)))


def _values_of(catalog: Catalog, key: str, table: Table) -> Iterator[list[str]]:
    for name in table.column_names:
        values = catalog.values.get((key, name))
        if values is not None:
            yield [key, name, *values]


def _joined(kind: str, blocks: list[NDArray[np.uint8]]) -> Arrays:
    starts = np.cumsum([0, *map(len, blocks)], dtype=np.int64)
    return {f"{kind}_blocks": np.concatenate([np.zeros(0, np.uint8), *blocks]), f"{kind}_starts": starts}
