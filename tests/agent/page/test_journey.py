"""The whole way of a user through the page: asked, asked back, answered, rejected, and files."""

import re

import pytest
from playwright.sync_api import Page, expect

from datasphinx.agent.sample.spreadsheets import RETURNS as WORKBOOK
from tests.agent.page.conftest import Visit
from tests.agent.page.said import BY_AMOUNT, QUESTION, RETURNS

pytestmark = [pytest.mark.browser]


def answer(page: Page) -> None:
    """Wait until the last turn has an answer."""
    expect(page.locator(".turn").last.locator(".answer")).to_be_visible()


@pytest.mark.heavy
def test_from_a_question_to_the_answer_about_a_workbook(visit: Visit) -> None:
    site = visit(viewport={"width": 1280, "height": 1000})
    page = site.page
    site.ask(QUESTION)
    expect(page.get_by_role("heading", name="What makes a customer the best?")).to_be_focused()
    options = page.get_by_role("group", name="What you may mean").locator(".option")
    expect(options).to_have_count(2)
    expect(options.nth(1)).to_contain_text("rows: 5")
    options.nth(1).click()
    answer(page)
    expect(page.locator(".chart canvas")).to_be_visible()
    assert shown_sql(page) == BY_AMOUNT

    page.get_by_role("button", name="Not what I meant").click()
    page.get_by_label("What should be different?").fill("only a few")
    page.get_by_role("button", name="Answer again").click()
    expect(page.get_by_role("heading", name="How many customers do you want to see?")).to_be_focused()
    expect(page.locator(".feedback")).to_have_count(0)
    page.locator("fieldset:enabled").get_by_role("button", name="three").click()
    answer(page)

    page.locator("#file").set_input_files(WORKBOOK)
    expect(page.locator(".chip")).to_contain_text("returns.xlsx")
    site.ask(RETURNS)
    answer(page)
    last = page.locator(".turn").last
    expect(last.locator(".words")).to_contain_text("海蓝服饰 has the most returns, 820")
    expect(last.locator("tbody tr")).to_have_count(3)
    expect(last.locator(".chart canvas")).to_be_visible()
    expect(last.locator(".feedback")).to_have_count(0)


def shown_sql(page: Page) -> str:
    return re.sub(r"\s+", " ", page.locator(".turn").last.locator("code").text_content() or "")
