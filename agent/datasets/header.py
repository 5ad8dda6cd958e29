"""Which rows of a sheet are its header, and the names of columns that they give."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.datasets.dataset import Warning
from agent.datasets.staging import Cell, Head, Merged
from agent.errors import FileEmpty, HeaderNotFound

_VALUE = re.compile(r"[\d\s.,:;/'’%$€£¥₽+\-−–—()年月日]*\d[\d\s.,:;/'’%$€£¥₽+\-−–—()年月日TZ]*")
_YEAR = re.compile(r"(19|20)\d\d")
_MAX_NAME = 120
_DENSE = 0.6
"""Share of the columns that the first row of a header fills at least."""

Row = Sequence[Cell]


@dataclass(frozen=True)
class Header:
    """`names` of all columns, and where the header stands: `first` among the rows of the head, `rows` of them.

    A column without a name has an empty one. `merged` are the places of names made of a merged cell or of two rows.
    """

    names: tuple[str, ...]
    first: int
    rows: int
    merged: tuple[int, ...] = ()


def find_header(head: Head, merged: Sequence[Merged], wanted: int | None, file: str) -> Header:
    """Return the header: in the row `wanted`, counted from 1 as in the file, 0 for none, or where it seems to be.

    The first row is taken that fills most columns with words, and has rows below it.

    Raises:
        FileEmpty: there is no row.
        HeaderNotFound: no row can be it, or `wanted` is no row with cells.
    """
    if not any(_filled(row) for row in head.rows):
        raise FileEmpty(file, "")
    if wanted == 0:
        return Header(("",) * head.width, 0, 0)
    finder = _Finder(head, merged)
    first = finder.search() if wanted is None else finder.given(wanted)
    if first is None:
        below = "no row of words stands above rows of values" if wanted is None else f"row {wanted} has no cell"
        raise HeaderNotFound(file, below)
    return finder.header(first)


class _Finder:
    def __init__(self, head: Head, merged: Sequence[Merged]) -> None:
        self._head, self._rows = head, [_padded(row, head.width) for row in head.rows]
        self._spans = [(top, left, right) for top, left, _, right in merged if right > left]
        self._dense = max(self._covered(index) for index in range(len(self._rows)))

    def search(self) -> int | None:
        """Return the first row that can be a header; that of the groups, where they stand in a row above."""
        for index, row in enumerate(self._rows):
            is_dense = self._covered(index) >= _DENSE * self._dense
            if is_dense and self._is_header(row) and len(_filled(row)) >= min(2, self._dense):
                return index - 1 if index and self._has_two_rows(index - 1) else index
        return None

    def given(self, wanted: int) -> int | None:
        """Return the place of the row that the user counts as `wanted`."""
        numbers = self._head.numbers
        index = numbers.index(wanted - 1) if wanted - 1 in numbers else None
        return index if index is not None and _filled(self._rows[index]) else None

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
        """Tell whether the row `first` holds groups and the next one the names in them.

        Without merged cells the names below have to need the groups: they repeat, or are missing where a group is not.
        """
        if first + 2 >= len(self._rows):
            return False
        above, below = self._rows[first], self._rows[first + 1]
        is_words = len(_filled(above)) >= 2 and all(map(_is_word, _filled(above) + _filled(below)))
        blank = [place for place, cell in enumerate(above) if not cell.text.strip()]
        fills = [place for place in blank if below[place].text.strip()]
        if not is_words or not fills or not self._is_above_values(first + 1):
            return False
        names = [cell.text.strip() for cell in _filled(below)]
        missing = [place for place, cell in enumerate(below) if not cell.text.strip()]
        completed = bool(missing) and all(above[place].text.strip() for place in missing)
        return len(self._spans_of(first)) >= 2 or len(set(names)) < len(names) or completed

    def _is_above_values(self, index: int) -> bool:
        """Tell whether a column has a word in this row and no word in any row below."""
        for place, cell in enumerate(self._rows[index]):
            below = [row[place] for row in self._rows[index + 1 :] if row[place].text.strip()]
            if cell.text.strip() and below and not any(map(_is_word, below)):
                return True
        return False

    def _groups(self, first: int) -> list[str]:
        """Return the group over each column: that of a merged cell, else the nearest to the left over a name."""
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

    @staticmethod
    def _is_header(row: Row) -> bool:
        cells = _filled(row)
        return _is_word(cells[0]) and all(_is_word(cell) or _YEAR.fullmatch(cell.text.strip()) for cell in cells)


def column_names(header: Header, kept: Sequence[int]) -> tuple[list[str], list[Warning]]:
    """Return unique names for the columns in the places `kept`, and a warning for each that is not as in the file."""
    names: list[str] = []
    warnings = []
    used: set[str] = set()
    wanted = {header.names[place].casefold() for place in kept}
    for place in kept:
        was = header.names[place]
        name, number = was or f"column_{place + 1}", 2
        while name.casefold() in used or (name != was and name.casefold() in wanted):
            name, number = f"{was or f'column_{place + 1}'}_{number}", number + 1
        used.add(name.casefold())
        names.append(name)
        if not was:
            warnings.append(Warning("unnamed", name))
        elif name != was:
            warnings.append(Warning("renamed", name, {"was": was}))
        if place in header.merged:
            warnings.append(Warning("merged_header", name))
    return names, warnings


def _name(text: str) -> str:
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:_MAX_NAME]


def _filled(row: Row) -> list[Cell]:
    return [cell for cell in row if cell.text.strip()]


def _is_word(cell: Cell) -> bool:
    return not cell.is_value and not _VALUE.fullmatch(cell.text.strip())


def _padded(row: Row, width: int) -> Row:
    return [*row, *[Cell("")] * (width - len(row))]
