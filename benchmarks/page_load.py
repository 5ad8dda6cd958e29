"""The time in which the page can be used on a slow phone: python -m benchmarks.page_load [visits].

Chromium with 1.6 Mbit/s, a round trip of 150 ms and a processor slowed down by 4, over HTTP/1.1 on 127.0.0.1. Each
first visit has an empty cache; the second one has the files of the first.
"""

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from datasphinx.agent.server.app import create_app
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.page.conftest import FLAGS
from tests.agent.server.serving import running

_MBIT_S, _ROUND_TRIP_MS, _SLOWDOWN = 1.6, 150, 4
_WATCH = """addEventListener("DOMContentLoaded", () => {
  const watched = { field: "#question:focus", questions: "#start-questions button" };
  const seen = window.seen = {};
  const look = () => {
    for (const [name, selector] of Object.entries(watched)) {
      if (document.querySelector(selector)) seen[name] ??= performance.now();
    }
    requestAnimationFrame(look);
  };
  look();
})"""
_MEASURED = ("paint", "field", "questions")


def _visit(page: Page, address: str) -> dict[str, float]:
    page.goto(address)
    page.wait_for_function("() => window.seen?.field && window.seen?.questions", timeout=60_000)
    painted = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    return {"paint": page.evaluate(painted), **page.evaluate("window.seen")}


def _measure(browser: Browser, address: str) -> list[dict[str, float]]:
    """Return the milliseconds of a first and a second visit."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    page = context.new_page()
    page.add_init_script(_WATCH)
    device = context.new_cdp_session(page)
    device.send("Network.enable")
    rate = _MBIT_S * 1_000_000 / 8
    conditions = {"latency": _ROUND_TRIP_MS, "downloadThroughput": rate, "uploadThroughput": rate, "offline": False}
    device.send("Network.emulateNetworkConditions", conditions)
    device.send("Emulation.setCPUThrottlingRate", {"rate": _SLOWDOWN})
    first = _visit(page, address)
    page.wait_for_load_state("networkidle")
    page.goto("about:blank")
    second = _visit(page, address)
    context.close()
    return [first, second]


def main(visits: int) -> None:
    """Print the medians."""
    program = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        settings = load_settings(cache_dir=Path(folder), data_dir=Path(folder))
        with running(create_app(Services(settings, any_source=False))) as address:
            browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
            _measure(browser, address)
            found = [_measure(browser, address) for _ in range(visits)]
            browser.close()
    for name, each in zip(("first visit", "second visit"), zip(*found, strict=True), strict=True):
        times = "  ".join(f"{key} {statistics.median(one[key] for one in each):.0f} ms" for key in _MEASURED)
        print(f"{name}: {times}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
