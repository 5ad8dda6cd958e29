"""Every kind of chart is drawn in the browser, and every text can be read."""

import json
import re
from collections.abc import Callable
from dataclasses import asdict

import pytest
from playwright.sync_api import expect

from agent.charts.echarts import draw
from agent.formatting.formats import ColumnFormat
from tests.agent.charts.results import option, plot_spec, result
from tests.agent.page.conftest import Site
from tests.agent.page.said import ASKS, QUESTION, Model
from tests.generated_docs import ROOT

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

CHARTS = sorted((ROOT / "tests/fixtures/charts").glob("*.json"))
SHOW = """async (option) => {
  const { chartView } = await import(document.querySelector("link[href$='/js/chart.js']").href);
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
DRAWN = """async ([option, language]) => {
  document.querySelector("#language").value = language;
  document.querySelector("#language").dispatchEvent(new Event("change"));
  while (document.documentElement.lang !== language) await new Promise(requestAnimationFrame);
  const { href } = document.querySelector("link[href$='/js/chart.js']");
  const { chartView } = await import(href);
  const echarts = await import(new URL("../vendor/echarts/echarts.esm.min.mjs", href));
  const draw = CanvasRenderingContext2D.prototype.fillText;
  const texts = new Set();
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    texts.add(text);
    return draw.call(this, text, ...place);
  };
  document.body.classList.add("talking");
  document.getElementById("turns").replaceChildren(chartView({ type: "chart", option }));
  const frames = async (count, test) => { while (count-- && !test()) await new Promise(requestAnimationFrame); };
  const chart = () => echarts.getInstanceByDom(document.querySelector(".chart"));
  await frames(600, () => chart() && texts.size);
  for (let at = 0; at < 2; at += 1) {
    const before = texts.size;
    chart().dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: at });
    chart().getZr().flush();
    await frames(30, () => texts.size > before);
  }
  chart().dispose();
  CanvasRenderingContext2D.prototype.fillText = draw;
  return [...texts];
}"""
"""Return the texts of a chart and of the tooltips of its first two points."""
Visit = Callable[..., Site]


def test_every_chart_is_drawn(visit: Visit) -> None:
    site = visit(viewport={"width": 900, "height": 700})
    assert len(CHARTS) >= 10
    for path in CHARTS:
        site.page.evaluate(SHOW, json.loads(path.read_text(encoding="utf-8"))["option"])
        expect(site.page.locator("canvas").first).to_be_visible()
        site.picture(f"chart-{path.stem}")
        assert site.page.evaluate(COLOURS) > 5, path.stem


@pytest.mark.heavy
def test_every_number_is_written_as_in_the_language_of_the_page(visit: Visit) -> None:
    rows = result({"k": "string", "s": "string", "v": "float"}, ("a", "p", 12500.5), ("b", "p", 1787.25))
    points = result({"x": "float", "v": "float"}, (0.25, 12500.5), (12500.5, 1787.25), (0.75, 0.5))
    values = result({"k": "string", "v": "float"}, *(("a", 12500.5 + at) for at in range(5)), ("b", 1787.25))
    formats = [asdict(ColumnFormat()), asdict(ColumnFormat()), asdict(ColumnFormat("currency", 2, "EUR"))]
    options = {
        "bar": option(rows, "bar", "k", "v"),
        "horizontal": option({**rows, "formats": formats}, "bar", "k", "v", horizontal=True),
        "line": option(rows, "line", "k", "v"),
        "scatter": option(points, "scatter", "x", "v"),
        "pie": option(rows, "pie", "k", "v"),
        "heatmap": option(rows, "heatmap", "k", "v", series="s"),
        "box": option(values, "box", "k", "v"),
    }
    # 1787.25 of 14287.75 is 12.5 %.
    options["pie"]["series"][0]["percentPrecision"] = 1
    page = visit().page
    for language, grouped, share in (
        ("en", "12,500.5", "12.5%"),
        ("ru", "12\u00a0500,5", "12,5\u00a0%"),
        ("zh", "12,500.5", "12.5%"),
    ):
        wrong = re.compile(r"\d\.\d|\d,\d{3}\b" if language == "ru" else r"\d\u00a0\d|\d,\d\d?\b|\d{4}")
        for name, chart in options.items():
            texts = page.evaluate(DRAWN, [chart, language])
            assert [text for text in texts if wrong.search(text)] == [], (language, name)
            assert any(grouped in text for text in texts), (language, name, texts)
        assert f"b: {share}" in page.evaluate(DRAWN, [options["pie"], language])


def test_the_tooltip_of_a_box_is_in_the_language_of_the_answer(visit: Visit) -> None:
    rows = result({"k": "string", "v": "float"}, *(("a", value) for value in (1, 2, 3, 4, 5)))
    box = draw(rows, plot_spec({"chart_type": "box", "x": "k", "y": "v"}, rows), "ru").option

    texts = "\n".join(visit().page.evaluate(DRAWN, [box, "ru"]))

    assert "нижний квартиль" in texts and "медиана" in texts and "Q1" not in texts


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
