"""Read the first rows of a text file with cells, and convert the rest to UTF-8 for DuckDB."""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from agent.datasets.blocks import Block, BlockScanner, Region
from agent.datasets.limits import READER_SHARE, Loading
from agent.errors import DriverMissing, FileUnreadable
from agent.messages import Message

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_EIGHT_BIT = ("gb18030", "cp1251", "cp1252", "latin_1")
_SAMPLE = 1 << 16


_HEAD_CHARS = 1 << 20
_HEAD_ROWS = 200
_DELIMITERS = ",;\t|"
_CHUNK = 1 << 22
_MAX_SCANNED_BYTES = 10_000_000
"""Larger text files are taken as one table."""


def encoding_of(path: Path) -> str:
    """Return Python's name for the encoding of the text at `path`.

    Checked in this order: the byte order mark, zeros in every second byte, valid UTF-8, the letter frequencies of
    eight-bit encodings. The fallback is latin-1, which decodes any bytes.

    Raises:
        DriverMissing: charset-normalizer is needed but not installed.
    """
    with path.open("rb") as file:
        head = file.read(_SAMPLE)
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return encoding
    if b"\0" in head:
        return "utf-16-le" if head[1::2].count(0) >= head[::2].count(0) else "utf-16-be"
    if _decodes(path, "utf-8"):
        return "utf-8"
    guess = _guess_eight_bit(path)
    return guess if _decodes(path, guess) else "latin-1"


def _guess_eight_bit(path: Path) -> str:
    """Return the likeliest eight-bit encoding of the first lines that are not plain ASCII."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        raise DriverMissing("charset-normalizer", "analyst") from None
    non_ascii = bytearray()
    with path.open("rb") as file:
        while len(non_ascii) < _SAMPLE and (lines := file.readlines(_CHUNK)):
            non_ascii += b"".join(line for line in lines if not line.isascii())
    sample = bytes(non_ascii[: _SAMPLE * 4])
    best = from_bytes(sample, cp_isolation=list(_EIGHT_BIT)).best()
    if best and best.encoding == "gb18030" and not _is_common_chinese(sample):
        best = from_bytes(sample, cp_isolation=list(_EIGHT_BIT[1:])).best()
    return best.encoding if best else "latin-1"


def _is_common_chinese(sample: bytes) -> bool:
    """Return whether most characters are punctuation or common; their first GB 2312 bytes are below D8.

    Pairs of lower-case Cyrillic letters decode to rare characters.
    """
    codes = [char.encode("gb18030") for char in sample.decode("gb18030", "ignore") if not char.isascii()]
    return 2 * sum(len(code) == 2 and code[0] < 0xD8 for code in codes) > len(codes)


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with path.open("rb") as file:
        try:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


Merged = tuple[int, int, int, int]
"""First row, first column, last row, last column, counted from 0."""


class Cell(NamedTuple):
    """A cell as text; `is_value` if the file stores it as a number, a date or a truth value."""

    text: str
    is_value: bool = False


@dataclass(frozen=True)
class CellFile:
    """A text file with cells. If `paired`, each cell has two fields: text, and a workbook value of another type."""

    path: Path
    encoding: str
    delimiter: str
    paired: bool = False
    merged: tuple[Merged, ...] = ()
    sheet: str | None = None
    sheets: tuple[str, ...] = ()
    first_row: int = 0
    """Row of the sheet, from 0, in which the cells begin."""
    left: int = 0
    """Column of the sheet, from 0, in which the cells begin."""
    hidden_rows: int = 0
    errors: int = 0
    """Number of cells with an error, such as `#DIV/0!`."""
    formulas: int = 0
    """Number of formulas without a stored result."""
    blocks: tuple[Block, ...] = ()
    """Parts of the sheet between blank rows; empty if they are unknown."""
    heads: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict, hash=False)
    """Texts of the first rows of other sheets, in lower case; sheets that would take long to read are missing."""
    cropped_from: "CellFile | None" = None
    """The whole file, if this is a region of it."""

    @property
    def whole(self) -> "CellFile":
        """The file of the user."""
        return self.cropped_from or self


@dataclass(frozen=True)
class Head:
    """The first rows of a file, each with its record number counted from 0."""

    rows: tuple[tuple[Cell, ...], ...]
    numbers: tuple[int, ...]
    ends: tuple[int, ...]
    """By row, the number of characters up to the end of its record."""

    @property
    def width(self) -> int:
        """Number of cells of the widest row."""
        return max((len(row) for row in self.rows), default=0)


def detect_text_file(path: Path, name: str) -> CellFile:
    """Return the text file at `path` with its encoding and delimiter.

    Raises:
        FileUnreadable: The file is not text in a supported encoding.
        DriverMissing: charset-normalizer is needed but not installed.
    """
    encoding = encoding_of(path)
    delimiter = _delimiter(_lines(path, encoding, name))
    blocks = _blocks(path, encoding, delimiter) if path.stat().st_size <= _MAX_SCANNED_BYTES else ()
    return CellFile(path, encoding, delimiter, blocks=blocks)


def _blocks(path: Path, encoding: str, delimiter: str) -> tuple[Block, ...]:
    scanner = BlockScanner(1)
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        try:
            for row in csv.reader(file, delimiter=delimiter):
                scanner.add(row)
        except csv.Error:
            return ()
    return scanner.blocks()


def _lines(path: Path, encoding: str, name: str) -> list[str]:
    """Return the first lines with their line ends, without an incomplete last one."""
    try:
        with path.open(encoding=encoding, newline="") as file:
            text = file.read(_HEAD_CHARS)
    except UnicodeError as error:
        raise FileUnreadable(name, Message("not_text_in_encoding", encoding=encoding)) from error
    lines = list(io.StringIO(text, newline=""))
    if len(text) == _HEAD_CHARS:
        lines.pop()
        if not lines:
            raise FileUnreadable(name, Message("first_line_too_long", limit=_HEAD_CHARS))
    return lines


def _delimiter(lines: list[str]) -> str:
    """Return the delimiter by which most rows have the same number of cells, and more than one."""

    def score(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in _records(lines, delimiter) if row)
        width, rows = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]), default=(1, 0))
        return (rows / max(1, widths.total()), width) if width > 1 else (0.0, 0)

    return max(_DELIMITERS, key=score)


def _records(lines: list[str], delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(lines, delimiter=delimiter)
    # A stray quotation mark may turn the rest of the file into one cell.
    with suppress(csv.Error):
        for _, row in zip(range(_HEAD_ROWS), reader, strict=False):
            yield row


def read_head(cell_file: CellFile, name: str) -> Head:
    """Return the first rows of `cell_file`.

    Raises:
        FileUnreadable: The rows cannot be parsed.
    """
    lines = _lines(cell_file.path, cell_file.encoding, name)
    reader = csv.reader(lines, delimiter=cell_file.delimiter)
    rows, numbers, ends = [], [], []
    lengths = [0]
    for line in lines:
        lengths.append(lengths[-1] + len(line))
    try:
        for number, fields in zip(range(_HEAD_ROWS), reader, strict=False):
            if fields:
                rows.append(_cells(fields, cell_file.paired))
                numbers.append(number)
                ends.append(lengths[reader.line_num])
    except csv.Error as error:
        raise FileUnreadable(name, str(error)) from error
    return Head(tuple(rows), tuple(numbers), tuple(ends))


def _cells(fields: list[str], paired: bool) -> tuple[Cell, ...]:
    if not paired:
        return tuple(map(Cell, fields))
    pairs = zip(fields[::2], fields[1::2], strict=True)
    return tuple(Cell(text or value, bool(value)) for text, value in pairs)


def crop(cell_file: CellFile, region: Region, target: Path) -> CellFile:
    """Write the cells of a region of `cell_file` to `target` and return them as a file of their own."""
    step = 2 if cell_file.paired else 1
    fields = slice(region.left * step, (region.right + 1) * step)
    with (
        cell_file.path.open(encoding=cell_file.encoding, errors="replace", newline="") as source,
        target.open("w", encoding="utf-8", newline="") as file,
    ):
        rows = csv.reader(source, delimiter=cell_file.delimiter)
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        width = (region.right - region.left + 1) * step
        for row in islice(rows, region.first, region.last + 1):
            cells = [cell.replace("\0", "") for cell in row[fields]]
            writer.writerow(cells + [""] * (width - len(cells)))
    merged = tuple(
        (max(top, region.first) - region.first, left - region.left, bottom - region.first, right - region.left)
        for top, left, bottom, right in cell_file.merged
        if top <= region.last and bottom >= region.first and region.left <= left and right <= region.right
    )
    return replace(
        cell_file,
        path=target,
        encoding="utf-8",
        delimiter=",",
        merged=merged,
        first_row=cell_file.first_row + region.first,
        left=cell_file.left + region.left,
        blocks=(),
        cropped_from=cell_file,
    )


def write_rest(cell_file: CellFile, start: int, target: Path, loading: Loading) -> tuple[int, bool]:
    """Write `cell_file` from the character `start` to `target` as UTF-8.

    Returns the number of undecodable characters, and whether there are blank lines.

    Raises:
        StatementCancelled: Loading was cancelled.
    """
    size, replaced = max(1, cell_file.path.stat().st_size), 0
    has_blank_lines = False
    begin = READER_SHARE if cell_file.paired else 0.0
    with (
        cell_file.path.open("rb") as raw,
        io.TextIOWrapper(raw, encoding=cell_file.encoding, errors="replace", newline="") as source,
        target.open("w", encoding="utf-8", newline="") as rest,
    ):
        source.read(start)
        while text := source.read(_CHUNK):
            replaced += text.count("\ufffd")
            has_blank_lines = has_blank_lines or "\n\n" in text or "\n\r\n" in text
            rest.write(text.replace("\0", ""))
            loading.report_progress("read", begin + (0.3 - begin) * min(1.0, raw.tell() / size))
    return replaced, has_blank_lines


def check_size(path: Path, loading: Loading) -> None:
    """Check the size of a file before anything reads it.

    Raises:
        FileTooLarge: The file has too many bytes.
    """
    if path.stat().st_size > loading.limits.max_bytes:
        raise loading.too_large("bytes")
