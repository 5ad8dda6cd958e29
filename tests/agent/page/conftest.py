"""The page in a real Chromium, over a real server, over a fake model."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from datasphinx.agent.server.app import create_app
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.page.said import Model
from tests.agent.server.serving import running
from tests.support.fake_openai import FakeOpenAI

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic",
)  # fmt: skip
SETTINGS = {"api_keys", "clarify", "enable_sql_validation", "llm_base_url", "llm_model", "run_sql", "source", "sources"}
"""What a test may set of the server."""
TIMEOUT_MS = 60_000
"""How long an action or an expectation may take on a loaded machine."""


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The browser; where it is missing the tests are skipped, and in CI they fail."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        reason = "no Chromium on this machine (apt-get install chromium)"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with sync_playwright() as playwright:
        expect.set_options(timeout=TIMEOUT_MS)
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        # With the last page processes of the browser end, and to start them takes half of a test's time.
        browser.new_page()
        yield browser
        browser.close()


@contextmanager
def new_page(chromium: Browser, **options: Any) -> Iterator[Page]:
    """Yield a page with data of its own; `options` are those of a context of the browser."""
    with chromium.new_context(**{"locale": "en-US", "reduced_motion": "reduce"} | options) as context:
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        yield page


class Site(NamedTuple):
    """A page in a browser, and what is behind it."""

    page: Page
    model: Model
    base: str
    wrong: list[str]
    """What went wrong in the page; a test that means it to takes it out."""

    def ask(self, question: str) -> None:
        """Type a question and send it."""
        self.page.get_by_label("Your question").fill(question)
        self.page.keyboard.press("Enter")


Visit = Callable[..., Site]
"""The fixture `visit`."""


def switch(page: Page, what: str, option: str) -> None:
    """Choose an option of the language or the theme in the menu of the header."""
    page.locator("header .menu summary").click()
    page.locator(f"#{what}").select_option(option)
    page.keyboard.press("Escape")


def pick(page: Page, name: str) -> None:
    """Click what the menu of the last answer has under this name."""
    if not page.locator(".menu[open]").count():
        page.locator(".turn .menu summary").last.click()
    page.locator(".menu[open]").get_by_text(name, exact=True).click()


@pytest.fixture
def visit(chromium: Browser, cache_dir: Path) -> Iterator[Visit]:
    """Opens the page, with settings of the browser and of the server.

    Nothing may go wrong in it unseen: an error or a breach of the page's policy fails the test.
    """
    with ExitStack() as stack:
        wrong: list[str] = []

        def open_page(model: Model | None = None, **context: Any) -> Site:
            model = model or Model()
            fake = stack.enter_context(FakeOpenAI(default=model))
            named = {name: context.pop(name) for name in SETTINGS & context.keys()}
            settings = load_settings(
                **{"cache_dir": cache_dir, "llm_base_url": fake.base_url, "llm_model": "fake"} | named
            )
            services = Services(settings, any_source=False)
            base = stack.enter_context(running(create_app(services)))
            page = stack.enter_context(new_page(chromium, **context))
            stack.callback(model.release)
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
            page.goto(base)
            page.wait_for_selector("html[data-started]", state="attached")
            return Site(page, model, base, wrong)

        yield open_page
    # What the browser itself says of a request that failed is not of the page.
    assert [each for each in wrong if not each.startswith("Failed to load resource")] == []
