"""Find the header rows of a sheet, and build the column names from them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.datasets.dataset import Warning
from agent.datasets.text_file import Cell, Head, Merged
from agent.errors import FileEmpty, HeaderNotFound
from agent.messages import Message

_VALUE = re.compile(r"[\d\s.,:;/'’%$€£¥₽+\-−–—()年月日]*\d[\d\s.,:;/'’%$€£¥₽+\-−–—()年月日TZ]*")
_YEAR = re.compile(r"(19|20)\d\d")
_MAX_NAME = 120
_DENSE = 0.6
"""Minimum share of the columns that the first header row fills."""

Row = Sequence[Cell]


@dataclass(frozen=True)
class Header:
    """The `names` of all columns, the index `first` of the header among the head's rows, and its number of `rows`.

    The name of an unnamed column is empty. `merged` are the indices of names built from a merged cell or from two rows.
    """

    names: tuple[str, ...]
    first: int
    rows: int
    merged: tuple[int, ...] = ()


def find_header(head: Head, merged: Sequence[Merged], row_number: int | None, file: str) -> Header:
    """Return the header in `row_number`, counted from 1, 0 for none; if it is None, detect the header.

    The detected header is the first row that fills most columns with words and has rows below it.

    Raises:
        FileEmpty: There is no row.
        HeaderNotFound: No row can be the header, or `row_number` is not a row with cells.
    """
    if not any(_is_filled(row) for row in head.rows):
        raise FileEmpty(file, "")
    if row_number == 0:
        return Header(("",) * head.width, 0, 0)
    finder = _Finder(head, merged)
    first = finder.search() if row_number is None else finder.index_of(row_number)
    if first is None:
        no_row = row_number is None
        raise HeaderNotFound(file, Message("no_header_row") if no_row else Message("row_without_cells", row=row_number))
    return finder.header(first)


class _Finder:
    def __init__(self, head: Head, merged: Sequence[Merged]) -> None:
        self._head = head
        self._rows: list[Row] = [[*row, *[Cell("")] * (head.width - len(row))] for row in head.rows]
        self._spans = [(top, left, right) for top, left, _, right in merged if right > left]
        self._dense = max(self._covered(index) for index in range(len(self._rows)))

    def search(self) -> int | None:
        """Return the index of the first row that can be a header, or of the row of groups above it."""
        for index, row in enumerate(self._rows):
            if self._covered(index) < _DENSE * self._dense:
                continue
            cells = _is_filled(row)
            is_header = _is_word(cells[0]) and all(
                _is_word(cell) or _YEAR.fullmatch(cell.text.strip()) for cell in cells
            )
            if is_header and len(cells) >= min(2, self._dense):
                return index - 1 if index and self._has_two_rows(index - 1) else index
        return None

    def index_of(self, row_number: int) -> int | None:
        """Return the index of the row with this number in the file; None if it has no cells."""
        numbers = self._head.numbers
        index = numbers.index(row_number - 1) if row_number - 1 in numbers else None
        return index if index is not None and _is_filled(self._rows[index]) else None

    def header(self, first: int) -> Header:
        row = self._rows[first]
        if not self._has_two_rows(first):
            spans = self._spans_of(first)
            names = [_name(cell.text) for cell in row]
            for left, right in spans:
                names[left : right + 1] = [names[left]] * (right + 1 - left)
            places = tuple(place for left, right in spans for place in range(left, min(right + 1, len(names))))
            return Header(tuple(names[: len(row)]), first, 1, places)
        above, below = self._groups(first), self._rows[first + 1]
        names = [_name(f"{group} {cell.text}") for group, cell in zip(above, below, strict=True)]
        places = tuple(place for place, cell in enumerate(below) if cell.text.strip() and above[place])
        return Header(tuple(names), first, 2, places)

    def _has_two_rows(self, first: int) -> bool:
        """Return whether the row `first` holds group names and the next row the column names.

        Without merged cells, the column names must depend on the groups: they repeat, or each column without one has a
        group name above it.
        """
        if first + 2 >= len(self._rows):
            return False
        above, below = self._rows[first], self._rows[first + 1]
        is_words = len(_is_filled(above)) >= 2 and all(map(_is_word, _is_filled(above) + _is_filled(below)))
        blank = [place for place, cell in enumerate(above) if not cell.text.strip()]
        fills = [place for place in blank if below[place].text.strip()]
        if not is_words or not fills or not self._is_above_values(first + 1):
            return False
        names = [cell.text.strip() for cell in _is_filled(below)]
        missing = [place for place, cell in enumerate(below) if not cell.text.strip()]
        completed = bool(missing) and all(above[place].text.strip() for place in missing)
        return len(self._spans_of(first)) >= 2 or len(set(names)) < len(names) or completed

    def _is_above_values(self, index: int) -> bool:
        """Return whether a column has a word in this row and only values below it."""
        for place, cell in enumerate(self._rows[index]):
            below = [row[place] for row in self._rows[index + 1 :] if row[place].text.strip()]
            if cell.text.strip() and below and not any(map(_is_word, below)):
                return True
        return False

    def _groups(self, first: int) -> list[str]:
        """Return the group of each column: from a merged cell, else the nearest one to the left."""
        row, below, spans = self._rows[first], self._rows[first + 1], self._spans_of(first)
        groups = [cell.text.strip() for cell in row]
        for place, (left, right) in enumerate(pairwise(range(len(row))), start=1):
            covered = any(start <= left and right <= end for start, end in spans)
            if not groups[place] and below[place].text.strip() and (covered or not spans):
                groups[place] = groups[place - 1]
        return groups

    def _spans_of(self, index: int) -> list[tuple[int, int]]:
        number = self._head.numbers[index]
        return [(left, right) for top, left, right in self._spans if top == number]

    def _covered(self, index: int) -> int:
        filled = {place for place, cell in enumerate(self._rows[index]) if cell.text.strip()}
        filled.update(place for left, right in self._spans_of(index) for place in range(left, right + 1))
        return len(filled)


def column_names(header: Header, kept: Sequence[int]) -> tuple[list[str], list[Warning]]:
    """Return unique names for the columns at the indices `kept`, and a warning for each changed name."""
    names: list[str] = []
    warnings = []
    used_names: set[str] = set()
    originals = {header.names[place].casefold() for place in kept}
    for place in kept:
        original = header.names[place]
        name, number = original or f"column_{place + 1}", 2
        while name.casefold() in used_names or (name != original and name.casefold() in originals):
            name, number = f"{original or f'column_{place + 1}'}_{number}", number + 1
        used_names.add(name.casefold())
        names.append(name)
        if not original:
            warnings.append(Warning("unnamed", name))
        elif name != original:
            warnings.append(Warning("renamed", name, {"was": original}))
        if place in header.merged:
            warnings.append(Warning("merged_header", name))
    return names, warnings


def _name(text: str) -> str:
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:_MAX_NAME]


def _is_filled(row: Row) -> list[Cell]:
    return [cell for cell in row if cell.text.strip()]


def _is_word(cell: Cell) -> bool:
    return not cell.is_value and not _VALUE.fullmatch(cell.text.strip())
