"""How much the page loads before its question field works, what it loads again, and its letters."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Request, Route, expect

from tests.agent.page.actions import COUNT, HOW_MANY
from tests.agent.page.conftest import Site, switch
from tests.agent.page.said import Model

pytestmark = [pytest.mark.heavy, pytest.mark.browser]
Visit = Callable[..., Site]

MOST_REQUESTS, MOST_KILOBYTES = 16, 40
"""What the page may load before its question field works: HTML, style sheets, icon, texts and seven modules."""
MOST_REQUESTS_IN_ALL, MOST_KILOBYTES_IN_ALL = 75, 230
"""What it may load until it has answered a question; the letters are a third of it."""
FETCHED_AGAIN = """() => performance.getEntriesByType("resource")
  .filter(({ name, transferSize }) => name.includes("/static/") && transferSize > 0).map(({ name }) => name)"""
DROPPED = """() => {
  const carried = new DataTransfer();
  carried.items.add(new File(["city\\nBonn\\n"], "dropped.csv"));
  const drop = new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true });
  return !document.body.dispatchEvent(drop);
}"""
FACES = """async (text) => (await document.fonts.load("16px Inter", text))
  .filter(({ family }) => family === "Inter").map(({ status }) => status)"""


def kilobytes(requests: list[Request]) -> float:
    return sum(each.sizes()["responseBodySize"] + each.sizes()["responseHeadersSize"] for each in requests) / 1024


def test_the_field_takes_a_question_before_the_other_modules_are_there(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()))
    site.page.goto("about:blank")
    # A context of its own has an empty cache.
    with site.page.context.browser.new_context(locale="en-US") as context:
        page = context.new_page()
        html = context.request.get(site.base).text()
        later = set(re.findall(r"href=\"([^\"]+)\" fetchpriority=\"low\">", html))
        assert any(path.endswith("/js/app.js") for path in later)
        arrived: list[Request] = []
        held: list[Route] = []

        def hold(route: Route) -> None:
            is_later = route.request.url.removeprefix(f"{site.base}/") in later
            held.append(route) if is_later else route.continue_()

        page.on("requestfinished", lambda request: arrived.append(request))
        page.route("**/*.js", hold)
        page.goto(site.base, wait_until="commit")
        expect(page.get_by_label("Your question")).to_be_focused()
        switch(page, "theme", "Dark")
        page.keyboard.press("Shift+Tab")
        page.get_by_label("Your question").fill(HOW_MANY)
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Boards").click()
        page.wait_for_load_state("domcontentloaded")
        assert page.evaluate("document.fonts.ready.then(() => document.documentElement.dataset.theme)") == "dark"
        needed = [each for each in arrived if not each.url.endswith(".woff2")]
        assert len(needed) <= MOST_REQUESTS, [each.url for each in needed]
        assert kilobytes(needed) <= MOST_KILOBYTES
        for route in held:
            route.continue_()
        expect(page.locator("#boards-dialog")).to_be_visible()
        expect(page.locator(".answer .figure")).to_be_visible()
        expect(page.locator(".said")).to_have_text(HOW_MANY)
        assert len(arrived) <= MOST_REQUESTS_IN_ALL and kilobytes(arrived) <= MOST_KILOBYTES_IN_ALL


def test_files_are_taken_before_the_other_modules_are_there(visit: Visit) -> None:
    page = visit().page
    held: list[Route] = []
    page.route("**/js/app.js", lambda route: held.append(route))
    page.goto(f"{page.url}?again", wait_until="commit")
    expect(page.get_by_label("Your question")).to_be_focused()
    page.locator("#file").set_input_files({"name": "cities.csv", "mimeType": "text/csv", "buffer": b"city\nRome\n"})
    assert page.evaluate(DROPPED), "the browser would open the file"
    for route in held:
        route.continue_()
    expect(page.locator("#files")).to_contain_text("cities.csv")
    expect(page.locator("#files")).to_contain_text("dropped.csv")


def test_a_page_whose_modules_do_not_come_says_so(visit: Visit) -> None:
    site = visit()
    site.page.route("**/js/app.js", lambda route: route.abort())
    site.page.goto(f"{site.base}/?again")
    expect(site.page.get_by_role("alert")).to_have_text(
        "The page was not loaded completely. Check the network and load it again."
    )
    site.wrong.clear()


def test_a_second_visit_fetches_none_of_the_files_again(visit: Visit) -> None:
    page = visit().page
    page.wait_for_load_state("networkidle")
    assert len(page.evaluate(FETCHED_AGAIN)) > 40
    page.goto("about:blank")
    page.go_back(wait_until="networkidle")
    expect(page.locator("#start-questions button").first).to_be_visible()
    assert page.evaluate(FETCHED_AGAIN) == []


@pytest.mark.parametrize(("text", "files"), [("A", 1), ("Ж", 1), ("Aő", 2), ("数", 0)])
def test_the_letters_come_from_the_server_where_it_has_them(visit: Visit, text: str, files: int) -> None:
    assert visit().page.evaluate(FACES, text) == ["loaded"] * files
