"""Values as the reader writes them: as the server does, with all digits in copies and files."""

import csv
from dataclasses import asdict
from io import BytesIO, StringIO
from itertools import product
from pathlib import Path

import duckdb
import openpyxl
import pytest
from playwright.sync_api import Page, expect

from datasphinx.agent.formatting.formats import ColumnFormat, format_value
from datasphinx.agent.messages import LANGUAGES
from tests.agent.page.conftest import Visit, pick, switch
from tests.agent.page.said import Model

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

SHOP = "FROM orders AS o"
KINDS = (
    "SELECT o.order_id, 10115 AS place, COUNT(*) * 12345 AS orders, 9007199254740993 + COUNT(*) AS big, "
    "SUM(o.total_amount) * 0 + 1234.5 AS spent, 1 / 3.0 AS share, 0.1 + 0.2 AS noise, strftime('%Y-%m', '2024-03-05') "
    f"AS month {SHOP} WHERE o.order_id < 3 GROUP BY o.order_id ORDER BY o.order_id"
)
SHOWN = """async (cases) => {
  const { numbers: { valueText } } = await import(document.querySelector("script[type=module]").src);
  const select = document.querySelector("#language");
  const shown = [];
  for (const [value, format, language] of cases) {
    select.value = language;
    select.dispatchEvent(new Event("change"));
    while (document.documentElement.lang !== language) await new Promise(requestAnimationFrame);
    shown.push(valueText(value, format));
  }
  return shown;
}"""
CHARTED = """async (option) => {
  const { chart: { inLanguage } } = await import(document.querySelector("script[type=module]").src);
  const { xAxis, yAxis, tooltip } = inLanguage(option);
  const shown = tooltip.valueFormatter([2024, 1234, "<b>"]);
  const heading = yAxis.axisPointer.label.formatter({ value: 2 / 3 });
  return [xAxis.axisLabel.formatter(2024), yAxis.axisLabel.formatter(12345.5), shown, heading];
}"""


def cells(page: Page) -> list[str]:
    return page.locator("tbody tr").first.locator("td").all_text_contents()


def test_measures_are_grouped_and_what_is_none_is_not(visit: Visit) -> None:
    site = visit(Model(KINDS, reviews=()), permissions=["clipboard-read", "clipboard-write"])
    site.ask("List the first orders")
    expect(site.page.locator("tbody tr")).to_have_count(2)
    assert cells(site.page) == [
        "1", "10,115", "12,345", "9,007,199,254,740,994", "1,234.5", "0.3333", "0.3", "March 2024",
    ]  # fmt: skip
    assert site.page.locator("tbody tr").first.locator("td.number").count() == 6
    assert site.page.locator("td[title]").first.get_attribute("title") == "0.3333333333333333"

    switch(site.page, "language", "Русский")
    expect(site.page.locator("html")).to_have_attribute("lang", "ru")
    assert cells(site.page)[2:6] == [
        "12\u00a0345",
        "9\u00a0007\u00a0199\u00a0254\u00a0740\u00a0994",
        "1\u00a0234,5",
        "0,3333",
    ]
    assert cells(site.page)[7] == "март 2024"

    pick(site.page, "Копировать")
    copied = site.page.evaluate("navigator.clipboard.readText()").splitlines()[1].split("\t")
    assert copied[2:7] == ["12345", "9007199254740994", "1234.5", "0.333333333333333", "0.3"]
    with site.page.expect_download() as download:
        pick(site.page, "Сохранить CSV")
    saved = Path(download.value.path()).read_bytes().decode("utf-8-sig").split("\r\n")[1].split(",")
    assert saved == copied


def test_a_column_has_one_precision_and_no_false_digits(visit: Visit) -> None:
    values = {"a": "31.0555939567493", "b": "57.272637503703", "c": "2.5"}
    sql = " UNION ALL ".join(f"SELECT '{name}' AS name, {value} AS mean" for name, value in values.items())
    site = visit(Model(f"{sql} UNION ALL SELECT 'd', 125287.3 - 0.02000000002", reviews=()))
    site.ask("List the means")
    expect(site.page.locator("tbody tr")).to_have_count(4)
    shown = site.page.locator("tbody td:nth-child(2)").all_text_contents()
    assert shown == ["31.06", "57.27", "2.50", "125,287.28"]
    saved = {}
    for button in ("Save as CSV", "Save as Excel"):
        with site.page.expect_download() as download:
            pick(site.page, button)
        saved[button] = Path(download.value.path()).read_bytes()
    lines = saved["Save as CSV"].decode("utf-8-sig").split("\r\n")[1:-1]
    assert [line.split(",")[1] for line in lines] == [*values.values(), "125287.28"]
    sheet = openpyxl.load_workbook(BytesIO(saved["Save as Excel"])).active
    assert sheet and {cell.number_format for (cell,) in sheet["B2:B5"]} == {"#,##0.00"}


@pytest.mark.parametrize("columns", ["*", "open"])
def test_a_saved_table_is_that_of_the_server(visit: Visit, tmp_path: Path, columns: str) -> None:
    with duckdb.connect(str(tmp_path / "kinds.duckdb")) as connection:
        connection.execute(
            """CREATE TABLE kinds AS SELECT * FROM (VALUES
            (true, 2.0::DOUBLE, 1e-7::DOUBLE, 1234.50::DECIMAL(9, 2), TIMESTAMP '2025-12-31 08:30:00',
             TIMESTAMPTZ '2025-12-31 08:30:00.125+02', DATE '2025-12-31', INTERVAL 3 DAYS, ['a', NULL],
             'x, "y"', '-1+1'),
            (NULL, 0.1::DOUBLE + 0.2, 1e16, 0.07, NULL, NULL, NULL, NULL, [], 'a;b', '007')
            ) AS t(open, size, part, price, moment, zoned, day, lasting, tags, note, code)"""
        )
    site = visit(Model(f"SELECT {columns} FROM kinds", reviews=()), source=f"duckdb:///{tmp_path / 'kinds.duckdb'}")
    site.ask("List the kinds")
    with site.page.expect_download() as download:
        pick(site.page, "Save as CSV")
    with site.page.expect_request("**/tables/1.xlsx") as asked:
        pick(site.page, "Save as Excel")
    served = site.page.request.get(asked.value.url.replace(".xlsx", ".csv")).body()
    saved, stored = (
        list(csv.reader(StringIO(each.decode("utf-8-sig"), newline="")))
        for each in (Path(download.value.path()).read_bytes(), served)
    )
    assert saved == stored


@pytest.mark.parametrize(
    ("sql", "figure", "words"),
    [
        ("SELECT MAX(order_id) * 0 + 12345 AS population FROM orders", "12,345", "12,345"),
        ("SELECT 9007199254740993 AS total", "9,007,199,254,740,993", "Total"),
    ],
)
def test_a_figure(visit: Visit, sql: str, figure: str, words: str) -> None:
    site = visit(Model(sql, reviews=()))
    site.ask("Which one is it?")
    expect(site.page.locator(".figure")).to_have_text(figure)
    expect(site.page.locator(".words")).to_contain_text(words)


def test_intervals_have_a_sum_below_them(visit: Visit, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "work.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE shifts AS SELECT * FROM (VALUES ('Ada', INTERVAL '38 hours 15 minutes'), "
            "('Bo', INTERVAL '7 hours 30 minutes'), ('Cy', INTERVAL '0 hours')) AS t(name, worked)"
        )
    site = visit(Model("SELECT name, worked FROM shifts", reviews=()), source=f"duckdb:///{tmp_path / 'work.duckdb'}")
    site.ask("List the shifts")
    expect(site.page.locator("tfoot td")).to_have_text("45 hours 45 minutes")


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit().page


def test_the_page_writes_values_as_the_server_does(page: Page) -> None:
    numbers = [9007199254740991, 0, 1, -1234.5, 12345.675, 1.005, 57.272637503703, "12345678901234567890.12", 0.1 + 0.2]
    quantities = [
        ColumnFormat("number", 2), ColumnFormat("currency", 2, "EUR"), ColumnFormat("currency", 0, "USD"),
        ColumnFormat("currency", 2, "CHF"), ColumnFormat("percent", 1), ColumnFormat("fraction", 2),
        ColumnFormat("duration", 2, "days"), ColumnFormat("code"), ColumnFormat("boolean"),
    ]  # fmt: skip
    moments = ["2024-03", "2024-12-01", "2024-05-05T10:20:30", "2024-05-05T10:20:00Z", "no date"]
    cases = [
        *product(numbers, quantities),
        *product(moments, map(ColumnFormat, ("year", "quarter", "month", "date", "datetime", "text"))),
        *product(range(1, 13), [ColumnFormat("month")]),
        *product(["P2985D", "P1Y2M3DT4H5M6.5S", "-P1D", "P0D"], [ColumnFormat("interval")]),
        *product(
            ["P29DT26H47M36.199141S", "-PT59M59.96S", "P0D", "PT0.04S"],
            [
                ColumnFormat("interval", 0, "hours"),
                ColumnFormat("interval", 0, "minutes"),
                ColumnFormat("interval", 1, "seconds"),
                ColumnFormat("hours"),
                ColumnFormat("hours", 0, "minutes"),
            ],
        ),
        *product([["a", None, True], [], [1.5, 2], [["a"]]], [ColumnFormat()]),
        *product(
            [["PT1H30M", None], [["P2D"]], []], [ColumnFormat("intervals"), ColumnFormat("intervals", 0, "hours")]
        ),
        *product([1.2e-11], [ColumnFormat("scientific", 3)]),
        *product([None, True, False], [ColumnFormat("boolean"), ColumnFormat("number", 2)]),
    ]
    expected = [format_value(value, fmt, language) for language in LANGUAGES for value, fmt in cases]
    sent = [[value, asdict(fmt), language] for language in LANGUAGES for value, fmt in cases]
    assert page.evaluate(SHOWN, sent) == expected


def test_a_chart_has_its_numbers_in_the_language(page: Page) -> None:
    option = {
        "xAxis": {"type": "value", "name": "year"},
        "yAxis": {"type": "value", "name": "sales", "axisLabel": {"formatter": "{value} %"}},
        "formats": {
            "xAxis": asdict(ColumnFormat("year")),
            "yAxis": asdict(ColumnFormat("percent", 1)),
            "values": asdict(ColumnFormat("percent", 1)),
        },
        "tooltip": {"trigger": "axis"},
    }
    switch(page, "language", "Русский")
    expect(page.locator("html")).to_have_attribute("lang", "ru")
    assert page.evaluate(CHARTED, option) == [
        "2024",
        "12\u00a0345,5\u00a0%",
        "2024, 1\u00a0234,0\u00a0%, <b>",
        "0,7\u00a0%",
    ]
