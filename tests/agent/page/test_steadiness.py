"""What is on the page keeps its place while an answer is written and while it is loaded; motion, and rings of focus."""

import re
import threading
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.agent.page.actions import COUNT, HOLD, HOW_MANY, PHONE, ask, progress, send
from tests.agent.page.conftest import Visit
from tests.agent.page.said import FEWER, Model

pytestmark = [pytest.mark.heavy, pytest.mark.browser]
DESK = {"viewport": {"width": 1440, "height": 900}}
MOST = 0.02
"""Chromium calls a sum of 0.1 good."""
WATCH = """() => {
  window.shifts = [];
  window.watching = new PerformanceObserver((list) => window.shifts.push(...list.getEntries()));
  window.watching.observe({ type: "layout-shift", buffered: true });
}"""
SHIFTS = """async (begin) => {
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  window.shifts.push(...window.watching.takeRecords());
  const place = ({ x, y }) => `${x},${y}`;
  return window.shifts.filter(({ startTime }) => startTime >= begin).map(({ value, sources }) =>
    [value, sources.map(({ node, previousRect, currentRect }) =>
      `${node?.nodeName}.${node?.className} ${place(previousRect)} to ${place(currentRect)}`)]);
}"""


def moved(page: Page, begin: float = 0) -> tuple[float, list[Any]]:
    """The sum of the layout shifts since `begin`, also those soon after an input, and what has moved."""
    shifts = page.evaluate(SHIFTS, begin)
    return sum(value for value, _ in shifts), shifts


@pytest.mark.parametrize("device", [DESK, PHONE], ids=["desk", "phone"])
def test_nothing_moves_when_a_chart_and_its_settings_come(visit: Visit, device: dict[str, Any]) -> None:
    model = Model(FEWER, reviews=())
    model.wait = threading.Event()
    page = (site := visit(model, **device)).page
    page.evaluate(WATCH)
    site.ask("Which customers spent the most?")
    assert model.asked.wait(60)
    expect(page.locator(".progress")).to_be_visible()
    begin = page.evaluate("performance.now()")
    model.wait.set()
    expect(page.locator(".plot-settings")).to_be_visible()
    expect(page.locator(".chart canvas")).to_be_visible()
    total, shifts = moved(page, begin)
    assert total < MOST, shifts


def test_nothing_moves_while_a_file_is_read(visit: Visit) -> None:
    page = (site := visit(**DESK)).page
    page.evaluate(HOLD)
    page.evaluate(WATCH)
    site.ask("How much was sold on each sheet?")
    expect(page.locator(".progress")).to_be_visible()
    begin = page.evaluate("performance.now()")
    progress(page, "read", 0.2)
    expect(page.locator(".turn progress")).to_be_visible()
    send(page, "step", {"node": "run_tool", "line": "✓ create_dataset 2.0 s  sales.xlsx, 300 rows", "latency_ms": 2000})
    expect(page.locator(".turn .steps li")).to_have_count(1)
    progress(page, "read", 0.1)
    expect(page.locator(".turn progress")).to_be_visible()
    total, shifts = moved(page, begin)
    assert total < MOST, shifts


@pytest.mark.parametrize(("device", "locale"), [(DESK, "en-US"), (DESK, "ru-RU"), (PHONE, "zh-CN")])
def test_nothing_moves_while_the_page_is_loaded(visit: Visit, device: dict[str, Any], locale: str) -> None:
    page = visit(locale=locale, **device).page
    expect(page.locator("#start-questions button")).to_have_count(6)
    expect(page.locator("#start-tree li").first).to_be_visible()
    page.evaluate(WATCH)
    total, shifts = moved(page)
    assert total < MOST, shifts


def test_only_the_mark_of_a_running_question_moves_and_not_where_motion_is_reduced(visit: Visit) -> None:
    model = Model(COUNT, reviews=())
    model.wait = threading.Event()
    page = (site := visit(model, **DESK)).page
    site.ask(HOW_MANY)
    assert model.asked.wait(60)
    expect(page.locator(".dot")).to_be_visible()
    names = (
        "() => document.getAnimations().map(({ animationName, effect }) => [animationName, effect.target.className])"
    )
    assert page.evaluate(names) == []
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(names) == [["breathe", "dot"]]
    model.wait.set()
    expect(page.locator(".answer")).to_be_visible()
    assert page.evaluate(names) == []


def test_a_ring_is_seen_with_the_keyboard_only(visit: Visit) -> None:
    page = (site := visit(Model(COUNT, reviews=()), **DESK)).page
    ask(site, HOW_MANY)
    ring = "() => getComputedStyle(document.activeElement).outlineStyle"
    page.get_by_label("Your question").click()
    assert page.evaluate(ring) == "none"
    rules = page.evaluate(
        "() => [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).map((rule) => rule.selectorText ?? '')"
    )
    assert {rule for rule in rules if re.search(r":focus(?!-)", rule)} == {".skip:focus"}
    page.get_by_text("SQL and how this came about").click()
    assert page.evaluate(ring) == "none"
    page.keyboard.press("Tab")
    assert page.evaluate(ring) == "solid"
