"""Boards on the page: pinned answers, refreshed figures, bounds, errors, links and files."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.agent.page.actions import choose, tab_to
from tests.agent.page.conftest import Site, Visit
from tests.agent.page.said import BY_AMOUNT, Model
from tests.support.databases import make_table, url

pytestmark = [pytest.mark.heavy, pytest.mark.browser]
COUNT = "SELECT COUNT(*) AS things FROM things"
QUESTION = "How many things are there?"


@pytest.fixture
def things(tmp_path: Path) -> Path:
    return make_table(tmp_path, "thing TEXT", [["north"], ["south"]])


@pytest.fixture
def opened(visit: Visit, things: Path) -> Visit:
    """Opens a page over that table, whose question is answered by its number of rows."""

    def open_page(**context: Any) -> Site:
        sources = {"things": {"url": url(things)}}
        return visit(Model(COUNT, reviews=()), clarify="never", sources=sources, enable_sql_validation=False, **context)

    return open_page


def change(things: Path, statement: str) -> None:
    with sqlite3.connect(things) as connection:
        connection.execute(statement)
    connection.close()


def pin(site: Site, title: str = "Things") -> None:
    """Ask, pin the answer to a new board and open the board."""
    page = site.page
    site.ask(QUESTION)
    page.get_by_role("button", name="Pin", exact=True).click()
    dialog = page.get_by_role("dialog", name="Pin the answer to a board")
    dialog.get_by_label("Name of the new board").fill(title)
    dialog.get_by_role("button", name="Pin", exact=True).click()
    expect(page.locator(".pinned-to")).to_contain_text(f"Pinned to {title}.")
    page.get_by_role("link", name="Open the board").click()
    expect(card(page).locator(".figure")).to_have_text("2")


def card(page: Page) -> Any:
    return page.locator("#board .card").first


def test_pin_refresh_bounds_error_and_deletion(opened: Visit, things: Path) -> None:
    site = opened()
    page = site.page
    pin(site, "<b>Things</b>")
    board = page.locator("#board")
    expect(board.get_by_role("heading", name="<b>Things</b>")).to_be_focused()
    expect(card(page).locator("time")).to_contain_text("Refreshed ")

    change(things, "INSERT INTO things VALUES ('west')")
    card(page).hover()
    board.get_by_role("button", name=f"Refresh: {QUESTION}").click()
    expect(card(page).locator(".figure")).to_have_text("3")
    choose(card(page), "Settings")
    card(page).get_by_label("Upper bound").fill("2.5")
    card(page).get_by_role("button", name="Save", exact=True).click()
    expect(card(page).locator(".mark")).to_have_text("Out of bounds: ≤ 2.5")

    tools = board.locator(".board-tools")
    tools.locator("summary").first.click()
    tools.get_by_label("Refresh by itself").select_option("daily")
    tools.locator("summary").first.click()
    expect(tools.get_by_label("Refresh by itself")).to_have_value("daily")
    page.keyboard.press("Escape")
    with page.expect_download() as download:
        choose(tools, "Save as CSV")
    assert ",3,,2.5,true," in Path(download.value.path()).read_text(encoding="utf-8-sig")

    change(things, "DROP TABLE things")
    change(things, "CREATE TABLE others (n INTEGER)")
    board.get_by_role("button", name="Refresh", exact=True).click()
    expect(card(page).locator(".stale")).to_contain_text("This answer no longer runs:")
    choose(tools, "Delete the board")
    board.get_by_role("button", name="Press again").click()
    expect(page.get_by_text("There are no boards yet.")).to_be_visible()


def test_a_board_has_an_address(opened: Visit) -> None:
    site = opened()
    page = site.page
    pin(site)
    address = page.evaluate("location.href")
    expect(page.locator(".turn, #composer, .welcome").first).to_be_hidden()
    expect(page).to_have_title("Things · datasphinx")
    page.reload()
    expect(card(page).locator(".figure")).to_have_text("2")
    assert page.evaluate("location.href") == address

    page.get_by_role("link", name="Conversation", exact=True).click()
    expect(page.locator(".turn .answer")).to_be_visible()
    expect(page.locator("#board")).to_be_hidden()
    page.go_back()
    expect(page.get_by_role("heading", name="Things", exact=True)).to_be_focused()
    page.get_by_role("button", name="New conversation").first.click()
    expect(page.get_by_label("Your question")).to_be_focused()
    page.get_by_role("button", name="Boards", exact=True).click()
    expect(card(page).locator(".figure")).to_have_text("2")
    assert page.evaluate("location.href") == address

    page.goto(address[:-1] + ("0" if address[-1] != "0" else "1"))
    expect(page.locator("#board [role=alert]")).to_contain_text("There is no board")


def test_who_leaves_a_board_before_it_comes_is_not_led_back(opened: Visit) -> None:
    site = opened()
    page = site.page
    pin(site)
    held: list[Route] = []
    page.route("**/boards/bd_*", lambda route: held.append(route))
    with page.expect_request("**/boards/bd_*"):
        page.reload()
    page.get_by_role("link", name="Conversation", exact=True).click()
    expect(page.locator(".turn .answer")).to_be_visible()
    address = page.evaluate("location.href")
    with page.expect_response("**/boards/bd_*"):
        held[-1].continue_()
    page.wait_for_load_state("networkidle")
    assert page.evaluate("[location.href, document.title]") == [address, "datasphinx"]


def test_controls_of_a_card_are_seen_on_hover_and_not_in_print(opened: Visit) -> None:
    site = opened()
    page = site.page
    pin(site)
    tools = card(page).locator(".card-tools")
    page.mouse.move(0, 0)
    expect(tools).to_have_css("opacity", "0")
    card(page).hover()
    expect(tools).to_have_css("opacity", "1")
    page.emulate_media(media="print")
    expect(card(page).locator(".figure")).to_be_visible()
    controls = page.locator("header, #sidebar, #board .back, .board-tools, .card-tools")
    expect(controls.filter(visible=True)).to_have_count(0)


def test_boards_by_keys(opened: Visit) -> None:
    site = opened()
    page = site.page
    site.ask(QUESTION)
    expect(page.locator(".turn .answer")).to_be_visible()
    tab_to(page, "Pin")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name of the new board")).to_be_focused()
    page.keyboard.type("Things")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Open the board")).to_be_focused()
    page.keyboard.press("Enter")
    expect(card(page).locator(".figure")).to_have_text("2")
    tab_to(page, "Refresh")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Things", exact=True)).to_be_focused()


def test_a_pinned_ranking_keeps_its_chart_and_the_settings_of_it(visit: Visit) -> None:
    site = visit(Model(BY_AMOUNT, reviews=()), clarify="never")
    page = site.page
    for title in ("Automatic", "Changed"):
        site.ask("Which customers spent the most?")
        expect(page.locator(".turn").last.locator(".chart canvas")).to_be_visible()
        if title == "Changed":
            page.get_by_text("Chart settings").last.click()
            page.get_by_label("Chart type").last.select_option("Pie")
            expect(page.locator("#announced")).to_contain_text("The chart was redrawn.")
        page.get_by_role("button", name="Pin", exact=True).last.click()
        dialog = page.get_by_role("dialog", name="Pin the answer to a board")
        if title == "Automatic":
            dialog.get_by_label("Name of the new board").fill("Sales")
        dialog.get_by_role("button", name="Pin", exact=True).click()
        expect(page.locator(".pinned-to").last).to_contain_text("Pinned to Sales.")
    page.get_by_role("link", name="Open the board").last.click()
    expect(page.locator("#board .card .chart canvas")).to_have_count(2)
    board = page.evaluate("fetch('boards').then((each) => each.json()).then(({ boards }) => boards[0].id)")
    pins = page.evaluate("(id) => fetch(`boards/${id}`).then((each) => each.json())", board)["pins"]
    assert [each["result"]["chart"]["type"] for each in pins] == ["bar", "pie"]
