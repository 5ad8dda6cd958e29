"""The page in the dark and in three languages; its table, its files and its charts."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from datasphinx.agent.responses import ChartResponse
from tests.agent.page.actions import PHONE
from tests.agent.page.conftest import Site, Visit, pick, switch
from tests.agent.page.said import BY_AMOUNT, Model
from tests.support.analyst import response

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

DESK = {"viewport": {"width": 1180, "height": 1360}}
REGIONS = "Which region had the highest sales in 2025? Show a bar chart."
SALES = (
    "SELECT r.name AS region, ROUND(SUM(o.total_amount)) AS sales FROM orders AS o"
    " JOIN customers AS c ON c.customer_id = o.customer_id JOIN regions AS r ON r.region_id = c.region_id"
    " WHERE o.ordered_on BETWEEN '2025-01-01' AND '2025-12-31'"
    " GROUP BY r.name ORDER BY sales DESC"
)


def background(page: Page) -> tuple[int, ...]:
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return tuple(int(each) for each in colour.strip("rgb()").split(","))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_of_the_system(visit: Visit, scheme: str) -> None:
    said = {"answer": ["{1.region} had the highest sales, {1.sales}."], "assumptions": []}
    model = Model(SALES, reviews=(), chart={"type": "bar", "x": "region", "y": ["sales"]}, **said)
    site = visit(model, color_scheme=scheme, llm_model="your-model", **DESK)
    site.ask(REGIONS)
    expect(site.page.locator(".chart canvas")).to_be_visible()
    assert (sum(background(site.page)) < 200) is (scheme == "dark")


def test_the_switch_of_colours_holds(visit: Visit) -> None:
    site = visit(Model(SALES, reviews=()), color_scheme="light")
    site.ask(REGIONS)
    expect(site.page.locator(".chart canvas")).to_be_visible()
    switch(site.page, "theme", "Dark")
    assert sum(background(site.page)) < 200
    site.page.reload()
    assert sum(background(site.page)) < 200
    switch(site.page, "theme", "System")
    assert sum(background(site.page)) > 600


@pytest.mark.parametrize(
    ("locale", "lead"),
    [
        ("en-GB", "Ask your data a question"),
        ("ru-RU", "Задайте вопрос своим данным"),
        ("zh-CN", "向您的数据提问"),
        ("fr-FR", "Ask your data a question"),
    ],
)
def test_the_language_of_the_browser(visit: Visit, locale: str, lead: str) -> None:
    site = visit(locale=locale, **PHONE)
    expect(site.page.locator(".welcome h2")).to_have_text(lead)
    assert site.page.locator("#ask").evaluate("each => each.offsetHeight") < 50
    assert site.page.evaluate("document.documentElement.lang") == (locale[:2] if locale != "fr-FR" else "en")


def test_the_switch_of_languages_says_what_is_there_anew(visit: Visit) -> None:
    site = visit(Model(SALES, reviews=()), enable_sql_validation=True)
    site.ask(REGIONS)
    expect(site.page.locator(".cost")).to_contain_text("model calls: 2")
    switch(site.page, "language", "Русский")
    expect(site.page.locator(".cost")).to_contain_text("вызовов модели: 2")
    expect(site.page.get_by_role("button", name="Верно")).to_be_visible()
    expect(site.page.locator(".cost")).to_contain_text(re.compile(r"\d,\d с"))
    site.page.locator(".explain summary").click()
    expect(site.page.locator(".explain li", has_text="Ответ").last).to_be_visible()
    expect(site.page.locator(".explain li", has_text="Answer")).to_have_count(0)
    site.page.reload()
    expect(site.page.get_by_role("button", name="Спросить", exact=True)).to_be_visible()


@pytest.fixture
def table(visit: Visit) -> Site:
    """A page with a table of five customers and a chart."""
    site = visit(Model(BY_AMOUNT, reviews=(), output_type="plot"), permissions=["clipboard-read", "clipboard-write"])
    site.ask("Show customers by what they spent as a bar chart")
    expect(site.page.locator(".chart canvas")).to_be_visible()
    return site


def column(page: Page, at: int) -> list[str]:
    return page.locator(f"tbody td:nth-child({at})").all_text_contents()


def test_a_table_is_sorted_copied_and_saved_as_it_is_shown(table: Site) -> None:
    page = table.page
    page.get_by_role("columnheader", name="spent").get_by_role("button").click()
    amounts = [float(each.replace(",", "")) for each in column(page, 2)]
    assert amounts == sorted(amounts) and len(amounts) == 5

    pick(page, "Copy")
    expect(page.locator(".menu").get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[0] == "name\tspent" and copied[1] == f"{column(page, 1)[0]}\t{amounts[0]}"

    with page.expect_download() as download:
        pick(page, "Save as CSV")
    saved = Path(download.value.path()).read_bytes().decode("utf-8-sig").split("\r\n")
    assert saved[:2] == ["name,spent", f"{column(page, 1)[0]},{amounts[0]}"]


def test_a_statement_is_copied_as_it_ran(table: Site) -> None:
    table.page.locator(".explain summary").click()
    table.page.locator(".sql").get_by_role("button", name="Copy").click()
    expect(table.page.locator(".sql").get_by_role("button", name="Copied")).to_be_visible()
    assert " ".join(table.page.evaluate("navigator.clipboard.readText()").split()) == BY_AMOUNT
    assert "SELECT" in table.page.locator(".sql .keyword").all_text_contents()


def test_a_chart_is_saved_as_a_picture(table: Site) -> None:
    with table.page.expect_download() as download:
        pick(table.page, "Save as PNG")
    with Image.open(io.BytesIO(Path(download.value.path()).read_bytes())) as picture:
        assert (picture.format, picture.size) == ("PNG", (2400, 1400))
        colours: Any = picture.convert("RGB").getcolors(maxcolors=1 << 24)
        assert len(colours) > 10


def test_a_source_is_chosen_by_name(visit: Visit) -> None:
    site = visit(
        Model("SELECT COUNT(*) AS things FROM things", reviews=()),
        sources={"books": "sqlite:///books.db", "films": "sqlite:///films.db"},
    )
    sent: list[dict[str, Any]] = []
    site.page.on("request", lambda each: sent.append(each.post_data_json) if each.url.endswith("/events") else None)
    site.page.get_by_label("Data source").select_option("books")
    site.ask("How many things are there?")
    expect(site.page.locator(".turn")).to_have_count(1)
    expect(site.page.get_by_role("button", name="Ask", exact=True)).to_be_enabled()
    assert [(each["question"], each["source"]) for each in sent] == [("How many things are there?", "books")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_in_html_stands_on_a_white_card(chromium: Browser, tmp_path: Path, scheme: Any) -> None:
    chart = response("plot")
    assert isinstance(chart, ChartResponse)
    path = chart.save(tmp_path / "chart.html")
    with chromium.new_context(color_scheme=scheme) as context:
        page = context.new_page()
        page.goto(path.as_uri())
        colour = page.locator(".datasphinx").evaluate("each => getComputedStyle(each).color")
        assert (sum(map(int, colour.strip("rgb()").split(","))) > 600) is (scheme == "dark")
        picture = page.locator("img").evaluate("each => getComputedStyle(each).backgroundColor")
    assert picture == "rgb(255, 255, 255)"
