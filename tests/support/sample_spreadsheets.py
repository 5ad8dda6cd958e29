"""Makes the two sample spreadsheets that the package has: `python -m tests.support.sample_spreadsheets` writes them.

The same seed gives the same cells; a test compares them with the files. They are made here and not when they are asked,
since nothing that the package needs can write a workbook.
"""

from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import openpyxl

from datasphinx.agent.sample.spreadsheets import RETURNS, STORES

_SEED = 20250101
_MADE = datetime(2025, 7, 1)
MONTHS = [f"2025-{month:02}" for month in range(1, 7)]
_WEEKS = [date(2025, 1, 6) + timedelta(weeks=week) for week in range(25)]
_OPENED_LATE, _FIRST_WEEK = "Bay", 8
_ACCOUNTS = ("优品数码", "悦家生活", "晨光文具", "海蓝服饰", "禾田食品", "星途户外", "安心母婴", "木槿家纺")
_RISKS = ("低", "中", "高")
_STORES = {
    "Riverside": "Leeds", "Old Market": "Leeds", "Harbour": "Bristol", "College Green": "Bristol",
    "Castle Street": "Cardiff", "Bay": "Cardiff", "Kelham": "Sheffield",
}  # fmt: skip


def returns_rows() -> list[list[Any]]:
    """Return a title, a header and a row for each account and month; what was returned has two reasons counted."""
    rng = Random(_SEED)
    rows: list[list[Any]] = [["2025年上半年退货统计"], ["账号", "月份", "退货数量", "产品质量", "物流异常", "购买风险"]]
    for account in _ACCOUNTS:
        usual = rng.randint(40, 160)
        for month in MONTHS:
            returned = max(8, round(rng.gauss(usual, usual / 5)))
            quality = round(returned * rng.uniform(0.3, 0.6))
            logistics = round((returned - quality) * rng.uniform(0.2, 0.7))
            rows.append([account, month, returned, quality, logistics, rng.choice(_RISKS)])
    return rows


def stores_rows() -> list[list[Any]]:
    """Return a header and a row for each store and week; one store opened in March and has none before."""
    rng = Random(_SEED + 1)
    rows: list[list[Any]] = [["Store", "City", "Week starting", "Units", "Revenue"]]
    for store, city in _STORES.items():
        usual, price = rng.randint(80, 240), rng.uniform(14, 22)
        for week in _WEEKS[_FIRST_WEEK if store == _OPENED_LATE else 0 :]:
            units = round(rng.gauss(usual, usual / 8))
            rows.append([store, city, week, units, round(units * price * rng.uniform(0.95, 1.05), 2)])
    return rows


def write(path: Path, title: str, rows: list[list[Any]]) -> None:
    """Write `rows` as a workbook of one sheet."""
    book = openpyxl.Workbook()
    book.properties.created = book.properties.modified = _MADE
    book.properties.creator = "datasphinx"
    sheet = book.active
    sheet.title = title
    for row in rows:
        sheet.append(row)
        for cell in sheet[sheet.max_row]:
            if isinstance(cell.value, date):
                cell.number_format = "yyyy-mm-dd"
    book.save(path)


if __name__ == "__main__":
    write(RETURNS, "退货", returns_rows())
    write(STORES, "Sales", stores_rows())
