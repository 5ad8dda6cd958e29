"""The same table in every format of workbooks is the same dataset."""

import io
import re
from datetime import date

import pytest
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from tests.agent.datasets.binary_workbooks import ROWS, XLSB, xls, xls_of_percentages
from tests.agent.datasets.open_documents import ods, table
from tests.agent.datasets.workbooks import changed, rows, sheet, workbook

FORMATS = {
    "a.xlsx": sheet(*ROWS),
    "a.xlsm": sheet(*ROWS),
    "a.xls": xls(),
    "a.xlsb": XLSB,
    "a.ods": ods(table([[("date", value) if isinstance(value, date) else value for value in row] for row in ROWS])),
}


@pytest.mark.parametrize("name", FORMATS)
def test_format_is_read(name, load) -> None:
    loaded = load(name, FORMATS[name])

    assert loaded.schema == {
        "город": "VARCHAR", "units": "BIGINT", "price": "DOUBLE", "since": "DATE", "active": "BOOLEAN"
    }  # fmt: skip
    assert loaded.rows == [
        ["Казань", 5, 1.5, "2024-01-31", True],
        ["北京", -7, 2000000000.25, "2024-02-01", False],
        ["Tver", None, 0.1, None, True],
    ]
    assert loaded.warnings == set()


def test_percentages_of_an_old_workbook(load) -> None:
    loaded = load("a.xls", xls_of_percentages(), sheet="доли")

    assert loaded.rows == [["A", 0.125, 1, 12], ["B", 0.5, pytest.approx(1 / 3), 13]]
    assert {code for code, column in loaded.warnings if column in ("share", "before")} == {"percent"}
    assert ("percent", "count") not in loaded.warnings


PACKED = ("a.xlsx", "a.xlsb", "a.ods")


@pytest.mark.parametrize(("name", "said"), [(name, said) for name in PACKED for said in PACKED if name != said])
def test_a_packed_workbook_under_the_name_of_another_is_read(name, said, registry) -> None:
    assert registry.create(registry.add_stream(io.BytesIO(FORMATS[name]), said)).row_count == 3


def test_an_indented_open_document_is_read(load) -> None:
    content = table([["shop", "sold"], ["Oslo", 1], ["Riga", 2]]).replace("><", ">\n  <")

    assert load("a.ods", ods(content)).rows == [["Oslo", 1], ["Riga", 2]]


@pytest.mark.parametrize("reference", ["A1", "A1:B2", "C5:D9", "A1:XFD1048576", ""])
def test_a_wrong_dimension_of_a_sheet_hides_no_cells(reference, load) -> None:
    dimension = b'dimension ref="%s"' % reference.encode()
    content = changed(
        sheet(["shop", "sold"], ["Oslo", 1], ["Riga", 2]),
        lambda name, part: re.sub(rb'dimension ref="[^"]*"', dimension, part),
    )

    assert load("a.xlsx", content).rows == [["Oslo", 1], ["Riga", 2]]


def test_day_numbers_count_from_the_first_day_of_the_workbook(load) -> None:
    def build(page) -> None:
        page.parent.epoch = CALENDAR_MAC_1904
        rows(["Date", "n"], [40000, 1], [40010, 2])(page)

    assert load("a.xlsx", workbook(build)).rows == [["2013-07-07", 1], ["2013-07-17", 2]]
