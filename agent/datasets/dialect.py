"""Find how a text file separates and quotes its cells, and read the rows of files that break the rules of quotes."""

import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

_DELIMITERS = ",;\t|"
_ROWS = 200
_MAX_SPAN = 1000
"""Maximum number of lines of a record."""

_BETWEEN_WORDS = re.compile(r"\S[,;\t|](?=\S)")
_NUMBER = re.compile(r"[^\w\s]{0,2}\d[\d.,'\s]*\D{0,2}")
_NO_DELIMITER = "\x1f"


class Dialect(NamedTuple):
    """The delimiter, the quotation mark, empty for none, and whether a backslash makes the next character a letter.

    If it `is_wrapped`, each line is a cell in quotation marks that holds the row.
    """

    delimiter: str
    quote: str = '"'
    has_escapes: bool = False
    is_wrapped: bool = False

    @property
    def is_standard(self) -> bool:
        """Whether quotes are double, and doubled inside of cells."""
        return self.quote == '"' and not self.has_escapes and not self.is_wrapped

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments for `csv.reader`."""
        return {
            "delimiter": self.delimiter,
            "quotechar": self.quote,
            "escapechar": "\\" if self.has_escapes else None,
            "doublequote": True,
        }


def detect_dialect(lines: Sequence[str], delimiter: str | None = None) -> Dialect:
    """Return the dialect by which rows are most alike: the same number of cells, and none with delimiters inside.

    Double quotes without escapes are the rule; another dialect has to be better.
    """
    delimiters = delimiter or _DELIMITERS
    best = max((Dialect(each) for each in delimiters), key=lambda dialect: _score(lines, dialect))
    wrapped = max((Dialect(each, is_wrapped=True) for each in delimiters), key=lambda each: _score(lines, each))
    if _are_wrapped(lines, wrapped):
        return wrapped
    others = [best._replace(has_escapes=True)] if any("\\" in line for line in lines) else []
    if any("'" in line for line in lines):
        others.append(best._replace(quote="'"))
    for other in others:
        if (_score(lines, other), _is_strict(lines, other)) > (_score(lines, best), _is_strict(lines, best)):
            best = other
    return best


def usual_width(lines: Sequence[str], dialect: Dialect) -> int:
    """Return the number of cells that most rows have."""
    widths = Counter(len(row) for row in _rows(lines, dialect) if row)
    return max(widths, key=lambda width: widths[width], default=1)


def _score(lines: Sequence[str], dialect: Dialect) -> tuple[float, int]:
    rows = [_trimmed(row) for row in _rows(lines, dialect)]
    widths = Counter(len(row) for row in rows if row)
    width, count = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]), default=(1, 0))
    if width == 1:
        return 0.0, 0
    cells = [cell for row in rows for cell in row if cell]
    whole = sum(not _BETWEEN_WORDS.search(cell) or _NUMBER.fullmatch(cell) is not None for cell in cells)
    return round(count / widths.total() * whole / max(1, len(cells)), 3), width


def _rows(lines: Sequence[str], dialect: Dialect) -> Iterator[list[str]]:
    # A quotation mark without a partner may turn the rest of the file into one cell.
    with suppress(csv.Error):
        yield from islice(read_rows(lines, dialect), _ROWS)


def read_rows(lines: Iterable[str], dialect: Dialect) -> Iterator[list[str]]:
    """Return the rows of lines without stray quotation marks."""
    if dialect.is_wrapped:
        # With a delimiter that no line has, a row without the quotation marks around it stays as it is.
        lines = ("".join(row) for row in csv.reader(lines, delimiter=_NO_DELIMITER))
    return csv.reader(lines, **dialect.arguments)


def _are_wrapped(lines: Sequence[str], dialect: Dialect) -> bool:
    """Return whether each line is a cell in quotation marks that holds a row.

    All rows have the same number of cells, and none begins with a blank, which words behind a comma do.
    """
    filled = [line.strip() for line in lines[:_ROWS] if line.strip()]
    if len(filled) < 2 or any(len(line) < 2 or line[0] != '"' or line[-1] != '"' for line in filled):
        return False
    rows = list(_rows(filled, dialect))
    is_even = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
    is_whole = not any('"' in line[1:-1].replace('""', "") for line in filled)
    return is_even and is_whole and not any(cell[:1] == " " for row in rows for cell in row)


def _trimmed(row: list[str]) -> list[str]:
    """Return a row without the blank cells at its end."""
    count = len(row)
    while count and not row[count - 1].strip():
        count -= 1
    return row[:count]


def _is_strict(lines: Sequence[str], dialect: Dialect) -> bool:
    try:
        for _ in islice(csv.reader(lines, strict=True, **dialect.arguments), _ROWS):
            pass
    except csv.Error:
        return False
    return True


def has_stray_quotes(lines: Iterable[str], dialect: Dialect, width: int) -> bool:
    """Return whether a quotation mark has no partner, or one that makes whole rows of `width` cells part of a cell."""
    read: list[str] = []

    def noted() -> Iterator[str]:
        for line in lines:
            read.append(line)
            yield line

    try:
        for _ in csv.reader(noted(), strict=True, **dialect.arguments):
            if len(read) > 1 and _are_rows(read, dialect.delimiter, width):
                return True
            read.clear()
    except csv.Error:
        return True
    return False


def read_tolerantly(lines: Iterable[str], delimiter: str, width: int) -> Iterator[tuple[list[str], bool]]:
    """Yield the rows of a file with double quotes, and whether a quotation mark in one was read as a letter.

    A cell ends at a quotation mark that a delimiter or the end of the line follows. A mark that has no such partner, or
    only one beyond lines that are rows themselves, is a letter.
    """
    source, waiting = iter(lines), deque[str]()
    while True:
        line = waiting.popleft() if waiting else next(source, None)
        if line is None:
            return
        record = [line]
        cells, is_open, is_odd = _split(line, delimiter)
        while is_open and len(record) < _MAX_SPAN:
            below = waiting[len(record) - 1] if len(record) <= len(waiting) else next(source, None)
            if below is None:
                break
            if len(record) > len(waiting):
                waiting.append(below)
            record.append(below)
            if '"' in below:
                cells, is_open, is_odd = _split("".join(record), delimiter)
        if is_open or (len(record) > 1 and _are_rows(record, delimiter, width)):
            cells, is_odd = _split_plainly(line, delimiter), True
        else:
            for _ in record[1:]:
                waiting.popleft()
        yield cells, is_odd


def _are_rows(lines: Sequence[str], delimiter: str, width: int) -> bool:
    """Return whether each line is a row of its own if quotation marks are letters."""
    return width > 1 and all(len(_split_plainly(line, delimiter)) == width for line in lines)


def _split_plainly(line: str, delimiter: str) -> list[str]:
    return line.rstrip("\r\n").split(delimiter)


def _split(record: str, delimiter: str) -> tuple[list[str], bool, bool]:
    """Return the cells of a record, whether a quotation mark is open at its end, and whether one is a letter."""
    end = re.escape(delimiter)
    pattern = re.compile(rf'"((?:""|"(?![{end}\r\n]|\Z)|[^"])*+)"|(?!")[^{end}]*+')
    text, cells, is_odd, place = record.rstrip("\r\n"), list[str](), False, 0
    while cell := pattern.match(text, place):
        quoted = cell[1]
        is_odd = is_odd or (quoted is not None and '"' in quoted.replace('""', ""))
        cells.append(cell[0] if quoted is None else quoted.replace('""', '"'))
        place = cell.end() + 1
        if place > len(text):
            return cells, False, is_odd
    return cells, True, is_odd
