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
