"""The page loaded again: it shows the conversation that it goes on with."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from datasphinx.agent.sample.spreadsheets import RETURNS as WORKBOOK
from datasphinx.agent.server.keys import hash_of, new_key
from tests.agent.page.actions import COUNT, HOW_MANY, ask, sent_by
from tests.agent.page.conftest import Visit
from tests.agent.page.said import ASKS, ASKS_AGAIN, QUESTION, RETURNS, Model

pytestmark = [pytest.mark.heavy, pytest.mark.browser]


def said(page: Page) -> list[str]:
    return page.locator(".said").all_text_contents()


def asked_back(page: Page, times: int = 1) -> None:
    expect(page.locator(".asked-back")).to_have_count(times)
    expect(page.locator("fieldset:enabled .option")).to_have_count(2)


def test_an_open_question_back_is_there_with_its_buttons(visit: Visit) -> None:
    site = visit(Model(reviews=(ASKS,)))
    sent = sent_by(site.page)
    site.ask(QUESTION)
    asked_back(site.page)
    site.page.reload()
    asked_back(site.page)
    assert said(site.page) == [QUESTION]
    expect(site.page.get_by_role("heading", name="What makes a customer the best?")).to_be_focused()
    site.page.keyboard.press("2")
    expect(site.page.locator(".chart canvas")).to_be_visible()
    assert sent[1]["clarification_answer"] == "2"


def test_all_turns_are_there_and_the_last_can_be_rejected(visit: Visit) -> None:
    site = visit(Model(reviews=(ASKS, ASKS_AGAIN)))
    page = site.page
    site.ask(QUESTION)
    asked_back(page)
    page.locator(".option").nth(1).click()
    expect(page.locator(".chart canvas")).to_be_visible()
    expect(page.locator(".trust summary")).to_contain_text("Your choice")
    page.reload()

    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".trust summary")).to_contain_text("Your choice")
    assert said(page) == [QUESTION, "by amount"]
    expect(page.locator(".option").nth(1)).to_have_class("option chosen")
    expect(page.locator(".option").nth(1)).to_be_disabled()
    expect(page.locator(".answer tbody tr")).to_have_count(5)
    expect(page.locator(".chart canvas")).to_be_visible()
    expect(page.locator(".sql code")).to_contain_text("SELECT c.name")
    page.get_by_role("button", name="Not what I meant").click()
    page.get_by_label("What should be different?").fill("only a few")
    page.keyboard.press("Enter")
    asked_back(page, times=2)
    page.reload()
    asked_back(page, times=2)
    assert said(page)[2] == "Not what I meant: only a few"
    expect(page.locator(".feedback")).to_have_count(0)


def test_an_answer_that_was_accepted_is_noted_so(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()))
    ask(site, HOW_MANY)
    site.page.get_by_role("button", name="Right", exact=True).click()
    expect(site.page.locator(".noted")).to_have_text("Noted: the answer is right.")
    site.page.reload()
    expect(site.page.locator(".noted")).to_have_text("Noted: the answer is right.")
    expect(site.page.locator(".turn")).to_have_count(1)
    expect(site.page.get_by_role("button", name="Right", exact=True)).to_have_count(0)


def test_the_next_question_goes_on_with_the_same_files(visit: Visit) -> None:
    site = visit()
    sent = sent_by(site.page)
    site.page.locator("#file").set_input_files(WORKBOOK)
    expect(site.page.locator(".chip")).to_contain_text("returns.xlsx")
    ask(site, RETURNS)
    site.page.reload()
    expect(site.page.locator(".chip")).to_contain_text("returns.xlsx")
    expect(site.page.locator(".chart canvas")).to_be_visible()
    site.ask("And the fewest?")
    expect(site.page.locator(".turn")).to_have_count(2)
    expect(site.page.get_by_role("button", name="Ask", exact=True)).to_be_enabled()
    assert sent[1]["datasets"] == sent[0]["datasets"] and sent[1]["thread_id"]


def test_a_source_that_was_chosen_is_chosen_still(visit: Visit, cache_dir: Path) -> None:
    shop = f"sqlite:///{next(cache_dir.rglob('*.sqlite*'))}"
    site = visit(Model(COUNT, reviews=()), sources={"first": shop, "second": shop})
    sent = sent_by(site.page)
    site.page.get_by_label("Data source").select_option("second")
    ask(site, HOW_MANY)
    site.page.reload()
    site.ask(HOW_MANY)
    expect(site.page.locator(".answer")).to_have_count(2)
    assert [(each["source"], "thread_id" in each) for each in sent] == [("second", False), ("second", True)]


def test_a_new_conversation_forgets_the_thread(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()))
    ask(site, HOW_MANY)
    site.page.reload()
    expect(site.page.locator(".turn")).to_have_count(1)
    site.page.get_by_role("button", name="New conversation").click()
    site.page.reload()
    expect(site.page.locator(".welcome")).to_be_visible()
    expect(site.page.locator(".turn")).to_have_count(0)


def test_a_thread_that_the_server_does_not_know_begins_anew(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()))
    sent = sent_by(site.page)
    ask(site, HOW_MANY)
    site.page.evaluate("history.replaceState(null, '', '/')")
    site.page.evaluate(
        "sessionStorage.setItem('datasphinx.conversation', "
        "JSON.stringify({ thread: '0'.repeat(32), graph: 'agent', named: {} }))"
    )
    site.page.reload()
    expect(site.page.locator(".welcome")).to_be_visible()
    expect(site.page.locator(".toast")).to_contain_text("0" * 32)
    ask(site, HOW_MANY)
    assert "thread_id" not in sent[1]


def test_a_conversation_that_does_not_come_is_asked_for_again(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()))
    ask(site, HOW_MANY)
    site.page.route("**/threads/**", lambda route: route.abort("connectionreset"), times=1)
    site.page.reload()
    expect(site.page.get_by_role("alert")).to_contain_text("The connection was lost")
    site.page.get_by_role("button", name="Try again").click()
    expect(site.page.locator(".answer .figure")).to_be_visible()
    expect(site.page.get_by_role("alert")).to_have_count(0)


def test_the_sources_are_listed_when_a_key_comes_late(visit: Visit) -> None:
    key = new_key()
    urls = {"books": "sqlite:///books.db", "shelves": "sqlite:///shelves.db"}
    site = visit(Model(COUNT), api_keys={"acme": hash_of(key)}, sources=urls)
    field, sources = site.page.get_by_label("Key", exact=True), site.page.locator("#source option")
    expect(field).to_be_focused()
    site.page.keyboard.press("Escape")
    expect(sources).to_have_count(1)
    site.ask(HOW_MANY)
    expect(field).to_be_focused()
    field.fill(key)
    site.page.keyboard.press("Enter")
    expect(sources).to_have_count(3)


def test_a_key_dialog_that_was_closed_stays_closed_for_requests_sent_before(visit: Visit) -> None:
    key = new_key()
    site = visit(Model(COUNT), api_keys={"acme": hash_of(key)})
    field, held = site.page.get_by_label("Key", exact=True), list[Route]()
    site.page.route("**/datasets", lambda route: held.append(route), times=1)
    site.page.reload()
    expect(field).to_be_focused()
    site.page.keyboard.press("Escape")
    with site.page.expect_response("**/datasets"):
        held.pop().continue_()
    site.ask(HOW_MANY)
    expect(field).to_be_focused()
