"""Forms of plot specs that models write instead of the published one, and corrected forms of wrong ones."""

import json
from typing import Any

import pytest

from agent.charts.plot_spec import PlotSpec, check_plot_spec
from agent.errors import PlotSpecInvalid
from agent.types import Result
from tests.agent.charts.results import plot_spec
from tests.cases import all_cases

RESULT = Result(
    columns=["month", "city", "total", "share"],
    types=["string", "string", "integer", "number"],
    rows=[["2024-01", "Riga", 5, 0.5], ["2024-01", "Oslo", 7, 0.2], ["2024-02", "Riga", 1, 0.3]],
    truncated=False,
)
LINE = {"chart_type": "line", "x": "month", "y": ["total"]}


@all_cases(
    "given, wanted",
    [
        ({"type": "line", "x": "month", "y": "total"}, LINE),
        ({"kind": "Line chart", "x_axis": "month", "values": ["total"], "title": None}, LINE),
        ({"chart_type": "line", "x": {"col": "month"}, "y": [{"field": "total"}]}, LINE),
        (json.dumps(LINE), LINE),
        ({**LINE, "chart_type": "column"}, {**LINE, "chart_type": "bar"}),
        ({**LINE, "chart_type": "stacked bar", "hue": "city"},
         {**LINE, "chart_type": "bar", "stacked": True, "series": "city"}),
        ({**LINE, "chart_type": "barh"}, {**LINE, "chart_type": "bar", "horizontal": True}),
        ({**LINE, "chart_type": "bar", "orientation": "h"}, {**LINE, "chart_type": "bar", "horizontal": True}),
        ({"mark": "donut", "labels": "city", "values": "total"}, {"chart_type": "pie", "x": "city", "y": ["total"]}),
        ({**LINE, "format": "%"}, {**LINE, "y_format": "percent"}),
    ],
)  # fmt: skip
def test_a_variant_is_read_as_the_published_form(given: Any, wanted: dict[str, Any]) -> None:
    assert PlotSpec.model_validate(given) == PlotSpec.model_validate(wanted)


@all_cases(
    "spec",
    [
        {**LINE, "y": "totl"},
        {**LINE, "x": "moth", "y": ["total", "shar"]},
        {**LINE, "y": "city"},
        {**LINE, "stacked": True},
        {"chart_type": "pie", "x": "city", "y": ["total", "share"]},
        {**LINE, "chart_type": "heatmap"},
        {**LINE, "y": ["total", "share"], "series": "city"},
        {**LINE, "x": "zzz", "y": "qqq"},
        {"chart_type": "histogram", "x": "total", "y": "share"},
        {"chart_type": "histogram", "x": "city"},
    ],
)
def test_the_corrected_form_is_accepted(spec: dict[str, Any]) -> None:
    with pytest.raises(PlotSpecInvalid) as caught:
        plot_spec(spec, RESULT)

    assert caught.value.problems
    for problem in caught.value.problems:
        check_plot_spec(PlotSpec.model_validate_json(problem.corrected), RESULT)


def test_the_corrected_form_keeps_the_chart_type_and_shows_every_row() -> None:
    with pytest.raises(PlotSpecInvalid) as caught:
        plot_spec({**LINE, "y": "totl", "title": "Sales"}, RESULT)

    assert json.loads(caught.value.problems[0].corrected) == {**LINE, "title": "Sales", "series": "city"}
