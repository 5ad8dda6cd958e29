"""What tests of the page do on it and check of it."""

import json
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.agent.page.conftest import Site

HOW_MANY = "How many orders were placed?"
COUNT = "SELECT COUNT(*) AS orders FROM orders"
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120) SELECT i FROM n"


def sent_by(page: Page) -> list[dict[str, Any]]:
    """What the page sends to the graphs from now on."""
    sent: list[dict[str, Any]] = []
    graphs = ("/agent/events", "/analyst/events")
    page.on("request", lambda each: sent.append(each.post_data_json) if each.url.endswith(graphs) else None)
    return sent


def ask(site: Site, question: str) -> None:
    """Ask, and wait until it is answered."""
    turns = site.page.locator(".turn").count()
    site.ask(question)
    expect(site.page.locator(".turn")).to_have_count(turns + 1)
    expect(site.page.locator(".turn").last.locator(".answer")).to_be_visible()


def choose(view: Locator, item: str) -> None:
    """Choose an item of the menu in `view`."""
    view.locator(".menu > summary").click()
    view.get_by_role("button", name=item, exact=True).click()


def unfold(page: Page) -> None:
    """Show the row below the question, which is folded after the first one."""
    if not page.locator("#foot").is_visible():
        page.get_by_role("button", name="Source, tables and report").click()


ATTACKS = [
    "<img src=x onerror=\"window.hit=1\">",
    "<script>window.hit=1</script>",
    "\"><svg onload=window.hit=1>",
    "<iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
    "javascript:window.hit=1",
    "{{constructor.constructor('window.hit=1')()}}",
    "<b>bold</b>&amp;<style>body{display:none}</style>",
    "\u202eltr\u202c \u2066x",
]  # fmt: skip


def unharmed(page: Page) -> None:
    """Nothing of an attack has become an element or has run."""
    assert page.evaluate("window.hit") is None
    made = page.locator("#turns, #composer").locator("img, script, iframe, svg, style, b, a:not(.permalink)")
    expect(made).to_have_count(0)


def tab_to(page: Page, name: str) -> None:
    """Go on by Tab until the control with this name has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('button') && document.activeElement.textContent") == name:
            return
    raise AssertionError(f"Tab does not lead to {name}")


EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}


HOLD = """() => {
  const sent = window.fetch;
  window.announcements = [];
  new MutationObserver(() => window.announcements.push(document.getElementById("announced").textContent))
    .observe(document.getElementById("announced"), { childList: true });
  window.fetch = (path, options) => {
    if (path !== "report" && !String(path).endsWith("/events")) return sent(path, options);
    const body = new ReadableStream({ start: (controller) => { window.stream = controller; } });
    return Promise.resolve(new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
  };
}"""
"""Let the test send the events of a run."""


def send(page: Page, event: str, data: Any) -> None:
    page.wait_for_function("() => window.stream")
    block = f"event: {event}\ndata: {json.dumps(data)}\n\n"
    page.evaluate("block => window.stream.enqueue(new TextEncoder().encode(block))", block)


def progress(page: Page, stage: str, share: float) -> None:
    send(page, "progress", {"stage": stage, "share": share})
