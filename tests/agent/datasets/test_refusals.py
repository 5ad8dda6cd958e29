"""What cannot be loaded gives an error that says what, where and what to do, and leaves nothing behind."""

import io
import struct
import zipfile
import zlib
from typing import get_args

import msoffcrypto.format.ooxml
import openpyxl
import pytest
import xlwt

from agent.datasets.limits import LoadLimits
from agent.datasets.registry import Registry
from agent.errors import (
    ArchiveSuspicious,
    FileEmpty,
    FileEncrypted,
    FileTooLarge,
    FileUnreadable,
    HeaderNotFound,
    SheetNotFound,
)
from agent.messages import Language
from tests.agent.datasets.messy import rows, workbook

PLAIN = workbook(rows(["a", "b"], [1, 2], [3, 4]))


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


def far_cell() -> bytes:
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "a", "b"
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def empty_book() -> bytes:
    return workbook(lambda sheet: None)


def old_book() -> bytes:
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    for row, cells in enumerate([["a", "b"], [1, 2.5], [3, 4.5]]):
        for column, value in enumerate(cells):
            sheet.write(row, column, value)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


REFUSED = {
    "text named as a workbook": ("a.xlsx", b"a,b\n1,2\n", FileUnreadable),
    "workbook named as text": ("a.csv", PLAIN, FileUnreadable),
    "workbook named as old one": ("a.xls", PLAIN, FileUnreadable),
    "binary named as text": ("a.csv", bytes(100) + b"abc", FileUnreadable),
    "another kind": ("a.pdf", b"%PDF-1.7", FileUnreadable),
    "nothing at all": ("a.csv", b"", FileUnreadable),
    "truncated workbook": ("a.xlsx", PLAIN[: len(PLAIN) // 2], FileUnreadable),
    "damaged workbook": ("a.xlsx", PLAIN[:200] + bytes(200) + PLAIN[400:], FileUnreadable),
    "no workbook in a zip": ("a.xlsx", b"", FileUnreadable),
    "truncated old workbook": ("a.xls", old_book()[:1200], FileUnreadable),
    "truncated parquet": ("a.parquet", b"PAR1" + bytes(30), FileUnreadable),
    "broken JSON": ("a.jsonl", b'{"a": 1}\n{"a": \n', FileUnreadable),
    "password": ("a.xlsx", encrypted(), FileEncrypted),
    "zip bomb": ("a.xlsx", bomb(), ArchiveSuspicious),
    "zip bomb that lies": ("a.xlsx", bomb(1000), ArchiveSuspicious),
    "a cell in the last row and column": ("a.xlsx", far_cell(), FileTooLarge),
    "empty workbook": ("a.xlsx", empty_book(), FileEmpty),
    "header alone": ("a.csv", b"a,b\n", FileEmpty),
    "header alone in a workbook": ("a.xlsx", workbook(rows(["a", "b"])), FileEmpty),
    "blank text": ("a.csv", b"\n\n , \n", FileEmpty),
    "no words": ("a.csv", b"1,2\n3,4\n", HeaderNotFound),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusal_is_typed_told_in_three_languages_and_leaves_nothing(case, registry, tmp_path) -> None:
    name, content, error = REFUSED[case]
    if case == "no workbook in a zip":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("a.txt", "hello")
        content = stream.getvalue()
    file_id = registry.add_stream(io.BytesIO(content), name)
    with pytest.raises(error) as raised:
        registry.create(file_id)

    texts = {raised.value.message(language) for language in get_args(Language)}
    assert len(texts) == 3
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
    ],
)
def test_limits_hold(limits, name, content, what, tmp_path) -> None:
    registry = Registry(tmp_path / "data", limits)
    with pytest.raises(FileTooLarge) as raised:
        registry.create(registry.add_stream(io.BytesIO(content), name))

    assert raised.value.what == what
    assert registry.datasets() == []
    assert not any((tmp_path / "data" / "work").iterdir())


def test_a_file_over_the_limit_of_bytes_is_not_kept(tmp_path) -> None:
    registry = Registry(tmp_path / "data", LoadLimits(max_bytes=10))
    with pytest.raises(FileTooLarge):
        registry.add_stream(io.BytesIO(bytes(11)), "a.csv")

    assert registry.files() == []
    assert _left(tmp_path) == set()


def test_a_workbook_that_unpacks_to_more_than_is_allowed(tmp_path) -> None:
    registry = Registry(tmp_path / "data", LoadLimits(max_unpacked_bytes=1000))
    with pytest.raises(ArchiveSuspicious):
        registry.create(registry.add_stream(io.BytesIO(PLAIN), "a.xlsx"))


def test_a_sheet_that_is_not_there(registry) -> None:
    file_id = registry.add_stream(io.BytesIO(PLAIN), "a.xlsx")
    with pytest.raises(SheetNotFound) as raised:
        registry.create(file_id, sheet="Summary")

    assert raised.value.sheets == ("Sheet",)


@pytest.mark.parametrize("row", [4, 99, -1])
def test_a_header_row_that_is_not_there(row, registry) -> None:
    file_id = registry.add_stream(io.BytesIO(PLAIN), "a.xlsx")
    with pytest.raises(HeaderNotFound):
        registry.create(file_id, header_row=row)


def test_an_old_workbook_is_read(load) -> None:
    loaded = load("a.xls", old_book())

    assert loaded.schema == {"a": "BIGINT", "b": "DOUBLE"}
    assert loaded.rows == [[1, 2.5], [3, 4.5]]
