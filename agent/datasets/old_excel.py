"""Facts of an .xls workbook that its reader does not tell: which cells are shown as percentages.

They are searched for in its records (MS-XLS), which are a file in an OLE file (MS-CFB). This module runs in the process
of `datasphinx.agent.datasets.excel_process` and needs only the standard library.
"""

from collections.abc import Iterator
from struct import unpack_from

from datasphinx.agent.datasets.open_xml import PERCENTS, is_percent

_LAST_SECTOR = 0xFFFFFFFA
_BOF, _EOF, _SHEET, _FORMAT, _STYLE = 0x809, 0x0A, 0x85, 0x41E, 0xE0
_CELLS = (0x203, 0x27E, 0x06)
"""The records of cells with a number: Number, RK and Formula."""
_ROW_OF_CELLS = 0xBD
_ENTRY = 128


class OldWorkbook:
    """The number formats of one workbook."""

    def __init__(self, data: bytes) -> None:
        """Read the formats and the places of the sheets.

        Raises:
            struct.error, IndexError, ValueError: The file is damaged.
        """
        self._stream = _stream(data)
        codes, styles = dict(PERCENTS), list[str]()
        self._starts: dict[str, int] = {}
        for kind, at, _ in _records(self._stream, 0):
            if kind == _FORMAT:
                number, count, is_wide = unpack_from("<HHB", self._stream, at)
                codes[str(number)] = _text(self._stream, at + 5, count, is_wide)
            elif kind == _STYLE:
                styles.append(str(unpack_from("<H", self._stream, at + 2)[0]))
            elif kind == _SHEET:
                place, _, count, is_wide = unpack_from("<IHBB", self._stream, at)
                self._starts[_text(self._stream, at + 8, count, is_wide)] = place
        self._percents = {style for style, number in enumerate(styles) if is_percent(codes.get(number, ""))}

    def percentages(self, sheet: str) -> Iterator[tuple[int, int]]:
        """Yield the row and column, from 0, of the cells of a sheet that are shown as percentages, row by row.

        Raises:
            struct.error, IndexError, ValueError: The file is damaged.
        """
        if self._percents and sheet in self._starts:
            cells = _numbers(self._stream, self._starts[sheet])
            yield from sorted((row, place) for row, place, style in cells if style in self._percents)


def _numbers(stream: bytes, start: int) -> Iterator[tuple[int, int, int]]:
    """Yield row, column and style of each number of the sheet that begins at `start`."""
    for kind, at, size in _records(stream, start):
        if kind in _CELLS:
            yield unpack_from("<HHH", stream, at)
        elif kind == _ROW_OF_CELLS:
            row, first = unpack_from("<HH", stream, at)
            for number in range((size - 6) // 6):
                yield row, first + number, unpack_from("<H", stream, at + 4 + 6 * number)[0]


def _records(stream: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield the kind, the place and the size of each record from `at` to the end of its part, without parts in it."""
    depth = 0
    while True:
        kind, size = unpack_from("<HH", stream, at)
        depth += (kind == _BOF) - (kind == _EOF)
        if depth <= 0:
            return
        if depth == 1:
            yield kind, at + 4, size
        at += 4 + size


def _text(stream: bytes, at: int, count: int, is_wide: int) -> str:
    return stream[at : at + 2 * count].decode("utf-16-le") if is_wide & 1 else stream[at : at + count].decode("latin-1")


def _stream(data: bytes) -> bytes:
    """Return the file `Workbook` in an OLE file."""
    size = 1 << unpack_from("<H", data, 30)[0]
    numbers = f"<{size // 4}I"

    def sector(number: int) -> bytes:
        return data[(number + 1) * size : (number + 2) * size]

    def chain(number: int) -> bytes:
        parts = list[bytes]()
        while number < _LAST_SECTOR and len(parts) <= len(table):
            parts.append(sector(number))
            number = table[number]
        return b"".join(parts)

    places, further = [*unpack_from("<109I", data, 76)], unpack_from("<I", data, 68)[0]
    while further < _LAST_SECTOR and len(places) * size < len(data):
        *more, further = unpack_from(numbers, sector(further))
        places += more
    table = [number for place in places if place < _LAST_SECTOR for number in unpack_from(numbers, sector(place))]
    directory = chain(unpack_from("<I", data, 48)[0])
    for at in range(0, len(directory), _ENTRY):
        length, first, count = (
            unpack_from(form, directory, at + place)[0] for form, place in (("<H", 64), ("<I", 116), ("<I", 120))
        )
        if directory[at : at + max(0, length - 2)].decode("utf-16-le", "replace") == "Workbook":
            return chain(first)[:count]
    raise ValueError("no workbook")
