"""Verified answers and the review of proposals on the page."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from datasphinx.agent.sample.shop import shop_url
from tests.agent.page.conftest import Visit
from tests.agent.page.said import Model

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.browser,
]

COUNT = "SELECT COUNT(*) AS customers FROM customers"


def test_accepted_answer_is_reviewed_and_then_verified(visit: Visit, cache_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "knowledge"
    folder.mkdir()
    sources = {"shop": {"url": shop_url(cache_dir), "knowledge": str(folder)}}
    site = visit(Model(COUNT, reviews=()), clarify="never", sources=sources, enable_sql_validation=False)
    page = site.page
    site.ask("How many customers are there?")
    page.get_by_role("button", name="Right", exact=True).click()
    expect(page.locator(".noted")).to_have_text("Noted: the answer is right. It is proposed for review.")

    page.get_by_role("button", name="Proposals").click()
    dialog = page.get_by_role("dialog", name="Proposals")
    expect(dialog.get_by_role("heading", name="How many customers are there?")).to_be_visible()
    dialog.get_by_label("Your name, as the author of what you accept").fill("Ann <b>")
    dialog.get_by_role("button", name="Accept").click()
    expect(dialog.get_by_text("Accepted: knowledge/verified.yml:2")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Proposals").click()
    expect(dialog.get_by_text("There is nothing to review.")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()

    calls = site.model.calls
    page.get_by_role("button", name="New conversation").click()
    site.ask("how many customers are there")
    expect(page.locator(".turn:last-child .trust")).to_contain_text("Verified query · Ann <b> · ")
    assert site.model.calls == calls


def test_without_knowledge_there_is_nothing_to_review(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()))

    expect(site.page.get_by_label("Data source")).to_be_visible()
    expect(site.page.get_by_role("button", name="Proposals")).to_be_hidden()
