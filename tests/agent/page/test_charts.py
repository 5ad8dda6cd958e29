"""Every kind of chart is drawn in the browser, and every text can be read."""

import json
import re
from dataclasses import asdict
from itertools import combinations
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from datasphinx.agent.formatting.formats import ColumnFormat
from tests.agent.charts.results import option, result
from tests.agent.page.conftest import Visit
from tests.agent.page.said import Model
from tests.support.generated_docs import ROOT

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

CHARTS = sorted((ROOT / "tests/fixtures/charts").glob("*.json"))
SHOW = """async (option) => {
  const { chart: { chartView } } = await import(document.querySelector("script[type=module]").src);
  document.body.classList.add("talking");
  document.getElementById("turns").replaceChildren(chartView({ type: "chart", option }));
}"""
COLOURS = """() => {
  const canvas = document.querySelector("canvas");
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return new Set(new Uint32Array(pixels.buffer)).size;
}"""
DRAWN = """async ([option, language]) => {
  document.querySelector("#language").value = language;
  document.querySelector("#language").dispatchEvent(new Event("change"));
  while (document.documentElement.lang !== language) await new Promise(requestAnimationFrame);
  const { src: href } = document.querySelector("script[type=module]");
  const { chart: { chartView } } = await import(href);
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
LABELS = """async ([type, option]) => {
  const { src: href } = document.querySelector("script[type=module]");
  const { chart: { chartView } } = await import(href);
  const echarts = await import(new URL("../vendor/echarts/echarts.esm.min.mjs", href));
  document.body.classList.add("talking");
  if (option) document.getElementById("turns").replaceChildren(chartView({ type, option }));
  const chart = () => echarts.getInstanceByDom(document.querySelector(".chart"));
  while (!chart()) await new Promise(requestAnimationFrame);
  // Its height has changed with the number of its names.
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  chart().getZr().flush();
  const drawn = chart().getZr().storage.getDisplayList(true);
  const shown = drawn.filter(({ style, invisible }) => !invisible && style.text?.trim());
  const { width, height } = document.querySelector(".chart").getBoundingClientRect();
  const labels = shown.map((each) => {
    const box = each.getBoundingRect().clone();
    if (each.transform) box.applyTransform(each.transform);
    const ends = [box.x, box.y, box.x + box.width, box.y + box.height];
    return { text: each.style.text, turned: Boolean(each.transform?.[1]), box: ends };
  });
  return { labels, width, height };
}"""
"""Return the texts of a chart, or of the one that is there, with their places: left, top, right and bottom."""
MARKS = """async () => {
  const { src: href } = document.querySelector("script[type=module]");
  const echarts = await import(new URL("../vendor/echarts/echarts.esm.min.mjs", href));
  const drawn = echarts.getInstanceByDom(document.querySelector(".chart")).getZr().storage.getDisplayList(true);
  return drawn.filter(({ shape }) => shape?.symbolType === "circle").length;
}"""


def test_every_chart_is_drawn(visit: Visit) -> None:
    site = visit(viewport={"width": 900, "height": 700})
    assert len(CHARTS) >= 10
    for path in CHARTS:
        site.page.evaluate(SHOW, json.loads(path.read_text(encoding="utf-8"))["option"])
        expect(site.page.locator("canvas").first).to_be_visible()
        assert site.page.evaluate(COLOURS) > 5, path.stem


@pytest.mark.heavy
def test_every_number_is_written_as_in_the_language_of_the_page(visit: Visit) -> None:
    rows = result({"k": "string", "s": "string", "v": "float"}, ("a", "p", 12500.5), ("b", "p", 1787.25))
    points = result({"x": "float", "v": "float"}, (0.25, 12500.5), (12500.5, 1787.25), (0.75, 0.5))
    formats = [asdict(ColumnFormat()), asdict(ColumnFormat()), asdict(ColumnFormat("currency", 2, "EUR"))]
    options = {
        "bar": option(rows, "bar", "k", "v"),
        "horizontal": option({**rows, "formats": formats}, "bar", "k", "v", horizontal=True),
        "line": option(rows, "line", "k", "v"),
        "scatter": option(points, "scatter", "x", "v"),
        "pie": option(rows, "pie", "k", "v"),
        "heatmap": option(rows, "heatmap", "k", "v", series="s"),
    }
    # In the pie, 1787.25 of 14287.75 is 12.5 %.
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
        texts = page.evaluate(DRAWN, [options["pie"], language])
        assert "b" in texts and any(text.endswith(f" · {share}") for text in texts), texts


def overlap(one: list[float], other: list[float]) -> bool:
    return all(one[at] < other[at + 2] - 1 and other[at] < one[at + 2] - 1 for at in (0, 1))


def labels_of(page: Page, kind: str, chart: dict[str, Any] | None, names: list[str]) -> list[str]:
    """Return the texts of a chart; all of `names` are among them, and nothing is outside or overlaps."""
    drawn = page.evaluate(LABELS, [kind, chart])
    labels = drawn["labels"]
    texts = [each["text"] for each in labels]
    cut = [text.rstrip(".…") for text in texts if text[-1] in ".…"]
    assert [name for name in names if name not in texts and not any(map(name.startswith, cut))] == [], texts
    right, bottom = drawn["width"] + 1, drawn["height"] + 1
    boxes = [each["box"] for each in labels]
    assert [each["text"] for each in labels if min(each["box"]) < -1] == []
    assert all(box[2] <= right and box[3] <= bottom for box in boxes), texts
    # Slanted names lie close to each other, but not to other texts.
    clash = [
        (one["text"], other["text"])
        for one, other in combinations(labels, 2)
        if not (one["turned"] and other["turned"]) and overlap(one["box"], other["box"])
    ]
    assert clash == []
    return texts


@pytest.mark.parametrize("width", [390, 760])
def test_charts_keep_the_names_of_all_categories(visit: Visit, width: int) -> None:
    page = visit(viewport={"width": width, "height": 900}).page
    for count in range(2, 31):
        names = [f"{'Walker Media and Partners'[: 5 + count % 20]} {at}" for at in range(count)]
        ranked = [12500.5 - 400 * at for at in range(count)]
        for values in (ranked, [*ranked[1::2], *ranked[::2]]):
            rows = result({"k": "string", "v": "float"}, *zip(names, values, strict=True))
            texts = labels_of(page, "bar", option(rows, "bar", "k", "v"), names)
            if values is ranked and count > 2:
                assert {f"{value:,.1f}" for value in values} <= set(texts), (count, texts)
        # More slanted names would cover each other.
        if count <= width // 21:
            labels_of(page, "line", option(rows, "line", "k", "v"), names)


@pytest.mark.parametrize(
    ("width", "values", "kind"),
    [
        (760, [120, -80, 40], "one"), (390, [120, -80, 40], "one"), (760, [7, 3], "one"), (390, [7, 3], "one"),
        (760, [900, 850, 700], "two"), (390, [9, 8, 7], "two"),
    ],
)  # fmt: skip
def test_bars_have_their_values(visit: Visit, width: int, values: list[int], kind: str) -> None:
    page = visit(viewport={"width": width, "height": 900}).page
    names = ["North", "South", "East"][: len(values)]
    cells = [(name, value, -value) for name, value in zip(names, values, strict=True)]
    rows = result({"k": "string", "a": "integer", "b": "integer"}, *cells)
    measures = ["a"] if kind == "one" else ["a", "b"]
    texts = labels_of(page, "bar", option(rows, "bar", "k", measures), names)
    assert {str(value) for value in values} <= set(texts)
    assert kind == "one" or {str(-value) for value in values} <= set(texts)


@pytest.mark.parametrize(("name", "count", "at"), [("North", 4, 1), ("Walker Media and Partners", 9, 0)])
@pytest.mark.parametrize("width", [390, 760])
def test_the_value_of_a_negative_bar_is_beyond_its_end(
    visit: Visit, width: int, name: str, count: int, at: int
) -> None:
    page = visit(viewport={"width": width, "height": 900}).page
    for highest in (1200, 0):
        names = [f"{name} {number}" for number in range(count)]
        values = [-1000, highest, -900, -250, *range(-99, 4 - count - 99, -1)]
        rows = result({"k": "string", "v": "integer"}, *zip(names, values, strict=True))
        labels_of(page, "bar", option(rows, "bar", "k", "v"), names)
        places = {each["text"]: each["box"][at] for each in page.evaluate(LABELS, ["bar", None])["labels"]}
        far, near, zero = (places[text] for text in ("-900", "-250", "0"))
        assert far > near > zero if at else far < near < zero


@pytest.mark.parametrize(("width", "count"), [(760, 2), (760, 6), (760, 7), (390, 2)])
def test_a_few_lines_have_their_names_at_their_ends(visit: Visit, width: int, count: int) -> None:
    page = visit(viewport={"width": width, "height": 900}).page
    names = [f"Line {at}" for at in range(count)]
    cells = [(f"2025-{month:02}", name, 1000 + month + at) for month in (1, 2, 3) for at, name in enumerate(names)]

    rows = result({"m": "string", "s": "string", "v": "integer"}, *cells)
    drawn = page.evaluate(LABELS, ["line", option(rows, "line", "m", "v", series="s")])

    at_end = [each for each in drawn["labels"] if each["text"] in names and each["box"][3] < drawn["height"] - 40]
    assert len(at_end) == (count if (width, count) in [(760, 2), (760, 6)] else 0)
    assert all(not overlap(one["box"], other["box"]) for one, other in combinations(at_end, 2))


@pytest.mark.parametrize("count", [2, 3, 6])
def test_a_narrow_chart_has_the_names_of_its_lines_and_slices(visit: Visit, count: int) -> None:
    page = visit(viewport={"width": 390, "height": 900}).page
    names = [f"{('Furniture and living', 'Books')[at % 2]} {at}" for at in range(count)]
    cells = [(f"2025-{month:02}", name, 1000 + month * at) for month in (1, 2, 3) for at, name in enumerate(names)]
    rows = result({"m": "string", "s": "string", "v": "integer"}, *cells)
    labels_of(page, "line", option(rows, "line", "m", "v", series="s"), names)
    slices = result({"s": "string", "v": "integer"}, *((name, 100) for name in names))
    texts = labels_of(page, "pie", option(slices, "pie", "s", "v"), names)
    assert sum(text.endswith("%") for text in texts) == count


@pytest.mark.parametrize("count", [12, 36, 365])
def test_the_points_of_a_line_have_all_a_mark_or_none(visit: Visit, count: int) -> None:
    page = visit(viewport={"width": 390, "height": 900}).page
    rows = result({"m": "string", "v": "integer"}, *((f"place {at}", 1000 + at % 7) for at in range(count)))
    page.evaluate(LABELS, ["line", option(rows, "line", "m", "v")])
    marks = page.evaluate(MARKS)
    assert marks == (count if count == 12 else 0)


@pytest.mark.parametrize(("measure", "is_marked"), [("COUNT(*) + 100000", True), ("MIN(order_id)", False)])
def test_years_are_whole_and_an_axis_that_begins_elsewhere_says_so(visit: Visit, measure: str, is_marked: bool) -> None:
    year = "CAST(strftime('%Y', ordered_on) AS INTEGER)"
    sql = f"SELECT {year} AS year, {measure} AS orders FROM orders GROUP BY {year} ORDER BY year"
    site = visit(Model(sql, reviews=(), chart={"type": "line"}), viewport={"width": 900, "height": 800})
    site.ask("Show the orders by year as a line chart")
    expect(site.page.locator(".chart canvas")).to_be_visible()
    shown = [each["text"] for each in site.page.evaluate(LABELS, ["line", None])["labels"]]
    assert [each for each in shown if each.startswith(("202", "2,02"))] == ["2023", "2024", "2025"]
    expect(site.page.get_by_text("The axis of values does not begin at 0.")).to_have_count(int(is_marked))


def test_a_chart_fits_the_screen_after_it_was_turned(visit: Visit) -> None:
    page = visit(viewport={"width": 1280, "height": 900}).page
    names = [f"Walker Media {at}" for at in range(5)]
    rows = result({"k": "string", "v": "float"}, *((name, 74416.5 - at) for at, name in enumerate(names)))
    mixed = result({"k": "string", "v": "float"}, *((name, 74416.5 + at % 2) for at, name in enumerate(names)))
    for shown in (rows, mixed):
        page.set_viewport_size({"width": 1280, "height": 900})
        labels_of(page, "bar", option(shown, "bar", "k", "v"), names)
        page.set_viewport_size({"width": 390, "height": 900})
        page.wait_for_function("document.querySelector('.chart').clientWidth < 390")
        assert "74,416.5" in labels_of(page, "bar", None, names)


def test_values_that_do_not_fit_beside_each_other_are_gone_after_the_screen_was_turned(visit: Visit) -> None:
    page = visit(viewport={"width": 1280, "height": 900}).page
    for names, is_shown in (("ABCD", False), ("ABC", True)):
        cells = ((name, 1234567.5, 1234568.5) for name in names)
        rows = result({"k": "string", "a": "float", "b": "float"}, *cells)
        texts = labels_of(page, "bar", option(rows, "bar", "k", ["a", "b"]), list(names))
        assert ("1,234,567.5" in texts) == is_shown
    page.set_viewport_size({"width": 620, "height": 900})
    page.wait_for_function("document.querySelector('.chart').clientWidth < 600")
    assert "1,234,567.5" not in labels_of(page, "bar", None, list("ABC"))


@pytest.mark.parametrize("width", [390, 760])
def test_an_axis_of_values_has_all_its_marks(visit: Visit, width: int) -> None:
    page = visit(viewport={"width": width, "height": 900}).page
    names = [f"Walker Media {at}" for at in range(5)]
    rows = result({"k": "string", "a": "integer", "b": "integer"}, *((name, 74416, 61000) for name in names))

    texts = labels_of(page, "bar", option(rows, "bar", "k", ["a", "b"], horizontal=True), names)

    others = [text for text in texts if text not in ("74,416", "61,000")]
    marks = [int(text.replace(",", "")) for text in others if text.replace(",", "").isdecimal()]
    assert len(marks) > 2 and marks == list(range(0, marks[-1] + 1, marks[1]))


def test_long_names_beside_bars_are_whole_on_a_wide_screen(visit: Visit) -> None:
    names = ["Whiteboard Marker Set", "Dinner Plate Set of Six", "Kettle", "Lamp", "Chair", "Table"]
    option = {
        "xAxis": {"type": "category", "data": names},
        "yAxis": {"type": "value"},
        "series": [{"type": "bar", "data": [6, 5, 4, 3, 2, 1]}],
        "grid": {},
    }
    width = visit().page.evaluate(
        "async (option) => (await import('./static/js/names.js'))"
        ".withNames({ type: 'bar', option }, 760, '12px sans-serif').option.yAxis.axisLabel.width",
        option,
    )
    assert width > 160
