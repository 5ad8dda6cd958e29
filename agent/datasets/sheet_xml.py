"""Split the XML of a worksheet into rows and cells by regular expressions, several times as fast as an XML parser.

This works for the notation of the common writers. Anything else is refused, never skipped, so that the caller can use
an XML parser. It runs in the process of `datasphinx.agent.datasets.excel_process` and needs only the standard library.
"""

import codecs
import re
from collections import Counter
from collections.abc import Generator, Iterator
from typing import IO, NamedTuple

_CHUNK = 1 << 20
_MAX_PROLOGUE = 1 << 20
_MAX_ROW = 1 << 24
"""In characters, as the others."""

_START = re.compile(r'\ufeff?(?:<\?xml version="1\.0"(?: encoding="(?i:utf-8)")?[^<>]*\?>)?\s*<worksheet [^<>]*>')
_DATA, _DATA_END, _ROW_END = "<sheetData>", "</sheetData>", "</row>"
_ROW = re.compile(r'\s*<row(?: r="(\d+)")?(?: [\w:]+="[^"<>&]*")*\s?(/)?>')
_CELL = re.compile(
    r'(<c r="([A-Z]+)\d+"(?: s="(\d+)"|)(?: t="(\w+)"|)(?: [cv]m="\d+")*'
    r"(?:/>|>(?:<f[^<>]*/>|<f[^<>]*>[^<>]*</f>|)"
    r'(?:<v>([^<>&\r]*)</v>|<v/>|<is><t(?: xml:space="preserve"|)>([^<>&\r]*)</t></is>|)</c>))'
)
_MERGED = re.compile(r'<mergeCell ref="([A-Z]+\d+(?::[A-Z]+\d+)?)"\s?/>')

_HIDDEN = re.compile(rb'<row [^<>]*\bhidden="(?:1|true)"')
_ERROR = re.compile(rb'<c [^<>]*\bt="e"')
_NO_RESULT = re.compile(rb"<f(?: [^<>]*)?(?:/>|>[^<]*</f>)(?:<v ?/>|<v></v>)?</c>")
_ZERO_RESULT = re.compile(rb"</f><v>0</v></c>")
_STYLED = re.compile(rb'<c r="([A-Z]+)\d+" s="(\d+)"(?: t="n")?><')

XmlCell = tuple[str, str, str, str, str, str]
"""The whole cell, the letters of its column, its format, type, value, and inline text; empty if it has none."""


class NotPlain(Exception):
    """The sheet has another notation; the rows before are right."""


def split_rows(file: IO[bytes]) -> Generator[tuple[int | None, list[XmlCell]], None, list[str]]:
    """Yield the number of each row, None if it is not stated, and its cells; return the references of merged ranges.

    Raises:
        NotPlain: The sheet has another notation.
    """
    texts = _texts(file)
    text = ""
    while _DATA not in text:
        text += _next(texts)
        if "<!" in text or len(text) > _MAX_PROLOGUE:
            raise NotPlain
    if not _START.match(text):
        raise NotPlain
    at = text.index(_DATA) + len(_DATA)
    while True:
        row = _ROW.match(text, at)
        end = -1 if row is None else row.end() if row[2] else text.find(_ROW_END, row.end())
        if row is None or end < 0:
            text, at = text[at:].lstrip(), 0
            if text.startswith(_DATA_END):
                text += "".join(texts)
                merged = _MERGED.findall(text)
                if "<!" in text or len(merged) != len(re.findall(r"mergeCell\b", text)):
                    raise NotPlain
                return merged
            if len(text) > _MAX_ROW:
                raise NotPlain
            text += _next(texts)
            continue
        cells: list[XmlCell] = _CELL.findall(text, row.end(), end)
        if sum(len(cell[0]) for cell in cells) != end - row.end():
            raise NotPlain
        yield int(row[1]) if row[1] else None, cells
        at = end if row[2] else end + len(_ROW_END)


class Marks(NamedTuple):
    """The number of hidden rows of a worksheet, of cells with an error, and of formulas without a result or with 0."""

    hidden: int = 0
    errors: int = 0
    without_result: int = 0
    zeros: int = 0


def count_marks(file: IO[bytes]) -> Marks:
    """Return the marks of a worksheet."""
    marks, rest = Marks(), b""
    while data := file.read(_CHUNK):
        data = rest + data
        # A cell may continue in the next part.
        end = max(0, data.rfind(b"<c "), data.rfind(b"<row "))
        data, rest = data[:end], data[end:]
        marks = _added(marks, data)
    return _added(marks, rest)


def _added(marks: Marks, data: bytes) -> Marks:
    patterns = (_HIDDEN, _ERROR, _NO_RESULT, _ZERO_RESULT)
    return Marks(*(count + len(pattern.findall(data)) for count, pattern in zip(marks, patterns, strict=True)))


def styles_of(file: IO[bytes]) -> dict[str, str]:
    """Return the most frequent format of the numbers of each column near the start of a worksheet, by its letters."""
    counts: dict[str, Counter[str]] = {}
    for letters, style in _STYLED.findall(file.read(_CHUNK)):
        counts.setdefault(letters.decode(), Counter())[style.decode()] += 1
    return {letters: count.most_common(1)[0][0] for letters, count in counts.items()}


def _texts(file: IO[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while data := file.read(_CHUNK):
            if text := decoder.decode(data):
                yield text
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise NotPlain from None


def _next(texts: Iterator[str]) -> str:
    for text in texts:
        return text
    raise NotPlain
