"""What an answer leads to: questions to ask next, filters to change, and a question back that is asked again."""

import threading

import pytest
from playwright.sync_api import expect

from tests.agent.page.actions import COUNT, HOW_MANY, PHONE, ask, sent_by
from tests.agent.page.conftest import Visit, switch
from tests.agent.page.said import ASKS, QUESTION, Model

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

DELIVERED = f"{COUNT} WHERE status = 'delivered' AND ordered_on >= '2024-01-01' AND ordered_on < '2025-01-01'"
BY_STATUS = (
    "SELECT status, COUNT(*) AS orders FROM orders WHERE ordered_on >= '2024-01-01' AND ordered_on < '2025-01-01' "
    "GROUP BY status ORDER BY orders DESC"
)
ANSWER = ["{orders#order|orders} of 2024 were delivered."]
NEXT = ["How many orders of 2024 were delivered, by month?", "How many orders of 2024 have which status?"]


def test_an_answer_leads_to_the_next_question_and_its_filters_are_changed(visit: Visit) -> None:
    model = Model(DELIVERED, reviews=(), answer=ANSWER, follow_ups=NEXT)
    site = visit(model, viewport={"width": 1440, "height": 1000})
    page, sent = site.page, sent_by(site.page)
    ask(site, "How many orders of 2024 were delivered?")
    follow_ups = page.get_by_role("list", name="Questions to ask next").get_by_role("button")
    expect(follow_ups).to_have_text(NEXT)
    expect(page.locator(".premise")).to_have_text(["cancelled orders count too", "delivered", "2024"])
    expect(page.locator(".lead")).to_have_text("3,143 orders of 2024 were delivered.")
    switch(page, "theme", "Dark")

    site.model.sql, site.model.fields = BY_STATUS, {}
    follow_ups.last.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_have_count(2)
    assert sent[1]["question"] == NEXT[1] and sent[1]["thread_id"]
    expect(page.locator(".turn").last.locator("tbody tr")).to_have_count(2)
    # Only the last answer may have some; the model proposed none, and rows have no other.
    expect(page.locator(".follow-ups")).to_have_count(0)

    page.reload()
    expect(page.locator(".answer")).to_have_count(2)
    page.locator(".turn").last.locator(".premise", has_text="2024").click()
    site.model.sql = BY_STATUS.replace("2025", "2026").replace("2024", "2025")
    page.get_by_label("Instead of “2024”:").fill("2025")
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_have_count(3)
    assert sent[2]["feedback"] == {"accepted": False, "comment": "Instead of “2024”: 2025"}
    expect(page.locator(".turn").last.locator(".premise").last).to_have_text("2025")


def test_follow_ups_are_hidden_while_the_next_question_runs_and_fit_a_phone(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=(), follow_ups=["How many orders by month?"]), **PHONE)
    ask(site, HOW_MANY)
    expect(site.page.locator(".follow-ups button")).to_have_count(1)
    site.model.sql, site.model.fields, site.model.wait = "", {"reply": "You are welcome."}, threading.Event()
    site.ask("thanks!")
    expect(site.page.locator(".follow-ups")).to_have_count(0)
    site.model.wait.set()
    expect(site.page.locator(".turn").last.locator(".lead")).to_have_text("You are welcome.")
    expect(site.page.locator(".follow-ups")).to_have_count(0)


def test_an_error_before_a_question_back_is_told_in_plain_words(visit: Visit) -> None:
    site = visit(Model("SELECT nothing_such FROM orders", reviews=(ASKS,)))
    page = site.page
    site.ask(QUESTION)
    expect(page.locator(".asked-back")).to_be_visible()
    site.ask("by fame")
    expect(page.locator(".asked-back")).to_have_count(2)
    again = page.locator(".asked-back").last
    expect(again.get_by_role("alert")).to_contain_text("could not be turned into a query that works.")
    expect(again.get_by_text("nothing_such")).to_be_hidden()
    again.get_by_text("Details", exact=True).click()
    expect(again.locator(".operators")).to_contain_text("nothing_such")
    expect(again.locator(".operators")).to_contain_text("sql_not_generated")
    again.get_by_role("button", name="by amount").click()
    expect(page.locator(".chart canvas")).to_be_visible()
