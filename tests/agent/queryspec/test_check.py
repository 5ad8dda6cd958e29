"""Every kind of invalid spec, with the path, the reason and the nearest names of each problem."""

import json
from typing import Any

import pytest

from datasphinx.agent.errors import QuerySpecInvalid, Retryable, SpecProblem
from datasphinx.agent.queryspec.check import check
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import compile_spec
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.schema.catalog import Column, Table
from tests.agent.queryspec.tables import datasets

COUNT = {"as": "count", "agg": "count", "col": "*"}
SUM = {"as": "q", "agg": "sum", "col": "количество"}
JOIN = {"dataset": "customers", "on": {"customer_id": "id"}}
REGIONS = {"dataset": "regions", "on": {"region id": "id"}}


def problems(spec: Any, known: Datasets | None = None) -> list[SpecProblem]:
    try:
        check(read_spec(spec), known or datasets())
    except QuerySpecInvalid as error:
        return list(error.problems)
    return []


def filtered(col: str, op: str, value: Any) -> dict[str, Any]:
    return {"filters": [{"col": col, "op": op, "value": value}]}


def derived(*exprs: str, **spec: Any) -> dict[str, Any]:
    return {**spec, "derived": [{"as": f"d{index}", "expr": expr} for index, expr in enumerate(exprs)]}


GROUPED = {"group_by": ["status"], "aggregations": [COUNT, SUM]}


def nested(depth: int) -> dict[str, Any]:
    condition: dict[str, Any] = {"col": "id", "op": "=", "value": 1}
    for _ in range(depth):
        condition = {"any": [condition]}
    return condition


def aggregated(agg: str, col: Any, **options: Any) -> dict[str, Any]:
    return {"aggregations": [{"as": "n", "agg": agg, "col": col, **options}]}


WRONG: list[tuple[dict[str, Any], str, str]] = [
    # By schema
    ({"fillters": []}, "fillters", "no such field (nearest: filters"),
    ({"filters": [{"col": "id", "op": "=", "vla": 1, "value": 1}]}, "filters[0].vla", "nearest: value"),
    (filtered("id", "<", None), "filters[0].value", "a text, a number, true or false"),
    (filtered("id", "=", float("nan")), "filters[0].value", "not finite"),
    (filtered("status", "=", "x" * 1001), "filters[0].value", "1,000"),
    (filtered("status", "=", "\ud800"), "filters[0].value", "surrogates"),
    (filtered("status", "contains", "a\0b"), "filters[0].value", "NUL"),
    (filtered("id", "similar", 1), "filters[0].op", "an operator is expected: = !="),
    ({"filters": [{"col": "id", "value": 1}]}, "filters[0].op", "an operator is expected"),
    (filtered("id", "in", []), "filters[0].value", "at least 1"),
    (filtered("id", "in", list(range(501))), "filters[0].value", "at most 500"),
    (filtered("id", "in", [1, None]), "filters[0].value[1]", "a text, a number"),
    (filtered("status", "contains", ""), "filters[0].value", "at least 1"),
    ({"group_by": [{"col": "日期", "by": "moon"}]}, "group_by[0].by", "'month'"),
    ({"group_by": ["status"] * 9}, "group_by", "at most 8"),
    (aggregated("weighted", "id"), "aggregations[0].agg", "'nunique'"),
    (aggregated("percentile", "id", p=900), "aggregations[0].p", "less than or equal to 1"),
    (
        {"aggregations": [{"as": " n", "agg": "sum", "col": "id"}]},
        "aggregations[0].as",
        "not start or end with a blank",
    ),
    ({"aggregations": [{"as": "a\nb", "agg": "sum", "col": "id"}]}, "aggregations[0].as", "printable"),
    ({"derived": [{"as": "d", "expr": "1" * 1001}]}, "derived[0].expr", "1000"),
    ({"limit": 0}, "limit", "greater than or equal to 1"),
    ({"joins": [{"dataset": "customers", "on": {}}]}, "joins[0].on", "at least 1"),
    # Joins
    (
        {"joins": [{**JOIN, "dataset": "customer"}]},
        "joins[0].dataset",
        "no dataset or result customer (nearest: customers",
    ),
    ({"joins": [{"dataset": "orders", "on": {"id": "id"}}]}, "joins[0].dataset", "already read"),
    ({"joins": [JOIN, JOIN]}, "joins[1].dataset", "already read"),
    ({"joins": [{**JOIN, "on": {"custmer_id": "id"}}]}, "joins[0].on", "(nearest: customer_id"),
    ({"joins": [{**JOIN, "on": {"customer_id": "ids"}}]}, "joins[0].on", "no column ids (nearest: id"),
    ({"joins": [{**JOIN, "on": {"paid": "id"}}]}, "joins[0].on", "paid (boolean) cannot be compared with id (number)"),
    ({"joins": [REGIONS, JOIN]}, "joins[0].on", "no column region id"),
    (
        {"joins": [JOIN, {"dataset": "returns", "on": {"имя": "账号"}}], **filtered("no", "=", 1)},
        "filters[0].col",
        "no",
    ),
    # Filters
    (filtered("stats", "=", "open"), "filters[0].col", "there is no column stats (nearest: status"),
    (filtered("id", "=", "1"), "filters[0].value", "id holds number: a number is expected"),
    (filtered("id", "=", True), "filters[0].value", "a number is expected"),
    (filtered("status", "=", 1), "filters[0].value", "a text is expected"),
    (filtered("paid", "=", "yes"), "filters[0].value", "true or false"),
    (filtered("paid", ">", True), "filters[0].op", "cannot be ordered"),
    (filtered("日期", "=", 2024), "filters[0].value", "a date as text"),
    (filtered("日期", "=", "2024-02-30"), "filters[0].value", "there is no date 2024-02-30"),
    (filtered("日期", "=", "31.12.2024"), "filters[0].value", "a date such as"),
    (filtered("日期", "in", ["2024-01-01", "x"]), "filters[0].value[1]", "a date such as"),
    (filtered("created", "=", "2024-01-01T25:00:00"), "filters[0].value", "there is no time"),
    (filtered("created", "=", "2024-01-01T00:00:00Z"), "filters[0].value", "without a zone"),
    (filtered("created", "<=", "9999-12-31"), "filters[0].value", "no day follows"),
    (filtered("id", "contains", "1"), "filters[0].op", "contains applies only to text"),
    (filtered("id", "matches", "1"), "filters[0].op", "matches applies only to text"),
    (filtered("status", "matches", "(a"), "filters[0].value", "the regular expression is invalid"),
    ({"filters": [{"col": "id", "op": "=", "other": "ids"}]}, "filters[0].other", "there is no column ids"),
    ({"filters": [{"col": "id", "op": "=", "other": "status"}]}, "filters[0].other", "the types differ"),
    ({"filters": [{"col": "paid", "op": ">", "other": "paid"}]}, "filters[0].op", "cannot be ordered"),
    ({"filters": [{"any": [{"col": "id", "op": "?"}]}]}, "filters[0].any[0].op", "an operator is expected"),
    (
        {"filters": [{"any": [{"all": [{"col": "idd", "op": "=", "value": 1}]}]}]},
        "filters[0].any[0].all[0].col",
        "there is no column idd (nearest: id",
    ),
    ({"filters": [nested(4)]}, "filters", "more than 3 levels deep"),
    (
        {
            **GROUPED,
            "filters": [{"any": [{"col": "count", "op": ">", "value": 1}, {"col": "id", "op": "=", "value": 1}]}],
        },
        "filters[0]",
        "id is not in the result",
    ),
    (filtered("id", "between", [2, 1]), "filters[0].value", "the lowest value comes first"),
    (filtered("日期", "between", ["2024-02-01", "2024-01-01"]), "filters[0].value", "the lowest value comes first"),
    ({"filters": [{"col": "id", "op": "in", "value": list(range(300))}] * 2}, "filters", "more than 500 values"),
    # Filters on the result
    ({**GROUPED, **filtered("cuont", ">", 1)}, "filters[0].col", "there is no column cuont (nearest: count"),
    ({**GROUPED, **filtered("count", ">", "1")}, "filters[0].value", "count holds number: a number is expected"),
    (
        {**GROUPED, **filtered("q", "contains", "1")},
        "filters[0].op",
        "q holds number, and contains applies",
    ),
    (
        {"aggregations": [{"as": "first", "agg": "min", "col": "日期"}], **filtered("first", ">", "2024")},
        "filters[0].value",
        "a date such as",
    ),
    (
        {"group_by": [{"col": "日期", "by": "month"}], **filtered("日期_month", "=", 3)},
        "filters[0].value",
        "a text is expected",
    ),
    (
        {"group_by": ["status"], "aggregations": [{**SUM, "as": "id"}], **filtered("id", ">", 1)},
        "filters[0].col",
        "is a column of the rows and a name in this spec",
    ),
    (
        {"group_by": ["status"], "aggregations": [{**SUM, "as": "id"}], **filtered("id", ">", 1)},
        "filters[0].col",
        "(nearest: orders.id",
    ),
    # Groups
    ({"group_by": ["Stats"]}, "group_by[0]", "there is no column Stats (nearest: status"),
    ({"group_by": [{"col": "status", "by": "month"}]}, "group_by[0].col", "only dates have periods (nearest: 日期"),
    ({"group_by": [{"col": "when", "by": "month"}]}, "group_by[0].col", "there is no column when"),
    ({"group_by": ["status", "status"]}, "group_by[1]", "there is a column status already"),
    # Aggregations
    ({"aggregations": [{"as": "n", "agg": "sum", "col": "*"}]}, "aggregations[0].col", "only count takes *"),
    ({"aggregations": [{"as": "n", "agg": "sum", "col": "status"}]}, "aggregations[0].col", "sum takes number"),
    ({"aggregations": [{"as": "n", "agg": "max", "col": "paid"}]}, "aggregations[0].col", "holds boolean"),
    ({"aggregations": [{"as": "n", "agg": "avg", "col": "amount"}]}, "aggregations[0].col", "no column amount"),
    (
        {"aggregations": [SUM, {"as": "m", "agg": "max", "col": "q"}]},
        "aggregations[1].col",
        "an aggregation of an aggregation",
    ),
    (
        {"aggregations": [SUM, {"as": "m", "agg": "max", "col": "d"}], "derived": [{"as": "d", "expr": "q * 2"}]},
        "aggregations[1].col",
        "an aggregation of an aggregation",
    ),
    ({"aggregations": [COUNT, COUNT]}, "aggregations[1].as", "there is a column count already"),
    (aggregated("percentile", "id"), "aggregations[0].p", "percentile needs p"),
    (aggregated("median", "id", p=0.5), "aggregations[0].p", "only percentile takes p"),
    (aggregated("median", "status"), "aggregations[0].col", "median takes number"),
    (aggregated("corr", "id"), "aggregations[0].col", "corr takes two columns"),
    (aggregated("corr", ["id", "status"]), "aggregations[0].col[1]", "corr takes number"),
    (aggregated("sum", ["id", "status"]), "aggregations[0].col", "only nunique and corr take several"),
    (aggregated("first", "id"), "aggregations[0].order_by", "first needs order_by"),
    (aggregated("sum", "id", order_by="id"), "aggregations[0].order_by", "only first and last"),
    (aggregated("last", "id", order_by="dat"), "aggregations[0].order_by", "there is no column dat"),
    (aggregated("last", "paid", order_by="id"), "aggregations[0].col", "paid holds boolean"),
    (aggregated("mode", "*"), "aggregations[0].col", "only count takes *"),
    (
        aggregated("sum", "id", where=[{"col": "stats", "op": "=", "value": "x"}]),
        "aggregations[0].where[0].col",
        "there is no column stats (nearest: status",
    ),
    (
        aggregated("sum", "id", where=[{"any": [{"col": "id", "op": "=", "value": "x"}]}]),
        "aggregations[0].where[0].any[0].value",
        "a number is expected",
    ),
    (
        {"aggregations": [SUM, {**COUNT, "where": [{"col": "q", "op": ">", "value": 1}]}]},
        "aggregations[1].where[0].col",
        "q is already an aggregation",
    ),
    ({**GROUPED, "group_by": ["d0"], **derived("q * 2")}, "group_by[0]", "computed from aggregations"),
    (
        {"group_by": [{"col": "d0", "by": "month"}], **derived("year(日期)")},
        "group_by[0].col",
        "only dates have periods",
    ),
    (
        {**GROUPED, "aggregations": [{**COUNT, "as": "STATUS"}]},
        "aggregations[0].as",
        "there is a column STATUS already",
    ),
    # Derived
    (derived("id +"), "derived[0].expr", "it cannot be read from '+' at character 4 on"),
    (derived("ids * 2"), "derived[0].expr", "there is no column ids (nearest: id"),
    (derived("status * 2"), "derived[0].expr", "status holds text, but * takes number"),
    (derived("year(status)"), "derived[0].expr", "status holds text, but year takes date or datetime"),
    (derived("hour(日期)"), "derived[0].expr", "this column has only dates"),
    (derived("lower(id)"), "derived[0].expr", "id holds number, but lower takes text"),
    (derived("if(id, 1, 2)"), "derived[0].expr", "id holds number, but a condition takes boolean"),
    (derived("if(paid, 1, 'a')"), "derived[0].expr", "different types: number, text"),
    (derived("id = 'a'"), "derived[0].expr", "id (number) cannot be compared with 'a' (text)"),
    (derived("日期 = 'today'"), "derived[0].expr", "a date such as 2024-03-31"),
    (derived("日期 > '2024-01-01T10:00:00'"), "derived[0].expr", "is a time"),
    (derived("id = null"), "derived[0].expr", "write 'is null'"),
    (derived("paid > true"), "derived[0].expr", "cannot be ordered"),
    (derived("null"), "derived[0].expr", "always empty"),
    (derived("id and paid"), "derived[0].expr", "id holds number, but and takes boolean"),
    (derived("days_between(日期, 'x')"), "derived[0].expr", "a date such as"),
    (derived("rank(id, within: regio)"), "derived[0].expr", "there is no column regio"),
    (derived("lag(id)"), "derived[0].expr", "a sort, or order_by"),
    (derived("d0 + 1"), "derived[0].expr", "d0 depends on itself"),
    (derived("d1 + 1", "d0 + 1"), "derived[0].expr", "d0 depends on itself"),
    (derived("d1 + 1", "id"), "derived[0].expr", "d1 is derived later"),
    (derived("id * 2", **GROUPED), "derived[0].expr", "id is a column of the rows"),
    (derived("количество", **GROUPED), "derived[0].expr", "group by it or aggregate it"),
    (
        {
            "aggregations": [{**SUM, "col": "line"}],
            "derived": [{"as": "line", "expr": "id * 2"}, {"as": "x", "expr": "line"}],
        },
        "derived[1].expr",
        "line is computed for each row",
    ),
    (
        {"aggregations": [{**SUM, "col": "d"}], "derived": [{"as": "d", "expr": "rank(id)"}]},
        "derived[0].expr",
        "rank applies to the result",
    ),
    (derived("rank(share_of_total(id))"), "derived[0].expr", "derive that first, as a separate column"),
    (derived("change_from_previous(id)"), "derived[0].expr", "a group that is a period, a sort, or order_by"),
    (derived("change_from_previous(id)", sort=[{"by": "d0"}]), "derived[0].expr", "d0 is not defined before d0"),
    (derived("id", "d0+1", "d1+1", "d2+1", "d3+1", "d4+1", "d5+1"), "derived[6].expr", "more than 6 steps"),
    ({"derived": [{"as": "id", "expr": "1"}]}, "derived[0].as", "there is a column id already"),
    # Sort
    ({**GROUPED, "sort": [{"by": "cuont"}]}, "sort[0].by", "the result has no column cuont (nearest: count"),
    ({**GROUPED, "sort": [{"by": "id"}]}, "sort[0].by", "the result has no column id"),
    ({"sort": [{"by": "id"}, {"by": "id", "desc": True}]}, "sort[0].by", "more than once"),
]


def test_a_spec_that_is_nested_too_deeply_is_a_problem() -> None:
    (problem,) = problems({"filters": [nested(300)]})

    assert problem.path == "filters[0]" and "nested too deeply" in problem.reason


@pytest.mark.parametrize("spec, path, reason", WRONG, ids=lambda value: str(value)[:60])
def test_problem_is_reported_at_its_path(spec: dict[str, Any], path: str, reason: str) -> None:
    found = problems(spec)

    assert any(problem.path == path and reason in str(problem) for problem in found), [str(each) for each in found]


@pytest.mark.parametrize("spec", ["[]", "{", '"x"', "null", '{"limit": 1e999}'])
def test_data_that_is_no_spec(spec: str) -> None:
    assert problems(spec)


def test_all_problems_are_reported_together() -> None:
    spec = {**filtered("stats", "=", 1), "group_by": ["x"], "sort": [{"by": "y"}], **derived("z")}

    assert {problem.path for problem in problems(spec)} >= {"filters[0].col", "group_by[0]", "sort[0].by"}


def test_the_error_may_be_acted_on() -> None:
    with pytest.raises(QuerySpecInvalid) as caught:
        check(read_spec(filtered("stats", "=", "x")), datasets())

    assert isinstance(caught.value, Retryable)
    (problem,) = caught.value.problems
    assert (problem.path, problem.nearest[0]) == ("filters[0].col", "status")
    assert "filters[0].col" in str(caught.value) and "status" in str(caught.value)


def test_columns_are_listed_if_no_name_is_similar() -> None:
    (problem,) = problems({"group_by": ["@@@"]})

    assert problem.nearest[:3] == ("id", "customer_id", "status")


def test_the_days_of_a_month_or_year_are_told() -> None:
    for text, days in (("2024-02", '["2024-02-01", "2024-02-29"]'), ("2024", '["2024-01-01", "2024-12-31"]')):
        for col in ("日期", "created"):
            (problem,) = problems(filtered(col, "=", text))
            assert problem.path == "filters[0].value" and f"use between with {days}" in problem.reason


@pytest.mark.parametrize("value", ["24:00", "24:00:00", "PT24H", "PT23H60M", "PT86400S", "PT1440M"])
def test_a_duration_is_written_like_a_clock_or_as_results_show_it(value: str) -> None:
    known = Datasets("a", {"a": Table("a", (Column("t", "INTERVAL"),))})
    spec = filtered("t", ">", value)

    assert problems(spec, known) == []
    assert "86400.0" in compile_spec(read_spec(spec), known, "duckdb").sql_with_values
    assert problems(filtered("t", ">", "PT"), known)[0].path == "filters[0].value"


def test_an_invalid_derived_column_is_one_problem() -> None:
    (problem,) = problems(derived("id - x", sort=[{"by": "d0"}]))

    assert (problem.path, problem.reason) == ("derived[0].expr", "there is no column x")


@pytest.mark.parametrize("name", ["城市", "customers.城市"])
def test_a_column_of_one_joined_dataset_needs_no_dataset(name: str) -> None:
    spec = {"joins": [JOIN], **derived(f'concat("{name}", "orders.status")', "lower(d0)"), "sort": [{"by": "d0"}]}

    assert problems(spec) == []
    assert compile_spec(read_spec(spec), datasets(), "duckdb").sql_with_values.count('"t1"."城市"') > 1


NAMED_IN_OTHER_CASE: dict[str, dict[str, Any]] = {
    "group": {"group_by": ["STATUS"], "aggregations": [COUNT]},
    "aggregation": {"aggregations": [{**SUM, "col": "Количество"}]},
    "filter": filtered("Unit Price", ">", 1),
    "derived from the result": derived("ID * 2"),
    "derived for rows": {"group_by": ["d0"], "aggregations": [COUNT], **derived("lower(STATUS)")},
}


@pytest.mark.parametrize("spec", NAMED_IN_OTHER_CASE.values(), ids=list(NAMED_IN_OTHER_CASE))
def test_the_case_of_a_name_may_differ(spec: dict[str, Any]) -> None:
    assert problems(spec) == []
    assert compile_spec(read_spec(spec), datasets(), "duckdb").sql_with_values


def test_a_name_in_another_case_means_one_column_or_none() -> None:
    table = Table("a", (Column("Id", "INT"), Column("ID", "INT"), Column("Name", "TEXT")))
    known = Datasets("a", {"a": table})
    own = {"aggregations": [{"as": "name", "agg": "count", "col": "*"}], **filtered("NAME", "=", "x")}

    assert [problem.path for problem in problems({"group_by": ["id"]}, known)] == ["group_by[0]"]
    assert [problem.path for problem in problems(own, known)] == ["filters[0].col"]


def test_ambiguous_name_of_joined_datasets() -> None:
    table = Table("a", (Column("id", "INT"), Column("other", "INT")))
    known = Datasets("main", {"main": Table("main", (Column("key", "INT"),)), "a": table, "b": table})
    joins = [{"dataset": name, "on": {"key": "id"}} for name in ("a", "b")]

    (problem,) = problems({"joins": joins, **filtered("other", "=", 1)}, known)
    assert problem.nearest == ("a.other", "b.other")
    (problem,) = problems({"joins": joins, **derived("other", aggregations=[{**SUM, "col": "d0"}])}, known)
    assert problem.nearest == ("a.other", "b.other")
    assert problems({"joins": joins, **filtered("b.other", "=", 1)}, known) == []


@pytest.mark.parametrize(
    "spec",
    [
        {"sort": [{"by": "doc"}]},
        {"group_by": ["doc"]},
        {"filters": [{"col": "doc", "op": "=", "value": "x"}]},
        {"aggregations": [{"as": "n", "agg": "nunique", "col": "doc"}]},
    ],
)
def test_columns_without_order_or_equality(spec: dict[str, Any]) -> None:
    known = Datasets("t", {"t": Table("t", (Column("doc", "JSON"),))})

    assert problems(spec, known)
    assert problems({"aggregations": [{"as": "n", "agg": "count", "col": "doc"}]}, known) == []
    assert problems({"filters": [{"col": "doc", "op": "is_null", "value": True}]}, known) == []


def test_a_count_without_a_column_counts_rows() -> None:
    spec = {"aggregations": [{"as": "n", "agg": "count"}]}
    assert problems(spec) == []
    assert read_spec(spec).aggregations[0].cols == ("*",)


def test_too_many_columns() -> None:
    table = Table("t", tuple(Column(f"c{index}", "INT") for index in range(501)))

    (problem,) = problems({}, Datasets("t", {"t": table}))
    assert "more than 500 columns" in problem.reason
    assert problems({"group_by": ["c1"]}, Datasets("t", {"t": table})) == []


def test_expanded_row_expressions_are_limited() -> None:
    steps = {f"s{index}": f"s{index - 1} + s{index - 1} + s{index - 1}" for index in range(1, 8)}
    spec = {
        "aggregations": [{**SUM, "col": "s7"}],
        "derived": [{"as": name, "expr": expr} for name, expr in {"s0": "id", **steps}.items()],
    }

    assert any("more than 300 parts" in problem.reason for problem in problems(spec))


def test_specs_are_read_from_text_and_from_values() -> None:
    spec = {**GROUPED, "sort": [{"by": "count"}]}

    assert read_spec(json.dumps(spec)) == read_spec(spec)
