"""The schema under which the embedded model writes, for what a question says."""

from typing import Any

import pytest

from datasphinx.agent.embedded.narrowed_schema import narrowed_schema
from datasphinx.agent.embedded.shape import shape_of
from tests.agent.analysis.json_schemas import fits
from tests.agent.embedded.schemas import STAFF

SUM = {"as": "sum_salary", "agg": "sum", "col": "Salary"}
COUNT = {"as": "count", "agg": "count", "col": "*"}
RANKING = {"group_by": ["City"], "aggregations": [SUM], "sort": [{"by": "sum_salary", "desc": True}], "limit": 3}
TOP = "Top 3 cities by total salary"


def allows(question: str, spec: dict[str, Any], *, filters: bool = False, values: bool = False) -> bool:
    schema = narrowed_schema(STAFF, shape_of(question, STAFF), filters=filters, values=values)
    return fits(spec, schema, schema["$defs"])


def without(part: str) -> dict[str, Any]:
    return {name: value for name, value in RANKING.items() if name != part}


def test_what_is_asked_can_be_written() -> None:
    assert allows(TOP, RANKING)
    assert allows(TOP, {"filters": [{"col": "Team", "op": "=", "value": "A"}], **RANKING})


@pytest.mark.parametrize(
    "spec",
    [
        *(without(part) for part in ("group_by", "aggregations", "sort", "limit")),
        {**RANKING, "limit": 5},
        {**RANKING, "sort": [{"by": "sum_salary", "desc": False}]},
        {**RANKING, "sort": [{"by": "sum_salary"}]},
        {**RANKING, "group_by": ["Salary"]},
        {**RANKING, "aggregations": [COUNT]},
        {**RANKING, "derived": []},
    ],
)
def test_what_contradicts_the_question_cannot(spec: dict[str, Any]) -> None:
    assert not allows(TOP, spec)


def test_a_figure_that_is_summed_is_no_group() -> None:
    by_both = {"group_by": ["Team", "Salary"], "aggregations": [SUM]}
    assert not allows("What is the total salary per team?", by_both)


def test_nothing_is_left_out_where_nobody_asks_for_some() -> None:
    spec = {"group_by": ["Team"], "aggregations": [SUM]}
    assert allows("What is the total salary per team?", spec)
    assert not allows("What is the total salary per team?", {**spec, "limit": 1})
    assert allows("What is the total salary of the first teams by city?", {**spec, "group_by": ["City"], "limit": 1})


def test_a_number_in_the_question_needs_a_filter_and_a_comparison_its_bound() -> None:
    question = "How many people earn more than 3000?"
    more, equal = ([{"col": "Salary", "op": op, "value": 3000}] for op in (">", "="))
    assert allows(question, {"filters": more, "aggregations": [COUNT]}, filters=True)
    assert not allows(question, {"filters": equal, "aggregations": [COUNT]}, filters=True)
    assert not allows(question, {"aggregations": [COUNT]}, filters=True)


def test_a_stored_value_is_compared_for_equality_beside_a_bound() -> None:
    question = "How many people of the team A earn more than 3000?"
    filters = [{"col": "Team", "op": "=", "value": "A"}, {"col": "Salary", "op": ">", "value": 3000}]
    spec = {"filters": filters, "aggregations": [COUNT]}
    assert allows(question, spec, filters=True, values=True)
    assert not allows(question, spec, filters=True)


def test_an_open_ranking_is_decided_by_the_model() -> None:
    by_salary = {"group_by": ["Team"], "aggregations": [SUM], "sort": [{"by": "sum_salary", "desc": True}], "limit": 1}
    by_rows = {**by_salary, "aggregations": [COUNT], "sort": [{"by": "count", "desc": True}]}
    assert allows("Which team earned the most?", by_salary)
    assert allows("Which team earned the most?", by_rows)


@pytest.mark.parametrize("spec", [{"group_by": ["Name"]}, {"aggregations": [COUNT]}, {"sort": [{"by": "Name"}]}])
def test_what_is_left_open_can_be_anything_that_fits_the_dataset(spec: dict[str, Any]) -> None:
    assert allows("Tell me about the people", spec)
    assert not allows("Tell me about the people", {**spec, "group_by": ["Pets"]})
