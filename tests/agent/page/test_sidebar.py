"""Conversations beside the page, their addresses, and questions that wait."""

import threading

import pytest
from playwright.sync_api import Page, Route, expect

from tests.agent.page.actions import COUNT, HOW_MANY, PHONE, ask
from tests.agent.page.conftest import Site, Visit, switch
from tests.agent.page.said import ASKS, QUESTION, Model

pytestmark = [pytest.mark.heavy, pytest.mark.browser]
WIDE = {"viewport": {"width": 1440, "height": 900}}


def listed(page: Page, *titles: str) -> None:
    expect(page.locator("#conversations a")).to_have_text(list(titles))


def anew(page: Page) -> None:
    page.get_by_role("button", name="New conversation").click()


@pytest.fixture
def two(visit: Visit) -> Site:
    """A page that has had two conversations."""
    site = visit(Model(COUNT, reviews=()), **WIDE)
    expect(site.page.locator("#conversations-none")).to_be_visible()
    ask(site, HOW_MANY)
    anew(site.page)
    ask(site, "Number of orders?")
    listed(site.page, "Number of orders?", HOW_MANY)
    return site


def test_conversations_are_opened_from_the_list_and_by_back_and_forward(two: Site) -> None:
    page = two.page
    expect(page.locator("#conversations .day")).to_have_text("Today")
    switch(page, "language", "Deutsch")
    expect(page.locator("#conversations .day")).to_have_text("Heute")
    switch(page, "language", "English")
    page.get_by_role("link", name=HOW_MANY).click()
    expect(page.locator(".said")).to_have_text(HOW_MANY)
    expect(page.locator("[aria-current=page]")).to_have_text(HOW_MANY)
    page.go_back()
    expect(page.locator(".said")).to_have_text("Number of orders?")
    page.go_forward()
    expect(page.locator(".said")).to_have_text(HOW_MANY)
    ask(two, "as a table")
    listed(page, HOW_MANY, "Number of orders?")
    anew(page)
    expect(page.locator(".welcome")).to_be_visible()
    page.go_back()
    expect(page.locator(".said")).to_have_text([HOW_MANY, "as a table"])


def test_a_conversation_can_be_begun_below_a_long_one_beside_a_long_list(two: Site) -> None:
    page = two.page
    days = [{"thread_id": f"t{at}", "title": f"Question {at}", "updated": "2024-05-01T10:00:00Z"} for at in range(60)]
    page.route("**/threads?*", lambda route: route.fulfill(json={"threads": days}))
    for _ in range(3):
        ask(two, "as a table")
    expect(page.locator("#conversations a")).to_have_count(60)
    expect(page.locator("#conversations .day")).to_have_text("May 1, 2024")
    # The list is drawn again when an answer is complete, so an element that was found before may be gone.
    page.evaluate("document.querySelector('#conversations').lastElementChild.scrollIntoView()")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")

    assert page.evaluate("scrollY") > 100
    expect(page.get_by_role("button", name="New conversation")).to_be_in_viewport()
    anew(page)
    expect(page.locator(".welcome")).to_be_visible()
    expect(page.get_by_label("Your question")).to_be_focused()
    assert page.evaluate("scrollY") == 0


def test_conversations_are_searched_by_all_their_questions(two: Site) -> None:
    ask(two, "as a table")
    two.page.get_by_label("Search conversations").fill("A TABLE")
    listed(two.page, "Number of orders?")
    two.page.get_by_label("Search conversations").fill("nothing of the kind")
    listed(two.page)
    expect(two.page.locator("#conversations-none")).to_have_text("No conversation contains this text.")


def test_a_conversation_has_the_title_that_the_model_gives_with_its_first_answer(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=({**ASKS, "title": "Best customers"},), title="Number of orders"), **WIDE)
    site.ask(QUESTION)
    expect(site.page.locator(".option")).to_have_count(2)
    listed(site.page, "Best customers")
    site.page.locator(".option").first.click()
    expect(site.page.locator(".answer")).to_be_visible()
    listed(site.page, "Best customers")
    anew(site.page)
    ask(site, HOW_MANY)
    listed(site.page, "Number of orders", "Best customers")


RING = """() => {
  const { left, right } = document.activeElement.getBoundingClientRect();
  const list = document.querySelector("#conversations").getBoundingClientRect();
  const { outlineWidth, outlineOffset } = getComputedStyle(document.activeElement);
  return Math.min(left - list.left, list.right - right) - parseFloat(outlineWidth) - parseFloat(outlineOffset);
}"""
"""Return how far the ring of the focus is within the list, which cuts off what is beyond."""


def test_a_conversation_is_renamed_by_keys(two: Site) -> None:
    page = two.page
    page.get_by_role("button", name=f"Rename {HOW_MANY}").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Title")).to_be_focused()
    assert page.evaluate(RING) >= 0
    page.keyboard.type("<b>Orders</b>")
    page.keyboard.press("Enter")
    listed(page, "Number of orders?", "<b>Orders</b>")
    expect(page.get_by_role("link", name="<b>Orders</b>")).to_be_focused()
    page.get_by_role("button", name="Rename <b>Orders</b>").click()
    page.keyboard.type("else")
    page.keyboard.press("Escape")
    listed(page, "Number of orders?", "<b>Orders</b>")
    page.reload()
    listed(page, "Number of orders?", "<b>Orders</b>")


def test_a_conversation_is_deleted_by_a_second_click(two: Site) -> None:
    page = two.page
    delete = page.get_by_role("button", name="Delete Number of orders?")
    delete.click()
    expect(delete).to_have_text("Delete?")
    assert delete.evaluate("each => each.scrollWidth <= each.clientWidth")
    page.get_by_label("Your question").focus()
    expect(delete).to_have_text("×")
    listed(page, "Number of orders?", HOW_MANY)
    delete.click()
    delete.click()
    listed(page, HOW_MANY)
    expect(page.get_by_role("link", name=HOW_MANY)).to_be_focused()
    expect(page.locator(".toast")).to_have_text("Deleted: Number of orders?")
    expect(page.locator(".welcome")).to_be_visible()
    page.go_back()
    expect(page.locator(".turn")).to_have_count(0)


def test_a_link_leads_to_an_answer(two: Site) -> None:
    page = two.page
    ask(two, "as a table")
    page.locator(".turn .menu summary").first.click()
    link = page.get_by_role("link", name="Link to this answer").get_attribute("href")
    other = page.context.new_page()
    other.goto(f"{two.base}/{link}")
    expect(other.locator(".turn")).to_have_count(2)
    expect(other.locator(".turn").first.locator(".focus")).to_be_focused()
    other.close()


def test_questions_wait_until_the_one_before_is_answered(visit: Visit) -> None:
    model = Model(COUNT, reviews=())
    model.wait = threading.Event()
    site = visit(model, **WIDE)
    page = site.page
    site.ask(HOW_MANY)
    assert model.asked.wait(60)
    for question in ("as a table", "Not this one", "Number of orders?"):
        site.ask(question)
    expect(page.get_by_role("list", name="Questions waiting").get_by_role("listitem")).to_have_count(3)
    page.get_by_role("button", name="Do not ask: Not this one").click()
    model.wait.set()
    expect(page.locator(".answer")).to_have_count(3)
    expect(page.locator(".said")).to_have_text([HOW_MANY, "as a table", "Number of orders?"])
    expect(page.locator("#queue li")).to_have_count(0)


def test_questions_wait_for_the_answer_to_a_question_back(visit: Visit) -> None:
    model = Model(reviews=(ASKS,))
    site = visit(model)
    held: list[Route] = []
    site.page.route("**/agent/events", lambda route: held.append(route), times=1)
    with site.page.expect_request("**/agent/events"):
        site.ask(QUESTION)
    site.ask("as a table")
    expect(site.page.locator("#queue .question")).to_have_text("as a table")
    held[0].continue_()
    expect(site.page.locator(".option")).to_have_count(2)
    expect(site.page.locator("#queue .question")).to_have_text("as a table")
    expect(site.page.get_by_role("button", name="Ask now")).to_be_visible()
    site.page.locator(".option").nth(1).click()
    expect(site.page.locator(".said")).to_have_text([QUESTION, "by amount", "as a table"])


def test_on_a_phone_the_list_is_a_drawer(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()), **PHONE)
    page = site.page
    ask(site, HOW_MANY)
    expect(page.locator("#sidebar")).to_be_hidden()
    page.get_by_role("button", name="Conversations").tap()
    expect(page.get_by_label("Search conversations")).to_be_focused()
    listed(page, HOW_MANY)
    page.keyboard.press("Escape")
    expect(page.locator("#sidebar")).to_be_hidden()
    expect(page.get_by_role("button", name="Conversations")).to_be_focused()
    page.get_by_role("button", name="Conversations").tap()
    page.get_by_role("link", name=HOW_MANY).tap()
    expect(page.locator("#sidebar")).to_be_hidden()
    expect(page.locator(".answer")).to_be_visible()


def test_a_title_has_the_whole_width_until_its_buttons_are_seen(two: Site) -> None:
    page = two.page
    item, link = page.locator("#conversations li").first, page.locator("#conversations li a").first
    title = """link => {
      const { paddingLeft, paddingRight } = getComputedStyle(link);
      return link.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    }"""
    long = "How many orders were placed in the last quarter of the year before?"
    anew(page)
    ask(two, long)
    listed(page, long, "Number of orders?", HOW_MANY)
    page.mouse.move(900, 500)
    # What is too long ends in dots.
    assert link.evaluate("link => link.scrollWidth > link.clientWidth")
    expect(link).to_have_css("text-overflow", "ellipsis")
    assert link.evaluate("link => link.clientWidth <= link.closest('nav').clientWidth")
    whole = link.evaluate(title)
    assert whole > item.evaluate("item => item.clientWidth") - 24
    link.focus()
    assert link.evaluate(title) <= whole - 50
    page.get_by_label("Your question").focus()
    assert link.evaluate(title) == whole
    item.hover()
    assert link.evaluate(title) <= whole - 50
