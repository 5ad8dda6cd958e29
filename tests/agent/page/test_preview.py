"""The preview of a file that was added."""

import json

import pytest
from playwright.sync_api import Route, expect

from tests.agent.datasets.files import FEB, JAN
from tests.agent.datasets.workbooks import book
from tests.agent.page.actions import EXCEL
from tests.agent.page.conftest import Visit

pytestmark = [pytest.mark.heavy, pytest.mark.browser]
TITLED = b"sales in 2024\n\nregion,pairs\nnorth,3\nsouth,4\nTotal,7\n"
BOOK = {"name": "a.xlsx", "mimeType": EXCEL, "buffer": book(Jan=JAN, Feb=FEB, Mar=[["name"], ["<b>x</b>"]])}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_the_header_the_types_and_the_notes_are_shown_and_can_be_changed(visit: Visit, scheme: str, width: int) -> None:
    site = visit(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = site.page
    page.locator("#file").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": TITLED})
    preview = page.get_by_role("region", name="Preview of the file")
    expect(preview).to_contain_text("rows: 2, columns: 2 · header: row 3")
    expect(preview.get_by_role("columnheader")).to_have_text(["regiontext", "pairsnumber"])
    expect(preview.locator("tbody tr")).to_have_count(2)
    expect(preview.locator(".notes")).to_contain_text("Total")

    preview.get_by_role("button", name="Change how it is read").click()
    expect(page.get_by_label("Header row (0: none)")).to_have_attribute("placeholder", "3")
    expect(page.get_by_label("pairs: Type").locator("option").first).to_have_text("Detected: number")
    page.get_by_label("Leave out rows with totals").uncheck()
    page.get_by_role("button", name="Read again").click()
    expect(preview).to_contain_text("rows: 3")
    expect(page.locator(".chip")).to_contain_text("rows: 3")
    preview.get_by_role("button", name="Close the preview").click()
    expect(preview).to_be_hidden()
    expect(page.get_by_label("Your question")).to_be_focused()
    page.locator("#file").set_input_files({"name": "b.csv", "mimeType": "text/csv", "buffer": TITLED + b"west,5\n"})
    expect(preview).to_be_visible()
    site.ask("How many pairs?")
    expect(preview).to_be_hidden()
    page.locator(".chip").get_by_role("button", name="b.csv", exact=True).click()
    expect(preview).to_contain_text("b.csv")


def test_the_question_stays_on_the_screen_below_a_preview(visit: Visit) -> None:
    page = visit(viewport={"width": 1280, "height": 720}).page
    page.locator("#file").set_input_files(BOOK)
    expect(page.get_by_role("region", name="Preview of the file")).to_be_visible()
    question = page.get_by_label("Your question").bounding_box()
    assert question["y"] + question["height"] <= 720


def test_each_sheet_becomes_a_table(visit: Visit) -> None:
    site = visit()
    page = site.page
    page.locator("#file").set_input_files(BOOK)
    preview = page.get_by_role("region", name="Preview of the file")
    expect(preview.get_by_role("tab")).to_have_text(["Jan", "+ Feb", "+ Mar"])
    preview.get_by_role("tab", name="Jan").focus()
    page.keyboard.press("ArrowRight")
    with page.expect_response("**/datasets") as made:
        page.keyboard.press("Enter")
    assert json.loads(made.value.request.post_data or "{}")["options"] == {"sheet": "Feb"}
    expect(preview.get_by_role("tab", name="Feb")).to_have_attribute("aria-selected", "true")
    expect(preview.locator("tbody tr").first).to_contain_text("120")
    preview.get_by_role("button", name="Load all sheets").click()
    expect(page.locator(".chip")).to_have_count(3)
    expect(preview.get_by_role("button", name="Load all sheets")).to_be_hidden()
    preview.get_by_role("tab", name="Mar").click()
    expect(preview.locator("tbody")).to_have_text("<b>x</b>")


def test_a_preview_is_that_of_the_file_that_was_opened_last(visit: Visit) -> None:
    page = visit().page
    tables = {"a.csv": TITLED, "b.csv": TITLED + b"west,5\n"}
    files = [{"name": name, "mimeType": "text/csv", "buffer": data} for name, data in tables.items()]
    preview = page.get_by_role("region", name="Preview of the file")
    chips, held = page.locator(".chip"), list[Route]()
    page.locator("#file").set_input_files(files)
    expect(preview).to_contain_text("b.csv")

    page.route("**/preview", lambda route: held.append(route) if not held else route.continue_())
    chips.get_by_role("button", name="a.csv", exact=True).click()
    chips.get_by_role("button", name="b.csv", exact=True).click()
    expect(preview).to_contain_text("b.csv")
    with page.expect_response(held[0].request.url) as late:
        held[0].continue_()
    late.value.finished()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(preview).to_contain_text("b.csv")

    chips.get_by_role("button", name="Remove a.csv").click()
    expect(chips).to_have_count(1)
    expect(preview).to_contain_text("b.csv")
    chips.get_by_role("button", name="Remove b.csv").click()
    expect(preview).to_be_hidden()
