"""The chart of a result without a request for one, and the charts of each type."""

import pytest

from datasphinx.agent.charts.default import default_chart, select_charts, selection_of
from datasphinx.agent.charts.plot_spec import PlotSpec
from datasphinx.agent.errors import PlotSpecInvalid
from datasphinx.agent.types import Result
from tests.agent.charts.results import result

TREND = result({"month": "string", "revenue": "float"}, *((f"2024-{at:02}", at * 10.5) for at in range(1, 7)))
RANKING = result({"name": "string", "phone": "string", "spent": "float"},
                 ("Ada", "12", 90.5), ("Bo", "13", 70.0), ("Cy", "14", 20.0), ("Di", "15", 5.0))  # fmt: skip
PARTS = result({"channel": "string", "percent": "float"}, ("web", 10.0), ("shop", 70.0), ("phone", 20.0))


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        (TREND, "line"),
        (RANKING, "bar"),
        (PARTS, "pie"),
        # Shares that do not add up, and counts, are no parts of a whole.
        (result({"channel": "string", "return_share": "float"}, ("web", 0.5), ("shop", 0.4), ("phone", 0.3)), "bar"),
        (result({"channel": "string", "orders": "integer"}, ("web", 50), ("shop", 30), ("phone", 20)), "bar"),
        # Names of months in order are a trend.
        (result({"month": "string", "orders": "integer"}, ("Jan", 3), ("Feb", 1), ("Mar", 2)), "bar"),
    ],
)
def test_a_trend_a_ranking_and_shares_have_a_chart(rows: Result, kind: str) -> None:
    selection = default_chart(rows, "")
    assert selection and selection.spec.chart_type == kind


@pytest.mark.parametrize(
    "rows",
    [
        result({"channel": "string", "revenue": "float"}, ("web", 10.0), ("shop", 70.0), ("phone", 31.5)),
        {**RANKING, "rows": RANKING["rows"][:2]},
        {**TREND, "rows": [TREND["rows"][at] for at in (3, 1, 5, 0)]},
        result({"name": "string", "email": "string"}, ("a", "b"), ("c", "d"), ("e", "f")),
        result({"name": "string", "n": "integer"}, *((f"c{at}", 40 - at) for at in range(31))),
    ],
)
def test_other_results_have_no_chart(rows: Result) -> None:
    assert default_chart(rows, "") is None


def test_a_ranking_shows_the_measure_that_orders_it() -> None:
    rows = result(
        {"name": "string", "orders": "integer", "spent": "float"}, ("a", 2, 90.0), ("b", 9, 80.0), ("c", 1, 70.0)
    )
    selection = default_chart(rows, "Which customers spent the most?")
    assert selection and selection.spec.y == ("spent",)


def test_a_trend_leaves_out_measures_on_another_scale() -> None:
    rows = result({"month": "string", "revenue": "float", "orders": "integer"},
                  ("2024-01", 9000.0, 2), ("2024-02", 8000.0, 3), ("2024-03", 9500.0, 3))  # fmt: skip
    selection = default_chart(rows, "Revenue and orders by month")
    assert selection and selection.spec.y == ("revenue",)


def test_each_type_that_fits_has_a_chart() -> None:
    charts = select_charts(RANKING, "Which customers spent the most?")
    assert next(iter(charts)) == "bar"
    assert {"bar", "pie", "line", "area"} <= charts.keys() and "heatmap" not in charts
    assert all(chart.spec.chart_type == kind for kind, chart in charts.items())
    assert select_charts({**RANKING, "rows": []}, "Customers") == {}


def test_a_spec_may_name_the_columns_of_one_of_the_charts() -> None:
    rows = result({"month": "string", "net": "float", "gross": "float"}, ("2024-01", 1.0, 2.0), ("2024-02", 3.0, 4.0))
    heatmap = select_charts(rows, "Net and gross by month")["heatmap"]
    turned = heatmap.spec.model_copy(update={"x": heatmap.spec.series, "series": heatmap.spec.x})

    assert heatmap.spec.series not in rows["columns"]
    assert selection_of(turned, rows, [heatmap]).result == heatmap.result
    with pytest.raises(PlotSpecInvalid):
        selection_of(PlotSpec(chart_type="bar", x="nothing", y=("net",)), rows, [heatmap])
