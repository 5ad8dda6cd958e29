"""Binary workbooks of one sheet with texts, numbers, truth values and dates."""

import io
from datetime import date
from pathlib import Path

import xlwt

XLSB = (Path(__file__).parents[2] / "fixtures/workbooks/table.xlsb").read_bytes()
"""A workbook of `ROWS`, which nothing installed writes."""
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


def xls_of_percentages() -> bytes:
    """A workbook with two sheets, the second with percentages, alone and in a row of numbers, and a quoted sign."""
    book, stream = xlwt.Workbook(), io.BytesIO()
    book.add_sheet("first").write(0, 0, "x")
    sheet = book.add_sheet("доли")
    percent, quoted = (xlwt.easyxf(num_format_str=code) for code in ("0.0%", '0" %"'))
    for row, (name, share, last, count) in enumerate([("A", 0.125, 1, 12), ("B", 0.5, 1 / 3, 13)], start=1):
        sheet.write(row, 0, name)
        sheet.write(row, 1, share, percent)
        sheet.write(row, 2, last, percent)
        sheet.write(row, 3, count, quoted)
    for place, name in enumerate(("shop", "share", "before", "count")):
        sheet.write(0, place, name)
    book.save(stream)
    return stream.getvalue()
