"""Find the header rows of a sheet, and build the column names from them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.datasets.cells import MISSING_MARKERS
from agent.datasets.dataset import Warning
from agent.datasets.periods import is_period, is_year, month_of
from agent.datasets.text_file import Cell, Head, Merged
from agent.errors import FileEmpty, HeaderNotFound
from agent.messages import Message

_VALUE = re.compile(
    r"[<>≤≥~≈]?[\d\s.,:;/'’%$€£¥₽+\-−–—()年月日]*\d[\d\s.,:;/'’%$€£¥₽+\-−–—()年月日TZ]*(\*+|[†‡¹²³]+|\[\w{1,2}\])?"
)
_MAX_NAME = 120
_DENSE = 0.6
"""Minimum share of the columns that the first header row fills."""

_MAX_VALUE_ROWS = 3
"""The search for a header ends after this number of rows of values that fill most columns."""

_MAX_DEPTH = 5
"""Maximum number of detected header rows, units not counted."""

_PREAMBLE_ROWS = 6
"""Number of rows below a row of words in which a fuller header may follow."""

_MAX_UNIT = 15
_MIN_NUMBERED = 4
_LETTERS = "АБВГABCDабв"
"""Letters that number the first columns of official forms."""

_MIN_SEQUENCE = 5
_MAX_WORDS = 0.2
"""Maximum share of words in a column of values."""

Row = Sequence[Cell]


@dataclass(frozen=True)
class Header:
    """The `names` of all columns, the index `first` of the header among the head's rows, and its number of `rows`.

    The name of an unnamed column is empty. `merged` are the indices of names built from a merged cell or from several
    rows. Without a header row, the names are the letters of the columns.
    """

    names: tuple[str, ...]
    first: int
    rows: int
    merged: tuple[int, ...] = ()


def find_header(
    head: Head,
    merged: Sequence[Merged],
    row_number: int | None,
    file: str,
    rows: int | None = None,
    left: int = 0,
) -> Header:
    """Return the header in `row_number`, counted from 1, 0 for none; if it is None, detect the header.

    The detected header is the first row that fills most columns with words or periods and has rows below it; a file
    whose rows all have values has no header. `rows` is the number of header rows, detected by default. `left` is the
    column of the sheet, from 0, in which the cells begin.

    Raises:
        FileEmpty: There is no row.
        HeaderNotFound: `row_number` is not a row with cells.
    """
    if not any(_filled_cells(row) for row in head.rows):
        raise FileEmpty(file, "")
    finder = HeaderFinder(head, merged)
    first = None
    if row_number is None:
        first = finder.search()
    elif row_number:
        first = finder.index_of(row_number)
        if first is None:
            raise HeaderNotFound(file, Message("row_without_cells", row=row_number))
    if first is None:
        return Header(tuple(column_letters(left + place) for place in range(head.width)), 0, 0)
    return finder.header(first, rows)


def column_letters(place: int) -> str:
    """Return the letters of a spreadsheet column, counted from 0.

    >>> column_letters(0), column_letters(27)
    ('A', 'AB')
    """
    letters = ""
    while place >= 0:
        letters, place = chr(ord("A") + place % 26) + letters, place // 26 - 1
    return letters


class HeaderFinder:
    """Finds the header among the first rows of a table."""

    def __init__(self, head: Head, merged: Sequence[Merged]) -> None:
        """Use the rows of `head`; `merged` are the merged ranges of the sheet."""
        self._head = head
        self._rows: list[Row] = [[*row, *[Cell("")] * (head.width - len(row))] for row in head.rows]
        self._spans = [(top, left, right) for top, left, _, right in merged if right > left]
        self._max_filled = max((self._count_filled(index) for index in range(len(self._rows))), default=0)

    def search(self) -> int | None:
        """Return the index of the first row that can be a header, or of the row of groups above it."""
        rows_of_values = 0
        for index, row in enumerate(self._rows):
            if self._count_filled(index) < _DENSE * self._max_filled:
                continue
            if self._is_header(index):
                last = self._after_preamble(index)
                # A row above may begin the header to which this row belongs.
                tops = (top for top in range(max(0, last - _MAX_DEPTH + 1), last) if top + self._depth(top) > last)
                return next(tops, last)
            rows_of_values += not all(map(_is_label, _filled_cells(row)))
            if rows_of_values == _MAX_VALUE_ROWS:
                return None
        return None

    def _after_preamble(self, index: int) -> int:
        """Return the row of names below a row of words that names no values; `index` if there is none."""
        if self._count_filled(index) == self._max_filled or self._is_above_values(index) or self._depth(index) > 1:
            return index
        for below in range(index + 1, min(index + _PREAMBLE_ROWS, len(self._rows))):
            is_fuller = self._count_filled(below) > self._count_filled(index)
            if is_fuller and self._is_header(below) and self._is_above_values(below):
                return below
        return index

    def index_of(self, row_number: int) -> int | None:
        """Return the index of the row with this number in the file; None if it has no cells."""
        numbers = self._head.numbers
        index = numbers.index(row_number - 1) if row_number - 1 in numbers else None
        return index if index is not None and _filled_cells(self._rows[index]) else None

    def header(self, first: int, rows: int | None = None) -> Header:
        """Return the header that begins in the row `first`."""
        count = min(rows or self._depth(first), len(self._rows) - first)
        last = first + count - 1
        parts = [self._groups(index, first, last) for index in range(first, last)] + [self._texts(last)]
        if rows is None and self._has_units(last + 1):
            last += 1
            parts.append(self._texts(last))
        names = [_name(" ".join(dict.fromkeys(filter(None, texts)))) for texts in zip(*parts, strict=True)]
        places = tuple(place for place in range(len(names)) if sum(bool(texts[place]) for texts in parts) > 1)
        if last == first:
            for left, right in self._spans_of(first):
                names[left : right + 1] = [names[left]] * len(names[left : right + 1])
                places += tuple(range(left, min(right + 1, len(names))))
        if rows is None and self._has_numbering(last + 1):
            last += 1
        return Header(tuple(names), first, last - first + 1, places)

    def replaces(self, other: "HeaderFinder") -> bool:
        """Return whether the first row is a header that cannot be a row of values of the table of `other`.

        Each column that has values in the other table has a word here.
        """
        if not self._is_header(0) and not (self._depth(0) > 1 and self._is_header(1)):
            return False
        places = [place for place in range(other._head.width) if other._has_values(place)]
        if not places:
            return self._is_above_values(0) or self._is_above_values(1)
        row = self._rows[0]
        return all(place < len(row) and row[place].text.strip() and _is_label(row[place]) for place in places)

    def _has_values(self, place: int) -> bool:
        """Return whether most filled cells of a column are not words."""
        cells = [row[place] for row in self._rows if row[place].text.strip()]
        return 2 * sum(not _is_word(cell) for cell in cells) > len(cells)

    def _is_header(self, index: int) -> bool:
        """Return whether the row holds only words, periods or a sequence of numbers, and can name the rows below."""
        row = self._rows[index]
        cells = _filled_cells(row)
        if len(cells) < min(2, self._max_filled):
            return False
        if not (_is_word(cells[0]) or (len(cells) > 1 and not row[0].text.strip())):
            return False
        if not (_is_sequence(cells) or all(map(_is_label, cells))):
            return False
        places = [place for place, cell in enumerate(row) if cell.text.strip() and not _is_word(cell)]
        if not places:
            return True
        is_one_date = len(places) == 1 and not is_year(row[places[0]].text)
        # A number below a year may look like a year.
        dates = [place for place in places if not is_year(row[place].text)]
        are_values = bool(dates) and all(self._is_above_periods(index, place) for place in dates)
        return index + 1 < len(self._rows) and not is_one_date and not are_values

    def _is_above_periods(self, index: int, place: int) -> bool:
        """Return whether all filled cells below the row in a column are periods."""
        below = [row[place] for row in self._rows[index + 1 :] if row[place].text.strip()]
        return bool(below) and all(is_period(_plain(cell)) for cell in below)

    def _depth(self, first: int) -> int:
        """Return the number of header rows from the row `first` on: rows of groups, and the names above the values."""
        for depth in range(min(_MAX_DEPTH, len(self._rows) - first - 1), 1, -1):
            last = first + depth - 1
            if self._is_above_values(last) and all(map(self._has_groups, range(first, last))):
                return depth
        return 1

    def _has_groups(self, first: int) -> bool:
        """Return whether the row `first` holds names of groups of the columns that the next row names.

        Without merged cells, the names must depend on the groups: they repeat, each column without one has a group name
        above it, or the groups are periods.
        """
        above, below = self._rows[first], self._rows[first + 1]
        groups = _filled_cells(above)
        are_periods = bool(groups) and all(is_period(_plain(cell)) for cell in groups)
        are_labels = (len(groups) >= 2 or are_periods) and all(map(_is_label, groups + _filled_cells(below)))
        blank = [place for place, cell in enumerate(above) if not cell.text.strip()]
        named = [place for place in blank if below[place].text.strip()]
        if not are_labels or not named:
            return False
        names = [cell.text.strip() for cell in _filled_cells(below)]
        missing = [place for place, cell in enumerate(below) if not cell.text.strip()]
        completed = bool(missing) and all(above[place].text.strip() for place in missing)
        is_merged = any(
            sum(bool(cell.text.strip()) for cell in below[left : right + 1]) > 1
            for left, right in self._spans_of(first)
        )
        return is_merged or len(set(names)) < len(names) or completed or are_periods

    def _has_units(self, index: int) -> bool:
        """Return whether the row holds the units of the columns of values below it."""
        if index + 2 >= len(self._rows):
            return False
        units = [place for place, cell in enumerate(self._rows[index]) if cell.text.strip()]
        below = self._rows[index + 1 :]
        values = [place for place in range(self._head.width) if _are_values(below, place)]
        is_short = all(
            _is_word(self._rows[index][place]) and len(self._rows[index][place].text.strip()) <= _MAX_UNIT
            for place in units
        )
        are_missing = any(self._rows[index][place].text.strip().lower() in MISSING_MARKERS for place in units)
        return (
            bool(units) and is_short and not are_missing and set(units) <= set(values) and 2 * len(units) > len(values)
        )

    def _has_numbering(self, index: int) -> bool:
        """Return whether the row below the header numbers the columns, as official forms do: А, Б, 1, 2, 3."""
        if index + 1 >= len(self._rows):
            return False
        texts = [cell.text.strip() for cell in self._rows[index]]
        numbers = [place for place, text in enumerate(texts) if text.isdigit()]
        letters = [place for place, text in enumerate(texts) if text and not text.isdigit()]
        is_sequence = [texts[place] for place in numbers] == [str(number) for number in range(1, len(numbers) + 1)]
        if (
            len(numbers) + len(letters) < _MIN_NUMBERED
            or len(numbers) < 2
            or not is_sequence
            or any(texts[place] not in _LETTERS for place in letters)
        ):
            return False
        below = self._rows[index + 1]
        if any(len(below[place].text.strip()) < 2 for place in letters):
            return False
        return bool(letters) or any(below[place].text.strip() and _is_word(below[place]) for place in numbers)

    def _is_above_values(self, index: int) -> bool:
        """Return whether a column has a word or a period in this row and mostly values below it."""
        below = self._rows[index + 1 + self._has_units(index + 1) :]
        return any(
            cell.text.strip() and _is_label(cell) and _are_values(below, place)
            for place, cell in enumerate(self._rows[index])
        )

    def _texts(self, index: int) -> list[str]:
        """Return the texts of a row; dates are shown as months if each is the first day of one."""
        cells = self._rows[index]
        dates = [month_of(_plain(cell)) for cell in cells if cell.is_value and "-" in cell.text]
        are_months = bool(dates) and all(date and date[2] == 1 for date in dates)
        return [
            _plain(cell)[:7] if are_months and cell.is_value and "-" in cell.text else _plain(cell) for cell in cells
        ]

    def _groups(self, index: int, first: int, last: int) -> list[str]:
        """Return the group of each column: from a merged cell, else the nearest one to the left in the group above."""
        below, spans, groups = self._rows[last], self._spans_of(index), self._texts(index)
        for place, (left, right) in enumerate(pairwise(range(len(groups))), start=1):
            covered = any(start <= left and right <= end for start, end in spans)
            if any(row[place].text.strip() for row in self._rows[first:index]):
                continue
            if not groups[place] and below[place].text.strip() and (covered or not spans):
                groups[place] = groups[place - 1]
        return groups

    def _spans_of(self, index: int) -> list[tuple[int, int]]:
        """Return the first and last columns of the merged cells of a row."""
        number = self._head.numbers[index]
        return [(left, right) for top, left, right in self._spans if top == number]

    def _count_filled(self, index: int) -> int:
        """Return the number of columns with a cell in the row, merged cells counted in full."""
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


def _filled_cells(row: Row) -> list[Cell]:
    return [cell for cell in row if cell.text.strip()]


def _is_word(cell: Cell) -> bool:
    """Return whether a cell is text other than a number, an amount or a date."""
    return not cell.is_value and not _VALUE.fullmatch(cell.text.strip())


def _is_label(cell: Cell) -> bool:
    """Return whether a cell can name a column: a word or a period."""
    return _is_word(cell) or is_period(_plain(cell))


def _plain(cell: Cell) -> str:
    """Return the text of a cell; of a date without the time 00:00:00."""
    return cell.text.strip().removesuffix(" 00:00:00")


def _is_sequence(cells: Sequence[Cell]) -> bool:
    """Return whether the cells after the first one count days, weeks or hours: 1, 2, 3, ..."""
    texts = [cell.text.strip() for cell in cells if not _is_word(cell)]
    return len(texts) >= _MIN_SEQUENCE and texts in ([str(first + at) for at in range(len(texts))] for first in (0, 1))


def _are_values(rows: Sequence[Row], place: int) -> bool:
    """Return whether most filled cells of a column are values."""
    cells = [row[place] for row in rows if row[place].text.strip()]
    known = [cell for cell in cells if cell.text.strip().lower() not in MISSING_MARKERS]
    return bool(known) and sum(map(_is_word, known)) <= _MAX_WORDS * len(known)
