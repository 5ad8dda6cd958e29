"""Whatever the result, what a valid spec gives of it can be written as JSON and drawn."""

import json
import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from datasphinx.agent.charts.cells import NUMERIC, column, labels_of, number, type_of_column
from datasphinx.agent.charts.echarts import draw
from datasphinx.agent.charts.plot_spec import PlotSpec
from datasphinx.agent.charts.png import png_of_option
from datasphinx.agent.charts.select import select_chart
from datasphinx.agent.errors import PlotSpecInvalid
from datasphinx.agent.sql.rows import json_safe
from datasphinx.agent.types import ChartForm, Result
from tests.agent.charts.results import plot_spec, spec
from tests.support.characters import ANY
from tests.support.heavy import sample

_TEXT = st.text(ANY, max_size=8) | st.sampled_from(
    ["2024-01", "2024-02-03", "_", "$x$", "{a}", "\ud800", "1e400", "nan"]
)
_BY_TYPE: dict[str, Any] = {
    "integer": st.integers(),
    "float": st.floats(),
    "decimal": st.decimals(allow_nan=True, allow_infinity=True),
    "string": _TEXT,
    "date": st.dates(),
    "boolean": st.booleans(),
    "json": st.dictionaries(_TEXT, st.none() | st.integers(), max_size=2),
    "null": st.none(),
}
_KINDS = ["line", "bar", "pie", "scatter", "area", "heatmap", "histogram"]
_FORMATS = ["number", "percent"]
_NAMES = ["a", "b", "c", "月份", "_x"]


@st.composite
def results(draw_from: Any) -> Result:
    types = ["integer", *draw_from(st.lists(st.sampled_from(list(_BY_TYPE)), min_size=2, max_size=4))]
    cells = [st.none() | _BY_TYPE[kind] | st.sampled_from(["junk", 0, 1.5]) for kind in types]
    rows = draw_from(st.lists(st.tuples(*cells), min_size=1, max_size=30))
    safe = [[json_safe(value) for value in row] for row in rows]
    return Result(columns=_NAMES[: len(types)], types=types, rows=safe, truncated=draw_from(st.booleans()))


@st.composite
def charts(draw_from: Any) -> tuple[Result, PlotSpec]:
    """A result with a spec that fits it: rows that would stand in the place of others, or below 0 in a pie, go."""
    rows, kind = draw_from(results()), draw_from(st.sampled_from(_KINDS))
    y = draw_from(st.sampled_from([name for name in rows["columns"] if type_of_column(rows, name) in NUMERIC]))
    x, series, *_ = draw_from(st.permutations([name for name in rows["columns"] if name != y]))
    more: dict[str, Any] = {
        "title": draw_from(st.text(ANY, max_size=20)),
        "y_format": draw_from(st.sampled_from(_FORMATS)),
    }
    if kind == "histogram":
        return rows, plot_spec({"chart_type": kind, "x": y, **more}, rows)
    if kind == "heatmap" or kind != "pie" and draw_from(st.booleans()):
        more["series"] = series
    if kind in {"bar", "area"}:
        more["stacked"] = draw_from(st.booleans())
    if kind == "bar":
        more["horizontal"] = draw_from(st.booleans())
    by = [x, more["series"]] if "series" in more else [x]
    if kind != "scatter":
        places = zip(*(labels_of(rows, name) for name in by), strict=True)
        rows["rows"] = list(dict(zip(places, rows["rows"], strict=True)).values())
    if kind == "pie":
        rows["rows"] = [row for row, cell in zip(rows["rows"], column(rows, y), strict=True) if (number(cell) or 0) > 0]
        assume(rows["rows"])
    return rows, plot_spec(spec(kind, x, y, **more), rows)


def values(data: Any) -> Any:
    if isinstance(data, dict | list):
        for each in data.values() if isinstance(data, dict) else data:
            yield from values(each)
    else:
        yield data


@pytest.mark.heavy
@settings(max_examples=sample(100, 30), deadline=None)
@given(charts())
def test_options_are_json_without_nan(given_chart: tuple[Result, PlotSpec]) -> None:
    rows, wanted = given_chart
    chart = draw(rows, wanted)

    text = json.dumps(chart.option, ensure_ascii=False, allow_nan=False)
    assert json.loads(text.encode()) == chart.option
    assert all(isinstance(value, str | int | float | None) for value in values(chart.option))
    assert all(math.isfinite(value) for value in values(chart.option) if isinstance(value, float))
    assert draw(rows, wanted) == chart


@settings(max_examples=sample(100, 10), deadline=None)
@given(results(), st.data())
def test_any_spec_is_drawn_or_refused_with_its_problems(rows: Result, data: st.DataObject) -> None:
    names = st.sampled_from([*rows["columns"], "none"])
    wanted = data.draw(
        st.fixed_dictionaries(
            {"chart_type": st.sampled_from(_KINDS), "x": names},
            optional={
                "y": st.lists(names, min_size=1, max_size=3),
                "series": names,
                "stacked": st.booleans(),
                "horizontal": st.booleans(),
            },
        )
    )
    try:
        chart = draw(rows, plot_spec(wanted, rows))
    except PlotSpecInvalid as invalid:
        assert invalid.problems
    else:
        assert json.dumps(chart.option, allow_nan=False)


@pytest.mark.heavy
@settings(max_examples=sample(8, 2), deadline=None)
@given(charts())
def test_what_has_an_option_has_a_picture(given_chart: tuple[Result, PlotSpec]) -> None:
    rows, plot = given_chart
    assert png_of_option(draw(rows, plot).option).startswith(b"\x89PNG")


_ASKED = st.fixed_dictionaries(
    {}, optional={"type": st.sampled_from(_KINDS), "stacked": st.booleans(), "horizontal": st.booleans()}
)


@settings(max_examples=sample(100, 10), deadline=None)
@given(results(), _ASKED)
def test_any_result_has_a_chart_that_can_be_drawn_or_none(rows: Result, asked: ChartForm) -> None:
    before = json.dumps(rows)
    selection = select_chart(rows, "title", asked)
    assert json.dumps(rows) == before
    if selection:
        assert json.dumps(draw(selection.result, selection.spec).option, allow_nan=False)
