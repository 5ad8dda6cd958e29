"""What a running question shows of the load of a file within it, and of what it waits for."""

import pytest
from playwright.sync_api import expect

from tests.agent.page.actions import HOLD, progress, send
from tests.agent.page.conftest import Visit, switch

pytestmark = [pytest.mark.browser, pytest.mark.heavy]


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_a_load_within_a_question_has_a_bar(visit: Visit, size: tuple[int, int]) -> None:
    site = visit(viewport={"width": size[0], "height": size[1]})
    page, bar = site.page, site.page.locator(".turn progress")
    page.evaluate(HOLD)
    site.ask("How much was sold on each sheet?")
    progress(page, "read", 0.0)
    expect(bar).to_have_attribute("value", "0")
    expect(bar).to_have_attribute("aria-label", "Reading the file")
    for share in range(10, 100, 10):
        progress(page, "read", share / 100)
    progress(page, "examine", 0.8)
    expect(page.locator(".working")).to_contain_text("Reading the file: 60%")
    expect(bar).to_have_attribute("value", "0.6")
    width, turn = bar.evaluate("bar => [bar.offsetWidth, bar.parentElement.clientWidth]")
    assert turn / 2 < width <= turn
    progress(page, "write", 1.0)
    expect(bar).to_have_attribute("value", "1")

    step = {"node": "run_tool", "line": "✓ create_dataset 2.0 s  sales.xlsx, 300 rows", "latency_ms": 2000}
    send(page, "step", step)
    send(page, "started", {"node": "plan", "attempt": 2})
    expect(bar).to_have_count(0)
    expect(page.locator(".working")).to_contain_text("Plan (2)")
    send(page, "started", {"node": "generate_sql", "attempt": 2, "limit": 4})
    expect(page.locator(".working")).to_contain_text("Write SQL, attempt 2 of 4")
    # A second file begins anew.
    progress(page, "read", 0.1)
    expect(bar).to_have_count(1)
    send(page, "waiting", {"for": "waiting_for_model"})
    expect(bar).to_have_count(0)
    expect(page.locator(".working")).to_contain_text("Waiting for the model")
    send(page, "step", {"node": "generate_sql", "line": "✓ generate_sql 1.0 s", "latency_ms": 1000,
                        "update": {"sql_request": "SELECT 1"}})  # fmt: skip
    expect(page.locator(".steps .sql pre")).to_have_text("SELECT 1")
    told = page.evaluate("() => window.announcements")
    assert told == [
        "Reading the file",
        "Reading the file: 50%",
        "Read the file",
        "Reading the file",
        "Waiting for the model, which answers another question",
        "Write SQL",
    ]


def test_the_time_left_is_told_until_it_has_passed(visit: Visit) -> None:
    page = (site := visit()).page
    page.clock.install(time=0)
    page.clock.pause_at(3600)
    page.evaluate(HOLD)
    site.ask("How much was sold?")
    send(page, "started", {"node": "retrieve_tables", "attempt": 1})
    page.clock.run_for(1000)
    expect(page.locator(".working .time")).not_to_contain_text("left")
    page.keyboard.press("Escape")
    page.evaluate("window.stream.error(new DOMException('', 'AbortError')); delete window.stream")
    site.ask("How much was sold?")
    send(page, "started", {"node": "retrieve_tables", "attempt": 1, "expected_ms": 23000})
    page.clock.run_for(4000)
    expect(page.locator(".working .time")).to_contain_text("about 20 s left")
    page.clock.run_for(20000)
    expect(page.locator(".working .time")).not_to_contain_text("left")


def test_the_share_is_told_in_the_language_of_the_page(visit: Visit) -> None:
    site = visit()
    site.page.evaluate(HOLD)
    site.ask("Сколько продано?")
    progress(site.page, "read", 0.3)
    for language, words in (("Русский", "Чтение файла: 10 %"), ("中文", "正在读取文件：10%")):
        switch(site.page, "language", language)
        expect(site.page.locator(".working")).to_contain_text(words)
