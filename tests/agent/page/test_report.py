"""A report on the page: written, with figures that lead to their rows, saved, listed, and shown while it is written."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.agent.page.actions import HOLD, send
from tests.agent.page.conftest import Visit, pick
from tests.agent.page.said import BY_AMOUNT, REPORTED, Model

pytestmark = [pytest.mark.heavy, pytest.mark.browser]
REQUEST = "Give me an overview of customers"


def test_the_figures_of_a_report_lead_to_their_rows_and_statement(visit: Visit) -> None:
    site = visit(Model(BY_AMOUNT, reviews=()))
    page = site.page
    page.get_by_role("button", name="Report").click()
    site.ask(REQUEST)
    expect(page.locator(".report .lead")).to_have_text("Customers")
    expect(page.get_by_role("button", name="Report", pressed=False)).to_be_visible()
    expect(page.locator(".report > .error")).to_have_text("1 of 2 questions were answered.")
    # What a report takes for granted names the question by its number.
    expect(page.locator(".limits li")).to_have_text("q1: cancelled orders count too")
    expect(page.locator(".sources li")).to_have_text([f"q{at}: {each}" for at, each in enumerate(REPORTED, 1)])
    page.locator(".report .section .link").first.click()
    dialog = page.get_by_role("dialog", name=REPORTED[0])
    assert dialog.locator("tbody tr").nth(1).get_attribute("class") == "marked"
    expect(dialog.locator(".sql code")).to_contain_text("SUM(o.total_amount)")
    dialog.get_by_role("button", name="Close").click()
    page.locator(".sources .link").nth(1).click()
    expect(page.get_by_role("dialog", name=REPORTED[1]).locator(".error")).not_to_be_empty()
    page.keyboard.press("Escape")
    for name, beginning in {"HTML": b"<!doctype html>", "Markdown": b"# Customers", "JSON": b"{"}.items():
        with page.expect_download() as saved:
            pick(page, f"Save as {name}")
        assert saved.value.path().read_bytes().startswith(beginning)
    page.reload()
    expect(page.locator(".report .lead")).to_have_text("Customers")
    expect(page.locator("#conversations a")).to_have_text("Customers")


def test_answered_questions_are_shown_before_the_report_and_kept_without_it(visit: Visit) -> None:
    page = (site := visit()).page
    page.evaluate(HOLD)
    page.get_by_role("button", name="Report").click()
    site.ask(REQUEST)
    result: dict[str, Any] = {"columns": ["n"], "rows": [[1], [2]], "types": ["int"]}
    part = {"id": "q1", "question": REPORTED[0], "answer": "Two rows.", "result": result, "chart": None}
    send(page, "part", part)
    expect(page.locator(".report .section")).to_contain_text("Two rows.")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.evaluate("window.stream.error(new DOMException('', 'AbortError'))")
    expect(page.locator(".failure")).to_contain_text("Stopped")
    expect(page.locator(".report .section tbody tr")).to_have_count(2)
