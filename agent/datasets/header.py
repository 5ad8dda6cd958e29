"""Find the header rows of a sheet, and build the column names from them."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from datasphinx.agent.datasets.blocks import Cell
from datasphinx.agent.datasets.cells import MISSING_MARKERS
from datasphinx.agent.datasets.dataset import Warning
from datasphinx.agent.datasets.numbers import read_number
from datasphinx.agent.datasets.periods import is_period, is_year, month_of
from datasphinx.agent.datasets.text_file import Head, Merged
from datasphinx.agent.errors import FileNotLoaded
from datasphinx.agent.messages import Message

_VALUE = re.compile(
    r"[<>≤≥~≈]?[\d\s.,:;/'’%$€£¥₽+\-−–—()年月日]*\d[\d\s.,:;/'’%$€£¥₽+\-−–—()年月日TZ]*(\*+|[†‡¹²³]+|\[\w{1,2}\])?"
)
_MAX_NAME = 120
_DENSE = 0.6
"""Minimum share of the columns that the first header row fills."""

_MAX_VALUE_ROWS = 3
"""The search for a header ends after this number of rows of values that fill most columns."""

_MAX_DEPTH = 5
"""Maximum number of detected header rows."""

_PREAMBLE_ROWS = 6
"""Number of rows below a row of words in which a fuller header may follow."""

_MIN_NUMBERED = 4
_MIN_SEQUENCE = 5
_MAX_ALIKE = 2
"""A header names at least this number of columns for each whose cells are like its name."""

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
        FileNotLoaded: There is no row, or `row_number` is not a row with cells.
    """
    if not any(_filled_cells(row) for row in head.rows):
        raise FileNotLoaded("file_empty", file=file, where="")
    finder = HeaderFinder(head, merged)
    first = None
    if row_number is None:
        first = finder.search()
    elif row_number:
        first = finder.index_of(row_number)
        if first is None:
            raise FileNotLoaded("header_not_found", file=file, reason=Message("row_without_cells", row=row_number))
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
    """Finds the header among the first rows of a table, by the kinds of the cells below each row."""

    def __init__(self, head: Head, merged: Sequence[Merged] = ()) -> None:
        """Use the rows of `head`; `merged` are the merged ranges of the sheet."""
        self._head = head
        width = head.width
        self._rows: list[Row] = [[*row, *[Cell("")] * (width - len(row))] for row in head.rows]
        self._kinds = [[_kind(cell) for cell in row] for row in self._rows]
        self._used = [place for place in range(width) if any(row[place].text.strip() for row in self._rows)]
        self._merged = [span for span in merged if span[1] < width]
        self._spans = [(top, left, right) for top, left, _, right in self._merged if right > left]
        self._max_filled = max(map(len, map(_filled_cells, self._rows)), default=0)
        self._found: dict[int, float | None] = {}
        self._rows_below: dict[int, list[int]] = {}

    @cached_property
    def _folded(self) -> list[list[str]]:
        return [[_plain(cell).casefold() for cell in row] for row in self._rows]

    @cached_property
    def _shapes(self) -> list[list[str]]:
        """The forms of the texts: letters as `a`, numbers as `9`."""
        texts = [[re.sub(r"[^\W\d_]+", "a", cell.text.strip()) for cell in row] for row in self._rows]
        return [[re.sub(r"\d+", "9", text) for text in row] for row in texts]

    @cached_property
    def _numbers(self) -> list[list[float | None]]:
        return [[_number(cell) for cell in row] for row in self._rows]

    def search(self) -> int | None:
        """Return the index of the first header row; None if the rows have values only, or the first ones do."""
        values = 0
        for index in range(len(self._rows)):
            if self._count_filled(index) < _DENSE * self._max_filled:
                continue
            worth = self._worth(index)
            if worth is not None and not any(self._is_data(above, index) for above in range(self._top(index))):
                return self._top(self._best_from(index, worth))
            # A row of words that differs from the rows below is a line above the table.
            values += worth is None and ("w" not in self._kinds[index] or self._is_data(index, index))
            if values == _MAX_VALUE_ROWS:
                return None
        return None

    def _best_from(self, first: int, worth: float) -> int:
        """Return the row of names: the row `first`, or one below that names the values better and continues it.

        A row that names no values is passed over if it is not full: it belongs to the lines above the table.
        """
        best = first
        is_full = len(_filled_cells(self._rows[first])) == self._max_filled
        is_line = not is_full or any(map(_is_typed, self._kinds[first]))
        for index in range(first + 1, min(first + _PREAMBLE_ROWS, len(self._rows))):
            found = self._worth(index) if self._count_filled(index) >= _DENSE * self._max_filled else None
            if found is not None and (self._continues(index, best, found - worth) or (is_line and found > 2 * worth)):
                best, worth = index, found
        return best

    def index_of(self, row_number: int) -> int | None:
        """Return the index of the row with this number in the file; None if it has no cells."""
        numbers = self._head.numbers
        index = numbers.index(row_number - 1) if row_number - 1 in numbers else None
        return index if index is not None and _filled_cells(self._rows[index]) else None

    def header(self, first: int, rows: int | None = None) -> Header:
        """Return the header that begins in the row `first`."""
        last = min(first + rows, len(self._rows)) - 1 if rows else self._last(first)
        if not rows and last == first:
            self._shift(first)
        parts = [self._groups(index, first, last) for index in range(first, last)] + [self._texts(last)]
        names = [_name(" ".join(dict.fromkeys(filter(None, texts)))) for texts in zip(*parts, strict=True)]
        places = tuple(place for place in range(len(names)) if sum(bool(texts[place]) for texts in parts) > 1)
        if last == first:
            for left, right in self._spans_of(first):
                names[left : right + 1] = [names[left]] * len(names[left : right + 1])
                places += tuple(range(left, min(right + 1, len(names))))
        if rows is None and self._has_numbering(last + 1):
            last += 1
        return Header(tuple(names), first, last - first + 1, places)

    def _last(self, first: int) -> int:
        """Return the row of names of the header that begins in the row `first`."""
        last, worth = first, self._worth(first) or 0.0
        for index in range(first + 1, min(first + _MAX_DEPTH, len(self._rows))):
            found = self._worth(index)
            if found is not None and self._continues(index, last, found - worth):
                last, worth = index, found
        return last

    def _continues(self, index: int, first: int, gain: float) -> bool:
        """Return whether a row continues the header in the row `first` and names the values as well, or alone apart."""
        names = [_plain(cell) for cell in _filled_cells(self._rows[first])]
        return self._top(index) <= first and (gain >= 0 or len(set(names)) < len(names))

    def _shift(self, first: int) -> None:
        """Move the names one column to the right if they are one too few and name the values better so.

        R writes the names of rows as a column without a name.
        """
        row, width = self._head.rows[first], self._head.width
        below = self._head.rows[first + 1 :]
        if len(row) != width - 1 or not below or any(len(each) != width for each in below):
            return
        before = self._worth(first) or 0.0
        kept = self._rows[first], self._kinds[first]
        self._rows[first], self._kinds[first] = [Cell(""), *row], ["", *kept[1][:-1]]
        self._found.pop(first, None)
        self._rows_below.pop(first, None)
        if (self._worth(first) or 0.0) <= before:
            self._rows[first], self._kinds[first] = kept
            self._rows_below.pop(first, None)

    def replaces(self, other: "HeaderFinder") -> bool:
        """Return whether the first row is a header that cannot be a row of values of the table of `other`.

        Each column that has values in the other table has another kind of cell here.
        """
        if self._worth(0) is None and not (len(self._rows) > 1 and self._top(1) == 0 and self._worth(1) is not None):
            return False
        typed = [(place, kind) for place in range(other._head.width) if _is_typed(kind := other._usual(place, -1)[0])]
        if not typed:
            return bool(self._worth(0)) or (len(self._rows) > 1 and bool(self._worth(1)))
        kinds = self._kinds[0]
        return all(place < len(kinds) and kinds[place] and not _are_alike(kinds[place], kind) for place, kind in typed)

    def _worth(self, index: int) -> float | None:
        """Return how well the row names the values below: the columns that it names, as far as their cells are alike.

        None if it cannot be a header: it has one cell or none below, is like the cells below it, or occurs again there.
        """
        if index not in self._found:
            if index + 1 < len(self._rows):
                self._found[index] = self._measure(index)
            else:
                # Words in the only row of a file are names.
                self._found[index] = None if index or any(map(_is_typed, self._kinds[index])) else 0.0
        return self._found[index]

    def _measure(self, index: int) -> float | None:
        cells = _filled_cells(self._rows[index])
        if len(cells) < min(2, self._max_filled) or self._texts(index) == self._texts(index + 1):
            return None
        named, alike, numbers, above_words = 0.0, 0, list[int](), list[int]()
        for place in self._used:
            kind, (usual, share) = self._kinds[index][place], self._usual(place, index)
            if not kind or not usual:
                continue
            if not _are_alike(kind, usual) and _is_typed(usual):
                named += share
            elif not _are_alike(kind, usual):
                above_words.append(place)
            elif not _is_typed(kind):
                text = self._rows[index][place].text.strip()
                named += self._shape_share(place, index)
                alike += any(self._rows[row][place].text.strip() == text for row in self._below(index))
            elif kind in _NUMBERS:
                numbers.append(place)
            else:
                alike += 1
        if any(not is_period(_plain(self._rows[index][place])) for place in above_words) or named:
            named -= len(above_words)
        if numbers and not self._are_names(index, numbers, named):
            alike += len(numbers)
        return None if named < 0 or _MAX_ALIKE * alike > named else named

    def _usual(self, place: int, index: int) -> tuple[str, float]:
        """Return the kind of most cells of a column below a row, and their share; empty if there is none."""
        kinds = Counter(kind for row in self._below(index) if (kind := self._kinds[row][place]))
        kind, count = max(kinds.items(), key=lambda item: item[1], default=("", 0))
        share = count / max(1, kinds.total())
        if kind in _NUMBERS and kinds["n"] and kinds["N"]:
            return "*", sum(kinds[each] for each in _NUMBERS) / kinds.total()
        return (kind, share) if share > 0.5 else ("w" if kinds else "", share)

    def _below(self, index: int) -> list[int]:
        """Return the indices of the rows below a row that do not repeat it."""
        if index not in self._rows_below:
            below = range(index + 1, len(self._rows))
            texts = self._folded[index] if index >= 0 else None
            self._rows_below[index] = [row for row in below if self._folded[row] != texts]
        return self._rows_below[index]

    def _shape_share(self, place: int, index: int) -> float:
        """Return 0.5 if all words below have one form, such as a letter and digits, and the word of the row another."""
        shapes = {shape for row in self._shapes[index + 1 :] if (shape := row[place])}
        has_form = len(shapes) == 1 and any("9" in shape for shape in shapes) and index + 2 < len(self._rows)
        return 0.5 if has_form and self._shapes[index][place] not in shapes else 0.0

    def _are_names(self, index: int, places: Sequence[int], named: float) -> bool:
        """Return whether numbers above numbers are names: years, or numbers that rise as in no row below."""
        numbers = [self._numbers[index][place] for place in places]
        if any(number is None for number in numbers):
            return False
        rows = [[self._numbers[row][place] for place in places] for row in self._below(index)]
        columns = [[number for number in column if number is not None] for column in zip(*rows, strict=True)]
        is_outside = all(
            column and not min(column) <= number <= max(column)
            for number, column in zip(numbers, columns, strict=True)
            if number is not None
        )
        steps = _steps(numbers)
        is_series = len(numbers) > 2 and len(steps) == 1 and 0 not in steps
        alike = [len(_steps(row)) == 1 for row in rows]
        if is_series and 2 * sum(_steps(row) == steps for row in rows) <= len(rows):
            return is_outside or named > 0 or not any(alike) or len(numbers) >= _MIN_SEQUENCE
        is_rising = all(step is not None and step > 0 for step in steps)
        are_years = all(is_year(_plain(self._rows[index][place])) for place in places)
        return is_rising and (named >= 2 or (is_outside and (named > 0 or are_years)))

    def fits(self, row_number: int, rows: int) -> bool:
        """Return whether a header of `rows` rows may begin in `row_number`, counted from 1; 0 for none.

        No row above it is like the rows below, and no value of its last row is like those below, years apart. Without
        a header, the first full row is like the rows below.
        """
        if not row_number:
            filled = [len(_filled_cells(row)) for row in self._rows]
            full = filled.index(self._max_filled)
            return self._is_data(full, full)
        first = self.index_of(row_number)
        if first is None:
            return False
        last = min(first + rows, len(self._rows)) - 1
        is_value = any(
            _is_typed(kind) and _are_alike(kind, self._usual(place, last)[0]) and not is_year(_plain(cell))
            for place, (cell, kind) in enumerate(zip(self._rows[last], self._kinds[last], strict=True))
        )
        if is_value and self._worth(last) is None:
            return False
        return not any(self._is_data(above, last) for above in range(first))

    def _is_data(self, index: int, header: int) -> bool:
        """Return whether a row above a header is like the rows below it."""
        filled = [place for place in self._used if self._kinds[index][place]]
        usual = [(self._kinds[index][place], self._usual(place, header)[0]) for place in filled]
        known = [(kind, below) for kind, below in usual if below]
        is_full = 2 * len(filled) > self._max_filled or len(filled) == len(_filled_cells(self._rows[header]))
        return bool(known) and is_full and all(_are_alike(kind, below) for kind, below in known)

    def _top(self, last: int) -> int:
        """Return the first row of the header whose names are in the row `last`: rows of groups may be above it."""
        top = last
        while top > 0 and last - top < _MAX_DEPTH - 1 and self._has_groups(top - 1):
            top -= 1
        return top

    def _has_groups(self, index: int) -> bool:
        """Return whether a row holds names of groups of the columns that the next row names, or completes its names.

        Names repeat in one of the two rows, the row fills blanks of the next one, its cells are merged or periods.
        """
        above, below = self._rows[index], self._rows[index + 1]
        groups, names = _filled_cells(above), [_plain(cell) for cell in _filled_cells(below)]
        if self._head.numbers[index] + 1 != self._head.numbers[index + 1]:
            return False
        named = {place for place, cell in enumerate(below) if cell.text.strip()}
        spans = [named & set(range(left, right + 1)) for left, right in self._spans_of(index)]
        is_merged = any(len(span) > 1 and (len(groups) > 1 or span < named) for span in spans)
        are_periods = bool(groups) and all(is_period(_plain(cell)) for cell in groups)
        if (len(groups) < 2 and not are_periods and not is_merged) or len(names) < 2:
            return False
        # The name of a group is a word or a period.
        if any(_is_typed(_kind(cell)) and not is_period(_plain(cell)) for cell in groups):
            return False
        blank = {place for place in self._used if not above[place].text.strip()}
        missing = [place for place in self._used if place not in named]
        is_completed = bool(missing) and not blank & set(missing)
        repeats = len(set(names)) < len(names) or any(
            _plain(left) == _plain(right) != "" for left, right in pairwise(above)
        )
        return is_merged or is_completed or repeats or (are_periods and bool(blank & named))

    def _has_numbering(self, index: int) -> bool:
        """Return whether the row below the header numbers the columns, as official forms do: А, Б, 1, 2, 3."""
        if index + 1 >= len(self._rows):
            return False
        texts = [cell.text.strip() for cell in self._rows[index]]
        numbers = [text for text in texts if text.isdigit()]
        letters = [place for place, text in enumerate(texts) if text and not text.isdigit()]
        below = self._rows[index + 1]
        return (
            len(numbers) + len(letters) >= _MIN_NUMBERED
            and len(numbers) > 1
            and numbers == [str(number) for number in range(1, len(numbers) + 1)]
            and all(len(texts[place]) == 1 and len(below[place].text.strip()) > 1 for place in letters)
            and (
                bool(letters)
                or any(text and not _is_typed(_kind(cell)) for text, cell in zip(texts, below, strict=True))
            )
        )

    def _texts(self, index: int) -> list[str]:
        """Return the texts of a row; dates are shown as years or months if each is the first day of one."""
        cells = self._rows[index]
        dates = [month_of(_plain(cell)) for cell in cells if cell.is_value and "-" in cell.text]
        firsts = [date[1:] for date in dates if date]
        is_each = bool(firsts) and len(firsts) == len(dates) and all(day == 1 for _, day in firsts)
        shown = 10 if not is_each else 4 if len(firsts) > 1 and all(month == 1 for month, _ in firsts) else 7
        return [_plain(cell)[:shown] if cell.is_value and "-" in cell.text else _plain(cell) for cell in cells]

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
        """Return the number of used columns with a cell in the row, a merged cell, or a group above."""
        filled = {place for place, cell in enumerate(self._rows[index]) if cell.text.strip()}
        number = self._head.numbers[index]
        for top, left, bottom, right in self._merged:
            if top <= number <= bottom:
                filled.update(range(left, right + 1))
        if index and self._has_groups(index - 1):
            filled.update(place for place, cell in enumerate(self._rows[index - 1]) if cell.text.strip())
        return len(filled & set(self._used))


def column_names(header: Header) -> tuple[list[str], list[Warning]]:
    """Return unique names for the columns, and a warning for each changed name."""
    names: list[str] = []
    warnings = []
    used_names: set[str] = set()
    originals = {name.casefold() for name in header.names}
    for place, original in enumerate(header.names):
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


def _kind(cell: Cell) -> str:
    """Return the kind of a cell: `w` for words, `n` and `N` for numbers as text and of a workbook, `d` for dates.

    Other values have their form as kind, such as `9-9` or `9%`; a missing value has none.
    """
    text = _plain(cell)
    if text.lower() in MISSING_MARKERS:
        return ""
    if cell.is_value:
        return "d" if _DATE.match(text) else "N" if _number(cell) is not None else _FORM.sub("9", text)
    if not _VALUE.fullmatch(text):
        return "w"
    form = _FORM.sub("9", text.rstrip("*†‡¹²³"))
    is_number = form == "9" and (text.count(".") < 2 or read_number(text))
    if not is_number and is_period(text):
        return "d"
    return "n" if form.strip("()$€£¥₽ ").lstrip("+-−–$€£¥₽ ").rstrip("- ") == "9" else form


_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_FORM = re.compile(r"\d(?:[\d.,'’\s]*\d)?")
_NUMBERS = ("n", "N", "*")
"""Kinds of numbers; `*` stands for both in a column."""


def _are_alike(kind: str, usual: str) -> bool:
    return kind == usual or (usual == "*" and kind in _NUMBERS)


def _is_typed(kind: str) -> bool:
    return kind not in ("", "w")


def _number(cell: Cell) -> float | None:
    text = _plain(cell).rstrip("*")
    if "," in text and (form := read_number(text)) and form.fits == {","}:
        text = text.replace(".", "").replace(",", ".")
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _steps(numbers: Sequence[float | None]) -> set[float | None]:
    """Return the differences between neighbours; None where one is missing."""
    return {None if left is None or right is None else right - left for left, right in pairwise(numbers)}


def _plain(cell: Cell) -> str:
    """Return the text of a cell with single spaces; of a date without the time 00:00:00."""
    return " ".join(cell.text.replace("\ufeff", "").split()).removesuffix(" 00:00:00")
