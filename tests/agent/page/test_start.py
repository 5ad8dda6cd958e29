"""The start of the page: questions, tables and the place for files."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from datasphinx.agent.sample.spreadsheets import RETURNS as WORKBOOK
from tests.agent.page.actions import ATTACKS, COUNT, NUMBERS, PHONE, ask, sent_by, unharmed
from tests.agent.page.conftest import Visit, switch
from tests.agent.page.said import Model
from tests.support.databases import make_table, url

pytestmark = [pytest.mark.heavy, pytest.mark.browser]


def test_a_question_of_the_start_is_asked_by_a_click(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()), viewport={"width": 1440, "height": 1000})
    sent = sent_by(site.page)
    questions = site.page.get_by_role("list", name="Questions to start with").get_by_role("button")
    expect(questions).to_have_count(6)
    words = questions.nth(3).inner_text()
    questions.nth(3).click()
    expect(site.page.locator(".answer")).to_be_visible()
    assert sent[0]["question"] == words
    expect(questions.first).to_be_hidden()


def test_tables_open_by_keys_and_show_columns(visit: Visit) -> None:
    site = visit(viewport={"width": 1920, "height": 1080}, color_scheme="dark")
    page = site.page
    table = page.locator("#start-tree > li", has_text="orders").first
    table.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(table).to_contain_text("ordered_on")
    expect(table).to_contain_text("DATE")
    expect(table).to_contain_text("rows:")
    field = page.get_by_label("Your question")
    field.fill("How many per ?")
    field.evaluate("field => field.setSelectionRange(13, 13)")
    table.get_by_role("button", name="ordered_on").click()
    expect(field).to_have_value("How many per ordered_on ?")
    expect(field).to_be_focused()
    switch(page, "language", "Русский")
    expect(page.locator("#start-questions")).to_contain_text("Количество записей в таблице «orders»")


def test_names_of_tables_and_questions_stay_texts(visit: Visit, tmp_path: Path) -> None:
    rows = [[each, number] for number in range(2) for each in ATTACKS]
    table = make_table(
        tmp_path, '"<img src=x onerror=window.hit=1>" TEXT, amount INTEGER', rows, table='"<b>notes</b>"'
    )
    page = visit(source=url(table)).page
    page.locator("#start-tree summary").click()
    expect(page.locator("#start-tree .name").nth(1)).to_have_text("<img src=x onerror=window.hit=1>")
    question = "Number of <b>notes</b> by <img src=x onerror=window.hit=1>"
    expect(page.locator("#start-questions button")).to_have_text([question])
    expect(page.locator("#start, #start-questions").locator("img, b, script")).to_have_count(0)
    unharmed(page)


@pytest.mark.parametrize("width", [1440, 390])
def test_a_code_is_explained_in_its_table_and_becomes_knowledge(visit: Visit, tmp_path: Path, width: int) -> None:
    parcels = make_table(tmp_path, "parcel INTEGER, kind TEXT", [[1, "X"], [2, "<b>S</b>"], [3, "X"]])
    (tmp_path / "knowledge").mkdir()
    sources = {"parcels": {"url": url(parcels), "knowledge": str(tmp_path / "knowledge")}}
    page = visit(sources=sources, viewport={"width": width, "height": 844}).page
    page.locator("#start-tree summary").click()
    column = page.locator("#start-tree li li", has_text="kind")
    column.get_by_role("button", name="X", exact=True).click()
    expect(page.get_by_label("What X means")).to_be_focused()
    page.keyboard.type("express <i>")
    page.keyboard.press("Enter")
    expect(column.locator(".values")).to_have_text("X = express <i><b>S</b>")
    expect(page.locator("#announced")).to_have_text("X means express <i> from now on.")
    assert "X: express <i>" in (tmp_path / "knowledge/codes.yml").read_text()
    page.reload()
    page.locator("#start-tree summary").click()
    expect(column.locator(".values")).to_have_text("X = express <i><b>S</b>")
    expect(column.get_by_role("button", name="X", exact=True)).to_have_count(0)


def test_the_tables_are_those_of_the_chosen_source(visit: Visit, tmp_path: Path) -> None:
    sources = {}
    for name in ("moons", "stars"):
        (tmp_path / name).mkdir()
        sources[name] = url(make_table(tmp_path / name, "kind TEXT", [["a"], ["a"], ["b"], ["b"]], table=name))
    page = visit(sources=sources).page
    expect(page.locator("#start-tree .name")).to_have_text(["moons"])
    page.get_by_label("Data source").select_option("stars")
    expect(page.locator("#start-tree .name")).to_have_text(["stars"])
    expect(page.locator("#start-questions")).to_have_text("Number of stars by kind")


def test_the_foot_says_what_is_asked_and_how_to_ask_something_else(visit: Visit) -> None:
    page = visit().page
    expect(page.get_by_label("Data source").locator("option").first).to_have_text("Sample shop")
    expect(page.locator("#model")).to_have_text("fake")
    cut = "all => all.filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent)"
    assert page.locator("#model, #connect").evaluate_all(cut) == []
    page.get_by_role("button", name="Connect your own").click()
    expect(page.get_by_role("dialog", name="Sources")).to_be_visible()
    expect(page.get_by_text("Connect a larger model")).to_be_hidden()


def test_header_and_question_stay_in_view_and_take_one_row_each(visit: Visit) -> None:
    site = visit(Model(NUMBERS, reviews=()), **PHONE)
    page = site.page
    assert page.locator("header").bounding_box()["height"] < 64
    ask(site, "Count to 120")
    assert page.locator("header").bounding_box()["height"] < 64
    page.evaluate("window.scrollTo(0, 400)")
    assert page.locator("header").bounding_box()["y"] == 0
    assert page.locator("#composer").bounding_box()["height"] < 125
    field = page.get_by_label("Your question")
    height = field.bounding_box()["height"]
    field.fill("one\ntwo\nthree")
    assert field.bounding_box()["height"] > 1.5 * height


def test_the_row_below_the_question_is_folded_after_the_first_one(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()))
    page, row = site.page, site.page.locator("#foot")
    expect(row).to_be_visible()
    ask(site, "How many?")
    expect(row).to_be_hidden()
    fold = page.get_by_role("button", name="Source, tables and report")
    fold.click()
    expect(row).to_be_visible()
    page.get_by_role("button", name="Report", exact=True).click()
    fold.click()
    # What is sent next is a request for a report.
    expect(row).to_be_visible()
    page.get_by_role("button", name="Report", exact=True).click()
    expect(row).to_be_hidden()


def test_the_tables_stand_beside_the_conversation_on_a_laptop(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()), viewport={"width": 1280, "height": 720})
    ask(site, "How many?")
    answer, tables = site.page.locator(".answer").bounding_box(), site.page.locator("#tables").bounding_box()
    assert answer["x"] + answer["width"] <= tables["x"] and tables["x"] + tables["width"] <= 1280


def test_a_database_is_connected_from_the_start(visit: Visit) -> None:
    page = visit().page
    page.get_by_role("button", name="Connect your database").click()
    expect(page.get_by_role("dialog", name="Sources")).to_contain_text("No source is configured")


def test_a_file_is_chosen_from_the_start(visit: Visit) -> None:
    page = visit().page
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Ask about a spreadsheet").click()
    chooser.value.set_files(WORKBOOK)
    expect(page.locator(".chip")).to_contain_text("returns.xlsx")


def test_the_start_fits_a_phone(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()), **PHONE)
    expect(site.page.locator("#start-questions button")).to_have_count(6)
    site.page.locator("#start-tree summary").first.tap()
    ask(site, "How many?")
    expect(site.page.locator("#tables")).to_be_hidden()
    site.page.get_by_role("button", name="Source, tables and report").tap()
    site.page.get_by_role("button", name="Tables", exact=True).tap()
    site.page.get_by_role("button", name="Insert orders").tap()
    expect(site.page.locator("#tables")).to_be_hidden()
    expect(site.page.get_by_label("Your question")).to_have_value("orders ")
