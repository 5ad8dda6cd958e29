"""Binary workbooks (.xlsb) of one sheet, record by record as MS-XLSB has them: nothing installed writes them."""

import io
import struct
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date

import xlwt

_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_EXCEL = "application/vnd.ms-excel"
_TYPES = {
    "workbook": f"{_EXCEL}.sheet.binary.macroEnabled.main",
    "worksheets/sheet1": f"{_EXCEL}.worksheet",
    "sharedStrings": f"{_EXCEL}.sharedStrings",
    "styles": f"{_EXCEL}.styles",
}
_DATE_FORMAT = 14
_DATE_STYLE = 1


def record(kind: int, content: bytes = b"") -> bytes:
    """A record: kind and length in seven bits a byte, then its content (MS-XLSB, section 2.1.4)."""
    return _packed(kind) + _packed(len(content)) + content


def _packed(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found, number = found + bytes([number & 0x7F | 0x80]), number >> 7
    return found + bytes([number])


def _text(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def _cell(column: int, value: object, texts: list[str]) -> bytes:
    style = _DATE_STYLE if isinstance(value, date) else 0
    head = struct.pack("<II", column, style)
    if isinstance(value, str):
        texts.append(value)
        return record(7, head + struct.pack("<I", len(texts) - 1))
    if isinstance(value, bool):
        return record(4, head + bytes([value]))
    number = (value - date(1899, 12, 30)).days if isinstance(value, date) else value
    return record(5, head + struct.pack("<d", number))


def _sheet(rows: Sequence[Sequence[object]], texts: list[str]) -> bytes:
    width = max(map(len, rows))
    found = record(129) + record(148, struct.pack("<IIII", 0, len(rows) - 1, 0, width - 1)) + record(145)
    for at, cells in enumerate(rows):
        found += record(0, struct.pack("<IIHBBBI", at, 0, 300, 0, 0, 0, 0))
        found += b"".join(_cell(column, value, texts) for column, value in enumerate(cells) if value is not None)
    return found + record(146) + record(130)


def _parts(rows: Sequence[Sequence[object]]) -> Iterator[tuple[str, bytes]]:
    texts: list[str] = []
    sheet = _sheet(rows, texts)
    name = record(156, struct.pack("<II", 0, 1) + _text("rId1") + _text("S"))
    yield "workbook", record(131) + record(153, bytes(12)) + record(143) + name + record(144) + record(132)
    yield "worksheets/sheet1", sheet
    shared = b"".join(record(19, b"\0" + _text(text)) for text in texts)
    yield "sharedStrings", record(159, struct.pack("<II", len(texts), len(texts))) + shared + record(160)
    formats = b"".join(record(47, struct.pack("<HH", 0, number) + bytes(12)) for number in (0, _DATE_FORMAT))
    yield "styles", record(278) + record(617, struct.pack("<I", 2)) + formats + record(618) + record(279)


def xlsb(rows: Sequence[Sequence[object]]) -> bytes:
    """A workbook with these cells: texts, numbers, truth values and dates."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        types = "".join(f'<Override PartName="/xl/{part}.bin" ContentType="{kind}"/>' for part, kind in _TYPES.items())
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{_PACKAGE}/content-types">{types}</Types>')
        archive.writestr("_rels/.rels", _related("officeDocument", {"rId1": "xl/workbook.bin"}))
        archive.writestr("xl/_rels/workbook.bin.rels", _related("worksheet", {"rId1": "worksheets/sheet1.bin"}))
        for part, content in _parts(rows):
            archive.writestr(f"xl/{part}.bin", content)
    return stream.getvalue()


def _related(kind: str, targets: dict[str, str]) -> str:
    links = "".join(
        f'<Relationship Id="{key}" Type="{_RELATIONS}/{kind}" Target="{target}"/>' for key, target in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>'


ROWS = [
    ["город", "units", "price", "since", "active"],
    ["Казань", 5, 1.5, date(2024, 1, 31), True],
    ["北京", -7, 2000000000.25, date(2024, 2, 1), False],
    ["Tver", None, 0.1, None, True],
]


def xls() -> bytes:
    book, stream = xlwt.Workbook(), io.BytesIO()
    sheet, as_date = book.add_sheet("S"), xlwt.easyxf(num_format_str="YYYY-MM-DD")
    for row, cells in enumerate(ROWS):
        for column, value in enumerate(cells):
            if value is not None:
                sheet.write(row, column, value, *([as_date] if isinstance(value, date) else []))
    book.save(stream)
    return stream.getvalue()
