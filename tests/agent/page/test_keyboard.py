"""The page without a mouse, and for those who hear it."""

import pytest
from playwright.sync_api import expect

from tests.agent.page.actions import sent_by, tab_to
from tests.agent.page.conftest import Visit
from tests.agent.page.said import ASKS, QUESTION, Model

pytestmark = [pytest.mark.heavy, pytest.mark.browser]


def test_the_whole_way_by_keys(visit: Visit) -> None:
    page = visit(Model(reviews=(ASKS,))).page
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What makes a customer the best?")).to_be_focused()
    page.keyboard.press("2")
    expect(page.get_by_role("heading", name="Answer")).to_be_focused()

    tab_to(page, "name")
    page.keyboard.press("Enter")
    expect(page.locator("th").first).to_have_attribute("aria-sort", "ascending")
    assert page.locator("tbody td:first-child").all_text_contents()[0].startswith("Brown")
    page.keyboard.press("Enter")
    expect(page.locator("th").first).to_have_attribute("aria-sort", "descending")

    tab_to(page, "Right")
    page.keyboard.press("Enter")
    expect(page.locator(".noted")).to_have_text("Noted: the answer is right.")
    expect(page.locator(".noted")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Your question")).to_be_focused()
    expect(page.get_by_label("Your question")).to_have_value("")


def test_what_has_the_focus_is_not_behind_the_question(visit: Visit) -> None:
    page = visit(Model(reviews=()), viewport={"width": 390, "height": 600}).page
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".chart canvas")).to_be_visible()
    for name in ("Right", "Not what I meant", "Pin"):
        tab_to(page, name)
        focused = page.evaluate("document.activeElement.getBoundingClientRect().bottom")
        assert focused <= page.evaluate("document.getElementById('composer').getBoundingClientRect().top"), name


def test_an_open_question_back_is_answered_in_the_field_also_after_a_reload(visit: Visit) -> None:
    page = (site := visit(Model(reviews=(ASKS,)))).page
    sent = sent_by(page)
    site.ask(QUESTION)
    expect(page.locator(".asked-back")).to_be_visible()
    page.reload()
    expect(page.locator(".option")).to_have_count(2)
    site.ask("the first one")
    expect(page.locator(".answer")).to_be_visible()
    site.ask("And how many are there?")
    expect(page.locator(".turn")).to_have_count(3)
    said = [each.get("clarification_answer") or each.get("question") for each in sent]
    assert said == [QUESTION, "the first one", "And how many are there?"]
    assert sent[1].keys() == {"thread_id", "clarification_answer"}


def test_enter_that_ends_a_composition_sends_nothing(visit: Visit) -> None:
    page = visit().page
    page.get_by_label("Your question").fill("多少")
    page.evaluate(
        """() => document.getElementById("question").dispatchEvent(
          new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, bubbles: true, cancelable: true }))"""
    )
    expect(page.get_by_label("Your question")).to_have_value("多少")
    expect(page.locator(".turn")).to_have_count(0)


def test_enter_with_shift_begins_a_line(visit: Visit) -> None:
    page = visit().page
    page.keyboard.type("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    expect(page.get_by_label("Your question")).to_have_value("one\ntwo")
    expect(page.locator(".turn")).to_have_count(0)


def test_who_types_on_keeps_the_focus(visit: Visit) -> None:
    site = visit(Model(reviews=(ASKS,)))
    site.ask(QUESTION)
    site.page.keyboard.type("something else")
    expect(site.page.locator(".option")).to_have_count(2)
    expect(site.page.get_by_label("Your question")).to_be_focused()


TOLD = """() => {
  window.told = [];
  const announced = document.getElementById("announced");
  new MutationObserver(() => window.told.push(announced.textContent)).observe(announced, { childList: true });
}"""


def test_the_answer_is_announced_before_its_badge_and_its_rows(visit: Visit) -> None:
    site = visit(Model(reviews=(), answer=["{1.name} spent the most."]), enable_sql_validation=True)
    site.page.evaluate(TOLD)
    site.ask(QUESTION)
    expect(site.page.get_by_role("heading", name="Answer")).to_be_focused()
    told = site.page.evaluate("window.told")
    assert told[-1].startswith(site.page.locator(".lead").inner_text())
    assert not any("Checked by the model" in words or "rows" in words for words in told)
