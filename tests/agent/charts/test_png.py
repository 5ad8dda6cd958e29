import builtins
import json
import sys
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.image import imread

from datasphinx.agent.charts import canvas
from datasphinx.agent.charts.build import figure_of
from datasphinx.agent.charts.canvas import Lettering, canvas_of, families_for
from datasphinx.agent.charts.echarts import draw, figure_of_option, option_of
from datasphinx.agent.charts.plot_spec import PlotSpec
from datasphinx.agent.charts.png import png_of_option
from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.formatting.formats import ColumnFormat
from datasphinx.agent.messages import Language
from datasphinx.agent.types import Result
from tests.agent.charts.results import GOLDEN, HOSTILE, plot_spec, result, spec

pytestmark = pytest.mark.integration

ROWS = result({"x": "string", "s": "string", "n": "integer"}, ("a", "_s", 1), ("b", "t", 2))


def png(rows: Result, wanted: PlotSpec) -> bytes:
    return canvas.png_of(figure_of(rows, wanted))


def pixels(rows: Result = ROWS, chart_type: str = "bar", **more: Any) -> Any:
    return imread(BytesIO(png(rows, plot_spec(spec(chart_type, "x", "n", **more), rows))))


# The file


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_png_is_the_same_each_time_and_has_no_metadata(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    wanted = plot_spec(case["spec"], case["result"])
    picture = png(case["result"], wanted)

    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert imread(BytesIO(picture)).shape == (600, 1000, 4)
    assert not any(chunk in picture for chunk in (b"tEXt", b"tIME", b"Matplotlib"))
    assert png(case["result"], wanted) == picture


def test_a_ranking_lies_with_its_names_and_values() -> None:
    rows = result(
        {"x": "string", "n": "float"}, *((f"Walker Media and Partners {at}", 9000.5 - at) for at in range(30))
    )
    axes = canvas_of(figure_of(rows, plot_spec(spec("bar", "x", "n"), rows)), Lettering(set())).axes[0]

    assert [text.get_text() for text in axes.get_yticklabels()] == [row[0] for row in rows["rows"]]
    assert [text.get_text() for text in axes.texts][::29] == ["9,000.5", "8,971.5"]


def test_style_of_the_process_changes_nothing_and_is_left_as_it_was() -> None:
    plain = pixels(title="Orders")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "font.family": "serif"}):
        assert (pixels(title="Orders") == plain).all()
        assert matplotlib.rcParams["font.size"] == 30
    from matplotlib import pyplot

    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("package", ["matplotlib", "pylopdf_fonts_zh_cn"])
def test_what_is_not_installed_is_said_with_its_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=package)
        return real(name, *rest)

    option = draw(ROWS, plot_spec(spec("bar", "x", "n"), ROWS)).option
    monkeypatch.delitem(sys.modules, "datasphinx.agent.charts.canvas", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(DriverMissing) as caught:
        png_of_option("bar", option)
    assert (caught.value.package, caught.value.extra) == (package, "charts")


# The same data as the option


def drawn(axes: Axes, option: dict[str, Any]) -> list[Any]:
    """What the picture shows, in the form of the option's series."""
    kind = option["series"][0]["type"]
    if kind == "bar":
        along = option["yAxis"] if option["yAxis"]["type"] == "category" else option["xAxis"]
        size = "get_width" if along is option["yAxis"] else "get_height"
        return [[plain(getattr(bar, size)()) for bar in bars] for bars in axes.containers]
    if kind == "line":
        pairs = option["xAxis"]["type"] == "value"
        return [
            [list(map(plain, pair)) for pair in line.get_xydata()] if pairs else list(map(plain, line.get_ydata()))
            for line in axes.get_lines()
        ]
    if kind == "scatter":
        return [[list(map(plain, pair)) for pair in points.get_offsets()] for points in axes.collections]
    (image,) = axes.get_images()
    cells = image.get_array().filled(np.nan)
    return [[[x, y, plain(cells[y][x])] for y in range(cells.shape[0]) for x in range(cells.shape[1])]]


def plain(value: Any) -> Any:
    return None if np.isnan(value) else float(value)


LARGE = result(
    {"x": "integer", "s": "string", "n": "float"},
    *((x, f"s{s}", (x * 37 + s * 11) % 101 / 7) for x in range(150) for s in range(20)),
)
LONG = result({"x": "integer", "s": "string", "n": "integer"}, *((x, "a", x * x % 997) for x in range(3000)))


@pytest.mark.parametrize("rows", [ROWS, LARGE, LONG], ids=["small", "many series", "many points"])
@pytest.mark.parametrize("chart_type", ["line", "bar", "area", "scatter", "heatmap"])
def test_picture_shows_the_data_of_the_option(chart_type: str, rows: Result) -> None:
    figure = figure_of(rows, plot_spec(spec(chart_type, "x", "n", series="s"), rows), "en")
    option = option_of(figure)
    axes = canvas_of(figure, Lettering(set())).axes[0]

    assert drawn(axes, option) == [each["data"] for each in option["series"]]
    assert option["title"].get("subtext", "") == axes.get_title(loc="left")


def test_stacked_bars_stand_on_each_other_by_sign() -> None:
    rows = result({"x": "string", "n": "integer", "m": "integer"}, ("a", 1, 2), ("b", -1, -2), ("c", 3, -4))
    figure = figure_of(rows, plot_spec(spec("bar", "x", ["n", "m"], stacked=True), rows))
    first, second = canvas_of(figure, Lettering(set())).axes[0].containers

    assert [bar.get_y() for bar in first] == [0, 0, 0]
    assert [(bar.get_y(), bar.get_height()) for bar in second] == [(1, 2), (-1, -2), (0, -4)]


def test_parts_of_a_pie_are_those_of_the_option() -> None:
    rows = result({"x": "string", "n": "integer"}, *((f"c{at}", at + 1) for at in range(20)))
    figure = figure_of(rows, plot_spec(spec("pie", "x", "n"), rows))
    axes, parts = canvas_of(figure, Lettering(set())).axes[0], option_of(figure)["series"][0]["data"]
    turns = [(wedge.theta2 - wedge.theta1) / 360 for wedge in axes.patches]
    labels = {text.get_text() for text in axes.texts if text.get_text()}

    assert turns == pytest.approx([part["value"] / 210 for part in parts])
    assert len(parts) == 7
    assert labels == {
        f"{part['name']}: {share}"
        for part, share in zip(parts, ("7%", "8%", "8%", "9%", "9%", "9%", "50%"), strict=True)
    }


def test_boxes_are_those_of_the_option() -> None:
    rows = result({"x": "string", "n": "integer"}, *(("a", value) for value in (1, 2, 3, 4, 99)), ("b", None), ("c", 5))
    figure = figure_of(rows, plot_spec(spec("box", "x", "n"), rows))
    axes = canvas_of(figure, Lettering(set())).axes[0]
    lines = [list(line.get_ydata()) for line in axes.get_lines()]
    (low, lower, middle, upper, high), empty, _ = option_of(figure)["series"][0]["data"]

    assert [y for _, y in axes.patches[0].get_path().vertices[:4]] == [lower, lower, upper, upper]
    assert lines[:4] == [[lower, low], [upper, high], [low, low], [high, high]]
    assert [middle] * 2 in lines and [99] in lines
    assert empty == [None] * 5


def test_legend_has_every_name_as_it_is() -> None:
    rows = result({"x": "string", "s": "string", "n": "integer"}, ("a", "_hidden", 1), ("b", "$x_1$", 2), ("c", HOSTILE, 3))  # fmt: skip # noqa: E501
    for chart_type in ("bar", "line", "area", "scatter"):
        figure = figure_of(rows, plot_spec(spec(chart_type, "x", "n", series="s"), rows))
        (legend,) = canvas_of(figure, Lettering(set())).legends
        assert [text.get_text() for text in legend.get_texts()] == ["_hidden", "$x_1$", HOSTILE]


@pytest.mark.parametrize(
    ("y_format", "kind", "unit", "shown"),
    [
        ("number", "number", "", "2,500"),
        ("percent", "number", "", "2,500%"),
        ("number", "percent", "", "2,500%"),
        ("number", "currency", "EUR", "€2,500"),
        ("number", "duration", "days", "2,500 days"),
    ],
)
def test_axis_says_its_unit(y_format: str, kind: str, unit: str, shown: str) -> None:
    formats = [asdict(ColumnFormat(kind, 0, unit) if name == "n" else ColumnFormat()) for name in ROWS["columns"]]
    rows: Result = {**ROWS, "formats": formats}
    figure = figure_of(rows, plot_spec(spec("bar", "x", "n", y_format=y_format), rows))

    assert canvas_of(figure, Lettering(set())).axes[0].yaxis.get_major_formatter()(2500, 0) == shown


@pytest.mark.parametrize(
    ("language", "thousands", "half"),
    [("en", "12,500.5", "0.5"), ("ru", "12\u00a0500,5", "0,5"), ("zh", "12,500.5", "0.5")],
)
def test_numbers_are_written_as_in_the_language_of_the_chart(language: Language, thousands: str, half: str) -> None:
    def drawn(rows: Result, chart_type: str, **more: Any) -> Canvas:
        chart = draw(rows, plot_spec(spec(chart_type, "x", "n", title="KPI", **more), rows), language)
        return canvas_of(figure_of_option(chart_type, chart.option), Lettering(set()))

    rows = result({"x": "float", "n": "float"}, *((at + 0.5, 12_000.5 * at) for at in range(1, 40)))
    for chart_type in ("line", "scatter"):
        axes = drawn(rows, chart_type).axes[0]
        assert axes.yaxis.get_major_formatter()(12500.5, 0) == thousands
    assert axes.xaxis.get_major_formatter()(0.5, 0) == half
    parts = result({"x": "string", "n": "integer"}, ("a", 1), ("b", 199))
    percent = {"ru": "0,5\u00a0%"}.get(language, "0.5%")
    assert f"a: {percent}" in {text.get_text() for text in drawn(parts, "pie").axes[0].texts}
    sizes = result({"x": "decimal", "n": "integer"}, ("0.5", 1), ("12500.5", 2))
    ticks = [text.get_text() for text in drawn(sizes, "bar").axes[0].get_xticklabels()]
    assert ticks == [half, thousands.replace("\u00a0", " ")]
    cells = result({"x": "string", "s": "string", "n": "float"}, ("a", "b", 0.5), ("c", "b", 12_500.5))
    scale = drawn(cells, "heatmap", series="s").axes[1]
    assert scale.yaxis.get_major_formatter()(12500.5, 0) == thousands


def test_bounds_of_bins_are_in_the_format_of_the_column() -> None:
    for kind, first in (("year", "2000 – "), ("number", "2,000 – ")):
        rows = result({"n": "integer"}, *((2_000 + at,) for at in range(100)))
        rows["formats"] = [asdict(ColumnFormat(kind))]
        figure = figure_of(rows, plot_spec({"chart_type": "histogram", "x": "n"}, rows))
        assert figure.data.categories[0].startswith(first)


# Letters

LACKING = "𝔅"


@pytest.mark.heavy
@pytest.mark.parametrize("place", ["title", "category", "series", "column"])
def test_chinese_and_russian_are_drawn_everywhere_without_a_warning(place: str) -> None:
    def drawn_with(text: str) -> Any:
        names = {"title": "t", "category": "c", "series": "s", "column": "n"} | {place: text}
        rows = result(
            {"x": "string", "g": "string", names["column"]: "integer"}, (names["category"], names["series"], 1)
        )
        wanted = spec("bar", "x", names["column"], series="g", title=names["title"])
        return imread(BytesIO(png(rows, plot_spec(wanted, rows))))

    assert (drawn_with("华东") != drawn_with("华南")).any()
    assert (drawn_with("Север") != drawn_with("Запад")).any()


def test_shipped_fonts_have_all_of_gb2312_and_of_russian() -> None:
    pairs = (bytes([high, low]) for high in range(0xA1, 0xF8) for low in range(0xA1, 0xFF))
    chinese = "".join(pair.decode("gb2312", errors="ignore") for pair in pairs)
    families, missing = families_for(chinese + "".join(map(chr, range(0x410, 0x450))) + "ёЁ№₽¥€¤")

    assert len(chinese) > 7000
    assert (families, missing) == (["DejaVu Sans", "Noto Sans SC"], set())


def test_installed_fonts_have_what_the_shipped_ones_lack() -> None:
    """The letter is in a font for formulas that comes with matplotlib."""
    families, missing = families_for(LACKING)

    assert families[:2] == ["DejaVu Sans", "Noto Sans SC"]
    assert len(families) == 3
    assert missing == set()


def test_letter_that_no_font_has_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canvas, "_installed_fonts", lambda: [])
    rows = result({"x": "string", "n": "integer"}, (f"a{LACKING}b{LACKING}", 1), ("c", 2))
    marked = result({"x": "string", "n": "integer"}, ("a\ufffdb\ufffd", 1), ("c", 2))
    wanted = plot_spec(spec("bar", "x", "n"), rows)

    assert png(rows, wanted) == png(marked, wanted)


@pytest.mark.parametrize(
    ("text", "columns", "fitted"),
    [("abc", 3, "abc"), ("abcd", 3, "abc…"), ("中文", 4, "中文"), ("中文字", 4, "中文…"), ("a\n\tb\x00", 9, "a b")],
)
def test_texts_are_cut_to_their_columns(text: str, columns: int, fitted: str) -> None:
    assert Lettering(set()).fitted(text, columns) == fitted


@pytest.mark.heavy
def test_long_texts_leave_room_for_the_chart() -> None:
    rows = result({"x": "string", "s": "string", "n": "integer"}, *(("类别" * 50 + str(at), "系列" * 50 + str(at), at) for at in range(12)))  # fmt: skip # noqa: E501
    figure = figure_of(rows, plot_spec(spec("bar", "x", "n", series="s", title="标题" * 500), rows))
    with matplotlib.rc_context({"font.family": families_for("类别系列标题")[0]}):
        made = canvas_of(figure, Lettering(set()))
        made.savefig(BytesIO())
    box = made.axes[0].get_position()

    assert box.width > 0.5 and box.height > 0.3


# Drawn again from the option


@pytest.mark.heavy
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_picture_of_the_option_is_the_picture_of_the_rows(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    plot = plot_spec(case["spec"], case["result"])
    option = json.loads(json.dumps(draw(case["result"], plot).option))

    assert png_of_option(plot.chart_type, option) == png(case["result"], plot)


@pytest.mark.heavy
def test_charts_recorded_by_older_versions_are_drawn() -> None:
    recorded = sorted((GOLDEN[0].parent / "recorded").glob("*.json"))
    assert len(recorded) == 10
    for path in recorded:
        case = json.loads(path.read_text(encoding="utf-8"))
        assert png_of_option(case["spec"]["chart_type"], case["option"]).startswith(b"\x89PNG"), path.stem


@pytest.mark.parametrize("more", [{"horizontal": True}, {"stacked": True}, {"y_format": "percent"}, {"title": "A\nb"}])
def test_what_the_spec_says_of_bars_is_kept(more: dict[str, object]) -> None:
    rows = result({"x": "string", "n": "integer", "m": "float"}, ("a", 1, 2.5), ("b", 2, None))
    plot = plot_spec({"chart_type": "bar", "x": "x", "y": ["n", "m"], **more}, rows)

    assert png_of_option("bar", draw(rows, plot).option) == png(rows, plot)


def test_option_of_another_maker_is_refused() -> None:
    with pytest.raises(KeyError):
        png_of_option("bar", {"series": [{"name": "n", "data": [1]}]})
