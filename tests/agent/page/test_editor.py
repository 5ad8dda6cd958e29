"""The editor of a statement on the page, and the reasons of rejected answers."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from datasphinx.agent.sample.shop import shop_url
from tests.agent.page.conftest import Site, Visit
from tests.agent.page.said import QUESTION, Model
from tests.support.databases import make_table, url

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

COUNT = "SELECT COUNT(*) AS customers FROM customers"


@pytest.fixture
def sources(cache_dir: Path, tmp_path: Path) -> dict[str, Any]:
    """The shop with an empty knowledge folder."""
    folder = tmp_path / "knowledge"
    folder.mkdir()
    return {"shop": {"url": shop_url(cache_dir), "knowledge": str(folder)}}


def opened(site: Site) -> Page:
    """Ask a question and open the editor of its statement."""
    site.ask("How many customers are there?")
    site.page.locator(".explain summary").click()
    site.page.get_by_role("button", name="Edit and run the SQL").click()
    expect(site.page.get_by_role("textbox", name="SQL editor")).to_be_focused()
    return site.page


def write(page: Page, sql: str) -> None:
    page.get_by_role("textbox", name="SQL editor").press("Control+a")
    page.keyboard.type(sql)


@pytest.mark.parametrize(
    ("width", "scheme"), [(1440, "light"), (1440, "dark"), (1920, "light"), (390, "light"), (390, "dark")]
)
def test_statement_is_edited_run_and_proposed(visit: Visit, sources: dict[str, Any], width: int, scheme: str) -> None:
    size = {"viewport": {"width": width, "height": 1000}, "color_scheme": scheme}
    site = visit(Model(COUNT, reviews=()), run_sql=True, clarify="never", sources=sources, **size)
    page = opened(site)
    coloured = page.locator(".cm-line span").first.evaluate("each => getComputedStyle(each).color")
    assert coloured != page.locator(".cm-content").evaluate("each => getComputedStyle(each).color")
    write(page, "select name, customer_id from customers order by customer_id limit 3")
    page.keyboard.press("Control+Enter")
    result = page.locator(".edited .result")
    expect(result.locator(".trust summary")).to_contain_text("Edited by hand")
    expect(result.locator("tbody tr")).to_have_count(3)
    expect(result.locator(".chart canvas")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    result.get_by_label("The question that this SQL answers").fill("Which customers come first?")
    result.get_by_role("button", name="Propose for review").click()
    expect(result.get_by_text("It is proposed for review.")).to_be_visible()
    page.get_by_role("button", name="Proposals").click()
    dialog = page.get_by_role("dialog", name="Proposals")
    expect(dialog.get_by_role("heading", name="Which customers come first?")).to_be_visible()
    expect(dialog.get_by_text("Edited by hand")).to_be_visible()
    dialog.get_by_role("button", name="Accept").click()
    expect(dialog.get_by_text("Accepted: knowledge/verified.yml:2")).to_be_visible()


def test_the_result_of_an_edited_statement_is_a_full_answer(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()), run_sql=True, clarify="never")
    page = opened(site)
    write(page, "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY orders DESC")
    page.keyboard.press("Control+Enter")
    result = page.locator(".edited .result")
    expect(result.locator(".chart canvas")).to_be_visible()
    expect(page.locator(".feedback")).to_have_count(1)
    expect(result.locator(".feedback")).to_be_visible()
    result.locator(".plot summary").click()
    result.get_by_label("Chart type").select_option("pie")
    expect(page.locator("#announced")).to_have_text("The chart was redrawn.")
    result.locator(".toolbar .menu summary").click()
    with page.expect_download() as download:
        result.get_by_role("button", name="Save as Excel").click()
    assert download.value.suggested_filename.endswith(".xlsx")
    result.get_by_role("button", name="Pin").click()
    page.get_by_label("Name of the new board").fill("Orders")
    page.locator("#pin-dialog").get_by_role("button", name="Pin").click()
    expect(result.get_by_text("Pinned to Orders.")).to_be_visible()

    page.reload()
    expect(page.locator(".turn")).to_have_count(2)
    last = page.locator(".turn").last
    expect(last.locator(".trust summary")).to_contain_text("Edited by hand")
    expect(last.locator("tbody tr")).to_have_count(4)
    expect(last.get_by_label("Chart type")).to_have_value("pie")
    site.ask("And today?")
    expect(page.locator(".turn")).to_have_count(3)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_statement_can_be_written_before_the_first_question(visit: Visit, width: int) -> None:
    site = visit(Model(COUNT, reviews=()), clarify="never", viewport={"width": width, "height": 844})
    page = site.page
    page.get_by_role("button", name="Write SQL").click()
    expect(page.get_by_role("textbox", name="SQL editor")).to_be_focused()
    page.keyboard.type("SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY orders DESC")
    page.keyboard.press("Control+Enter")
    result = page.locator(".edited .result")
    expect(result.locator(".trust summary")).to_contain_text("Edited by hand")
    expect(result.locator(".chart canvas")).to_be_visible()
    result.locator(".toolbar .menu summary").click()
    expect(result.get_by_role("button", name="Save as Excel")).to_be_visible()
    expect(result.get_by_role("button", name="Pin")).to_be_visible()
    expect(page.locator("#conversations a")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    write(page, COUNT)
    page.keyboard.press("Control+Enter")
    expect(result.locator(".figure, .lead").first).to_contain_text("Customers")
    site.ask("And today?")
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".turn").last.locator(".answer")).to_be_visible()

    page.reload()
    expect(page.locator(".turn")).to_have_count(3)
    expect(page.locator(".turn").first.locator(".chart canvas")).to_be_visible()
    expect(page.locator("#conversations a")).to_have_count(1)


def test_nobody_writes_statements_where_the_server_runs_none(visit: Visit) -> None:
    page = visit(run_sql=False).page
    expect(page.get_by_role("button", name="Report")).to_be_visible()
    expect(page.get_by_role("button", name="Write SQL")).to_be_hidden()


def test_a_long_statement_stands_in_lines_below_the_answer_and_in_the_editor(visit: Visit) -> None:
    orders = "SELECT customer_id FROM orders WHERE ordered_on >= '2025-01-01'"
    site = visit(Model(f"{COUNT} WHERE customer_id IN ({orders})", reviews=()), run_sql=True, clarify="never")
    page = opened(site)
    shown = page.locator(".explain > .sql code").inner_text()
    assert "\n    FROM orders\n" in shown
    expect(page.locator(".editor .cm-line")).to_have_count(shown.count("\n") + 1)


def test_an_edited_statement_answers_the_question_also_after_feedback_and_an_option(visit: Visit) -> None:
    site = visit(Model(), run_sql=True)
    site.ask(QUESTION)
    site.page.locator(".option").first.click()
    expect(site.page.locator(".answer")).to_be_visible()
    site.model.reviews.clear()
    site.page.get_by_role("button", name="Not what I meant").click()
    site.page.get_by_label("What should be different?").fill("only a few")
    site.page.keyboard.press("Enter")
    expect(site.page.locator(".turn")).to_have_count(3)
    for is_loaded_again in (False, True):
        answer = site.page.locator(".turn").nth(2)
        answer.locator(".explain summary").click()
        answer.get_by_role("button", name="Edit and run the SQL").click()
        with site.page.expect_request("**/sql") as sent:
            answer.get_by_role("button", name="Run the SQL", exact=True).click()
        assert sent.value.post_data_json["question"] == QUESTION
        expect(answer.locator(".edited .result .answer")).to_be_visible()
        if not is_loaded_again:
            with site.page.expect_download() as download:
                answer.locator(".edited .result .toolbar .menu summary").click()
                site.page.get_by_role("button", name="Save as CSV").last.click()
            assert download.value.suggested_filename.startswith("which-customers-are-the-best")
            site.page.reload()


def test_the_editor_asks_the_database_of_the_answer(visit: Visit, sources: dict[str, Any], tmp_path: Path) -> None:
    books = {"books": {"url": url(make_table(tmp_path, "title TEXT", [["Emma"]], table="books"))}}
    page = opened(visit(Model(COUNT, reviews=()), run_sql=True, clarify="never", sources=books | sources))
    expect(page.locator(".editor").get_by_label("Data source")).to_have_value("shop")
    page.get_by_role("button", name="Run the SQL", exact=True).click()
    expect(page.locator(".edited .result .figure")).to_be_visible()


def test_tables_and_columns_are_completed_with_the_keyboard(visit: Visit, sources: dict[str, Any]) -> None:
    page = opened(visit(Model(COUNT, reviews=()), run_sql=True, clarify="never", sources=sources))
    write(page, "SELECT COUNT(*) FROM regi")
    expect(page.get_by_role("option", name="regions")).to_be_visible()
    expect(page.get_by_role("listbox", name="Completions")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox", name="Completions")).to_be_hidden()

    write(page, "SELECT COUNT(*) FROM or")
    completions = page.get_by_role("listbox", name="Completions").get_by_role("option")
    expect(completions.first).to_have_text("order_items")
    expect(completions.nth(2)).to_have_text("OR")
    page.keyboard.press("Escape")

    write(page, "SELECT regions. FROM regions")
    for _ in " FROM regions":
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Control+Space")
    expect(page.get_by_role("option", name="region_id")).to_be_visible()


def test_columns_of_the_tables_in_the_statement_come_first(visit: Visit, sources: dict[str, Any]) -> None:
    page = opened(visit(Model(COUNT, reviews=()), run_sql=True, clarify="never", sources=sources))
    write(page, "SELECT nam FROM Customers")
    for _ in " FROM Customers":
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Control+Space")
    options = page.get_by_role("listbox", name="Completions").get_by_role("option")
    expect(options.first).to_have_text("namecustomers")
    write(page, "SELECT cu FROM orders")
    for _ in " FROM orders":
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Control+Space")
    expect(options.first).to_have_text("customer_idorders")
    expect(options.nth(1)).to_have_text("customers")


def test_a_column_is_completed_as_the_statement_needs_it(visit: Visit, tmp_path: Path) -> None:
    things = url(make_table(tmp_path, '"Area ""N""" TEXT, areal TEXT', [["north", "x"]]))
    page = opened(visit(Model("SELECT 1", reviews=()), run_sql=True, clarify="never", sources={"t": {"url": things}}))
    completions = page.get_by_role("listbox", name="Completions")
    for start in ("'", "-- "):
        write(page, f"SELECT * FROM things WHERE {start}Area")
        page.keyboard.press("Control+Space")
        expect(completions.get_by_role("option", name="things")).to_be_visible()
        expect(completions.get_by_role("option", name='Area "N"')).to_have_count(0)
        page.keyboard.press("Escape")
    write(page, "SELECT * FROM things WHERE Area")
    completions.get_by_role("option", name='Area "N"').click()
    expect(page.locator(".cm-content")).to_have_text('SELECT * FROM things WHERE "Area ""N"""')


def test_keys_of_the_page_do_not_leave_the_editor_except_tab(visit: Visit, sources: dict[str, Any]) -> None:
    page = opened(visit(Model(COUNT, reviews=()), run_sql=True, clarify="never", sources=sources))
    write(page, "SELECT 4 / 1")
    editor = page.get_by_role("textbox", name="SQL editor")
    expect(editor).to_have_text("SELECT 4 / 1")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Run the SQL", exact=True)).to_be_focused()


def test_an_edited_statement_is_stopped(visit: Visit, sources: dict[str, Any]) -> None:
    site = visit(Model(COUNT, reviews=()), run_sql=True, clarify="never", sources=sources, locale="de-DE")
    page = site.page
    page.get_by_label("Ihre Frage").fill("Wie viele Kunden?")
    page.keyboard.press("Enter")
    page.locator(".explain summary").click()
    page.get_by_role("button", name="SQL bearbeiten").click()
    page.route("**/sql", lambda route: None)
    page.get_by_role("button", name="SQL ausführen", exact=True).click()
    page.get_by_role("button", name="Abbrechen").click()
    expect(page.locator(".edited .result").get_by_role("alert")).to_have_text("Abgebrochen")


def test_guard_refuses_an_edited_statement_on_the_page(visit: Visit, sources: dict[str, Any]) -> None:
    page = opened(visit(Model(COUNT, reviews=()), run_sql=True, clarify="never", sources=sources))
    told = page.locator(".edited .result").get_by_role("alert")
    for sql, why in {"DELETE FROM customers": "DELETE", "SELECT 1 FROM customer": "nearest: customers"}.items():
        write(page, sql)
        page.get_by_role("button", name="Run the SQL", exact=True).click()
        expect(told).to_contain_text(why)


def test_without_the_setting_there_is_no_editor(visit: Visit) -> None:
    page = (site := visit(Model(COUNT, reviews=()), run_sql=False, clarify="never")).page
    site.ask("How many customers are there?")
    expect(page.locator(".answer .figure")).to_be_visible()
    page.locator(".explain summary").click()
    expect(page.get_by_role("button", name="Edit and run the SQL")).to_be_hidden()


def test_answer_rejected_with_a_reason_is_in_the_review_list(visit: Visit, sources: dict[str, Any]) -> None:
    site = visit(Model(COUNT, reviews=()), clarify="never", sources=sources)
    page = site.page
    site.ask("How many customers are there?")
    page.get_by_role("button", name="Not what I meant").click()
    expect(page.get_by_label("What should be different?")).to_be_focused()
    page.keyboard.type("only <b>active</b> ones")
    page.get_by_role("button", name="Answer again").click()
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_enabled()

    page.get_by_role("button", name="Proposals").click()
    dialog = page.get_by_role("dialog", name="Proposals")
    expect(dialog.get_by_text("A user rejected this answer: only <b>active</b> ones")).to_be_visible()
    expect(dialog.get_by_role("button", name="Accept")).to_have_count(0)
    dialog.get_by_role("button", name="Mark as dealt with").click()
    expect(dialog.get_by_text("Dealt with.")).to_be_visible()
