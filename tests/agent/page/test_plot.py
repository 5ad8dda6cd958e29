"""Charts without a request, their settings, and the files of an answer."""

from pathlib import Path

import openpyxl
import pytest
from playwright.sync_api import expect

from tests.agent.page.conftest import Visit, pick
from tests.agent.page.said import BY_ORDERS, FEWER, Model

pytestmark = [pytest.mark.heavy, pytest.mark.browser]
SPENT = "Which customers spent the most?"
SPLIT = (
    "SELECT c.name, o.status, COUNT(*) AS orders, SUM(o.total_amount) AS spent FROM orders AS o "
    "JOIN customers AS c ON c.customer_id = o.customer_id GROUP BY c.name, o.status ORDER BY c.name, o.status LIMIT 12"
)


def test_a_ranking_is_drawn_and_its_settings_are_saved(visit: Visit) -> None:
    site = visit(Model(FEWER, reviews=()))
    page = site.page
    site.ask(SPENT)
    expect(page.locator(".chart canvas")).to_be_visible()
    page.get_by_text("Chart settings").click()
    expect(page.get_by_label("Chart type")).to_have_value("bar")
    expect(page.get_by_label("X axis")).to_have_value("name")
    expect(page.get_by_label("Y axis")).to_have_value("spent")

    page.get_by_label("Chart type").focus()
    with page.expect_response("**/chart") as saved:
        page.get_by_label("Chart type").select_option("pie")
    assert saved.value.request.method == "PUT" and saved.value.json()["chart"]["type"] == "pie"
    expect(page.get_by_label("Chart type")).to_be_focused()
    expect(page.get_by_label("Split by")).to_be_hidden()
    expect(page.locator("#announced")).to_have_text("The chart was redrawn.")
    page.reload()
    expect(page.locator(".chart canvas")).to_be_visible()
    page.get_by_text("Chart settings").click()
    expect(page.get_by_label("Chart type")).to_have_value("pie")


def test_series_are_stacked(visit: Visit) -> None:
    site = visit(Model(SPLIT, reviews=()))
    page = site.page
    site.ask("Orders by customer and status")
    page.get_by_role("button", name="Draw a chart").click()
    expect(page.locator(".chart canvas")).to_be_visible()
    page.get_by_text("Chart settings").click()
    with page.expect_response("**/chart") as drawn:
        page.get_by_label("Chart type").select_option("bar")
    assert drawn.value.ok
    with page.expect_response("**/chart") as saved:
        page.get_by_label("Stacked").check()
    assert saved.value.json()["chart"]["option"]["series"][0]["stack"]
    expect(page.get_by_label("Stacked")).to_be_checked()
    with page.expect_response("**/chart") as measured:
        page.get_by_label("Y axis").select_option("orders")
    assert (measured.value.json()["spec"]["y"], measured.value.json()["spec"]["series"]) == (["orders"], "status")


def test_settings_that_do_not_fit_leave_the_chart(visit: Visit) -> None:
    site = visit(Model(SPLIT, reviews=()))
    page = site.page
    site.ask("Orders by customer and status")
    page.get_by_role("button", name="Draw a chart").click()
    page.get_by_text("Chart settings").click()
    page.get_by_label("Chart type").select_option("line")
    shown = page.get_by_label("Chart type")
    expect(shown).to_have_value("line")
    page.get_by_label("Split by").select_option("")
    expect(page.locator(".plot [role=alert]")).to_have_text("The rows do not allow this chart.")
    expect(page.get_by_label("Split by")).not_to_have_value("")
    expect(page.locator(".chart canvas")).to_be_visible()
    site.wrong.clear()


def test_files_are_named_after_the_question(visit: Visit, tmp_path: Path) -> None:
    site = visit(Model(BY_ORDERS, reviews=()))
    page = site.page
    site.ask(SPENT)
    expect(page.locator(".chart canvas")).to_be_visible()
    names = []
    for button in ("Save as PNG", "Save as SVG", "Save as CSV", "Save as Excel"):
        with page.expect_download() as saved:
            pick(page, button)
        names.append(saved.value.suggested_filename)
        saved.value.save_as(tmp_path / names[-1])
    stem = "which-customers-spent-the-most"
    assert names == [f"{stem}.{suffix}" for suffix in ("png", "svg", "csv", "xlsx")]
    drawing = (tmp_path / f"{stem}.svg").read_text(encoding="utf-8")
    assert drawing.startswith("<svg") and "Orders" in drawing
    sheet = openpyxl.load_workbook(tmp_path / f"{stem}.xlsx").active
    assert sheet and [cell.value for cell in sheet[1]] == ["name", "orders"] and sheet.max_row == 6


def test_the_chart_of_an_earlier_answer_keeps_its_settings(visit: Visit) -> None:
    site = visit(Model(SPLIT, reviews=()))
    page = site.page
    site.ask("Orders by customer and status")
    page.get_by_role("button", name="Draw a chart").click()
    page.get_by_text("Chart settings").click()

    site.ask("Orders by customer and status again")

    with page.expect_response("**/chart") as drawn:
        page.get_by_label("Chart type").first.select_option("line")
    assert drawn.value.ok
