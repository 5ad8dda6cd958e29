"""The browser's profile that tests use one after the other: none sees what another one has left."""

import pytest
from playwright.sync_api import BrowserContext

from tests.agent.page.conftest import Visit, new_page

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

STORE = """async () => {
  localStorage.left = sessionStorage.left = document.cookie = "left=1";
  await caches.open("left");
  await new Promise((done) => { indexedDB.open("left").onsuccess = done; });
}"""
STORED = """async () => [localStorage.left, sessionStorage.left, document.cookie, await caches.keys(),
  await indexedDB.databases()].map((each) => each?.length ?? 0)"""


def test_a_page_has_nothing_of_one_that_was_closed(visit: Visit, profile: BrowserContext) -> None:
    base = visit().base
    with new_page(profile) as page, new_page(profile) as other:
        page.goto(base)
        page.evaluate(STORE)
        other.goto(base)
        assert all(other.evaluate(STORED)[index] for index in (0, 2, 3, 4)), "pages of one test share their data"
    with new_page(profile) as page:
        page.goto(base)
        assert not any(page.evaluate(STORED))
