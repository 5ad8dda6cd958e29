import json
from typing import Any

import pytest
from pydantic import ValidationError

from datasphinx.agent.charts.plot_spec import PlotSpec, check_plot_spec, plot_spec_schema
from datasphinx.agent.errors import PlotSpecInvalid, Retryable, SpecProblem
from datasphinx.agent.types import Result
from tests.agent.charts.results import plot_spec, result, spec

ROWS = result(
    {"month": "string", "city": "string", "revenue": "integer", "cost": "float", "gone": "null"},
    ("2024-01", "Rome", 3, 1.5, None),
    ("2024-01", "Oslo", 4, 2.5, None),
    ("2024-02", "Oslo", 5, -1, None),
)


def problems(rows: Result = ROWS, **given: Any) -> list[tuple[str, str, tuple[str, ...]]]:
    with pytest.raises(PlotSpecInvalid) as caught:
        plot_spec(given, rows)
    assert isinstance(caught.value, Retryable)
    assert all(isinstance(each, SpecProblem) and str(each) in str(caught.value) for each in caught.value.problems)
    return [(each.path, each.reason, each.nearest) for each in caught.value.problems]


def breaks(given: Any) -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as caught:
        PlotSpec.model_validate(given)
    return [(".".join(map(str, each["loc"])), each["msg"]) for each in caught.value.errors()]


# The schema


def test_one_measure_or_several() -> None:
    assert plot_spec(spec("scatter", "month", "cost"), ROWS).y == ("cost",)
    assert plot_spec(spec("scatter", "month", ["cost", "revenue"]), ROWS).y == ("cost", "revenue")


@pytest.mark.parametrize(
    "given, path, reason",
    [
        (spec("line", "month", "cost", colour="red"), "colour", "Extra inputs"),
        (spec("radar", "month", "cost"), "chart_type", "'heatmap'"),
        ({"chart_type": "line", "y": "cost"}, "x", "required"),
        (spec("line", "month", []), "y", "at least 1"),
        (spec("line", "month", ["cost"] * 13), "y", "at most 12"),
        (spec("line", "month", ["cost", 3]), "y.1", "valid string"),
        (spec("line", 7, "cost"), "x", "valid string"),
        (spec("line", "month", "cost", y_format="dollars"), "y_format", "'percent'"),
        (spec("line", "month", "cost", stacked="perhaps"), "stacked", "boolean"),
    ],
)
def test_what_breaks_the_schema_is_said_with_its_path(given: dict[str, Any], path: str, reason: str) -> None:
    ((found, why),) = breaks(given)

    assert found == path
    assert reason in why


def test_schema_lets_through_what_the_model_reads_and_nothing_more() -> None:
    schema = plot_spec_schema()

    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == set(PlotSpec.model_fields)
    assert set(schema["required"]) == {"chart_type", "x"}
    assert [each["type"] for each in schema["properties"]["y"]["anyOf"]] == ["string", "array"]
    json.dumps(schema)


# Against the result


@pytest.mark.parametrize(
    "name, nearest",
    [("revenu", "revenue"), ("Revenue ", "revenue"), ("total_revenue", "revenue"), ("the city", "city")],
)
def test_unknown_column_is_said_with_the_nearest(name: str, nearest: str) -> None:
    ((path, reason, found),) = problems(**spec("line", "month", name))

    assert (path, reason, found[0]) == ("y", f"the result has no column {name!r}", nearest)
    assert len(found) <= 3


def test_unknown_column_like_no_other_is_said_with_all() -> None:
    ((_, _, found), *_) = problems(**spec("line", "月份", "revenue"))

    assert set(found) >= {"month", "revenue"}


def test_chinese_columns_are_found_by_their_characters() -> None:
    rows = result({"月份": "string", "退货数量": "integer", "产品质量": "integer"}, ("1", 2, 3))

    assert problems(rows, **spec("bar", "月", "退货数"))[1][2][0] == "退货数量"


def test_every_unknown_column_is_said_at_once() -> None:
    found = problems(**spec("line", "monht", ["costs", "revenue", "revenues"]))

    assert [(path, nearest[0]) for path, _, nearest in found] == [("x", "month"), ("y.0", "cost"), ("y.2", "revenue")]


def test_faults_of_form_and_of_names_are_said_together() -> None:
    found = problems(**spec("pie", "mnth", ["cost", "revenue"], series="city", stacked=True, horizontal=True))

    assert [path for path, _, _ in found] == ["y", "series", "stacked", "horizontal", "x"]


def test_measures_are_numbers() -> None:
    (city, gone) = problems(**spec("bar", "month", ["city", "cost", "gone"]))

    assert city[:2] == ("y.0", "'city' is of type string: y needs a column of numbers")
    assert gone[:2] == ("y.2", "'gone' has no value: y needs a column of numbers")
    assert set(city[2]) == {"revenue", "cost"}


@pytest.mark.parametrize(
    "given, path, reason",
    [
        (spec("pie", "city", ["revenue", "cost"]), "y", "a pie shows one measure"),
        (spec("heatmap", "city", ["revenue", "cost"], series="month"), "y", "a heatmap shows one measure"),
        (spec("bar", "city", ["revenue", "cost"], series="month"), "y", "with series there is one measure"),
        (spec("pie", "city", "revenue", series="month"), "series", "a pie has no series"),
        (spec("heatmap", "city", "revenue"), "series", "a heatmap needs the column along its other axis"),
        (spec("line", "city", "revenue", stacked=True), "stacked", "only bar and area can be stacked, not line"),
        (spec("area", "city", "revenue", horizontal=True), "horizontal", "only bar can be horizontal, not area"),
        (spec("scatter", "cost", "cost"), "y", "'cost' is drawn as x already"),
        (spec("bar", "city", "revenue", series="city"), "series", "'city' is drawn as x already"),
    ],
)
def test_encodings_fit_the_type_of_chart(given: dict[str, Any], path: str, reason: str) -> None:
    assert problems(**given) == [(path, reason, ())]


def test_two_columns_of_one_name_are_told_apart_first() -> None:
    rows = Result(columns=["x", "n", "n"], types=["string", "integer", "integer"], rows=[["a", 1, 2]], truncated=False)

    assert problems(rows, **spec("bar", "x", "n")) == [
        ("y", "the result has 2 columns 'n': give them names of their own", ())
    ]


def test_result_without_rows_cannot_be_drawn() -> None:
    rows = result({"x": "null", "n": "null"})

    assert problems(rows, **spec("bar", "x", "n")) == [("spec", "the result has no rows to draw", ())]


@pytest.mark.parametrize("chart_type", ["line", "bar", "area", "heatmap"])
def test_two_rows_for_one_place_would_have_to_be_guessed_at(chart_type: str) -> None:
    rows = result({"x": "string", "s": "string", "n": "integer"}, ("a", "b", 1), ("a", "c", 2), ("a", "b", 3))
    (problem,) = problems(rows, **spec(chart_type, "x", "n", series="s"))

    assert problem == ("x", "several rows have the same 'x' and 's', such as a, b: aggregate them first", ())


def test_points_may_share_their_x() -> None:
    assert plot_spec(spec("scatter", "city", "revenue"), ROWS)


@pytest.mark.parametrize("chart_type", ["line", "bar", "area"])
def test_rows_that_another_column_tells_apart_need_it_as_series(chart_type: str) -> None:
    (problem,) = problems(**spec(chart_type, "city", "revenue"))

    assert problem == (
        "series", "several rows have the same 'city', such as Oslo: set series, or aggregate them first", ("month",)
    )  # fmt: skip


def test_bars_of_one_name_may_stand_beside_each_other() -> None:
    rows = result({"name": "string", "n": "integer"}, ("Ivanov", 1), ("Ivanov", 2))

    assert plot_spec(spec("bar", "name", "n"), rows)
    assert problems(rows, **spec("line", "name", "n"))[0][0] == "x"


def test_histogram_has_a_column_of_numbers_and_no_measure() -> None:
    assert plot_spec({"chart_type": "histogram", "x": "revenue"}, ROWS).y == ()
    assert problems(chart_type="histogram", x="city")[0][0] == "x"
    assert problems(**spec("histogram", "revenue", "cost"))[0][0] == "y"
    assert problems(chart_type="bar", x="city") == [("y", "a bar needs a column of numbers", ())]


@pytest.mark.parametrize("values", [(1, -1), (0, 0), (None, None), (0, None)])
def test_shares_are_above_nothing(values: tuple[Any, Any]) -> None:
    rows = result({"x": "string", "n": "integer"}, ("a", values[0]), ("b", values[1]))

    assert problems(rows, **spec("pie", "x", "n"))[0][:1] == ("y",)


@pytest.mark.parametrize(
    "language, begin", [("en", "This chart cannot"), ("ru", "Такую диаграмму нельзя"), ("zh", "无法根据该结果")]
)
def test_the_error_is_told_in_every_language_with_every_problem(language: Any, begin: str) -> None:
    with pytest.raises(PlotSpecInvalid) as caught:
        check_plot_spec(PlotSpec(chart_type="line", x="mont", y=("cots",)), ROWS)
    text = caught.value.message(language)

    assert text.startswith(begin)
    assert "month" in text and "cost" in text
    # The reasons are for models: users of other languages read the places and the similar names.
    assert ("x: the result has no column 'mont'" in text) == (language == "en")
