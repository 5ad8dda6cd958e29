"""How much the page loads at first, what it loads again, and its letters."""

import pytest
from playwright.sync_api import Request, expect

from tests.agent.page.conftest import Visit

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

MOST_REQUESTS, MOST_KILOBYTES = 12, 120
"""What a first visit may load; the letters are 47 kB."""
FETCHED_AGAIN = """() => performance.getEntriesByType("resource")
  .filter(({ name, transferSize }) => name.includes("/static/") && transferSize > 0).map(({ name }) => name)"""
FACES = """async (text) => (await document.fonts.load("16px Inter", text))
  .filter(({ family }) => family === "Inter").map(({ status }) => status)"""


def kilobytes(requests: list[Request]) -> float:
    return sum(each.sizes()["responseBodySize"] + each.sizes()["responseHeadersSize"] for each in requests) / 1024


def test_a_first_visit_needs_few_requests(visit: Visit) -> None:
    site = visit()
    # A context of its own has an empty cache.
    with site.page.context.browser.new_context(locale="en-US") as context:
        page = context.new_page()
        arrived: list[Request] = []
        page.on("requestfinished", lambda request: arrived.append(request))
        page.goto(site.base, wait_until="networkidle")
        expect(page.get_by_label("Your question")).to_be_focused()
        expect(page.locator("#start-questions button").first).to_be_visible()
        loaded = {request.url.removeprefix(site.base): round(kilobytes([request]), 1) for request in arrived}
        assert len(arrived) <= MOST_REQUESTS and kilobytes(arrived) <= MOST_KILOBYTES, loaded


def test_a_second_visit_fetches_none_of_the_files_again(visit: Visit) -> None:
    page = visit().page
    page.wait_for_load_state("networkidle")
    assert len(page.evaluate(FETCHED_AGAIN)) >= 4
    page.goto("about:blank")
    page.go_back(wait_until="networkidle")
    expect(page.locator("#start-questions button").first).to_be_visible()
    assert page.evaluate(FETCHED_AGAIN) == []


@pytest.mark.parametrize(("text", "files"), [("A", 1), ("Ж", 1), ("Aő", 2), ("数", 0)])
def test_the_letters_come_from_the_server_where_it_has_them(visit: Visit, text: str, files: int) -> None:
    assert visit().page.evaluate(FACES, text) == ["loaded"] * files
