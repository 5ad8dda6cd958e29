"""Pages over `useStream`, one with the calls of Agent Chat UI, in a real Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response
from playwright.sync_api import Browser, Page, expect

from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.server.app import create_app
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.page.conftest import TIMEOUT_MS
from tests.agent.server.asking import HOW_MANY, statement_for
from tests.agent.server.serving import running
from tests.conftest import VALID
from tests.support.best_customer import BEST
from tests.support.npm import bundle

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

PAGE = '<link rel="icon" href="data:,"><div id="root"></div><script src="page.js"></script>'


@pytest.fixture
def script(request: pytest.FixtureRequest) -> str:
    """The script of the page."""
    return bundle(getattr(request, "param", "page.jsx"))


@pytest.fixture
def chat(chromium: Browser, cache_dir: Path, script: str) -> Iterator[Page]:
    """The page; the server is below it, as behind the proxy of Agent Chat UI. An error in the page fails the test."""
    model = ScriptedModel({"GeneratedSQL": [statement_for], "SQLValidation": [VALID]}, repeat_last=True)
    site, wrong = FastAPI(), list[str]()
    site.mount("/api", create_app(Services(load_settings(cache_dir=cache_dir), model=model, any_source=False)))
    site.get("/", response_class=HTMLResponse)(lambda: PAGE)
    site.get("/page.js")(lambda: Response(script, media_type="text/javascript"))
    with running(site) as base:
        page = chromium.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(base)
        yield page
        page.close()
    assert wrong == []


def ask(page: Page, question: str) -> None:
    page.locator("textarea").fill(question)
    page.get_by_role("button", name="send").click()


def has(page: Page, said: int) -> None:
    """Wait until the page shows this number of messages, and nothing is in progress."""
    expect(page.locator("li")).to_have_count(said)
    expect(page.locator("#status")).to_have_text("connected")
    expect(page.locator("#error")).to_be_empty()


def ask_for_a_number_and_a_chart(chat: Page) -> None:
    ask(chat, HOW_MANY)
    has(chat, 2)
    expect(chat.locator("li.ai").first).to_contain_text("10,127")
    ask(chat, "Show the orders by status as a bar chart")
    has(chat, 4)
    picture = chat.locator("li").last.locator("img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1000


def test_a_conversation_with_buttons_a_chart_and_branches(chat: Page) -> None:
    ask_for_a_number_and_a_chart(chat)
    ask(chat, BEST)
    expect(chat.locator("pre")).to_contain_text("2. by amount")
    chat.get_by_role("button", name="by amount").click()
    has(chat, 7)
    expect(chat.locator("li").last.locator("tbody tr")).to_have_count(3)
    ask(chat, "only the top two")
    has(chat, 9)
    expect(chat.locator("li").last.locator("tbody tr")).to_have_count(2)
    # The tables and charts of earlier answers stay.
    expect(chat.locator("li").nth(6).locator("tbody tr")).to_have_count(3)
    expect(chat.locator("li").nth(3).locator("img")).to_be_visible()

    # The last question is asked again, then another one in place of the third and of the first: each is a branch.
    chat.get_by_role("button", name="regenerate").last.click()
    expect(chat.get_by_role("button", name="branch 1")).to_be_visible()
    has(chat, 9)
    chat.locator("textarea").fill(HOW_MANY)
    chat.locator("li.human").nth(2).get_by_role("button", name="edit").click()
    has(chat, 6)
    chat.locator("textarea").fill(BEST)
    chat.locator("li.human").first.get_by_role("button", name="edit").click()
    has(chat, 2)
    chat.get_by_role("button", name="approve").click()
    has(chat, 3)
    expect(chat.locator("li").last.locator("tbody tr")).to_have_count(3)
    chat.get_by_role("button", name="branch 1").first.click()
    expect(chat.locator("li.human").first).to_contain_text(HOW_MANY)
    expect(chat.locator("#threads")).to_have_text("1")


@pytest.mark.parametrize("button", ["resolve", "ignore"])
def test_a_clarifying_question_ends_without_an_answer(chat: Page, button: str) -> None:
    ask(chat, BEST)
    expect(chat.locator("pre")).to_be_visible()
    chat.get_by_role("button", name=button).click()
    expect(chat.locator("pre")).to_have_count(0)
    has(chat, 2)
    # What follows is a question, not an answer.
    ask(chat, HOW_MANY)
    has(chat, 4)
    expect(chat.locator("li.ai").last).to_contain_text("10,127")


@pytest.mark.parametrize("script", ["stream.jsx"], indirect=True)
def test_a_conversation_over_event_streaming(chat: Page) -> None:
    ask_for_a_number_and_a_chart(chat)
    # Another question in place of the last one begins a branch.
    chat.locator("textarea").fill("List the orders by status")
    chat.locator("li.human").last.get_by_role("button", name="edit").click()
    expect(chat.locator("li").nth(2)).to_contain_text("List")
    has(chat, 4)
    expect(chat.locator("img")).to_have_count(0)

    ask(chat, BEST)
    expect(chat.locator("pre")).to_contain_text("2. by amount")
    chat.get_by_role("button", name="ignore").click()
    expect(chat.locator("pre")).to_have_count(0)
    has(chat, 6)
    ask(chat, BEST)
    expect(chat.locator("pre")).to_be_visible()
    # The thread, with its open question, is there after the page was opened anew.
    chat.reload()
    has(chat, 8)
    chat.get_by_role("button", name="by amount").click()
    has(chat, 9)
    expect(chat.locator("li").last).to_contain_text("by amount")
    expect(chat.locator("pre")).to_have_count(0)
