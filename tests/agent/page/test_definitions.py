"""The business definitions that an answer follows, under its text."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from datasphinx.agent.sample.shop import shop_url
from tests.agent.page.conftest import Visit
from tests.agent.page.said import Model

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

KNOWLEDGE = """\
metrics:
  revenue:
    definition: sum of total_amount without <b>cancelled</b> orders
    expression: SUM(orders.total_amount)
    filters: [orders.status <> 'cancelled']
tables: {orders: {columns: {channel: {labels: {P: phone}}}}}
"""
SQL = "SELECT SUM(total_amount) AS revenue FROM orders WHERE status <> 'cancelled' AND channel = 'P'"


def test_an_answer_lists_the_definitions_that_it_follows(visit: Visit, cache_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "metrics.yml").write_text(KNOWLEDGE, encoding="utf-8")
    sources = {"shop": {"url": shop_url(cache_dir), "knowledge": str(tmp_path)}}
    site = visit(Model(sql=SQL, reviews=()), sources=sources, clarify="never")

    site.ask("What was the revenue of phone orders?")
    expect(site.page.locator(".definitions li")).to_have_text(
        [
            f"revenue = sum of total_amount without <b>cancelled</b> orders; {tmp_path.name}/metrics.yml:2",
            f"phone = orders.channel = 'P'; {tmp_path.name}/metrics.yml:6",
        ]
    )
    expect(site.page.locator(".premise")).to_contain_text(
        [
            "cancelled orders count too",
            "revenue = sum of total_amount without <b>cancelled</b>",
            "phone = orders.channel",
        ]
    )
    site.ask("How many orders are there?")
    expect(site.page.locator(".answer")).to_have_count(2)
    expect(site.page.locator(".definitions")).to_have_count(1)
