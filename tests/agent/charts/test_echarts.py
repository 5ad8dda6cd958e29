"""What an option says, and that it says the same each time."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.charts.echarts import draw
from tests.agent.charts.results import GOLDEN, HOSTILE, option, plot_spec, result, shown, written


def test_every_type_of_chart_has_a_golden_option() -> None:
    types = {json.loads(path.read_text(encoding="utf-8"))["spec"]["chart_type"] for path in GOLDEN}

    assert types == {"line", "bar", "pie", "scatter", "area", "heatmap", "histogram"}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_option_is_the_golden_one_byte_for_byte(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    before = copy.deepcopy(case)
    chart = draw(case["result"], plot_spec(case["spec"], case["result"]))

    assert written(chart.option) == written(case["option"])
    assert chart.type == case["spec"]["chart_type"]
    assert case == before


# The layout


def test_the_bars_of_a_ranking_lie_with_the_first_one_at_the_top() -> None:
    def lies(*values: float | None, name: str = "city {}") -> bool:
        rows = result({"x": "string", "n": "float"}, *((name.format(at), n) for at, n in enumerate(values, 1)))
        axis = option(rows, "bar", "x", "n")["yAxis"]
        return bool(axis["type"] == "category" and axis["inverse"])

    assert lies(9.0, 5.0, 5.0)
    assert not lies(5.0, 9.0, 5.0) and not lies(9.0, 5.0) and not lies(9.0, 5.0, None)
    assert not lies(*map(float, range(70, 0, -1)))
    assert not lies(9.0, 5.0, 4.0, name="2024-0{}"), "months go from left to right"


# The axis of values


def test_only_lines_that_differ_little_begin_elsewhere_than_at_0() -> None:
    def scales(chart_type: str, *values: float | None) -> bool:
        rows = result({"day": "string", "n": "float"}, *((f"2024-01-{at + 1:02}", n) for at, n in enumerate(values)))
        return bool(option(rows, chart_type, "day", "n")["yAxis"].get("scale", False))

    assert scales("line", 9900.0, 9950.0, None, 10050.0)
    assert scales("line", -99.0, -101.0)
    assert scales("line", 51.0, 100.0)
    assert not scales("line", 50.0, 100.0)
    assert not scales("line", -1.0, 1.0)
    assert not scales("line", 0.0, 0.0)
    assert not any(scales(chart_type, 9900.0, 9950.0, 10050.0) for chart_type in ("bar", "area"))


@pytest.mark.parametrize(
    ("values", "notes"), [((99.0, 98.0), ("The axis of values does not begin at 0.",)), ((1.0, 9.0), ())]
)
def test_a_chart_says_that_its_axis_does_not_begin_at_0(values: tuple[float, ...], notes: tuple[str, ...]) -> None:
    rows = result({"day": "string", "n": "float"}, *((f"2024-01-0{at}", n) for at, n in enumerate(values, 1)))

    assert draw(rows, plot_spec({"chart_type": "line", "x": "day", "y": "n"}, rows)).notes == notes


# Texts of the data stay text


@pytest.mark.parametrize("chart_type", ["line", "bar", "area", "heatmap", "scatter", "pie"])
def test_markup_in_the_data_is_never_html(chart_type: str) -> None:
    rows = result(
        {HOSTILE: "string", "<b>series</b>": "string", "<i>n</i>": "integer"}, (HOSTILE, HOSTILE, 1), ("b", "c", 2)
    )
    more = {} if chart_type == "pie" else {"series": "<b>series</b>"}
    made = option(rows, chart_type, HOSTILE, "<i>n</i>", title=HOSTILE, **more)

    assert made["tooltip"]["renderMode"] == "richText"
    assert made["title"]["text"] == HOSTILE
    assert HOSTILE in json.dumps(made["series"]) + json.dumps(made.get("xAxis"))
    assert all("renderMode" not in each and "tooltip" not in each for each in made["series"])


@pytest.mark.parametrize(("kind", "digits"), [("float percent", 1), ("integer", 1), ("integer percent", 0)])
def test_the_shares_of_a_pie_have_the_decimals_of_table_and_sentence(kind: str, digits: int) -> None:
    values = (58, 42) if kind.startswith("integer") else (58.1, 41.9)
    rows = result({"x": "string", "n": kind}, *zip(("a", "b"), values, strict=True))

    assert option(rows, "pie", "x", "n")["series"][0]["percentPrecision"] == digits


@pytest.mark.parametrize("chart_type", ["line", "bar", "area", "heatmap", "scatter", "pie"])
@pytest.mark.parametrize("y_format", ["number", "percent"])
def test_templates_hold_nothing_but_the_value(chart_type: str, y_format: str) -> None:
    rows = result({"x": "string", "s": "string", "n": "integer"}, ("{value}", "{a}", 1), ("b", "function(){}", 2))
    more = {} if chart_type == "pie" else {"series": "s"}
    made = option(rows, chart_type, "x", "n", y_format=y_format, **more)

    templates = {"{b}: {d}%"} if chart_type == "pie" else {"{value}%"}
    assert set(formatters(made)) <= templates
    assert bool(formatters(made)) is (y_format != "number" or chart_type == "pie")


def formatters(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in ([each] if key == "formatter" else formatters(each))]
    return [text for each in value for text in formatters(each)] if isinstance(value, list) else []


# Values


@pytest.mark.parametrize("fraction, shown", [(0.07, 7.0), (0.29, 29.0), (1, 100), (-0.005, -0.5), (None, None)])
def test_fractions_are_shown_in_percent_to_the_digit(fraction: Any, shown: Any) -> None:
    rows = result({"x": "string", "n": "float"}, ("a", fraction), ("b", 0.5))

    assert option(rows, "bar", "x", "n", y_format="percent")["series"][0]["data"] == [shown, 50.0]


def test_combinations_that_are_missing_are_null_and_not_nothing() -> None:
    rows = result({"x": "string", "s": "string", "n": "integer"}, ("a", "s", 0), ("b", "t", 2))

    for chart_type in ("line", "bar", "area"):
        made = option(rows, chart_type, "x", "n", series="s")
        assert [each["data"] for each in made["series"]] == [[0, None], [None, 2]]
    assert option(rows, "heatmap", "x", "n", series="s")["series"][0]["data"] == [
        [0, 0, 0], [1, 0, None], [0, 1, None], [1, 1, 2],
    ]  # fmt: skip


def test_digits_that_came_as_text_are_drawn_and_what_is_no_number_is_noted() -> None:
    rows = result({"x": "string", "n": "decimal"}, ("a", "9007199254740993"), ("b", "n/a"), ("c", "1e999"), ("d", None))
    chart = draw(rows, plot_spec({"chart_type": "bar", "x": "x", "y": "n"}, rows))

    assert chart.option["series"][0]["data"] == [9007199254740992.0, None, None, None]
    assert chart.notes == ("Values that cannot be drawn as numbers were left out: 2.",)
    assert chart.option["title"]["subtext"] == chart.notes[0]


def test_labels_are_text_and_null_is_a_dash() -> None:
    rows = result({"x": "json", "n": "integer"}, (None, 1), (True, 2), ({"b": 1, "a": "я"}, 3), ("\ud800", 4), (1.5, 5))

    assert option(rows, "bar", "x", "n")["xAxis"]["data"] == ["–", "true", '{"a": "я", "b": 1}', "\ufffd", "1.5"]


# Order


@pytest.mark.parametrize(
    "kind, values, ordered",
    [
        ("integer", (10, 9, None), ["9", "10", "–"]),
        ("time", ("10:00:00", "09:30:00", None), ["09:30:00", "10:00:00", "–"]),
        ("string", ("Mar", "Jan", "Feb"), ["Jan", "Feb", "Mar"]),
        ("string", ("3月", "10月", "1月"), ["1月", "3月", "10月"]),
        ("date", ("2024-10-01", "2024-09-01", None), ["Sep 1, 2024", "Oct 1, 2024", "–"]),
        ("string", ("2024-Q2", "2023-Q4", "2024-Q1"), ["Q4 2023", "Q1 2024", "Q2 2024"]),
        ("string", ("b", "c", "a"), ["b", "c", "a"]),
        ("integer", (3, "two", 1), ["3", "two", "1"]),
    ],
)
def test_lines_run_in_the_order_of_x_where_it_has_one(kind: str, values: tuple[Any, ...], ordered: list[str]) -> None:
    rows = result({"x": kind, "n": "integer"}, *((value, at) for at, value in enumerate(values)))
    made = option(rows, "line", "x", "n")

    assert made["xAxis"]["data"] == ordered
    texts = shown(values, kind)
    assert [texts[at] for at in made["series"][0]["data"]] == ordered


def test_bars_keep_the_order_of_the_rows_unless_series_mix_it() -> None:
    rows = result({"x": "integer", "s": "string", "n": "integer"}, (3, "a", 1), (1, "b", 2), (2, "a", 3))

    assert option(rows, "bar", "x", "n")["xAxis"]["data"] == ["3", "1", "2"]
    assert option(rows, "bar", "x", "n", series="s")["xAxis"]["data"] == ["1", "2", "3"]


def test_rows_of_a_heatmap_run_in_their_order() -> None:
    rows = result({"day": "string", "hour": "integer", "n": "integer"}, ("Mo", 10, 1), ("Mo", 9, 2), ("Tu", 11, 3))

    assert option(rows, "heatmap", "day", "n", series="hour")["yAxis"]["data"] == ["9", "10", "11"]


def test_horizontal_bars_begin_at_the_top() -> None:
    made = option(result({"x": "string", "n": "integer"}, ("a", 1), ("b", 2)), "bar", "x", "n", horizontal=True)

    assert (made["xAxis"]["type"], made["yAxis"]["type"], made["yAxis"]["inverse"]) == ("value", "category", True)
