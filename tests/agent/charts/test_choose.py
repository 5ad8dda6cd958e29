import json
from typing import Any

import pytest

from datasphinx.agent.charts.echarts import asked_chart, chart_of
from datasphinx.agent.types import Result
from tests.agent.charts.results import result


def of_numbers(name: str, kind: str, *values: Any) -> Result:
    """A column named `name` before a column of measures."""
    return result({name: kind, "orders": "integer"}, *((value, 10 * at) for at, value in enumerate(values)))


@pytest.mark.parametrize(
    "values, labels",
    [
        (["2023", "2024"], ["2023", "2024"]),
        (["2023-01", "2023-02"], ["Jan 2023", "Feb 2023"]),
        (["2023-01-31", "2023-02-28"], ["Jan 31, 2023", "Feb 28, 2023"]),
        (["2023-01-31 10:00", "2023-02-28 10:00"], ["Jan 31, 2023, 10:00", "Feb 28, 2023, 10:00"]),
        (["2023-Q1", "2023-Q2"], ["Q1 2023", "Q2 2023"]),
        (["2023Q4", "2024Q1"], ["Q4 2023", "Q1 2024"]),
        (["2023-W01", "2023-W02"], ["2023-W01", "2023-W02"]),
    ],
)
def test_periods_make_a_line(values: list[str], labels: list[str]) -> None:
    chart = chart_of(of_numbers("period", "string", *values), "Orders")

    assert chart is not None
    assert chart["type"] == "line"
    assert chart["option"]["xAxis"]["data"] == labels
    assert chart["option"]["series"] == [{"name": "Orders", "type": "line", "data": [0, 10]}]


def test_intervals_are_drawn_in_a_unit_that_suits_them() -> None:
    rows = [("a", "P1DT6H"), ("b", "PT36H"), ("c", "PT12H")]
    chart = chart_of(result({"beer": "string", "took": "interval"}, *rows), "Duration")
    assert chart and chart["type"] == "bar"
    assert [series["data"] for series in chart["option"]["series"]] == [[30.0, 36.0, 12.0]]
    assert "hours" in chart["option"]["yAxis"]["axisLabel"]["formatter"]


def test_intervals_along_a_chart_have_their_unit_and_no_digits_of_computing() -> None:
    rows = result({"took": "interval", "beers": "integer"}, ("PT20M", 4), ("PT1H40M", 2), ("PT3H", 1))
    chart = asked_chart(rows, "Duration", {"type": "scatter", "x": "took", "y": ["beers"]})
    assert chart and chart["option"]["xAxis"]["axisLabel"] == {"formatter": "{value} hours"}
    assert chart["option"]["series"][0]["data"] == [[0.3333, 4], [1.6667, 2], [3.0, 1]]


def test_columns_in_the_format_of_years_are_periods() -> None:
    chart = chart_of(of_numbers("since", "integer year", 2022, 2023, None), "Orders")

    assert chart is not None
    assert (chart["type"], chart["option"]["xAxis"]["name"]) == ("line", "Since")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_a_measure_with_a_value_that_cannot_be_drawn_is_a_measure(value: str) -> None:
    chart = chart_of(result({"city": "string", "rate": "float"}, ("Rome", 1.5), ("Oslo", value)), "Rates")

    assert chart is not None
    assert (chart["type"], chart["option"]["series"][0]["data"]) == ("bar", [1.5, None])


def test_numbers_that_could_be_years_are_no_periods() -> None:
    chart = chart_of(result({"city": "string", "year": "integer"}, ("Rome", 1200), ("Oslo", 1300)), "Orders")

    assert chart is not None
    assert chart["type"] == "bar"
    assert chart["option"]["xAxis"]["data"] == ["Rome", "Oslo"]
    assert chart["option"]["series"][0]["data"] == [1200, 1300]


def test_each_numeric_column_is_a_series() -> None:
    rows = result(
        {"n": "integer", "city": "string", "x": "float", "note": "string"}, (1, "a", 0.5, "-"), (2, "b", None, "-")
    )
    chart = chart_of(rows, "")

    assert chart is not None
    assert chart["option"]["xAxis"]["name"] == "City"
    assert [series["name"] for series in chart["option"]["series"]] == chart["option"]["legend"]["data"] == ["n", "x"]
    assert [series["data"] for series in chart["option"]["series"]] == [[1, 2], [0.5, None]]


def test_columns_of_one_name_cannot_be_drawn() -> None:
    rows = Result(columns=["city", "n", "n"], types=["string", "integer", "integer"], rows=[["a", 1, 2], ["b", 3, 4]], truncated=False)  # fmt: skip # noqa: E501

    assert chart_of(rows, "") is None


def test_every_bar_is_drawn_however_many_there_are() -> None:
    chart = chart_of(of_numbers("city", "string", *(f"city {number}" for number in range(2000))), "Заказы по городам")

    assert chart is not None
    assert len(chart["option"]["xAxis"]["data"]) == len(chart["option"]["series"][0]["data"]) == 2000
    assert "subtext" not in chart["option"]["title"]


def test_values_of_another_type_than_the_first_do_no_harm() -> None:
    """SQLite keeps text in a column of integers where it is put there."""
    chart = chart_of(of_numbers("year", "integer", 2022, "unknown", 1.5), "")

    assert chart is not None
    assert chart["option"]["xAxis"]["data"] == ["2022", "unknown", "1.5"]


@pytest.mark.parametrize(
    "hostile", ["</script><script>alert(1)", "function () { return 1 }", "{c} | {b}\n\x00", "x" * 10_000]
)
def test_hostile_cells_stay_data(hostile: str) -> None:
    chart = chart_of(of_numbers("city", "string", hostile, "Oslo"), hostile)

    assert chart is not None
    assert json.loads(json.dumps(chart)) == chart
    assert chart["option"]["xAxis"]["data"][0] == hostile
    assert chart["option"]["title"] == {"text": hostile}
