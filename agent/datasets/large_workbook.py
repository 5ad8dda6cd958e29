"""Read the sheets of a large .xlsx workbook row by row, in little memory.

The usual reader holds all cells of a sheet at once. This one holds one row and the shared strings (ECMA-376, part 1,
18.3 and 18.4). It runs in the process of `datasphinx.agent.datasets.excel_process` and needs only the standard library.
"""

import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import Element, iterparse

from datasphinx.agent.datasets.sheet_xml import Marks, NotPlain, XmlCell, count_marks, split_rows, styles_of

LARGE_BYTES = 200_000_000
"""Unpacked size of a worksheet above which this reader is used."""

CellValue = float | bool | date | datetime | time | timedelta | str
_DATE_FORMATS = {*range(14, 18), 22, *range(27, 37), *range(50, 59)}
_TIME_FORMATS = {18, 19, 20, 21, 45, 47}
_ELAPSED = 46
_IGNORED = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]')
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_STRICT_RELATION = "{http://purl.oclc.org/ooxml/officeDocument/relationships}id"
_DIGITS = "0123456789"


@dataclass
class StreamedSheet:
    """A worksheet: `rows` can be iterated once; `merged` is complete after that."""

    name: str
    is_visible: bool
    part: str
    merged: list[list[int]] = field(default_factory=list)


class LargeWorkbook:
    """A workbook whose sheets are read row by row."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        """Read the names of the sheets.

        Raises:
            ParseError, KeyError: A part is damaged or missing.
        """
        self._archive = archive
        self._letters: dict[str, int] = {}
        self._strings: list[str] = []
        self._kinds: list[str] = []
        targets = {
            item.get("Id"): str(item.get("Target"))
            for item in self._elements("xl/_rels/workbook.xml.rels", "Relationship")
        }
        self.epoch = datetime(1899, 12, 30)
        self.sheets: list[StreamedSheet] = []
        self._zeros: dict[int, int] = {}
        self._is_calculated_later = False
        for item in self._elements("xl/workbook.xml", "sheet", "workbookPr", "calcPr"):
            if _local(item) == "calcPr":
                self._is_calculated_later = item.get("fullCalcOnLoad") in ("1", "true")
                continue
            if _local(item) == "workbookPr":
                if item.get("date1904") in ("1", "true"):
                    self.epoch = datetime(1904, 1, 1)
                continue
            target = targets[item.get(_RELATION) or item.get(_STRICT_RELATION)]
            part = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"xl/{target}")
            if "worksheets" in part:
                self.sheets.append(
                    StreamedSheet(str(item.get("name")), item.get("state", "visible") == "visible", part)
                )

    def rows(self, sheet: StreamedSheet, max_rows: int) -> Iterator[list[CellValue]]:
        """Yield the rows from the first row of the sheet on, blank ones included, up to one more than `max_rows`."""
        self._read_formats()
        done = 0
        try:
            for row in self._split_rows(sheet, max_rows):
                yield row
                done += 1
        except NotPlain:
            sheet.merged.clear()
            yield from islice(self._parsed_rows(sheet, max_rows), done, None)

    def marks(self, name: str) -> Marks:
        """Return the marks of a sheet; results of 0 count only if the workbook is to be calculated on opening."""
        with self._archive.open(self._part(name)) as file:
            found = count_marks(file)
        return found if self._is_calculated_later else found._replace(zeros=0)

    def zero_padded(self, name: str) -> dict[int, int]:
        """Return the number of digits of the columns of a sheet, from 0, whose numbers are shown with leading zeros."""
        self._read_formats()
        with self._archive.open(self._part(name)) as file:
            styles = styles_of(file)
        digits = {letters: self._zeros.get(int(style), 0) for letters, style in styles.items()}
        return {self._place(letters): count for letters, count in digits.items() if count}

    def _part(self, name: str) -> str:
        (part,) = [sheet.part for sheet in self.sheets if sheet.name == name]
        return part

    def _read_formats(self) -> None:
        """Read the formats and the shared strings, unless they are known."""
        members = set(self._archive.namelist())
        if "xl/styles.xml" in members and not self._kinds:
            self._kinds = self._read_kinds()
        if "xl/sharedStrings.xml" in members and not self._strings:
            self._strings = [_texts(item) for item in self._elements("xl/sharedStrings.xml", "si")]

    def _split_rows(self, sheet: StreamedSheet, max_rows: int) -> Iterator[list[CellValue]]:
        """Do as `rows` without an XML parser.

        Raises:
            NotPlain: The sheet is not in the notation of the common writers.
        """
        number = 0
        with self._archive.open(sheet.part) as file:
            rows = split_rows(file)
            while True:
                try:
                    stated, cells = next(rows)
                except StopIteration as end:
                    sheet.merged.extend(map(self._range, end.value))
                    return
                place = min(stated or number + 1, max_rows + 1)
                while number < place - 1:
                    number += 1
                    yield []
                number += 1
                yield self._plain_row(cells)
                if number > max_rows:
                    return

    def _plain_row(self, cells: Sequence[XmlCell]) -> list[CellValue]:
        values: list[CellValue] = []
        places, strings, kinds = self._letters, self._strings, self._kinds
        for whole, letters, style, kind, text, inline in cells:
            place = places[letters] if letters in places else self._place(letters)
            if place != len(values):
                if place < len(values) or whole.endswith("/>"):
                    continue
                values.extend([""] * (place - len(values)))
            if not text:
                values.append(inline)
            elif kind == "s":
                values.append(strings[int(text)])
            elif kind and kind != "n":
                values.append(text == "1" if kind == "b" else "" if kind == "e" else text)
            elif style and int(style) < len(kinds) and kinds[int(style)]:
                values.append(self._time(float(text), kinds[int(style)]))
            else:
                values.append(float(text))
        return values

    def _parsed_rows(self, sheet: StreamedSheet, max_rows: int) -> Iterator[list[CellValue]]:
        """Do as `rows` with an XML parser."""
        number = 0
        for item in self._elements(sheet.part, "row", "mergeCell"):
            if _local(item) == "mergeCell":
                sheet.merged.append(self._range(str(item.get("ref"))))
                continue
            place = min(int(item.get("r") or number + 1), max_rows + 1)
            while number < place - 1:
                number += 1
                yield []
            number += 1
            yield self._row(item)
            if number > max_rows:
                return

    def _row(self, row: Element) -> list[CellValue]:
        values: list[CellValue] = []
        for cell in row:
            reference = cell.get("r")
            place = self._place(reference) if reference else len(values)
            if len(cell) and place >= len(values):
                values.extend([""] * (place - len(values)))
                values.append(self._value(cell))
        return values

    def _value(self, cell: Element) -> CellValue:
        kind, text = cell.get("t", "n"), ""
        for child in cell:
            name = _local(child)
            if name == "v":
                text = child.text or ""
            elif name == "is":
                return _texts(child)
        if kind == "s":
            return self._strings[int(text)] if text else ""
        if kind == "b":
            return text == "1"
        if kind != "n" or not text:
            return "" if kind == "e" else text
        number = float(text)
        style = int(cell.get("s", "0"))
        return self._time(number, self._kinds[style]) if style < len(self._kinds) and self._kinds[style] else number

    def _time(self, days: float, kind: str) -> CellValue:
        """Return the date or time that a number of days means; the number itself if it is outside of the calendar."""
        try:
            elapsed = timedelta(seconds=round(days * 86_400, 3))
            if kind == "elapsed":
                return elapsed
            moment = self.epoch + elapsed
        except OverflowError:
            return days
        if kind == "time" and days < 1:
            return moment.time()
        return moment.date() if kind == "date" and days.is_integer() else moment

    def _read_kinds(self) -> list[str]:
        """Return the kind of time of each cell format: `date`, `time`, `elapsed`, or empty for a plain number."""
        codes: dict[int, str] = {}
        formats: list[int] = []
        for item in self._elements("xl/styles.xml", "numFmt", "cellXfs"):
            if _local(item) == "numFmt":
                codes[int(item.get("numFmtId", "0"))] = str(item.get("formatCode", ""))
            else:
                formats = [int(each.get("numFmtId", "0")) for each in item]
        padded = {style: codes.get(number, "") for style, number in enumerate(formats)}
        self._zeros = {style: len(code) for style, code in padded.items() if len(code) > 1 and not code.strip("0")}
        return [_kind(number, codes.get(number, "")) for number in formats]

    def _elements(self, part: str, *names: str) -> Iterator[Element]:
        """Yield the elements with these local names when they end, and empty each afterwards."""
        with self._archive.open(part) as file:
            yield from _elements(file, names)

    def _place(self, reference: str) -> int:
        letters = reference.rstrip(_DIGITS)
        place = self._letters.get(letters)
        if place is None:
            place = 0
            for letter in letters:
                place = place * 26 + ord(letter.upper()) - ord("A") + 1
            place = self._letters[letters] = place - 1
        return place

    def _range(self, reference: str) -> list[int]:
        first, _, last = reference.partition(":")
        corners = [
            [int(corner.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")) - 1, self._place(corner)]
            for corner in (first, last or first)
        ]
        return [*corners[0], *corners[1]]


def is_large(path: Path) -> bool:
    """Return whether a workbook has a worksheet that should be read row by row."""
    if path.suffix not in (".xlsx", ".xlsm"):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(item.file_size > LARGE_BYTES for item in archive.infolist() if "worksheets/" in item.filename)


def _elements(file: IO[bytes], names: tuple[str, ...]) -> Iterator[Element]:
    for _, element in iterparse(file):
        if _local(element) in names:
            yield element
            element.clear()


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _texts(item: Element) -> str:
    """Return the text of a shared or inline string, without phonetic hints."""
    runs = [item, *(child for child in item if _local(child) == "r")]
    return "".join(child.text or "" for run in runs for child in run if _local(child) == "t")


def _kind(number: int, code: str) -> str:
    if number in _DATE_FORMATS:
        return "date"
    if number in _TIME_FORMATS:
        return "time"
    plain = _IGNORED.sub("", code).lower()
    if number == _ELAPSED or re.search(r"\[[hms]+\]", plain):
        return "elapsed"
    if re.search(r"[yd]", plain) or "mmm" in plain:
        return "date"
    return "time" if re.search(r"[hs]", plain) else ""
