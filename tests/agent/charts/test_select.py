# ruff: noqa: E501
"""Which chart a result has: golden rows of shapes, requests, and what is drawn."""

from calendar import month_abbr
from typing import Any, NamedTuple

from datasphinx.agent.charts.echarts import chart_of
from datasphinx.agent.charts.select import select_chart
from datasphinx.agent.types import ChartForm, Result
from tests.agent.charts.results import result

MONTHS = [f"2024-{month:02}" for month in range(1, 13)]
DAYS = [f"2024-03-{day:02}" for day in range(1, 31)]
REGIONS = ["North", "South", "East", "West"]
CITIES = [f"City {at}" for at in range(30)]
MANY = [f"Product {at}" for at in range(250)]


class Shape(NamedTuple):
    """A result, the chart that is asked for, and the expected chart: type, number of series, places along x, kinds of the axes."""

    name: str
    rows: Result
    asked: ChartForm
    expected: tuple[str, int, int, str] | None
    keys: tuple[int, ...] = ()
    """The positions of the columns that the statement groups by."""


def grid(columns: dict[str, str], firsts: Any, seconds: Any, measures: int = 1) -> Result:
    """A row for each pair of values."""
    return result(
        columns,
        *(
            (first, second, *(10 * (at + 1) + to + each for each in range(measures)))
            for at, first in enumerate(firsts)
            for to, second in enumerate(seconds)
        ),
    )


def table(columns: dict[str, str], keys: Any, measures: int = 1) -> Result:
    return result(columns, *((key, *(10 * at + each + 1 for each in range(measures))) for at, key in enumerate(keys)))


def numbers(columns: dict[str, str], count: int) -> Result:
    return result(columns, *(tuple((at * 37 + to * 11) % 101 / 4 for to in range(len(columns))) for at in range(count)))


S, N, F, D, T = "string", "integer", "float", "date", "datetime"
Y, K = "integer year", "integer code"
CV, CN = "category × value", "value × value"
TIME = "time × value"
CC = "category × category"
HV = "value × category"

SHAPES = [
    # One dimension
    Shape("categories", table({"city": S, "sales": N}, REGIONS), {}, ("bar", 1, 4, CV)),
    Shape("many categories", table({"product": S, "sales": N}, MANY), {}, ("bar", 1, 250, CV)),
    Shape("two measures", table({"city": S, "sales": N, "cost": N}, REGIONS, 2), {}, ("bar", 2, 4, CV)),
    Shape("key and name", result({"city_id": K, "city": S, "n": N}, (7, "a", 1), (9, "b", 2)), {}, ("bar", 1, 2, CV)),
    Shape("only a key", table({"store_id": K, "sales": F}, [101, 205, 307]), {}, ("bar", 1, 3, CV)),
    Shape("years with a gap", table({"year": Y, "sales": N}, [2019, 2020, 2022, 2023]), {}, ("line", 1, 5, CV)),
    Shape("years far apart", table({"year": Y, "sales": N}, [1900, 1901, 1950, 2023]), {}, ("line", 1, 4, TIME)),
    Shape("months", table({"month": S, "sales": N}, MONTHS), {}, ("line", 1, 12, CV)),
    Shape("months with gaps", table({"month": S, "sales": N}, MONTHS[:4] + MONTHS[6:]), {}, ("line", 1, 12, CV)),
    Shape("months unordered", table({"month": S, "sales": N}, MONTHS[::-1]), {}, ("line", 1, 12, CV)),
    Shape("weeks", table({"w": S, "n": N}, ["2024-W01", "2024-W02", "2024-W04"]), {}, ("line", 1, 4, CV)),
    Shape("days", table({"day": D, "sales": N}, DAYS[:10] + DAYS[12:]), {}, ("line", 1, 30, CV)),
    Shape("mondays", table({"d": D, "n": N}, ["2024-01-01", "2024-01-08", "2024-01-22"]), {}, ("line", 1, 4, CV)),
    Shape(
        "truncated to months", table({"m": T, "n": N}, [f"{month}-01T00:00:00" for month in MONTHS]), {},
        ("line", 1, 12, CV),
    ),
    Shape("uneven dates", table({"d": D, "n": N}, ["2019-03-04", "2020-01-19", "2023-05-05"]), {}, ("line", 1, 3, TIME)),
    Shape(
        "hours", table({"at": T, "n": N}, [f"2024-01-01T{hour:02}:00:00" for hour in (0, 1, 2, 4)]), {},
        ("line", 1, 5, CV),
    ),
    Shape("month numbers", table({"month": N, "sales": N}, range(1, 13)), {}, ("bar", 1, 12, CV)),
    Shape("month names", table({"month": S, "sales": N}, ["Jan", "Feb", "Mar"]), {}, ("bar", 1, 3, CV)),
    Shape(
        "year and month", result({"year": Y, "month": N, "n": N}, *((y, m, m) for y in (2023, 2024) for m in range(1, 13))),
        {}, ("line", 1, 24, CV),
    ),
    Shape(
        "year, quarter, region",
        result({"year": Y, "quarter": N, "region": S, "n": N},
               *((y, q, r, q) for y in (2023, 2024) for q in range(1, 5) for r in REGIONS)),
        {}, ("line", 4, 8, CV),
    ),
    Shape("constant year", result({"year": Y, "city": S, "n": N}, (2024, "a", 1), (2024, "b", 2)), {}, ("bar", 1, 2, CV)),
    # Two dimensions
    Shape("month and region", grid({"month": S, "region": S, "sales": N}, MONTHS, REGIONS), {}, ("line", 4, 12, CV)),
    Shape("region and month", grid({"region": S, "month": S, "sales": N}, REGIONS, MONTHS), {}, ("line", 4, 12, CV)),
    Shape(
        "36 months, 5 regions, stacked",
        grid({"m": S, "r": S, "n": N}, [f"{y}-{m[5:]}" for y in (2022, 2023, 2024) for m in MONTHS], [*REGIONS, "Z"]),
        {"type": "bar", "stacked": True}, ("bar", 5, 36, CV),
    ),
    Shape("two categories", grid({"city": S, "kind": S, "n": N}, CITIES[:6], "abc"), {}, ("bar", 3, 6, CV)),
    Shape("many by many", grid({"a": S, "b": S, "n": N}, CITIES, CITIES), {}, ("heatmap", 30, 30, CC)),
    Shape("weekday and hour", grid({"weekday": N, "hour": N, "n": N}, range(1, 8), range(24)), {}, ("heatmap", 24, 7, CC), (0, 1)),
    Shape("two of which one is enough", result({"region": S, "boss": S, "n": N}, ("a", "x", 1), ("b", "y", 2)), {}, ("bar", 1, 2, CV)),
    Shape("missing pairs", result({"x": S, "s": S, "n": N}, ("a", "u", 1), ("a", "v", 2), ("b", "u", 3)), {}, ("bar", 2, 2, CV)),
    Shape("two dimensions, two measures", grid({"m": S, "r": S, "n": N, "c": N}, MONTHS, "ab", 2), {}, ("line", 4, 12, CV)),
    Shape("too many series of measures", grid({"m": S, "r": S, "n": N, "c": N}, MONTHS, CITIES[:8], 2), {}, ("line", 8, 12, CV)),
    Shape(
        "three dimensions",
        result({"m": S, "r": S, "k": S, "n": N}, *((m, r, k, 1) for m in MONTHS for r in "ab" for k in "xy")),
        {}, ("line", 4, 12, CV),
    ),
    Shape("fifteen series", grid({"m": S, "city": S, "n": N}, MONTHS, CITIES[:15]), {}, ("line", 12, 12, CV)),
    Shape("stacked categories", grid({"city": S, "kind": S, "n": N}, CITIES, "abcdef"), {"type": "bar", "stacked": True}, ("bar", 6, 30, CV)),
    Shape("horizontal", grid({"city": S, "kind": S, "n": N}, REGIONS, "ab"), {"type": "bar", "horizontal": True}, ("bar", 2, 4, HV)),
    # No dimension
    Shape("one measure", numbers({"price": F}, 200), {}, ("histogram", 1, 13, CV)),
    Shape("few integers", result({"rating": N}, *((at % 5 + 1,) for at in range(50))), {"type": "histogram"}, ("histogram", 1, 5, CV)),
    Shape("two measures alone", numbers({"price": F, "weight": F}, 100), {}, ("scatter", 1, 100, CN)),
    Shape("three measures alone", numbers({"a": F, "b": F, "c": F}, 50), {}, ("scatter", 2, 50, CN)),
    Shape("one row of measures", result({"online": N, "shop": N}, (10, 20)), {}, ("bar", 1, 2, CV)),
    # Raw rows
    Shape("values by category", result({"r": S, "v": F}, *((REGIONS[at % 4], at / 3) for at in range(40))), {}, ("scatter", 1, 40, CV)),
    Shape("values over time", result({"d": D, "v": F}, *((DAYS[at % 3], at / 3) for at in range(40))), {}, ("scatter", 1, 40, TIME)),
    Shape("events", result({"d": D, "v": F}, *((DAYS[at * 7 % 30], at) for at in range(40))), {}, ("scatter", 1, 40, TIME)),
    Shape(
        "points of groups",
        result({"k": S, "a": F, "b": F}, *(("xyz"[at % 3], at / 7, at / 3) for at in range(60))), {}, ("scatter", 3, 60, CN),
    ),
    # Requested types
    Shape("pie", table({"city": S, "sales": N}, REGIONS), {"type": "pie"}, ("pie", 1, 4, "none")),
    Shape("pie of many", table({"city": S, "sales": N}, CITIES), {"type": "pie"}, ("pie", 1, 7, "none")),
    Shape("pie of losses", result({"city": S, "n": N}, ("a", -1), ("b", 2)), {"type": "pie"}, ("bar", 1, 2, CV)),
    Shape("pie of two dimensions", grid({"a": S, "b": S, "n": N}, "ab", "xy"), {"type": "pie"}, ("bar", 2, 2, CV)),
    Shape("bars of months with a gap", table({"month": S, "n": N}, MONTHS[:3] + MONTHS[4:]), {"type": "bar"}, ("bar", 1, 12, CV)),
    Shape("line of categories", table({"city": S, "sales": N}, REGIONS), {"type": "line"}, ("line", 1, 4, CV)),
    Shape("line of numbers", numbers({"price": F, "demand": F}, 20), {"type": "line"}, ("line", 1, 20, CN)),
    Shape("scatter of named rows", table({"city": S, "a": N, "b": N}, CITIES, 2), {"type": "scatter"}, ("scatter", 1, 30, CN)),
    Shape("scatter over time", table({"d": D, "n": N}, DAYS), {"type": "scatter"}, ("scatter", 1, 30, TIME)),
    Shape("scatter of categories", table({"city": S, "n": N}, REGIONS), {"type": "scatter"}, ("scatter", 1, 4, CV)),
    Shape("heatmap", grid({"month": S, "r": S, "n": N}, MONTHS, REGIONS), {"type": "heatmap"}, ("heatmap", 4, 12, CC)),
    Shape("heatmap of measures", table({"city": S, "a": N, "b": N, "c": N}, CITIES, 3), {"type": "heatmap"}, ("heatmap", 3, 30, CC)),
    Shape("histogram of named rows", table({"product": S, "price": F}, MANY), {"type": "histogram"}, ("histogram", 1, 13, CV)),
    Shape("histogram by month", table({"month": S, "n": N}, MONTHS), {"type": "histogram"}, ("bar", 1, 12, CV)),
    # None
    Shape("no row", result({"city": S, "n": N}), {}, None),
    Shape("one row", result({"city": S, "n": N}, ("Rome", 1)), {}, None),
    Shape("no measure", result({"city": S, "mayor": S}, ("a", "b"), ("c", "d")), {}, None),
]  # fmt: skip


def drawn(chart: Any) -> tuple[str, int, int, str] | None:
    """The type, number of series, places along x and kinds of the axes of a chart."""
    if chart is None:
        return None
    option = chart["option"]
    kinds = " × ".join(option[axis]["type"] for axis in ("xAxis", "yAxis") if axis in option) or "none"
    series = option["series"]
    if chart["type"] == "pie":
        return "pie", 1, len(series[0]["data"]), kinds
    if chart["type"] == "heatmap":
        places = len(option["xAxis"]["data"])
        return chart["type"], len(option["yAxis"].get("data", series[0]["data"])), places, kinds
    along = next((option[axis]["data"] for axis in ("xAxis", "yAxis") if "data" in option[axis]), None)
    places = (
        len(along) if along is not None and chart["type"] != "scatter" else max(len(each["data"]) for each in series)
    )
    if (
        chart["type"] == "scatter"
        and len({len(each["data"]) for each in series}) == 1
        and option["legend"]["data"]
        and len(series) > 2
    ):
        places = sum(len(each["data"]) for each in series)
    return chart["type"], len(series), places, kinds


def test_shapes_have_the_expected_charts() -> None:
    wrong = {}
    for shape in SHAPES:
        given = drawn(chart_of(shape.rows, "Chart", shape.asked, shape.keys))
        if given != shape.expected:
            wrong[shape.name] = (given, shape.expected)

    assert wrong == {}


def test_every_value_of_the_rows_is_drawn() -> None:
    """No bar, line or cell is dropped where the chart has no note."""
    missing = []
    for shape in SHAPES:
        chart = chart_of(shape.rows, "Chart", shape.asked, shape.keys)
        if chart is None or chart["type"] == "histogram" or chart["option"]["title"].get("subtext"):
            continue
        values: list[Any] = []
        for series in chart["option"]["series"]:
            for item in series["data"]:
                value = item["value"] if isinstance(item, dict) else item[-1] if isinstance(item, list) else item
                values += [value] if value is not None else []
        selection = select_chart(shape.rows, "Chart", shape.asked, keys=shape.keys)
        assert selection is not None
        count = len(selection.result["rows"]) * len(selection.spec.y)
        if len(values) != count:
            missing.append((shape.name, len(values), count))

    assert missing == []


def test_what_is_not_drawn_as_asked_is_said() -> None:
    pie: ChartForm = {"type": "pie"}
    cases: list[tuple[Result, str, ChartForm, str]] = [
        (result({"city": S, "n": N}, ("a", -1), ("b", 2)), "", pie, "another type of chart"),
        (table({"city": S, **{f"n{at}": N for at in range(30)}}, "ab", 30), "", {}, "Measures shown: 12 of 30"),
        (table({"city": S, "sales": N, "cost": N}, REGIONS, 2), "", pie, "Measures shown: 1 of 2 (Sales)"),
        (grid({"m": S, "r": S, "n": N, "cost": N}, MONTHS, CITIES[:8], 2), "Line of cost", {}, "1 of 2 (Cost)"),
        (table({"month": S, "n": N}, MONTHS[:3] + MONTHS[5:]), "", {}, "left empty: 2"),
        (grid({"m": S, "city": S, "n": N}, MONTHS, CITIES[:15]), "", {}, "the others are added up"),
        (table({"city": S, "sales": N}, CITIES), "", pie, "the others are added up"),
    ]
    for rows, title, asked, note in cases:
        chart = chart_of(rows, title, asked)
        assert chart is not None
        assert note in chart["option"]["title"].get("subtext", ""), (title, asked, note)


def test_axes_are_titled_in_words() -> None:
    month = "order_date_month"
    rows = grid({month: S, "sales_region": S, "total_sales": N}, MONTHS, REGIONS)
    english, russian = chart_of(rows, "Sales"), chart_of(rows, "Sales", language="ru")

    assert english is not None and russian is not None
    assert english["option"]["xAxis"]["name"] == "Order date, month"
    assert english["option"]["yAxis"]["name"] == "Total sales"
    assert russian["option"]["xAxis"]["name"] == "Order date, месяц"
    assert english["option"]["xAxis"]["data"] == [f"{name} 2024" for name in month_abbr[1:]]


def test_number_that_names_groups_is_an_axis() -> None:
    rows = table({"floor": N, "rooms": N}, [1, 2, 5])

    assert drawn(chart_of(rows, "Rooms", keys=[0])) == ("bar", 1, 3, CV)
    assert drawn(chart_of(rows, "Rooms")) == ("scatter", 1, 3, CN)


def test_a_histogram_of_groups_has_a_bar_for_each() -> None:
    rows = table({"city": S, "sales": N}, REGIONS)

    assert drawn(chart_of(rows, "Sales", {"type": "histogram"}, keys=[0])) == ("bar", 1, 4, CV)
    assert drawn(chart_of(rows, "Sales", {"type": "histogram"})) == ("histogram", 1, 4, CV)
