"""What holds from one question to the next: the thread, and what is asked."""

from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.agent.page.actions import COUNT, HOW_MANY, NUMBERS, ask, sent_by, unfold
from tests.agent.page.conftest import Visit
from tests.agent.page.said import ASKS, BY_AMOUNT, QUESTION, Model

pytestmark = [pytest.mark.heavy, pytest.mark.browser]


def test_a_follow_up_goes_on_and_a_new_conversation_does_not(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()))
    sent = sent_by(site.page)
    ask(site, HOW_MANY)
    ask(site, "as a table")
    site.page.get_by_role("button", name="New conversation").click()
    expect(site.page.locator(".turn")).to_have_count(0)
    expect(site.page.get_by_label("Your question")).to_be_focused()
    ask(site, HOW_MANY)
    assert ["thread_id" in each for each in sent] == [False, True, False]


def test_another_source_is_another_conversation(visit: Visit, cache_dir: Any) -> None:
    shop = f"sqlite:///{next(cache_dir.rglob('*.sqlite*'))}"
    site = visit(Model(COUNT, reviews=()), sources={"first": shop, "second": shop})
    sent = sent_by(site.page)
    for source in ("first", "first", "second"):
        unfold(site.page)
        site.page.get_by_label("Data source").select_option(source)
        ask(site, HOW_MANY)
    assert [(each["source"], "thread_id" in each) for each in sent] == [
        ("first", False), ("first", True), ("second", False),
    ]  # fmt: skip


def test_a_question_back_that_was_answered_is_closed(visit: Visit) -> None:
    site = visit(Model(reviews=(ASKS,)))
    sent = sent_by(site.page)
    site.ask(QUESTION)
    site.page.locator(".option").first.click()
    expect(site.page.locator(".answer")).to_be_visible()
    expect(site.page.locator(".option").first).to_be_disabled()
    site.page.keyboard.press("2")
    assert [each.get("clarification_answer") for each in sent] == [None, "1"]


def test_a_file_is_dropped_and_left_out_again(visit: Visit) -> None:
    page = visit().page
    page.evaluate(
        """() => {
          const carried = new DataTransfer();
          carried.items.add(new File(["city,sales\\nRome,3\\nBonn,4\\n"], "cities.csv"));
          const event = (kind) => new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true });
          document.body.dispatchEvent(event("dragover"));
          window.shade = !document.getElementById("drop").hidden;
          document.body.dispatchEvent(event("drop"));
        }"""
    )
    assert page.evaluate("window.shade")
    expect(page.locator("#drop")).to_be_hidden()
    expect(page.locator(".chip")).to_contain_text("rows: 2, columns: 2")
    expect(page.locator("#announced")).to_contain_text("cities.csv is ready")
    page.get_by_role("button", name="Remove cities.csv").click()
    expect(page.locator(".chip")).to_have_count(0)
    expect(page.get_by_label("Data source")).to_be_visible()


def test_a_file_that_is_kept_is_chosen_from_the_list(visit: Visit) -> None:
    site = visit()
    site.page.locator("#file").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n3,4\n"})
    expect(site.page.locator(".chip")).to_be_visible()
    site.page.reload()
    expect(site.page.locator(".chip")).to_have_count(0)
    site.page.get_by_label("Data source").select_option(label="a.csv")
    expect(site.page.locator(".chip .name")).to_have_text("a.csv")


def test_a_new_conversation_leaves_the_files_and_their_errors(visit: Visit) -> None:
    page = visit().page
    expect(page.locator("#start-tree li").first).to_be_visible()
    page.locator("#file").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n3,4\n"})
    expect(page.locator(".chip")).to_be_visible()
    expect(page.locator("#preview")).to_be_visible()
    expect(page.locator("#start-questions")).to_be_hidden()
    expect(page.locator("#start-tree")).to_be_hidden()
    page.locator("#file").set_input_files({"name": "b.xlsx", "mimeType": "text/plain", "buffer": b""})
    expect(page.locator("#file-state .error")).to_be_visible()
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator(".chip, #file-state .error")).to_have_count(0)
    expect(page.locator("#preview")).to_be_hidden()
    expect(page.locator("#start-tree")).to_be_visible()


def test_the_error_of_a_file_goes_with_the_next_question(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()))
    site.page.locator("#file").set_input_files({"name": "b.xlsx", "mimeType": "text/plain", "buffer": b""})
    expect(site.page.locator("#file-state .error")).to_be_visible()
    ask(site, HOW_MANY)
    expect(site.page.locator("#file-state .error")).to_have_count(0)


def test_the_error_of_a_file_that_was_read_meanwhile_is_shown(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()))
    page, held = site.page, list[Route]()
    page.route("**/files/events", lambda route: held.append(route))
    page.locator("#file").set_input_files({"name": "b.xlsx", "mimeType": "text/plain", "buffer": b""})
    expect(page.locator("#file-state progress")).to_be_visible()
    ask(site, HOW_MANY)
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("#file-state progress")).to_be_visible()
    held[0].continue_()
    expect(page.locator("#file-state .error")).to_be_visible()


def test_many_rows_are_shown_when_they_are_asked_for(visit: Visit) -> None:
    site = visit(Model(NUMBERS, reviews=()))
    ask(site, "Count to 120")
    expect(site.page.locator("tbody tr")).to_have_count(50)
    site.page.get_by_role("button", name="Show all 120 rows").click()
    expect(site.page.locator("tbody tr")).to_have_count(120)


def test_an_assumption_is_a_chip_and_the_steps_are_in_the_explanation(visit: Visit) -> None:
    site = visit(Model(BY_AMOUNT, reviews=()), enable_sql_validation=True)
    ask(site, "Show customers by what they spent")
    site.page.locator(".explain summary").click()
    expect(site.page.locator(".premise")).to_have_text("cancelled orders count too")
    answer = site.page.locator(".answer").text_content() or ""
    assert answer.count("cancelled orders count too") == 1
    expect(site.page.locator(".explain .step")).to_contain_text(["Find tables", "Write SQL", "Run it"])
    expect(site.page.locator(".cost")).to_contain_text("tokens: 240 + 60")
