"""Facts of an .xlsx workbook that its reader does not tell: hidden rows, errors, results of formulas, formats of cells.

They are searched for in the XML of the worksheets (ECMA-376, part 1, 18.2 and 18.3). This module runs in the process of
`datasphinx.agent.datasets.excel_process` and needs only the standard library.
"""

import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cached_property
from typing import IO, NamedTuple
from xml.etree.ElementTree import Element, iterparse

_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_STRICT_RELATION = "{http://purl.oclc.org/ooxml/officeDocument/relationships}id"
_CHUNK = 1 << 20
_HIDDEN = re.compile(rb'<row [^<>]*\bhidden="(?:1|true)"')
_ERROR = re.compile(rb'<c [^<>]*\bt="e"')
_NO_RESULT = re.compile(rb"<f(?: [^<>]*)?(?:/>|>[^<]*</f>)(?:<v ?/>|<v></v>)?</c>")
_ZERO_RESULT = re.compile(rb"</f><v>0</v></c>")
_FORMULA = re.compile(rb'<c r="([A-Z]+)(\d+)"[^<>]*><f(?: [^<>]*)?>([^<]*)</f>(?:<v ?/>|<v></v>|<v>(0)</v>)?</c>')
_NUMBER = re.compile(rb'<c r="[A-Z]+(\d+)"(?: s="\d+")?(?: t="n")?(?: s="\d+")?><v>')
_AREA = re.compile(rb"\$?([A-Z]{1,3})\$?(\d+)(?::\$?([A-Z]{1,3})\$?(\d+))?")
_SUMMARY = re.compile(rb"(?:\+?(?:A|(?:SUM|AVERAGE|MIN|MAX|MEDIAN|COUNTA?|SUBTOTAL)\((?:\d{1,3}, ?)?A(?:, ?A)*\)))+")
"""A formula that adds up areas, each an `A`, or summarizes them."""
_CELL = re.compile(rb'<c r="([^"]*)"([^<>]*)>(?:<f[^<>]*/>|<f[^<>]*>[^<]*</f>)?<v>([^<]*)</v>')
_TYPE = re.compile(rb'\bt="([^"]*)"')
_VALUES = {
    b"n": re.compile(rb"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*|NaN|-?INF|"),
    b"b": re.compile(rb"0|1|true|false|"),
    b"s": re.compile(rb"\d+|"),
    **dict.fromkeys((b"str", b"e", b"d", b"inlineStr"), re.compile(rb"[^<]*")),
}
"""What a cell of each type may hold (ECMA-376, part 1, 18.18.11)."""
_END = re.compile(rb"<(?:/(?:\w+:)?sheetData|(?:\w+:)?sheetData ?/)>.*</(?:\w+:)?worksheet>", re.DOTALL)
_REFERENCE = re.compile(rb"[A-Z]{1,3}[1-9]\d{0,6}")
_STYLED = re.compile(rb'<c r="([A-Z]+)(\d+)" s="(\d+)"(?: t="n")?><')
_MAX_REFERENCE = 20
_LITERAL = re.compile(r'"[^"]*"|\\.')
PERCENTS = {"9": "0%", "10": "0.00%"}
"""The formats of percentages that have no code in a workbook (ECMA-376, part 1, 18.8.30)."""


class Marks(NamedTuple):
    """The number of hidden rows of a worksheet, of cells with an error, and of formulas without a result or with 0."""

    hidden: int
    errors: int
    without_result: int
    zeros: int


class OpenXmlWorkbook:
    """The facts of one workbook."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        """Read the names of the sheets.

        Raises:
            ParseError, KeyError: A part is damaged or missing.
        """
        self._archive = archive
        self.epoch = date(1899, 12, 30)
        """The day with the number 0."""
        self._parts: dict[str, str] = {}
        self._is_calculated_later = False
        targets = {
            item.get("Id"): str(item.get("Target"))
            for item in self._elements("xl/_rels/workbook.xml.rels", "Relationship")
        }
        for item in self._elements("xl/workbook.xml", "sheet", "workbookPr", "calcPr"):
            if _local(item) == "calcPr":
                self._is_calculated_later = item.get("fullCalcOnLoad") in ("1", "true")
            elif _local(item) == "workbookPr":
                self.epoch = date(1904, 1, 1) if item.get("date1904") in ("1", "true") else self.epoch
            else:
                target = targets[item.get(_RELATION) or item.get(_STRICT_RELATION)]
                part = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"xl/{target}")
                self._parts[str(item.get("name"))] = part

    @property
    def sheets(self) -> list[str]:
        """The names of the sheets."""
        return list(self._parts)

    def marks(self, name: str) -> Marks:
        """Return the marks of a sheet; results of 0 count only if the workbook is to be calculated on opening."""
        # Most worksheets have none of them, and a text is found faster than a pattern.
        patterns = ((b' hidden="', _HIDDEN), (b' t="e"', _ERROR), (b"<f", _NO_RESULT), (b"</f><v>0<", _ZERO_RESULT))
        counts = [0] * len(patterns)
        for data in self._chunks(name):
            for at, (text, pattern) in enumerate(patterns):
                counts[at] += len(pattern.findall(data)) if text in data else 0
        marks = Marks(*counts)
        return marks if self._is_calculated_later else marks._replace(zeros=0)

    def summaries(self, name: str) -> list[int]:
        """Return the rows of a sheet, from 0, in which formulas without results summarize cells of their own columns.

        Rows with a number belong to the data.
        """
        found, numbers = set[int](), set[int]()
        for data in self._chunks(name):
            formulas = _FORMULA.findall(data) if b"<f" in data else ()
            found.update(
                int(row) - 1
                for letters, row, formula, zero in formulas
                if (self._is_calculated_later or not zero) and _is_summary(formula, letters, int(row))
            )
            numbers.update(int(row) - 1 for row in _NUMBER.findall(data))
        return sorted(found - numbers)

    def place_of_damage(self, names: Iterable[str]) -> tuple[str, str] | None:
        """Return the first of these sheets that is damaged, and its first cell that is; empty if that is no cell."""
        parts, shared = self._archive.namelist(), 0
        if "xl/sharedStrings.xml" in parts:
            shared = len(re.findall(rb"<(?:\w+:)?si[ />]", self._archive.read("xl/sharedStrings.xml")))
        for name in names:
            if self._parts.get(name) not in parts:
                return name, ""
            last = b""
            for last in self._chunks(name):
                for reference, attributes, value in _CELL.findall(last):
                    if _is_damaged(reference, attributes, value, shared):
                        return name, reference.decode("utf-8", "replace")[:_MAX_REFERENCE]
            if not _END.search(last):
                return name, ""
        return None

    def zero_padded(self, name: str) -> dict[int, int]:
        """Return the number of digits of the columns of a sheet, from 0, whose numbers are shown with leading zeros.

        The most frequent format near the start of the sheet tells.
        """
        digits = {style: len(code) for style, code in enumerate(self._formats) if len(code) > 1 and not code.strip("0")}
        if not digits:
            return {}
        counts: dict[bytes, Counter[int]] = {}
        with self._archive.open(self._parts[name]) as file:
            for letters, _, style in _STYLED.findall(file.read(_CHUNK)):
                counts.setdefault(letters, Counter())[int(style)] += 1
        found = {_place(letters): digits.get(count.most_common(1)[0][0], 0) for letters, count in counts.items()}
        return {place: count for place, count in found.items() if count}

    def percentages(self, name: str) -> Iterator[tuple[int, int]]:
        """Yield the row and column, from 0, of the cells of a sheet that are shown as percentages, row by row."""
        percents = {str(style).encode() for style, code in enumerate(self._formats) if is_percent(code)}
        for data in self._chunks(name) if percents else ():
            for letters, row, style in _STYLED.findall(data):
                if style in percents:
                    yield int(row) - 1, _place(letters)

    def _chunks(self, name: str) -> Iterator[bytes]:
        """Yield the XML of a sheet in parts that each end with a cell or a row."""
        rest = b""
        with self._archive.open(self._parts[name]) as file:
            while data := file.read(_CHUNK):
                data = rest + data
                end = max(0, data.rfind(b"<c "), data.rfind(b"<row "))
                data, rest = data[:end], data[end:]
                yield data
        yield rest

    @cached_property
    def _formats(self) -> list[str]:
        """The codes of the number formats by style; those that the standard defines are left blank but percentages."""
        codes = dict(PERCENTS)
        formats: list[str] = []
        if "xl/styles.xml" not in self._archive.namelist():
            return formats
        for item in self._elements("xl/styles.xml", "numFmt", "cellXfs"):
            if _local(item) == "numFmt":
                codes[item.get("numFmtId", "0")] = str(item.get("formatCode", ""))
            else:
                formats = [codes.get(each.get("numFmtId", "0"), "") for each in item]
        return formats

    def _elements(self, part: str, *names: str) -> Iterator[Element]:
        """Yield the elements with these local names when they end, and empty each afterwards."""
        with self._archive.open(part) as file:
            yield from _elements(file, names)


def is_percent(code: str) -> bool:
    """Return whether the code of a number format shows percentages."""
    return "%" in _LITERAL.sub("", code)


def _elements(file: IO[bytes], names: tuple[str, ...]) -> Iterator[Element]:
    for _, element in iterparse(file):
        if _local(element) in names:
            yield element
            element.clear()


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _is_summary(formula: bytes, letters: bytes, row: int) -> bool:
    """Return whether a formula in this cell summarizes at least two other cells of its column."""
    areas = [
        (first, last or first, int(top), int(bottom or top)) for first, top, last, bottom in _AREA.findall(formula)
    ]
    return (
        _SUMMARY.fullmatch(_AREA.sub(b"A", formula)) is not None
        and sum(bottom - top + 1 for *_, top, bottom in areas) > 1
        and all(first == last == letters and not top <= row <= bottom for first, last, top, bottom in areas)
    )


def _is_damaged(reference: bytes, attributes: bytes, value: bytes, shared: int) -> bool:
    """Return whether a cell is at no place of a sheet, of no known type, or not what its type says.

    `shared` is the number of texts that cells refer to.
    """
    kind = _TYPE.search(attributes)
    name = kind[1] if kind else b"n"
    allowed = _VALUES.get(name)
    if not allowed or not allowed.fullmatch(value) or not _REFERENCE.fullmatch(reference):
        return True
    return name == b"s" and bool(value) and int(value) >= shared


def _place(letters: bytes) -> int:
    """Return the place of a column, from 0, by its letters."""
    place = 0
    for letter in letters:
        place = place * 26 + letter - ord("A") + 1
    return place - 1
