"""Forms of specs that models write instead of the published one, and what they are read as."""

import json
from functools import reduce
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import QuerySpecInvalid
from agent.queryspec.spec import read_spec
from tests.cases import all_cases
from tests.heavy import sample

SUM = {"as": "total", "agg": "sum", "col": "amount"}
BY_CITY = {"group_by": ["city"], "aggregations": [SUM]}


def filtered(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {"filters": list(conditions)}


def condition(op: str, value: Any) -> dict[str, Any]:
    return filtered({"col": "a", "op": op, "value": value})


def named(name: str, agg: str, col: str) -> dict[str, Any]:
    return {"aggregations": [{"as": name, "agg": agg, "col": col}]}


VARIANTS: list[tuple[Any, dict[str, Any]]] = [
    # The first published form
    ({**BY_CITY, "sort": [{"col": "total", "dir": "desc"}]}, {**BY_CITY, "sort": [{"by": "total", "desc": True}]}),
    ({**BY_CITY, "sort": [{"col": "total", "dir": "asc"}]}, {**BY_CITY, "sort": [{"by": "total", "desc": False}]}),
    # A spec as text, and in a wrapper
    (json.dumps(BY_CITY), BY_CITY),
    (f"```json\n{json.dumps(BY_CITY)}\n```", BY_CITY),
    ({"query": BY_CITY}, BY_CITY),
    ({"query_spec": json.dumps(BY_CITY)}, BY_CITY),
    ({**BY_CITY, "limit": None, "filters": None}, BY_CITY),
    # Names of parts
    ({"groupby": ["city"], "metrics": [SUM]}, BY_CITY),
    ({"dimensions": "city", "measures": SUM}, BY_CITY),
    ({"groupBy": ["city"], "Aggregates": [SUM]}, BY_CITY),
    ({"where": [{"col": "a", "op": "=", "value": 1}]}, condition("=", 1)),
    ({"conditions": {"col": "a", "op": "=", "value": 1}}, condition("=", 1)),
    ({"order_by": "a"}, {"sort": [{"by": "a"}]}),
    ({**BY_CITY, "having": [{"col": "total", "op": ">", "value": 1}]},
     {**BY_CITY, "filters": [{"col": "total", "op": ">", "value": 1}]}),
    # Filters
    *[({"filters": [{"column": "a", "operator": op, "value": 5}]}, condition(wanted, 5)) for op, wanted in [
        ("==", "="), ("eq", "="), ("equals", "="), ("ne", "!="), ("<>", "!="), ("not equal", "!="), ("gt", ">"),
        ("gte", ">="), ("≥", ">="), ("greater than", ">"), ("lt", "<"), ("LTE", "<="), ("at least", ">="),
    ]],
    ({"filters": [{"field": "a", "op": "like", "value": "%x%"}]}, condition("contains", "x")),
    ({"filters": [{"field": "a", "op": "ILIKE", "value": "x"}]}, condition("contains", "x")),
    ({"filters": [{"field": "a", "op": "like", "value": "x%"}]}, condition("starts_with", "x")),
    ({"filters": [{"field": "a", "op": "like", "value": "%x"}]}, condition("ends_with", "x")),
    ({"filters": [{"field": "a", "op": "regex", "value": "^x"}]}, condition("matches", "^x")),
    ({"filters": [{"or": [{"col": "a", "op": "=", "value": 1}, {"and": [["b", ">", 2], ["c", "<", 3]]}]}]},
     filtered({"any": [{"col": "a", "op": "=", "value": 1}, {"all": [
         {"col": "b", "op": ">", "value": 2}, {"col": "c", "op": "<", "value": 3}]}]})),
    ({"filters": [{"not": {"col": "a", "op": "=", "value": 1}}]}, condition("!=", 1)),
    ({"filters": [{"not": {"col": "a", "op": "in", "value": [1, 2]}}]}, condition("not_in", [1, 2])),
    ({"filters": [{"not": {"col": "a", "op": "is_null"}}]}, condition("is_null", False)),
    ({"distinct": True, "columns": ["a", "b"]}, {"group_by": ["a", "b"]}),
    ({"aggregations": [{"as": "x", "agg": "p90", "col": "a"}]},
     {"aggregations": [{"as": "x", "agg": "percentile", "p": 0.9, "col": "a"}]}),
    ({"aggregations": [{"as": "x", "agg": "percentile", "p": 95, "col": "a"}]},
     {"aggregations": [{"as": "x", "agg": "percentile", "p": 0.95, "col": "a"}]}),
    ({"aggregations": [{"as": "x", "agg": "corr", "col": "a", "with": "b"}]},
     {"aggregations": [{"as": "x", "agg": "corr", "col": ["a", "b"]}]}),
    ({"order_by": "a DESC NULLS LAST"}, {"sort": [{"by": "a", "desc": True}]}),
    ({"filters": [{"col": "a", "op": "IN", "values": ["x", "y"]}]}, condition("in", ["x", "y"])),
    ({"filters": [{"col": "a", "op": "in", "value": "x"}]}, condition("in", ["x"])),
    ({"filters": [{"col": "a", "op": "=", "value": ["x", "y"]}]}, condition("in", ["x", "y"])),
    ({"filters": [{"col": "a", "op": "=", "value": None}]}, condition("is_null", True)),
    ({"filters": [{"col": "a", "op": "is not null"}]}, condition("is_null", False)),
    ({"filters": [{"col": "a", "op": "is_null", "value": None}]}, filtered({"col": "a", "op": "is_null"})),
    ({"filters": [{"col": "a", "op": "between", "value": {"from": 1, "to": 2}}]}, condition("between", [1, 2])),
    ({"filters": ["a >= 5"]}, condition(">=", 5)),
    ({"filters": ["a = 'x y'"]}, condition("=", "x y")),
    ({"filters": [["a", "<", 5]]}, condition("<", 5)),
    ({"filters": {"a": 5, "b": ["x", "y"]}},
     filtered({"col": "a", "op": "=", "value": 5}, {"col": "b", "op": "in", "value": ["x", "y"]})),
    ({"filters": {"a": {">=": 5, "<": 9}}},
     filtered({"col": "a", "op": ">=", "value": 5}, {"col": "a", "op": "<", "value": 9})),
    ({"where": {"and": [{"col": "a", "op": "=", "value": 5}]}}, condition("=", 5)),
    # Groups
    ({"group_by": "city"}, {"group_by": ["city"]}),
    ({"group_by": [{"column": "city"}]}, {"group_by": ["city"]}),
    ({"group_by": [{"column": "day", "period": "Monthly"}]}, {"group_by": [{"col": "day", "by": "month"}]}),
    ({"group_by": ["month(day)", {"field": "day", "granularity": "year"}]},
     {"group_by": [{"col": "day", "by": "month"}, {"col": "day", "by": "year"}]}),
    # Aggregations
    *[({"aggregations": [{alias: "total", function: agg, column: "amount"}]}, named("total", wanted, "amount"))
      for alias, function, column, agg, wanted in [
        ("alias", "func", "column", "SUM", "sum"), ("name", "function", "field", "mean", "avg"),
        ("as", "aggregation", "col", "average", "avg"), ("label", "fn", "col", "count_distinct", "nunique"),
        ("as", "op", "col", "distinct count", "nunique"), ("as", "type", "on", "max", "max"),
    ]],
    ({"aggregations": ["sum(amount)"]}, named("sum_amount", "sum", "amount")),
    ({"aggregations": ["SUM(amount) AS total"]}, named("total", "sum", "amount")),
    ({"aggregations": ["COUNT(DISTINCT city)"]}, named("nunique_city", "nunique", "city")),
    ({"aggregations": ["count(*)"]}, named("count", "count", "*")),
    ({"aggregations": "count"}, named("count", "count", "*")),
    ({"aggregations": [{"agg": "count"}]}, named("count", "count", "*")),
    ({"aggregations": [{"as": "n", "agg": "count", "col": None}]}, named("n", "count", "*")),
    ({"aggregations": [{"agg": "sum(amount)"}]}, named("sum_amount", "sum", "amount")),
    ({"aggregations": [{"sum": "amount", "as": "total"}]}, named("total", "sum", "amount")),
    ({"aggregations": {"amount": "sum"}}, named("sum_amount", "sum", "amount")),
    ({"aggregations": {"total": "sum(amount)"}}, named("total", "sum", "amount")),
    ({"aggregations": {"total": {"func": "sum", "column": "amount"}}}, named("total", "sum", "amount")),
    # Derived columns
    ({"derived": [{"name": "d", "expression": "a / b"}]}, {"derived": [{"as": "d", "expr": "a / b"}]}),
    ({"derived": {"d": "a / b"}}, {"derived": [{"as": "d", "expr": "a / b"}]}),
    ({"computed": ["a / b as d"]}, {"derived": [{"as": "d", "expr": "a / b"}]}),
    ({"derived": ["d = a / b"]}, {"derived": [{"as": "d", "expr": "a / b"}]}),
    # Sort and limits
    ({"sort": ["a desc", "b", "-c"]}, {"sort": [{"by": "a", "desc": True}, {"by": "b"}, {"by": "c", "desc": True}]}),
    ({"sort": [{"field": "a", "direction": "DESC"}]}, {"sort": [{"by": "a", "desc": True}]}),
    ({"sort": [{"column": "a", "ascending": False}]}, {"sort": [{"by": "a", "desc": True}]}),
    ({"sort": {"a": "desc"}}, {"sort": [{"by": "a", "desc": True}]}),
    ({"sort": [["a", "asc"]]}, {"sort": [{"by": "a", "desc": False}]}),
    ({**BY_CITY, "sort": "sum(amount) desc"}, {**BY_CITY, "sort": [{"by": "total", "desc": True}]}),
    ({"group_by": [{"col": "day", "by": "month"}], "sort": "day"},
     {"group_by": [{"col": "day", "by": "month"}], "sort": [{"by": "day_month"}]}),
    ({"limit": "10"}, {"limit": 10}),
    ({"top": 10.0}, {"limit": 10}),
    ({"limit_per_group": {"top": "2", "per": "city"}}, {"limit_per_group": {"n": 2, "by": ["city"]}}),
    # Joins and sources
    ({"joins": {"table": "c", "on": "id"}}, {"joins": [{"dataset": "c", "on": {"id": "id"}}]}),
    ({"join": [{"with": "c", "on": ["a", "b"]}]}, {"joins": [{"dataset": "c", "on": {"a": "a", "b": "b"}}]}),
    ({"joins": [{"dataset": "c", "on": "c.id = a", "type": "LEFT OUTER"}]},
     {"joins": [{"dataset": "c", "on": {"a": "id"}, "how": "left"}]}),
    ({"joins": [{"dataset": "c", "left_on": "a", "right_on": "id"}]}, {"joins": [{"dataset": "c", "on": {"a": "id"}}]}),
    ({"joins": [{"dataset": "c", "on": {"left": "a", "right": "c.id"}}]},
     {"joins": [{"dataset": "c", "on": {"a": "id"}}]}),
    ({"joins": [{"dataset": "c", "on": [["a", "id"]]}]}, {"joins": [{"dataset": "c", "on": {"a": "id"}}]}),
    ({"result_id": "r1"}, {"from": "r1"}),
    ({"from": {"result_id": "r1"}}, {"from": "r1"}),
    ({"from": ["r1", "r2"]}, {"from": {"union": [{"from": "r1"}, {"from": "r2"}]}}),
    ({"union": ["r1", {"result_id": "r2", "label": "x"}]},
     {"from": {"union": [{"from": "r1"}, {"from": "r2", "as": "x"}]}}),
]  # fmt: skip


@all_cases("given, wanted", VARIANTS)
def test_a_variant_is_read_as_the_published_form(given: Any, wanted: dict[str, Any]) -> None:
    assert read_spec(given) == read_spec(wanted)


@all_cases("spec", [wanted for _, wanted in VARIANTS])
def test_the_published_form_is_read_as_it_is(spec: dict[str, Any]) -> None:
    read = read_spec(spec).model_dump(mode="json", by_alias=True, exclude_unset=True)

    assert {name: value for name, value in read.items() if name in spec} == spec


REJECTED: list[Any] = [
    {"filters": [{"col": "a", "op": "like", "value": "x_y%"}]},
    {"filters": ["a"]},
    {"sort": [{"by": "a", "col": "b"}]},
    {"group_by": ["a"], "dimensions": ["b"]},
    {"aggregations": ["amount"]},
    {"joins": [{"dataset": "c", "on": [1]}]},
    {"limit": "all"},
    {"select": ["a"]},
    "SELECT 1",
    "[" * 100_000,
    reduce(lambda inner, _: {"and": [inner]}, range(5_000), {"where": []}),
    {"where": reduce(lambda inner, _: {"and": [inner]}, range(5_000), {})},
    "7",
]


@all_cases("spec", REJECTED, ids=lambda spec: str(spec)[:60])
def test_what_has_no_single_meaning_is_rejected(spec: Any) -> None:
    try:
        read_spec(spec)
    except QuerySpecInvalid as error:
        assert error.problems
    else:
        raise AssertionError("it was accepted")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | st.text(max_size=6) | st.just("sum(a)"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "col", "column", "op", "value", "as", "agg", "sum", "by", "dir", "on", "from", "union", "left", "and", "n", "x",
    ]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
PARTS = st.sampled_from(
    ["filters", "where", "group_by", "metrics", "derived", "sort", "join", "from", "limit", "query"]
)


@settings(max_examples=sample(300, 60), deadline=None)
@given(st.dictionaries(PARTS, JSON, max_size=3))
def test_any_json_is_read_or_rejected(data: dict[str, Any]) -> None:
    try:
        read_spec(data)
    except QuerySpecInvalid as error:
        assert error.problems
