"""What is read as a spec, and what is rejected."""

import json
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasphinx.agent.errors import QuerySpecInvalid
from datasphinx.agent.queryspec.spec import read_spec
from tests.support.characters import ANY
from tests.support.heavy import sample

SUM = {"as": "total", "agg": "sum", "col": "amount"}


def filtered(op: str, *value: Any) -> dict[str, Any]:
    return {"filters": [{"col": "a", "op": op, **({"value": value[0]} if value else {})}]}


BY_CITY = {"group_by": ["city"], "aggregations": [SUM]}


@pytest.mark.parametrize(
    "given, wanted",
    [
        ({"col": "total", "dir": "desc"}, {"by": "total", "desc": True}),
        ({"col": "total", "dir": "asc"}, {"by": "total", "desc": False}),
        ({"col": "total"}, {"by": "total"}),
        ({"col": "total", "desc": True}, {"by": "total", "desc": True}),
        ({"by": "total", "dir": "desc"}, {"by": "total", "desc": True}),
    ],
)
def test_a_sort_may_name_column_and_direction(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert read_spec({**BY_CITY, "sort": [given]}).sort == read_spec({**BY_CITY, "sort": [wanted]}).sort


@pytest.mark.parametrize(
    "given, wanted",
    [
        ({"group_by": "city"}, {"group_by": ["city"]}),
        ({"group_by": {"col": "day", "by": "month"}}, {"group_by": [{"col": "day", "by": "month"}]}),
        ({"aggregations": SUM}, {"aggregations": [SUM]}),
        ({"order_by": {"col": "total", "dir": "desc"}}, {"sort": [{"by": "total", "desc": True}]}),
        (filtered("==", 1), filtered("=", 1)),
        (filtered("<>", 1), filtered("!=", 1)),
        (filtered("not in", [1]), filtered("not_in", [1])),
        (filtered("is_not_null"), filtered("is_null", False)),
        ({"filters": [{"any": [{"column": "a", "operator": "==", "value": 1}]}]},
         {"filters": [{"any": [{"col": "a", "op": "=", "value": 1}]}]}),
        ({"aggregations": [{**SUM, "where": filtered("==", 1)["filters"]}]},
         {"aggregations": [{**SUM, "where": filtered("=", 1)["filters"]}]}),
        ({"aggregations": [{"alias": "n", "function": "mean", "column": "amount"}]},
         {"aggregations": [{"as": "n", "agg": "avg", "col": "amount"}]}),
        ({"aggregations": [{**SUM, "agg": "count_distinct"}]}, {"aggregations": [{**SUM, "agg": "nunique"}]}),
    ],
    ids=lambda spec: str(spec)[:60],
)  # fmt: skip
def test_other_names_with_one_meaning_are_read(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert read_spec(given) == read_spec(wanted)


@pytest.mark.parametrize(
    "spec, path, advice",
    [
        ({"select": ["a"]}, "select", "leave it out"),
        ({"having": []}, "having", "into filters"),
        ({"aggregations": [{"as": "n", "agg": "sum", "expr": "a * b"}]}, "aggregations[0].expr", "in derived"),
    ],
)
def test_what_to_write_instead_is_told(spec: dict[str, Any], path: str, advice: str) -> None:
    with pytest.raises(QuerySpecInvalid) as error:
        read_spec(spec)
    assert [(problem.path, advice in problem.reason) for problem in error.value.problems] == [(path, True)]


def test_a_spec_may_be_a_json_text() -> None:
    assert read_spec(json.dumps(BY_CITY)) == read_spec(BY_CITY)


@pytest.mark.parametrize(
    "spec",
    [
        {"filters": ["a"]},
        {"sort": [{"by": "a", "col": "b"}]},
        {"sort": [{"col": "a", "dir": "down"}]},
        {"group_by": ["a"], "dimensions": ["b"]},
        {"aggregations": ["sum(amount)"]},
        {"joins": [{"dataset": "c", "on": [1]}]},
        {"limit": "10"},
        {"sort": [{"by": "a"}], "order_by": [{"by": "b"}]},
        {"filters": [{"col": "a", "column": "b", "op": "=", "value": 1}]},
        {"filters": [{"col": "a", "op": "is_not_null", "value": False}]},
        "SELECT 1",
        "[" * 100_000,
        {"filters": reduce(lambda inner, _: [{"all": inner}], range(5_000), [])},
        "7",
    ],
    ids=lambda spec: str(spec)[:60] if isinstance(spec, str) else str(list(spec)),
)
def test_what_is_no_spec_is_rejected(spec: Any) -> None:
    try:
        read_spec(spec)
    except QuerySpecInvalid as error:
        assert error.problems
    else:
        raise AssertionError("it was accepted")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(ANY, max_size=6) | st.just("sum(a)"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "col", "op", "value", "as", "agg", "by", "dir", "on", "from", "union", "any", "all", "n", "x",
    ]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
PARTS = st.sampled_from(["filters", "group_by", "aggregations", "derived", "sort", "joins", "from", "limit", "query"])


@settings(max_examples=sample(300, 60), deadline=None)
@given(st.dictionaries(PARTS, JSON, max_size=3))
def test_any_json_is_read_or_rejected(data: dict[str, Any]) -> None:
    try:
        read_spec(data)
    except QuerySpecInvalid as error:
        assert error.problems
