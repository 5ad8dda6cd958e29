"""Operators test, add and remove sources on the page."""

from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from datasphinx.agent.server.keys import hash_of
from datasphinx.agent.settings import load_settings
from tests.agent.page.actions import PHONE, unharmed
from tests.agent.page.conftest import Visit
from tests.agent.page.said import Model
from tests.support.databases import make_table, url

pytestmark = [pytest.mark.heavy, pytest.mark.browser]
MARKUP = "<img src=x onerror=window.hit=1>"


def test_a_source_is_tested_added_asked_and_removed(visit: Visit, tmp_path: Path) -> None:
    make_table(tmp_path, "title TEXT", [["Emma"], ["Ada"]], table="books").rename(tmp_path / "books.sqlite")
    site = visit(Model("SELECT COUNT(*) AS books FROM books", reviews=()), clarify="never", enable_sql_validation=False)
    page = site.page
    page.get_by_role("button", name="Sources", exact=True).click()
    dialog = page.get_by_role("dialog", name="Sources")
    expect(dialog).to_contain_text("No source is configured")

    dialog.get_by_text("Add a source").click()
    expect(dialog.get_by_label("Password")).to_have_attribute("type", "password")
    dialog.get_by_label("Name", exact=True).fill("library")
    dialog.get_by_label("What the data is about").fill(MARKUP)
    dialog.get_by_label("Database", exact=True).select_option("SQLite")
    expect(dialog.get_by_label("Password")).to_have_count(0)
    dialog.get_by_label("Path of the file").fill("../else.sqlite")
    dialog.get_by_role("button", name="Test", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("working directory")
    dialog.get_by_label("Path of the file").fill("books.sqlite")
    dialog.get_by_role("button", name="Test", exact=True).click()
    expect(dialog.locator(".source-result")).to_contain_text("The test succeeded. Tables: 1.")
    expect(dialog.locator(".source-result")).to_contain_text("The account has read access only.")
    dialog.get_by_role("button", name="Add", exact=True).click()

    expect(dialog.get_by_role("status").first).to_have_text(
        "library was added. Questions are about it from now on, and no longer about the sample shop."
    )
    source = dialog.get_by_role("article")
    expect(source).to_contain_text("Reachable. Tables: 1.")
    expect(source).to_contain_text(MARKUP)
    unharmed(page)
    dialog.get_by_role("button", name="Close").click()
    page.get_by_label("Data source").select_option("library")
    expect(page.locator("#start-tree .name")).to_have_text(["books"])
    site.ask("How many books are there?")
    expect(page.locator(".answer")).to_contain_text("2")

    page.get_by_role("button", name="Sources", exact=True).click()
    source.get_by_role("button", name="Remove").click()
    dialog.get_by_role("button", name="Press again to remove").click()
    expect(dialog.get_by_role("status").first).to_have_text("library was removed.")
    assert load_settings().sources == {}
    expect(page.locator("#source option", has_text="library")).to_have_count(0)


@pytest.mark.parametrize("width", [1440, 390])
def test_a_dropped_database_offers_to_become_a_source(visit: Visit, tmp_path: Path, width: int) -> None:
    made = make_table(tmp_path, "title TEXT", [["Emma"], ["Ada"]], table="books").rename(tmp_path / "library.sqlite")
    other = make_table(tmp_path, "wood TEXT", [["oak"]], table="shelves").rename(tmp_path / "shelf.sqlite")
    page = visit(viewport={"width": width, "height": 844}).page
    expect(page.locator("#start-tree .name").first).to_have_text("categories")
    page.locator("#file").set_input_files(made)
    expect(page.locator("#file-state")).to_contain_text("library.sqlite is a database. Add it as a source?")
    page.locator("#file-state").get_by_role("button", name="Cancel").click()
    expect(page.locator("#file-state")).to_be_empty()
    page.locator("#file").set_input_files([made, other])
    offers = page.locator("#file-state > div")
    expect(offers).to_have_count(2)
    offers.first.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#start-tree .name")).to_have_text(["books"])
    expect(page.get_by_label("Data source").locator("option:checked")).to_have_text("library")
    expect(page.locator(".toast")).to_have_text(
        "library was added. Questions are about it from now on, and no longer about the sample shop."
    )
    expect(offers).to_contain_text(["shelf.sqlite is a database."])
    offers.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".toast")).to_have_text("shelf was added.")
    expect(page.get_by_label("Data source").locator("option:checked")).to_contain_text("shelf")
    expect(offers).to_have_count(0)


def test_a_database_is_added_once_by_a_double_click_and_a_second_drop(visit: Visit, tmp_path: Path) -> None:
    made = make_table(tmp_path, "title TEXT", [["Emma"]], table="books").rename(tmp_path / "library.sqlite")
    page = visit().page
    sent = list[str]()
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/sources/files") else None)
    offer = page.locator("#file-state > div")
    page.locator("#file").set_input_files(made)
    offer.get_by_role("button", name="Add", exact=True).evaluate("each => { each.click(); each.click(); }")
    expect(page.get_by_label("Data source").locator("option:checked")).to_have_text("library")
    assert len(sent) == 1
    page.locator("#file").set_input_files(made)
    offer.get_by_role("button", name="Add", exact=True).click()
    expect(offer.get_by_role("alert")).to_contain_text("There is a source 'library' already.")
    offer.get_by_role("button", name="Cancel").click()
    expect(offer).to_have_count(0)


def test_a_database_that_is_dropped_before_the_sources_are_known_is_offered_too(visit: Visit, tmp_path: Path) -> None:
    made = make_table(tmp_path, "title TEXT", [["Emma"]], table="books").rename(tmp_path / "library.sqlite")
    page = visit().page
    held: list[Route] = []
    page.route("**/sources", lambda route: held.append(route), times=1)
    with page.expect_request("**/sources"):
        page.reload()
    page.locator("#file").set_input_files(made)
    held[0].continue_()
    expect(page.locator("#file-state")).to_contain_text("library.sqlite is a database. Add it as a source?")


def test_the_sources_fit_a_phone_and_say_what_is_wrong(visit: Visit, tmp_path: Path) -> None:
    things = url(make_table(tmp_path, "thing TEXT", [["a"]]))
    sources = {"things": things, "gone": "postgresql://ann:mellon@127.0.0.1:1/shop"}
    site = visit(sources=sources, **PHONE, color_scheme="dark")
    page = site.page
    page.get_by_role("button", name="Sources", exact=True).tap()
    dialog = page.get_by_role("dialog", name="Sources")
    gone = dialog.get_by_role("article").filter(has_text="gone")
    expect(gone.get_by_role("alert")).to_contain_text("does not respond")
    expect(gone).to_contain_text("it cannot be removed here")
    expect(gone).to_contain_text("postgresql://ann:***@127.0.0.1:1/shop")
    dialog.get_by_text("Add a source").tap()


def test_others_have_no_sources_to_edit(visit: Visit) -> None:
    site = visit(api_keys={"acme": hash_of("dsk_user")})
    page = site.page
    page.locator("#key").fill("dsk_user")
    page.keyboard.press("Enter")
    expect(page.locator("#start-tree .name").first).to_be_visible()
    expect(page.get_by_role("button", name="Sources", exact=True)).to_be_hidden()
