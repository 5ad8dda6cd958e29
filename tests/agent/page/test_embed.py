"""The chat in a page of another site, which is the example `examples/embed`."""

import runpy
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from datasphinx.agent.server.app import create_app
from datasphinx.agent.server.keys import hash_of
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.page.said import Model
from tests.agent.server.serving import running
from tests.fake_openai import FakeOpenAI
from tests.generated_docs import ROOT

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

COUNT = "SELECT COUNT(*) AS customers FROM customers"
KEY = "dsk_portal"


@pytest.fixture
def portal(chromium: Browser, cache_dir: Path, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens the example page in a browser; `permitted=False` is a server that permits another site only."""
    with ExitStack() as stack:

        def open_page(permitted: bool = True, **context: Any) -> Page:
            site = runpy.run_path(str(ROOT / "examples/embed/portal.py"))["Portal"](0, "", KEY)
            stack.callback(site.server_close)
            origin = f"http://127.0.0.1:{site.server_port}"
            thread = threading.Thread(target=site.serve_forever)
            thread.start()
            stack.callback(thread.join)
            stack.callback(site.shutdown)
            fake = stack.enter_context(FakeOpenAI(default=Model(COUNT, reviews=())))
            settings = load_settings(
                cache_dir=cache_dir, data_dir=tmp_path, llm_base_url=fake.base_url, llm_model="fake", clarify="never",
                enable_sql_validation=False, run_sql=True, api_keys={"portal": hash_of(KEY)},
                embed={"origins": [origin if permitted else "https://other.example"], "secret": "s" * 32},
            )  # fmt: skip
            site.datasphinx = stack.enter_context(running(create_app(Services(settings, any_source=False))))
            opened = chromium.new_context(reduced_motion="reduce", **context)
            stack.callback(opened.close)
            page = opened.new_page()
            page.goto(origin)
            return page

        yield open_page


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1920, "dark"), (390, "light")])
def test_visitor_asks_in_the_page_of_the_site(portal: Callable[..., Page], width: int, scheme: str) -> None:
    page = portal(viewport={"width": width, "height": 900}, color_scheme=scheme)
    chat = page.frame_locator("datasphinx-chat iframe")
    expect(chat.get_by_label("Data source").get_by_role("option", name="Sample shop")).to_be_attached()
    chat.get_by_label("Your question").fill("How many customers are there?")
    chat.get_by_label("Your question").press("Enter")
    expect(chat.locator(".answer .figure")).to_have_text("1,184")

    chat.locator(".explain summary").click()
    for hidden in ("Add a file", "Boards", "Conversations", "Edit and run the SQL", "Pin", "Proposals"):
        expect(chat.get_by_role("button", name=hidden)).to_be_hidden()
    expect(chat.get_by_role("dialog")).to_be_hidden()
    expect(chat.get_by_label("Search conversations")).to_be_hidden()
    assert KEY not in page.content() + chat.locator("html").inner_html()


def test_expired_token_is_replaced_without_the_visitor(portal: Callable[..., Page]) -> None:
    page = portal()
    chat = page.frame_locator("datasphinx-chat iframe")
    expect(chat.get_by_label("Data source").get_by_role("option", name="Sample shop")).to_be_attached()
    refused = {"status": 401, "content_type": "application/problem+json", "body": '{"code": "token_invalid"}'}
    page.route("**/agent/events", lambda route: route.fulfill(**refused), times=1)
    # A token that has just been issued is not replaced.
    page.frames[1].evaluate("performance.now = () => 1e6")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url.rpartition("/")[2]))
    chat.get_by_label("Your question").fill("How many customers are there?")
    chat.get_by_label("Your question").press("Enter")
    expect(chat.locator(".answer .figure")).to_have_text("1,184")
    assert requests[:3] == ["events", "datasphinx-token", "events"]


def test_other_sites_cannot_show_the_page(portal: Callable[..., Page]) -> None:
    said: list[str] = []
    page = portal(permitted=False)
    page.on("console", lambda message: said.append(message.text))
    page.reload()
    expect(page.get_by_role("heading", name="Portal")).to_be_visible()
    page.wait_for_function("document.querySelector('iframe').contentDocument === null")

    assert [text for text in said if "frame-ancestors https://other.example" in text]
    assert page.frames[1].locator("#question").count() == 0
