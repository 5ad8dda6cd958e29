"""What the page does when an answer does not come, and with servers that have less or want more."""

import json
import threading
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from datasphinx.agent.server.keys import hash_of, new_key
from tests.agent.page.conftest import Site
from tests.agent.page.said import Model

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

COUNT = "SELECT COUNT(*) AS orders FROM orders"
HOW_MANY = "How many orders were placed?"
STEP = 'event: step\r\ndata: {"node": "plan", "line": "✓ plan 0.1 s  run_query", "latency_ms": 1}\r\n\r\n'

Visit = Callable[..., Site]


def events(page: Page, body: str) -> None:
    """Have the next run end with what `body` holds."""
    page.route(
        "**/agent/events",
        lambda route: route.fulfill(body=body, content_type="text/event-stream; charset=utf-8"),
        times=1,
    )


@pytest.mark.parametrize("cut", ["", STEP, STEP + 'event: output\r\ndata: {"answer"'])
def test_a_connection_that_is_lost(visit: Visit, cut: str) -> None:
    site = visit(Model(COUNT, reviews=()))
    if cut:
        events(site.page, cut)
    else:
        site.page.route("**/agent/events", lambda route: route.abort("connectionreset"), times=1)
    site.ask(HOW_MANY)
    expect(site.page.get_by_role("alert")).to_contain_text("The connection was lost")
    again = site.page.get_by_role("button", name="Try again")
    expect(again).to_be_focused()
    again.click()
    expect(site.page.locator(".answer .figure")).to_be_visible()
    expect(site.page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("is_operator", [True, False])
def test_the_cause_is_told_to_who_runs_the_server(visit: Visit, is_operator: bool) -> None:
    page = (site := visit(Model(COUNT, reviews=()))).page
    if not is_operator:
        page.route("**/sources", lambda route: route.fulfill(json={"sources": [], "is_operator": False}))
        page.reload()
    events(page, 'event: problem\ndata: {"code": "model_rejected", "detail": "Set the key.", "status": 500}\n\n')
    site.ask(HOW_MANY)
    alert = page.get_by_role("alert")
    if is_operator:
        expect(alert).to_have_text("Set the key.")
        page.get_by_role("button", name="Test the connection").click()
        expect(page.locator(".failure [role=status]")).to_contain_text("The model answers")
    else:
        expect(alert).to_contain_text("whoever runs this server")
        page.get_by_text("Details", exact=True).click()
        expect(page.locator(".operators")).to_contain_text("Set the key.")
        expect(page.get_by_role("button", name="Test the connection")).to_be_hidden()


def test_a_limit_says_when_to_try_again(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()))
    problem = json.dumps({"title": "Too many", "detail": "Slow down.", "status": 429, "code": "rate_limited"})
    site.page.route(
        "**/agent/events",
        lambda route: route.fulfill(status=429, headers={"Retry-After": "7"}, body=problem),
        times=1,
    )
    site.ask(HOW_MANY)
    expect(site.page.get_by_role("alert")).to_contain_text("Try again in 7 s.")
    expect(site.page.get_by_role("heading", name="There are too many questions right now")).to_be_visible()


def test_steps_come_while_the_question_runs_and_escape_stops_it(visit: Visit) -> None:
    model = Model(COUNT, reviews=())
    model.wait = threading.Event()
    site = visit(model)
    site.ask(HOW_MANY)
    expect(site.page.locator(".progress .step").first).to_have_text("Find tables")
    expect(site.page.get_by_role("button", name="Ask", exact=True)).to_have_count(0)
    assert model.asked.wait(10)
    site.page.keyboard.press("Escape")
    expect(site.page.get_by_role("heading", name="Stopped")).to_be_visible()
    model.wait.set()
    expect(site.page.get_by_role("button", name="Ask", exact=True)).to_be_enabled()


def test_a_key_is_asked_for_until_it_is_right_and_holds_in_the_tab(visit: Visit) -> None:
    key = new_key()
    site = visit(Model(COUNT, reviews=()), api_keys={"acme": hash_of(key)})
    field = site.page.get_by_label("Key", exact=True)
    for wrong in ("not the key", "ключ"):
        expect(field).to_be_focused()
        field.fill(wrong)
        site.page.keyboard.press("Enter")
        expect(field).to_have_value("")
    field.fill(key)
    site.page.keyboard.press("Enter")
    expect(field).to_be_hidden()
    site.ask(HOW_MANY)
    expect(site.page.locator(".answer .figure")).to_be_visible()
    site.page.reload()
    expect(site.page.locator(".answer .figure")).to_be_visible()
    site.ask(HOW_MANY)
    expect(site.page.locator(".answer .figure")).to_have_count(2)
    expect(field).to_be_hidden()


def test_who_gives_no_key_is_told_that_one_is_wanted(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()), api_keys={"acme": hash_of(new_key())})
    field = site.page.get_by_label("Key", exact=True)
    expect(field).to_be_focused()
    site.page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    site.ask(HOW_MANY)
    expect(field).to_be_focused()
    site.page.keyboard.press("Escape")
    expect(site.page.locator(".failure .error")).to_contain_text("key")


def test_a_file_that_cannot_be_read_is_told(visit: Visit) -> None:
    site = visit()
    site.page.locator("#file").set_input_files({"name": "a.xlsx", "mimeType": "x/y", "buffer": b"PK\x03\x04broken"})
    expect(site.page.get_by_role("alert")).to_contain_text("a.xlsx")
    expect(site.page.locator(".chip")).to_have_count(0)
