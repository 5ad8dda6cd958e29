"""Read the first rows of a text file with cells, and convert the rest to UTF-8 for DuckDB."""

import codecs
import csv
import io
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

from datasphinx.agent.datasets.blocks import Block, BlockScanner, Cell, Region, cells_of
from datasphinx.agent.datasets.dataset import Warning
from datasphinx.agent.datasets.dialect import (
    Dialect,
    detect_dialect,
    has_stray_quotes,
    read_rows,
    read_tolerantly,
    usual_width,
)
from datasphinx.agent.datasets.encoding import encoding_of
from datasphinx.agent.datasets.limits import READER_SHARE, Loading
from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.errors import FileUnreadable
from datasphinx.agent.messages import Message

_HEAD_CHARS = 1 << 20
_HEAD_ROWS, _HEAD_CELLS, _FEWEST_HEAD_ROWS = 200, 8_000, 20
"""Number of first rows among which a header is looked for: fewer rows of many cells."""
_CHUNK = 1 << 22
_MAX_SCANNED_BYTES = 10_000_000
"""Larger text files are taken as one table."""


Merged = tuple[int, int, int, int]
"""First row, first column, last row, last column, counted from 0."""


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
    is_hidden: bool = False
    """Whether the sheet is hidden."""
    first_row: int = 0
    """Row of the sheet, from 0, in which the cells begin."""
    left: int = 0
    """Column of the sheet, from 0, in which the cells begin."""
    epoch: str = "1899-12-30"
    """The day with the number 0."""
    hidden_rows: int = 0
    errors: int = 0
    """Number of cells with an error, such as `#DIV/0!`."""
    formulas: int = 0
    """Number of formulas without a stored result."""
    summaries: tuple[int, ...] = ()
    """Rows, from 0, whose formulas without results are totals of their columns, or other summaries."""
    blocks: tuple[Block, ...] = ()
    """Parts of the sheet between blank rows; empty if they are unknown."""
    heads: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict, hash=False)
    """Texts of the first rows of other sheets, in lower case; sheets that would take long to read are missing."""
    cropped_from: "CellFile | None" = None
    """The whole file, if this is a region of it."""

    def open(self) -> TextIO:
        """Open the file for reading as text with its own line ends."""
        return self.path.open(encoding=self.encoding, errors="replace", newline="")

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

    def below(self, index: int) -> "Head":
        """Return the rows from the index on."""
        return Head(self.rows[index:], self.numbers[index:], self.ends[index:])


def detect_text_file(path: Path, name: str, folder: Path, options: LoadOptions) -> tuple[CellFile, list[Warning]]:
    """Return the text file at `path` with its encoding and delimiter, and warnings about what was guessed.

    A file with other quotation marks than doubled double ones is written anew into `folder`.

    Raises:
        FileUnreadable: The file is not text.
    """
    encoding, is_guessed = (options.encoding, False) if options.encoding else encoding_of(path)
    found = CellFile(path, encoding, options.delimiter or "")
    lines = _lines(found, name)
    dialect = detect_dialect(lines, options.delimiter)
    warnings = [Warning("encoding_guessed", "", {"encoding": encoding})] if is_guessed else []
    found = replace(found, delimiter=dialect.delimiter)
    width = usual_width(lines, dialect)
    with path.open("rb") as raw:
        has_quotes = any(dialect.quote.encode() in data for data in iter(partial(raw.read, _CHUNK), b""))
    with found.open() as file:
        is_stray = has_quotes and dialect.is_standard and has_stray_quotes(file, dialect, width)
    if is_stray or not dialect.is_standard:
        target = folder / "text.csv"
        stray = _write_standard(found, dialect, width, target)
        if stray:
            warnings.append(Warning("stray_quotes", "", {"count": stray}))
        found = replace(found, path=target, encoding="utf-8", delimiter=",", cropped_from=found)
    if found.path.stat().st_size <= _MAX_SCANNED_BYTES:
        blocks = _blocks(found)
        whole = found.cropped_from and replace(found.cropped_from, blocks=blocks)
        found = replace(found, blocks=blocks, cropped_from=whole)
    return found, warnings


def _write_standard(cell_file: CellFile, dialect: Dialect, width: int, target: Path) -> int:
    """Write the rows of a file with commas and doubled quotes; return the number of rows with stray quotes."""
    stray = 0
    with cell_file.open() as source, target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        if not dialect.is_standard:
            writer.writerows(read_rows(source, dialect))
            return 0
        for row, is_odd in read_tolerantly(source, dialect.delimiter, width):
            writer.writerow(row)
            stray += is_odd
    return stray


def _blocks(cell_file: CellFile) -> tuple[Block, ...]:
    scanner = BlockScanner(1)
    with cell_file.open() as file:
        try:
            for row in csv.reader(file, delimiter=cell_file.delimiter):
                scanner.add(row)
        except csv.Error:
            return ()
    return scanner.blocks()


def _lines(cell_file: CellFile, name: str) -> list[str]:
    """Return the first lines with their line ends, without an incomplete last one."""
    try:
        with cell_file.open() as file:
            text = file.read(_HEAD_CHARS)
    except UnicodeError as error:
        raise FileUnreadable(name, Message("not_text_in_encoding", encoding=cell_file.encoding)) from error
    lines = list(io.StringIO(text, newline=""))
    if len(text) == _HEAD_CHARS:
        lines.pop()
        if not lines:
            raise FileUnreadable(name, Message("first_line_too_long", limit=_HEAD_CHARS))
    return lines


def read_head(cell_file: CellFile, name: str) -> Head:
    """Return the first rows of `cell_file`.

    Raises:
        FileUnreadable: The rows cannot be parsed.
    """
    lines = _lines(cell_file, name)
    reader = csv.reader(lines, delimiter=cell_file.delimiter)
    rows: list[tuple[Cell, ...]] = []
    numbers, ends = list[int](), list[int]()
    lengths = [0]
    for line in lines:
        lengths.append(lengths[-1] + len(line))
    try:
        for number, fields in zip(range(_HEAD_ROWS), reader, strict=False):
            if len(rows) >= _FEWEST_HEAD_ROWS and len(rows) * len(fields) > _HEAD_CELLS:
                break
            if fields:
                rows.append(cells_of(fields, paired=cell_file.paired))
                numbers.append(number)
                ends.append(lengths[reader.line_num])
    except csv.Error as error:
        raise FileUnreadable(name, str(error)) from error
    return Head(tuple(rows), tuple(numbers), tuple(ends))


def first_and_last_rows(cell_file: CellFile, first: int, last: int) -> list[tuple[int, tuple[str, ...]]]:
    """Return the first and the last rows with cells, each with its number from 1."""
    rows: list[tuple[int, tuple[str, ...]]] = []
    tail: deque[tuple[int, tuple[str, ...]]] = deque(maxlen=last)
    with cell_file.open() as file:
        for number, fields in enumerate(csv.reader(file, delimiter=cell_file.delimiter), 1):
            if any(map(str.strip, fields)):
                row = (number, tuple(cell.text for cell in cells_of(fields, paired=cell_file.paired)))
                rows.append(row) if len(rows) < first else tail.append(row)
    return [*rows, *tail]


def crop(cell_file: CellFile, region: Region, target: Path) -> CellFile:
    """Write the cells of a region of `cell_file` to `target` and return them as a file of their own."""
    step = 2 if cell_file.paired else 1
    fields = slice(region.left * step, (region.right + 1) * step)
    with cell_file.open() as source, target.open("w", encoding="utf-8", newline="") as file:
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
        summaries=tuple(row - region.first for row in cell_file.summaries if region.first <= row <= region.last),
        first_row=cell_file.first_row + region.first,
        left=cell_file.left + region.left,
        blocks=(),
        cropped_from=cell_file,
    )


def write_rest(cell_file: CellFile, start: int, target: Path, loading: Loading) -> tuple[int, bool]:
    """Write `cell_file` from the character `start` to `target` as UTF-8.

    Returns the number of undecodable characters, and whether there are blank lines.
    """
    size, replaced = max(1, cell_file.path.stat().st_size), 0
    has_blank_lines = False
    begin = READER_SHARE if cell_file.paired else 0.0
    decoder = codecs.getincrementaldecoder(cell_file.encoding)("replace")
    with cell_file.path.open("rb") as source, target.open("wb") as rest:
        for data in chain(iter(partial(source.read, _CHUNK), b""), (b"",)):
            text = decoder.decode(data, final=not data)
            text, start = text[start:], max(0, start - len(text))
            replaced += text.count("\ufffd")
            has_blank_lines = has_blank_lines or "\n\n" in text or "\n\r\n" in text
            rest.write(text.replace("\0", "").encode())
            loading.report_progress("read", begin + (0.3 - begin) * min(1.0, source.tell() / size))
    return replaced, has_blank_lines
