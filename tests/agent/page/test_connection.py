"""What the page does when an answer does not come, and with servers that have less or want more."""

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from datasphinx.agent.embedded.tiers import TIERS
from datasphinx.agent.server.keys import hash_of, new_key
from tests.agent.page.conftest import Visit
from tests.agent.page.said import ASKS, QUESTION, Model
from tests.support.fake_openai import Reply

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

COUNT = "SELECT COUNT(*) AS orders FROM orders"
HOW_MANY = "How many orders were placed?"
STEP = 'event: step\r\ndata: {"node": "plan", "line": "✓ plan 0.1 s  run_query", "latency_ms": 1}\r\n\r\n'

DEAD = "http://127.0.0.1:9/v1"


class Rejecting(Model):
    """A model that can reject the key."""

    is_rejecting = False

    def __call__(self, request: dict[str, Any]) -> Any:
        return Reply(status=401) if self.is_rejecting else super().__call__(request)


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
    sources: list[Route] = []
    page.route("**/sources", lambda route: sources.append(route))
    page.reload()
    events(page, 'event: problem\ndata: {"code": "model_rejected", "detail": "Set the key.", "status": 500}\n\n')
    with page.expect_response("**/agent/events"):
        site.ask(HOW_MANY)
    # The error may come before the page knows who reads it.
    sources.pop().fulfill(json={"sources": [], "is_operator": is_operator})
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
    assert model.asked.wait(60)
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


def test_a_file_that_cannot_be_read_is_told_beside_those_that_can(visit: Visit) -> None:
    page = visit().page
    broken = {"name": "a.xlsx", "mimeType": "x/y", "buffer": b"PK\x03\x04broken"}
    read = {"name": "b.csv", "mimeType": "text/csv", "buffer": b"city,units\nKazan,1\nTver,2\n"}
    page.locator("#file").set_input_files([broken, read])
    expect(page.locator(".chip")).to_contain_text(["b.csv"])
    expect(page.get_by_role("alert")).to_contain_text("a.xlsx")
    page.locator("#file").set_input_files([read])
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("is_embedded", [True, False])
def test_a_model_that_is_not_there_is_told_with_the_fix(
    visit: Visit, is_embedded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedded model without its file, and an endpoint that nobody serves."""
    monkeypatch.setattr("datasphinx.agent.embedded.server._servers", {})
    monkeypatch.setitem(TIERS, "base", replace(TIERS["base"], adapter=tmp_path / "missing.gguf"))
    endpoint = {"llm_base_url": None, "llm_model": None} if is_embedded else {"llm_base_url": DEAD}
    page = (site := visit(**endpoint)).page
    site.ask(HOW_MANY)
    expect(page.get_by_role("alert")).to_contain_text("missing.gguf" if is_embedded else DEAD)
    expect(page.get_by_role("alert")).not_to_contain_text("whoever runs this server")
    page.get_by_role("button", name="Test the connection").click()
    expect(page.locator(".failure [role=status]")).to_contain_text("missing.gguf" if is_embedded else DEAD)


def test_a_question_back_that_the_model_cannot_go_on_with_tells_the_cause(visit: Visit) -> None:
    model = Rejecting(reviews=(ASKS,))
    page = (site := visit(model)).page
    site.ask(QUESTION)
    expect(page.locator(".option")).to_have_count(2)
    model.is_rejecting = True
    site.ask("only those of 2024")
    why = page.locator(".turn").last.locator(".asked-back .why")
    expect(why.get_by_role("alert")).to_contain_text("refused the request")
    model.is_rejecting = False
    why.get_by_role("button", name="Test the connection").click()
    expect(why.get_by_role("status")).to_contain_text("The model answers")


def test_the_rows_before_an_error_are_saved_under_the_question(visit: Visit) -> None:
    page = (site := visit(Model(COUNT, reviews=()))).page
    table = {"columns": ["n"], "rows": [[1], [2]], "formats": [], "additive": []}
    failed = {"error": {"code": "statement_timeout", "message": "slow"}, "audit": {"trace_id": ""}, "tables": [table]}
    output = {**failed, "sql": None, "report": None, "answer": "", "charts": [], "clarification": None}
    events(page, f"event: output\ndata: {json.dumps({**output, 'thread_id': None, 'run_id': None})}\n\n")
    site.ask(HOW_MANY)
    expect(page.locator(".failure tbody tr")).to_have_count(2)
    page.locator(".failure .menu summary").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    assert download.value.suggested_filename == "how-many-orders-were-placed.csv"
