"""Divide a sheet into blocks between blank rows, with the first and last rows of each as a sample.

The reader of workbooks, which runs in its own process, imports this module; it needs only the standard library.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

_FIRST_ROWS, _LAST_ROWS = 12, 2
_MAX_BLOCKS = 1000
_MAX_CELLS = 200_000
_MAX_CHARS = 200


class Cell(NamedTuple):
    """A cell as text; `is_value` if the file stores it as a number, a date or a truth value."""

    text: str
    is_value: bool = False


class Region(NamedTuple):
    """A rectangle of cells: rows and columns from 0, both ends included."""

    first: int
    last: int
    left: int
    right: int


class Block(NamedTuple):
    """Rows without a blank row between them: `empty` are their columns without cells, `rows` and `tail` samples."""

    first: int
    last: int
    empty: tuple[int, ...]
    rows: tuple[tuple[Cell, ...], ...]
    tail: tuple[tuple[Cell, ...], ...]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> "Block":
        """Return the block that JSON holds as an array."""
        first, last, empty, rows, tail = data
        samples = (tuple(tuple(Cell(*cell) for cell in row) for row in part) for part in (rows, tail))
        return cls(first, last, tuple(empty), *samples)


class BlockScanner:
    """Collects the blocks of a sheet, row by row. A cell has one field, or two: text, and a value of another type."""

    def __init__(self, fields_per_cell: int) -> None:
        self._step = fields_per_cell
        self._blocks: list[Block] = []
        self._number = -1
        self._cells = 0
        self._empty: set[int] = set()
        self._width = 0
        self._first = -1
        self._rows: list[tuple[Cell, ...]] = []
        self._tail: list[Sequence[str]] = []

    @property
    def _is_full(self) -> bool:
        return len(self._blocks) > _MAX_BLOCKS or self._cells > _MAX_CELLS

    def add(self, fields: Sequence[str]) -> None:
        """Add the next row."""
        self._number += 1
        if not any(map(str.strip, fields)):
            self._close(self._number - 1)
        elif not self._is_full:
            self._add_filled(fields)

    def blocks(self) -> tuple[Block, ...]:
        """Return the blocks; none if there are too many to tell tables apart."""
        self._close(self._number)
        return () if self._is_full else tuple(self._blocks)

    def _add_filled(self, fields: Sequence[str]) -> None:
        width = len(fields) // self._step
        if self._first < 0:
            self._first, self._empty, self._width = self._number, set(), 0
        if width > self._width:
            self._empty.update(range(self._width, width))
            self._width = width
        if self._empty:
            starts = {place: place * self._step for place in self._empty if place < width}
            self._empty -= {place for place, at in starts.items() if any(map(str.strip, fields[at : at + self._step]))}
        if len(self._rows) < _FIRST_ROWS:
            self._rows.append(self._sample(fields))
            self._cells += width
        self._tail = [*self._tail[1 - _LAST_ROWS :], fields]

    def _close(self, last: int) -> None:
        if self._first >= 0:
            tail = tuple(map(self._sample, self._tail))
            self._blocks.append(Block(self._first, last, tuple(sorted(self._empty)), tuple(self._rows), tail))
        self._first, self._rows, self._tail = -1, [], []

    def _sample(self, fields: Sequence[str]) -> tuple[Cell, ...]:
        return cells_of([field[:_MAX_CHARS] for field in fields], paired=self._step == 2)


def cells_of(fields: Sequence[str], *, paired: bool) -> tuple[Cell, ...]:
    """Return the cells of a row; if `paired`, each has two fields: text, and a value of another type."""
    if not paired:
        return tuple(map(Cell, fields))
    return tuple(Cell(text or value, bool(value)) for text, value in zip(fields[::2], fields[1::2], strict=True))
