"""A large workbook is read row by row, with the same result as a small one."""

import io
from datetime import date, datetime, time

import openpyxl
import pytest

from datasphinx.agent.datasets import large_workbook
from datasphinx.agent.datasets.large_workbook import is_large
from tests.agent.datasets.files import AUTOMATIC, book, sheet
from tests.agent.datasets.messy import MESSY, workbook


@pytest.fixture
def both(tmp_path):
    """A function that reads a workbook in both ways, and returns the rows of text and value pairs of each."""
    import zipfile

    from datasphinx.agent.datasets import excel_process

    def read(content: bytes, **request) -> list[object]:
        path = tmp_path / "book.xlsx"
        path.write_bytes(content)
        found = []
        for limit in (10**9, 0):
            folder = tmp_path / f"cells{limit}"
            folder.mkdir(exist_ok=True)
            asked = {"path": str(path), "sheets": None, "folder": str(folder), "max_rows": 100, "max_columns": 50}
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(large_workbook, "LARGE_BYTES", limit)
                assert is_large(path) == (limit == 0)
                try:
                    answer = excel_process.read({**asked, **request})
                except excel_process.SheetError as error:
                    found.append(error.args)
                    continue
            found.append([answer["sheets"], *map(_cells, answer["read"])])
        assert zipfile.is_zipfile(path)
        return found

    return read


def _cells(read: dict) -> list[object]:
    """The name, the merged ranges and the filled cells of a sheet, in their place on it."""
    import csv
    from pathlib import Path

    with Path(read["cells"]).open(newline="") as file:
        rows = list(csv.reader(file))
    filled = {
        (at, read["left"] + place // 2, place % 2): field
        for at, row in enumerate(rows)
        for place, field in enumerate(row)
        if field.strip()
    }
    merged = [[top, left + read["left"], bottom, right + read["left"]] for top, left, bottom, right in read["merged"]]
    return [read["sheet"], sorted(merged), filled]


def test_both_ways_of_reading_give_the_same_cells(both) -> None:
    times = sheet(
        ["date", "moment", "time", "number", "truth", "text", "elapsed"],
        [date(2024, 1, 2), datetime(2024, 1, 2, 3, 4, 5), time(6, 7), 1.5, True, "a <b> & c", 30.5 / 24],
        [date(1999, 12, 31), datetime(2024, 2, 29, 23, 59, 59), time(0, 0), -7, False, "中\n文", 1.25],
    )
    contents = {
        "times": times,
        "sheets": book(Empty=[], Jan=[["a", "b"], [1, 2]], Feb=[["c"], [3]]),
        **{name: case.content for name, case in AUTOMATIC.items() if case.name == "book.xlsx"},
        **{name: workbook(case.build) for name, case in MESSY.items() if name != "times and durations"},
    }
    failures = {}
    for name, content in contents.items():
        small, large = both(content)
        if small != large:
            failures[name] = (small, large)

    assert not failures


START = (
    '<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    "<sheetData>"
)
PARTS = {
    "as usual": '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1"><v>1</v></c></row>',
    "an entity": '<row r="1"><c r="A1" t="inlineStr"><is><t>a &amp; b</t></is></c></row>',
    "a comment": '<!-- <row r="1"><c r="A1"><v>5</v></c></row> --><row r="1"><c r="A1"><v>1</v></c></row>',
    "a comment in a row": '<row r="1"><!-- </row> --><c r="A1"><v>1</v></c></row>',
    "a section of text": '<row r="1"><c r="A1" t="inlineStr"><is><t><![CDATA[</row>]]></t></is></c></row>',
    "late": '<row r="1"><c r="A1"><v>1</v></c></row><row r="2"><c t="n" r="A2"><v>2</v></c></row>',
    "rich text": '<row r="1"><c r="A1" t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r></is></c></row>',
    "formulas": '<row r="1"><c r="A1"><f>B1&lt;2</f><v>1</v></c><c r="B1" t="str"><f t="shared"/><v>x</v></c></row>',
    "blank cells": '<row r="1"><c r="A1" s="0"/><c r="B1"><v></v></c><c r="C1"><v>3</v></c></row><row r="2"/>',
    "gaps": '<row r="3" spans="1:3"><c r="C3"><v>1</v></c></row><row r="5"><c r="B5"><v>2.50</v></c></row>',
    "merged": '<row r="1"><c r="A1"><v>1</v></c></row></sheetData><mergeCells count="1"><mergeCell ref="A1:B2"/>'
    "</mergeCells><sheetData>",
}


def test_other_notations_of_a_sheet_are_parsed(both) -> None:
    import zipfile

    template = sheet(["x"])
    failures = {}
    for name, rows in PARTS.items():
        stream = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(template)) as old, zipfile.ZipFile(stream, "w") as new:
            for item in old.namelist():
                body = old.read(item)
                if "worksheets/" in item:
                    body = f"{START}{rows}</sheetData></worksheet>".replace("<sheetData></sheetData>", "").encode()
                new.writestr(item, body)
        small, large = both(stream.getvalue())
        if small != large:
            failures[name] = (small, large)

    assert not failures


def test_sheets_are_chosen_in_the_same_way(both) -> None:
    content = book(Empty=[], Jan=[["a", "b"], [1, 2]], Feb=[["c"], [3]])
    for sheets in (["Feb"], ["Feb", "Jan"], ["*"], ["May"], ["Empty"]):
        small, large = both(content, sheets=sheets)
        assert small == large, sheets


def test_limits_hold_for_both(both) -> None:
    rows = [["a", "b", "c"], *([1, 2, 3] for _ in range(9))]
    for request in ({"max_rows": 5}, {"max_columns": 2}):
        small, large = both(sheet(*rows), **request)
        assert small == large and small[0] in ("rows", "columns")


def test_a_row_far_below_and_a_column_far_right_are_refused(both) -> None:
    made = openpyxl.Workbook()
    made.active["A1"], made.active["A1048576"] = "a", 1
    stream = io.BytesIO()
    made.save(stream)
    assert both(stream.getvalue())[1] == ("rows",)
    made.active.delete_rows(1048576)
    made.active["XFD2"] = 1
    stream = io.BytesIO()
    made.save(stream)
    assert both(stream.getvalue())[1][0] in ("rows", "columns")
