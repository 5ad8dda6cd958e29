from typing import Any

import pytest

from datasphinx.agent.charts.echarts import Chart, draw
from datasphinx.agent.types import Result
from tests.agent.charts.results import plot_spec, result, spec

X_N = {"x": "string", "n": "integer"}
X_S_N = {"x": "string", "s": "string", "n": "integer"}


def chart(rows: Result, language: Any = "en", **given: Any) -> Chart:
    made = draw(rows, plot_spec(given, rows), language)
    assert made.option["title"].get("subtext", "") == "\n".join(made.notes)
    return made


# What is kept


# Series


@pytest.mark.parametrize("chart_type", ["line", "bar", "area"])
def test_series_beyond_twelve_are_added_up(chart_type: str) -> None:
    rows = result(X_S_N, *((x, f"s{s}", 100 - s) for s in range(20) for x in "ab"), ("c", "s0", 1), ("c", "s19", None))
    made = chart(rows, **spec(chart_type, "x", "n", series="s"))
    drawn = made.option["series"]

    assert [each["name"] for each in drawn] == [*(f"s{s}" for s in range(11)), "other"]
    assert drawn[0]["data"] == [100, 100, 1]
    assert drawn[-1]["data"] == [sum(100 - s for s in range(11, 20))] * 2 + [None]
    assert made.notes == ("Of 20 values of s, the 11 largest are shown; the others are added up as “other”.",)


def test_the_largest_series_are_those_with_the_greatest_total_whatever_its_sign() -> None:
    rows = result(X_S_N, *(("a", f"s{s}", -1000 if s == 15 else s) for s in range(20)))
    names = [each["name"] for each in chart(rows, **spec("bar", "x", "n", series="s")).option["series"]]

    assert names == [*(f"s{s}" for s in range(9, 20)), "other"]


def test_what_is_joined_has_a_name_of_its_own() -> None:
    rows = result(X_S_N, *(("a", name, 50 - at) for at, name in enumerate(["other", "other *", *map(str, range(20))])))
    names = [each["name"] for each in chart(rows, **spec("bar", "x", "n", series="s")).option["series"]]

    assert names[-1] == "other * *"
    assert len(set(names)) == 12


@pytest.mark.parametrize("language, other", [("en", "other"), ("ru", "прочее"), ("zh", "其他")])
def test_notes_are_in_the_language_that_is_wanted(language: str, other: str) -> None:
    rows = result(X_S_N, *(("a", f"s{s}", s) for s in range(20)), truncated=True)
    made = chart(rows, language, **spec("bar", "x", "n", series="s"))

    assert made.option["series"][-1]["name"] == other
    assert other in made.notes[0]
    assert len(made.notes) == 2


def test_sums_are_those_of_the_decimal_digits() -> None:
    rows = result({**X_S_N, "n": "float"}, *(("a", f"s{s}", 5.0 if s < 11 else 0.1) for s in range(14)))

    assert chart(rows, **spec("bar", "x", "n", series="s")).option["series"][-1]["data"] == [0.3]


def test_points_of_series_beyond_twelve_are_joined_in_a_scatter() -> None:
    rows = result(
        {"x": "integer", "s": "string", "n": "integer"}, *((x, f"s{s}", x) for s in range(20) for x in range(20 - s))
    )
    made = chart(rows, **spec("scatter", "x", "n", series="s"))

    assert [each["name"] for each in made.option["series"]] == [*(f"s{s}" for s in range(11)), "other"]
    assert len(made.option["series"][-1]["data"]) == sum(20 - s for s in range(11, 20))
    assert made.notes == ("Of 20 values of s, the 11 with the most rows are shown; the others are joined as “other”.",)


# Places


@pytest.mark.parametrize("chart_type", ["line", "area"])
def test_long_lines_are_sampled_with_their_ends_and_extremes(chart_type: str) -> None:
    values = [1] * 5000
    values[1234], values[4321] = -7, 9
    rows = result({"x": "integer", "n": "integer"}, *enumerate(values))
    made = chart(rows, **spec(chart_type, "x", "n"))
    at, data = zip(*made.option["series"][0]["data"], strict=True)

    assert made.option["xAxis"]["type"] == "value"
    assert len(at) <= 1000
    assert {0, 1234, 4321, 4999} <= set(at)
    assert list(data) == [values[place] for place in at]
    assert made.notes == (
        f"{len(at)} of 5000 points are shown: the first, the last, the extremes, and others evenly spread.",
    )


def test_no_bar_is_dropped() -> None:
    for labels in ([f"c{at}" for at in range(300)], [str(1000 + at) for at in range(300)]):
        made = chart(result(X_N, *((label, at) for at, label in enumerate(labels))), **spec("bar", "x", "n"))

        assert made.option["xAxis"]["data"] == labels
        assert made.option["series"][0]["data"] == list(range(300))
        assert made.notes == ()


def test_missing_steps_are_empty_places_and_sparse_ones_positions() -> None:
    cases = [
        ("string", ["2024-01", "2024-02", "2024-04"], ["Jan 2024", "Feb 2024", "Mar 2024", "Apr 2024"]),
        ("string", ["2023-Q4", "2024-Q2", "2024-Q3"], ["Q4 2023", "Q1 2024", "Q2 2024", "Q3 2024"]),
        ("date", ["2024-01-01", "2024-01-08", "2024-01-22"],
         ["Jan 1, 2024", "Jan 8, 2024", "Jan 15, 2024", "Jan 22, 2024"]),
        ("datetime", ["2023-12-01T00:00:00", "2024-01-01T00:00:00"], ["Dec 2023", "Jan 2024"]),
        ("datetime", ["2024-01-01T22:00:00", "2024-01-02T00:00:00", "2024-01-01T23:00:00"],
         ["Jan 1, 2024, 22:00", "Jan 1, 2024, 23:00", "Jan 2, 2024, 00:00"]),
        ("integer", [1, 2, 4], ["1", "2", "3", "4"]),
        ("date", ["2020-01-01", "2020-01-02", "2021-06-01"], None),
        ("integer", [1, 2, 100], None),
        ("float", [0.5, 1.5, 2.5], None),
    ]  # fmt: skip
    for kind, cells, places in cases:
        rows = result({"x": kind, "n": "integer"}, *((cell, 1) for cell in cells))
        option = chart(rows, **spec("line", "x", "n")).option
        gaps = sum(value is None for value in option["series"][0]["data"])

        assert option["xAxis"].get("data") == places, cells
        assert ("left empty" in option["title"].get("subtext", "")) is (gaps > 0), cells
        if places is None:
            assert option["xAxis"]["type"] == ("time" if kind == "date" else "value")
            assert len(option["series"][0]["data"]) == len(cells)


def test_times_within_a_second_are_places_of_their_own() -> None:
    stamps = ["2024-01-01T00:00:00.100000", "2024-01-01T00:00:00.200000", "2024-01-01T00:00:07"]
    rows = result({"at": "datetime", "n": "integer"}, *((stamp, 1) for stamp in stamps))

    assert len(chart(rows, **spec("line", "at", "n")).option["series"][0]["data"]) == 3


def test_histogram_counts_every_number_once() -> None:
    for values in ([1.5, 2.5, 2.5, 9.0, None], [0.1 * at for at in range(400)], [-5, -3, 0, 100], [7], [1e9, 1e9 + 1]):
        rows = result({"price": "float"}, *((value,) for value in values))
        made = chart(rows, **{"chart_type": "histogram", "x": "price"})
        known = [value for value in values if value is not None]

        assert sum(made.option["series"][0]["data"]) == len(known)
        assert len(made.option["xAxis"]["data"]) == len(made.option["series"][0]["data"]) <= 42
        assert (made.notes == ()) is (len(known) == len(values))
        assert (made.option["xAxis"]["name"], made.option["yAxis"]["name"]) == ("Price", "Number of rows")


def test_small_parts_of_a_pie_are_added_up() -> None:
    rows = result(X_N, *((f"c{at}", at) for at in range(30)), ("none", None))
    made = chart(rows, **spec("pie", "x", "n"))
    parts = {part["name"]: part["value"] for part in made.option["series"][0]["data"]}

    assert parts == {**{f"c{at}": at for at in range(24, 30)}, "other": sum(range(24))}
    assert made.option["legend"]["data"] == list(parts)
    assert made.notes == ("Of 30 values of x, the 6 largest are shown; the others are added up as “other”.",)


def test_heatmaps_are_cut_on_both_sides() -> None:
    rows = result(X_S_N, *((f"x{x}", f"s{s}", x + s) for x in range(110) for s in range(60)))
    made = chart(rows, **spec("heatmap", "x", "n", series="s"))

    assert made.option["xAxis"]["data"] == [f"x{x}" for x in range(10, 110)]
    assert made.option["yAxis"]["data"] == [f"s{s}" for s in range(10, 60)]
    assert len(made.option["series"][0]["data"]) == 100 * 50
    assert len(made.notes) == 2


def test_points_of_a_scatter_are_sampled_with_the_extremes_of_both_axes() -> None:
    pairs = [(at, at % 10) for at in range(3000)]
    pairs[500], pairs[600] = (-1, 3), (7000, 4)
    pairs[700], pairs[800] = (700, -50), (800, 50)
    made = chart(result({"x": "integer", "n": "integer"}, *pairs), **spec("scatter", "x", "n"))
    drawn = made.option["series"][0]["data"]

    assert len(drawn) <= 1000
    assert all([*pair] in drawn for pair in ((0, 0), (-1, 3), (7000, 4), (700, -50), (800, 50), (2999, 9)))
    assert f"{len(drawn)} of 3000 points are shown" in made.notes[0]


def test_categories_of_a_sampled_scatter_are_those_that_have_points() -> None:
    rows = result(X_N, *((f"c{at}", at) for at in range(3000)))
    made = chart(rows, **spec("scatter", "x", "n"))
    labels, drawn = made.option["xAxis"]["data"], made.option["series"][0]["data"]

    assert [at for at, _ in drawn] == list(range(len(labels)))
    assert [labels[at] for at, _ in drawn] == [f"c{value}" for _, value in drawn]


def test_what_the_result_left_out_is_noted() -> None:
    rows = result(X_N, ("a", 1), ("b", 2), truncated=True)

    assert chart(rows, **spec("bar", "x", "n")).notes == ("Only the first 2 rows were read.",)
