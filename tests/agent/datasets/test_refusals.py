"""Files that cannot be loaded give an error with the problem, its location and a remedy, and leave nothing behind."""

import io
import re
import struct
import zipfile
import zlib
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import duckdb
import msoffcrypto.format.ooxml
import pytest
import xlwt
from xlwt.CompoundDoc import XlsDoc

from datasphinx.agent.datasets.limits import LoadLimits
from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.errors import (
    DatasphinxError,
    FileNotLoaded,
    FileUnreadable,
    TooLarge,
)
from datasphinx.agent.messages import LANGUAGES
from tests.agent.datasets.binary_workbooks import xls
from tests.agent.datasets.open_documents import ENCRYPTED, ods, table
from tests.agent.datasets.workbooks import book, changed, sheet, workbook
from tests.support.errors import of_code

PLAIN = sheet(["a", "b"], [1, 2], [3, 4])


def encrypted() -> bytes:
    target = io.BytesIO()
    msoffcrypto.format.ooxml.OOXMLFile(io.BytesIO(PLAIN)).encrypt("secret", target)
    return target.getvalue()


def bomb(declared: int | None = None) -> bytes:
    """A workbook with 80 MB of zeros in 80 kB; `declared` is what it says of their size instead."""
    stream = io.BytesIO(PLAIN)
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("xl/media/zeros.bin", bytes(80_000_000))
    content = stream.getvalue()
    if declared is None:
        return content
    # The check sum is that of the beginning, so that a reader that believes the size finds nothing wrong.
    checked = struct.pack("<I", zlib.crc32(bytes(declared)))
    content = content.replace(struct.pack("<I", zlib.crc32(bytes(80_000_000))), checked)
    return content.replace(struct.pack("<I", 80_000_000), struct.pack("<I", declared))


def other_zip() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.txt", "hello")
    return stream.getvalue()


def far_cell() -> bytes:
    def build(page) -> None:
        page["A1"], page["XFD1048576"] = "a", "b"

    return workbook(build)


def old_book(password_record: bytes = b"") -> bytes:
    """A workbook of before 2007; `password_record` comes after its first record."""
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    for row, cells in enumerate([["a", "b"], [1, 2.5], [3, 4.5]]):
        for column, value in enumerate(cells):
            sheet.write(row, column, value)
    content = book.get_biff_data()
    (first,) = struct.unpack_from("<H", content, 2)
    stream = io.BytesIO()
    XlsDoc().save(stream, content[: first + 4] + password_record + content[first + 4 :])
    return stream.getvalue()


def locked_zip() -> bytes:
    """A workbook whose members say that they are encrypted, as zip programs do it."""
    content = bytearray(PLAIN)
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.find(magic)
        while at >= 0:
            content[at + flags] |= 1
            at = content.find(magic, at + 4)
    return bytes(content)


def repeated(rows: int, columns: int) -> bytes:
    """An OpenDocument spreadsheet in which one cell stands for very many."""
    return ods(
        f'<table:table-row table:number-rows-repeated="{rows}"><table:table-cell office:value-type="float" '
        f'office:value="1" table:number-columns-repeated="{columns}"/></table:table-row>'
    )


def packed(rows: int, folder: Path) -> bytes:
    """A Parquet file with a text of a million equal characters in every row."""
    path = folder / "packed.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT repeat('x', 1000000) AS a FROM range({rows})) TO '{path}' (COMPRESSION zstd)")
    return path.read_bytes()


DEEP = b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
XOR, RC4 = (struct.pack("<HHHHH", 0x2F, 6, kind, 0x1234, 0x5678) for kind in (0, 1))


REFUSED = {
    "a page named as a workbook": ("a.xls", b"<html><table><tr><td>1</td></tr></table></html>", "file_unreadable"),
    "a page named as text": ("a.csv", b"\n<!DOCTYPE html>\n<p>Sign in, please</p>", "file_unreadable"),
    "an archive of a page": ("a.xls", b"MIME-Version: 1.0\nX-Document-Type: Workbook\n", "file_unreadable"),
    "Excel 4": ("a.xls", bytes.fromhex("090406000000040010000A00") + bytes(9), "file_unreadable"),
    "Excel 5": ("a.xls", bytes.fromhex("0908080000050500BB0DCC070A00"), "file_unreadable"),
    "a document named as text": ("a.csv", b"%PDF-1.4\n" + Random(1).randbytes(3000), "file_unreadable"),
    "binary named as text": ("a.csv", bytes(100) + b"abc", "file_unreadable"),
    "another kind": ("a.pdf", b"%PDF-1.7", "file_unreadable"),
    "nothing at all": ("a.csv", b"", "file_unreadable"),
    "truncated workbook": ("a.xlsx", PLAIN[: len(PLAIN) // 2], "file_unreadable"),
    "damaged workbook": ("a.xlsx", PLAIN[:200] + bytes(200) + PLAIN[400:], "file_unreadable"),
    "no workbook in a zip": ("a.xlsx", other_zip, "file_unreadable"),
    "truncated old workbook": ("a.xls", old_book()[:1200], "file_unreadable"),
    "truncated parquet": ("a.parquet", b"PAR1" + bytes(30), "file_unreadable"),
    "broken JSON": ("a.jsonl", b'{"a": 1}\n{"a": \n', "file_unreadable"),
    "password": ("a.xlsx", encrypted, "file_encrypted"),
    "password of an old workbook": ("a.xls", old_book(RC4), "file_encrypted"),
    "old password of an old workbook": ("a.xls", old_book(XOR), "file_encrypted"),
    "password of an OpenDocument": ("a.ods", ods(table([["a"], [1]]), ENCRYPTED), "file_encrypted"),
    "password of a zip": ("a.xlsx", locked_zip(), "file_encrypted"),
    "password of Parquet": ("a.parquet", b"PARE" + bytes(30) + b"PARE", "file_encrypted"),
    "JSON nested very deep": ("a.jsonl", b'{"a": 1}\n' + DEEP, "file_unreadable"),
    "zip bomb": ("a.xlsx", bomb, "archive_suspicious"),
    "zip bomb that lies": ("a.xlsx", partial(bomb, 1000), "archive_suspicious"),
    "a cell in the last row and column": ("a.xlsx", far_cell(), "file_too_large"),
    "a cell that stands for very many": ("a.ods", repeated(1_048_576, 16_384), "file_too_large"),
    "empty workbook": ("a.xlsx", workbook(lambda page: None), "file_empty"),
    "header alone": ("a.csv", b"a,b\n", "file_empty"),
    "header alone in a workbook": ("a.xlsx", sheet(["a", "b"]), "file_empty"),
    "blank text": ("a.csv", b"\n\n , \n", "file_empty"),
}
"""Name and content of a file, and the code of the error; content that takes time to make is a function."""


@pytest.mark.parametrize("case", REFUSED)
def test_refusal_is_typed_told_in_three_languages_and_leaves_nothing(case, registry, tmp_path) -> None:
    name, content, code = REFUSED[case]
    file_id = registry.add_stream(io.BytesIO(content() if callable(content) else content), name)
    with pytest.raises(DatasphinxError, check=of_code(code)) as raised:
        registry.create(file_id)

    texts = {raised.value.message(language) for language in LANGUAGES}
    assert len(texts) == len(LANGUAGES)
    assert all(name in text for text in texts)
    assert _left(tmp_path) == {f"files/{file_id}", f"files/{file_id}.json"}


def _left(tmp_path) -> set[str]:
    data = tmp_path / "data"
    return {path.relative_to(data).as_posix() for path in data.rglob("*") if path.parent != data}


@pytest.mark.parametrize(
    ("limits", "name", "content", "what"),
    [
        (LoadLimits(max_rows=1), "a.csv", b"a,b\nx,2\ny,4\n", "rows"),
        (LoadLimits(max_rows=1), "a.xlsx", PLAIN, "rows"),
        (LoadLimits(max_rows=1), "a.jsonl", b'{"a":1}\n{"a":2}\n', "rows"),
        (LoadLimits(max_columns=1), "a.csv", b"a,b\nx,2\n", "columns"),
        (LoadLimits(max_columns=1), "a.xlsx", PLAIN, "columns"),
        (LoadLimits(max_columns=1), "a.jsonl", b'{"a":1,"b":2}\n', "columns"),
        (LoadLimits(max_columns=9), "a.jsonl", b"".join(b'{"k%d":1}\n' % key for key in range(10)), "columns"),
        (
            LoadLimits(max_columns=99),
            "a.jsonl",
            b'{"a":{%s}}\n' % b",".join(b'"k%d":1' % key for key in range(300)),
            "columns",
        ),
        (LoadLimits(memory_mb=1), "a.csv", b"a,b\nx,2\ny,4\n", "megabytes in memory"),
    ],
)
def test_limits_hold(limits, name, content, what, tmp_path) -> None:
    registry = Registry(tmp_path / "data", limits)
    with pytest.raises(TooLarge) as raised:
        registry.create(registry.add_stream(io.BytesIO(content), name))

    assert raised.value.what == what
    assert registry.datasets() == []
    assert not any((tmp_path / "data" / "work").iterdir())


@pytest.mark.heavy
def test_a_workbook_that_takes_long_to_read_is_refused_after_its_cpu_time(tmp_path) -> None:
    registry = Registry(tmp_path, LoadLimits(cpu_s=1))
    numbers = "<row>" + "<c><v>1</v></c>" * 200 + "</row>"
    cells = f"<sheetData>{numbers * 10_000}</sheetData>".encode()
    long = changed(PLAIN, lambda name, part: re.sub(rb"<sheetData>.*</sheetData>", cells, part, flags=re.DOTALL))
    with pytest.raises(TooLarge) as raised:
        registry.create(registry.add_stream(io.BytesIO(long), "long.xlsx"))

    assert (raised.value.what, raised.value.remedy) == ("seconds of CPU time to read", "Split it.")


@pytest.mark.parametrize("name, content", [("a.xlsx", PLAIN), ("a.xls", xls()), ("A.ODS", ods(table([["a"], ["x"]])))])
def test_a_workbook_may_be_saved_as_text_to_load_more(name, content) -> None:
    with TemporaryDirectory() as folder:
        registry = Registry(Path(folder), LoadLimits(memory_mb=1))
        with pytest.raises(TooLarge) as raised:
            registry.create(registry.add_stream(io.BytesIO(content), name))

    assert raised.value.what == "megabytes in memory"
    assert all(".csv" in raised.value.message(language) for language in LANGUAGES)


def test_parquet_with_too_many_rows_is_not_copied(tmp_path) -> None:
    registry = Registry(tmp_path / "data", LoadLimits(max_rows=1))
    with pytest.raises(TooLarge) as raised:
        registry.create(registry.add_stream(io.BytesIO(packed(2, tmp_path)), "a.parquet"))

    assert raised.value.what == "rows"


def test_a_file_over_the_limit_of_bytes_is_not_kept(tmp_path) -> None:
    registry = Registry(tmp_path / "data", LoadLimits(max_bytes=10))
    with pytest.raises(TooLarge):
        registry.add_stream(io.BytesIO(bytes(11)), "a.csv")

    assert registry.files() == []
    assert _left(tmp_path) == set()


def test_a_workbook_that_unpacks_to_more_than_is_allowed(tmp_path) -> None:
    registry = Registry(tmp_path / "data", LoadLimits(max_unpacked_bytes=1000))
    with pytest.raises(TooLarge, check=of_code("archive_suspicious")):
        registry.create(registry.add_stream(io.BytesIO(PLAIN), "a.xlsx"))


def test_a_file_that_fills_the_disk_is_stopped(tmp_path) -> None:
    """300 MB are far more than a thousand bytes and four times the file."""
    registry = Registry(tmp_path / "data", LoadLimits(max_unpacked_bytes=1000))
    file_id = registry.add_stream(io.BytesIO(packed(300, tmp_path)), "a.parquet")
    with pytest.raises(TooLarge, check=of_code("archive_suspicious")) as raised:
        registry.create(file_id)

    assert raised.value.unpacked > raised.value.limit
    assert _left(tmp_path) == {f"files/{file_id}", f"files/{file_id}.json"}


def test_a_line_that_is_too_long_is_named_without_its_text(registry) -> None:
    file_id = registry.add_stream(io.BytesIO(b"a,b\n1,2\n" * 300 + b"secret" * 300_000 + b",2\n"), "a.csv")
    with pytest.raises(FileUnreadable) as raised:
        registry.create(file_id)

    assert "Maximum line size" in raised.value.reason and "secret" not in raised.value.reason


def test_a_sheet_that_is_not_there(registry) -> None:
    file_id = registry.add_stream(io.BytesIO(PLAIN), "a.xlsx")
    with pytest.raises(FileNotLoaded, check=of_code("sheet_not_found")) as raised:
        registry.create(file_id, LoadOptions(sheet="Summary"))

    assert raised.value.sheets == ("Sheet",)


@pytest.mark.parametrize("row", [4, 99])
def test_a_header_row_that_is_not_there(row, registry) -> None:
    file_id = registry.add_stream(io.BytesIO(PLAIN), "a.xlsx")
    with pytest.raises(FileNotLoaded, check=of_code("header_not_found")):
        registry.create(file_id, LoadOptions(header_row=row))


def test_an_old_workbook_is_read(load) -> None:
    loaded = load("a.xls", old_book())

    assert loaded.schema == {"a": "BIGINT", "b": "DOUBLE"}
    assert loaded.rows == [[1, 2.5], [3, 4.5]]


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        (b"<v>2.5</v>", b"<v>2,5</v>", "cell B2 of sheet data is damaged"),
        (b'r="B3"', b'r="3B"', "cell 3B of sheet data is damaged"),
        (b't="n"><v>3</v>', b't="b"><v>perhaps</v>', "cell A3 of sheet data is damaged"),
        (b't="n"><v>3</v>', b't="s"><v>999</v>', "cell A3 of sheet data is damaged"),
        (b"</sheetData>", b"", "sheet data is damaged"),
    ],
)
def test_damage_is_told_with_sheet_and_cell(before: bytes, after: bytes, place: str, load, registry) -> None:
    made = book(Sheet=[["a", "b"], [1, 2], [3, 4]], data=[["c", "d"], [1, 2.5], [3, 4.5]])
    content = changed(made, lambda name, part: part.replace(before, after) if name.endswith("sheet2.xml") else part)
    with pytest.raises(FileUnreadable) as raised:
        load("a.xlsx", content, sheet="data")

    assert place in raised.value.message()
    assert load("a.xlsx", content).rows == [[1, 2], [3, 4]]
    assert [dataset.report.sheet for dataset in registry.datasets()] == ["Sheet"]
