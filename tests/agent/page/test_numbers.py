"""Numbers as the reader writes them: no digit is lost, and no id or year is grouped."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from agent.answers.text import _LABEL
from tests.agent.page.conftest import Site
from tests.agent.page.said import Model
from tests.generated_docs import ROOT

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

SHOP = "FROM orders AS o"
KINDS = (
    "SELECT o.order_id * 10000 AS order_id, 2024 AS year, 10115 AS zip, o.order_id * 10000 AS place, "
    "COUNT(*) * 12345 AS orders, 9007199254740993 + COUNT(*) AS big, SUM(o.total_amount) * 0 + 1234.5 AS spent, "
    "1 / 3.0 AS share, 0.1 + 0.2 AS noise, 52.520008 AS latitude "
    f"{SHOP} WHERE o.order_id < 3 GROUP BY o.order_id ORDER BY o.order_id"
)
SHOWN = """async ([value, language]) => {
  document.querySelector("#language").value = language;
  document.querySelector("#language").dispatchEvent(new Event("change"));
  while (document.documentElement.lang !== language) await new Promise(requestAnimationFrame);
  return (await import(document.querySelector("link[href$='/js/numbers.js']").href)).numberText(value);
}"""
CHARTED = """async (option) => {
  const { inLanguage } = await import(document.querySelector("link[href$='/js/chart.js']").href);
  const { xAxis, yAxis, tooltip } = inLanguage(option);
  const shown = tooltip.valueFormatter([1234, "<b>"]);
  return [xAxis.axisLabel.formatter(2024), yAxis.axisLabel.formatter(12345.5), shown];
}"""
MEASURED = """async ([name, values, sql]) => (await import("./static/js/measures.js")).isMeasure(name, values, sql)"""
Visit = Callable[..., Site]


def cells(page: Page) -> list[str]:
    return page.locator("tbody tr").first.locator("td").all_text_contents()


def test_measures_are_grouped_and_what_is_none_is_not(visit: Visit) -> None:
    site = visit(Model(KINDS, reviews=()), permissions=["clipboard-read", "clipboard-write"])
    site.ask("List the first orders")
    expect(site.page.locator("tbody tr")).to_have_count(2)
    assert cells(site.page) == [
        "10000", "2024", "10115", "10000", "12,345", "9,007,199,254,740,994", "1,234.5", "0.3333", "0.3", "52.520008",
    ]  # fmt: skip
    assert site.page.locator("tbody tr").first.locator("td.number").count() == 10
    assert site.page.locator("td[title]").first.get_attribute("title") == "0.3333333333333333"

    site.page.get_by_label("Language").select_option("Русский")
    expect(site.page.locator("html")).to_have_attribute("lang", "ru")
    assert cells(site.page)[4:8] == [
        "12\u00a0345",
        "9\u00a0007\u00a0199\u00a0254\u00a0740\u00a0994",
        "1\u00a0234,5",
        "0,3333",
    ]

    site.page.locator(".rows").get_by_role("button", name="Копировать").click()
    copied = site.page.evaluate("navigator.clipboard.readText()").splitlines()[1].split("\t")
    assert copied[4:8] == ["12345", "9007199254740994", "1234.5", "0.3333333333333333"]
    with site.page.expect_download() as download:
        site.page.get_by_role("button", name="Сохранить CSV").click()
    saved = Path(download.value.path()).read_bytes().decode("utf-8-sig").split("\r\n")[1].split(",")
    assert saved == copied


@pytest.mark.parametrize(
    ("sql", "figure", "words"),
    [
        ("SELECT 2025 AS year", "2025", "Year: 2025."),
        ("SELECT 10042 AS customer_id", "10042", "Customer id: 10042."),
        ("SELECT 12345 AS population", "12,345", "Population: 12,345."),
        ("SELECT 9007199254740993 AS total", "9,007,199,254,740,993", "Total: 9007199254740993."),
    ],
)
def test_a_figure(visit: Visit, sql: str, figure: str, words: str) -> None:
    site = visit(Model(sql, reviews=()))
    site.ask("Which one is it?")
    expect(site.page.locator(".figure")).to_have_text(figure)
    expect(site.page.locator(".words")).to_contain_text(words)


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit().page


def test_no_digit_is_lost(page: Page) -> None:
    shown: dict[tuple[Any, str], str] = {
        (0, "en"): "0",
        (-1234567, "en"): "-1,234,567",
        (1234.5, "ru"): "1\u00a0234,5",
        (-0.5, "ru"): "-0,5",
        (1234567.25, "zh"): "1,234,567.25",
        ("-12345678901234567890", "en"): "-12,345,678,901,234,567,890",
        ("12345678901234567.123456789", "ru"): "12\u00a0345\u00a0678\u00a0901\u00a0234\u00a0567,123456789",
        (123456789.123456, "en"): "123,456,789.123456",
        (12345.670000000002, "en"): "12,345.67",
        (100 / 3, "en"): "33.3333",
        (1 / 30000, "en"): "0.00003333",
        (1e21, "en"): "1e+21",
    }
    assert {each: page.evaluate(SHOWN, list(each)) for each in shown} == shown


def test_a_chart_has_its_numbers_in_the_language(page: Page) -> None:
    option = {
        "xAxis": {"type": "value", "name": "year"},
        "yAxis": {"type": "value", "name": "sales", "axisLabel": {"formatter": "{value} %"}},
        "tooltip": {"trigger": "axis"},
    }
    page.get_by_label("Language").select_option("Русский")
    expect(page.locator("html")).to_have_attribute("lang", "ru")
    assert page.evaluate(CHARTED, option) == ["2024", "12\u00a0345,5 %", "1\u00a0234, <b>"]


def test_words_and_page_know_the_same_labels() -> None:
    assert f"/{_LABEL.pattern}/i" in (ROOT / "agent/web/js/measures.js").read_text(encoding="utf-8")


def test_a_measure_has_fractions_or_is_counted_summed_or_averaged(page: Page) -> None:
    measured: dict[tuple[str, str | None], bool] = {
        ("orders", "SELECT COUNT(*) AS orders FROM o"): True,
        ("n", 'SELECT r, SUM("a, b") AS "n" FROM o'): True,
        ("spent", "SELECT ROUND(SUM(COALESCE(x, 0)), 2) AS spent, MAX(id) AS last FROM o"): True,
        ("last", "SELECT ROUND(SUM(COALESCE(x, 0)), 2) AS spent, MAX(id) AS last FROM o"): False,
        ("customer", "SELECT customer, COUNT(*) AS n FROM o"): False,
        ("n", "WITH c AS (SELECT COUNT(*) AS n FROM o) SELECT c.n FROM c"): True,
        ("n", "WITH c AS (SELECT COUNT(*) AS n FROM o) SELECT id AS n FROM p"): False,
        ("v", "SELECT '), SUM(' || id AS v FROM o"): False,
        ("COUNT(*)", "SELECT COUNT(*) FROM o"): True,
        ("average_year", "SELECT AVG(y) AS average_year FROM o"): False,
        ("год", "SELECT SUM(1) AS год FROM o"): False,
        ("订单号", "SELECT SUM(1) AS 订单号 FROM o"): False,
        ("paid", "SELECT SUM(x) AS paid FROM o"): True,
        ("n", None): False,
    }
    assert {(name, sql): page.evaluate(MEASURED, [name, [1, 2], sql]) for name, sql in measured} == measured
    assert page.evaluate(MEASURED, ["price", [1, 2.5, None], None])
    assert not page.evaluate(MEASURED, ["name", ["a"], "SELECT COUNT(x) AS name FROM o"])
    assert not page.evaluate(MEASURED, ["code", ["02139", "10115"], None])
