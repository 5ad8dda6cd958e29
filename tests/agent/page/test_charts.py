"""Every kind of chart is drawn in the browser, and every text can be read."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.agent.page.conftest import Site
from tests.agent.page.said import ASKS, QUESTION, Model
from tests.agent.server.serving import LANGSERVE_WARNING
from tests.generated_docs import ROOT

pytestmark = [pytest.mark.heavy, pytest.mark.browser, pytest.mark.filterwarnings(LANGSERVE_WARNING)]

CHARTS = sorted((ROOT / "tests/fixtures/charts").glob("*.json"))
SHOW = """async (option) => {
  const { chartView } = await import("./static/js/chart.js");
  document.body.classList.add("talking");
  document.getElementById("turns").replaceChildren(chartView({ type: "chart", option }));
}"""
COLOURS = """() => {
  const canvas = document.querySelector("canvas");
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return new Set(new Uint32Array(pixels.buffer)).size;
}"""
FAINT = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = parts(colour).map((each) => each / 255)
      .map((each) => (each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    const [, , , alpha = 1] = parts(colour);
    return alpha === 1 ? colour : behind(element.parentElement);
  };
  const ratio = (element) => {
    const two = [light(getComputedStyle(element).color), light(behind(element))].sort((one, other) => other - one);
    return (two[0] + 0.05) / (two[1] + 0.05);
  };
  const hasText = (each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  return [...document.querySelectorAll("body *")]
    .filter((each) => hasText(each) && each.checkVisibility() && !each.closest(":disabled, option, .visually-hidden"))
    .filter((each) => ratio(each) < 4.5)
    .map((each) => `${each.textContent}: ${ratio(each).toFixed(2)}`);
}"""
Visit = Callable[..., Site]


def test_every_chart_is_drawn(visit: Visit) -> None:
    site = visit(viewport={"width": 900, "height": 700})
    assert len(CHARTS) >= 10
    for path in CHARTS:
        site.page.evaluate(SHOW, json.loads(path.read_text(encoding="utf-8"))["option"])
        expect(site.page.locator("canvas").first).to_be_visible()
        site.picture(f"chart-{path.stem}")
        assert site.page.evaluate(COLOURS) > 5, path.stem


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(visit: Visit, scheme: str) -> None:
    site = visit(Model(reviews=(ASKS,)), color_scheme=scheme)
    assert site.page.evaluate(FAINT) == []
    site.ask(QUESTION)
    expect(site.page.locator(".option")).to_have_count(2)
    assert site.page.evaluate(FAINT) == []
    site.page.keyboard.press("2")
    expect(site.page.locator(".chart canvas")).to_be_visible()
    site.page.locator(".explain summary").click()
    assert site.page.evaluate(FAINT) == []
