"""What each of the tools gives, and how a wrong call of it is told."""

import io
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from datasphinx.agent.analysis.planning import CONTROLS
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import SourceUnreachable, StatementCancelled
from datasphinx.agent.llm.formats import function_schema
from datasphinx.agent.queryspec.schema import json_schema
from datasphinx.agent.queryspec.spec import QuerySpec
from datasphinx.agent.tools import run_query
from datasphinx.agent.tools.arguments import MAX_ARGUMENTS
from datasphinx.agent.tools.tool import Arguments, Outcome, Tool, Workbench
from datasphinx.agent.tools.toolbox import Toolbox
from tests.agent.datasets import workbooks
from tests.agent.tools.conftest import Bench

NAMES = ["create_dataset", "get_schema", "sample_rows", "run_query", "plot", "resolve_fields"]
BY_ACCOUNT = {"group_by": ["账号"], "aggregations": [{"as": "returns", "agg": "sum", "col": "退货数量"}]}


# create_dataset


def opened(bench: Bench, name: str, content: bytes) -> tuple[Bench, Outcome]:
    """A workbench with this file alone, and the outcome of the call that made a dataset of it."""
    file_id = bench.bench.registry.add_stream(io.BytesIO(content), name)
    own = Bench(Workbench(bench.bench.registry, bench.bench.open_source, (file_id,)))
    made = own.call("create_dataset", file_id=file_id)
    own.bench = replace(own.bench, dataset_ids=(str(made.dataset_id),))
    return own, made


@pytest.fixture
def book(bench: Bench) -> tuple[Bench, str]:
    content = workbooks.book(first=[["a", "b"], [1, 2]], second=[["title", None], ["x", "y"], [3, 4], [5, 6]])
    file_id = bench.bench.registry.add_stream(io.BytesIO(content), "book.xlsx")
    return Bench(Workbench(bench.bench.registry, bench.bench.open_source, (file_id,))), file_id


def test_another_sheet_becomes_a_dataset(book: tuple[Bench, str]) -> None:
    bench, file_id = book
    made = bench.call("create_dataset", file_id=file_id, sheet="second", header_row=2)

    assert made.content["schema"] == [{"name": "x", "type": "int"}, {"name": "y", "type": "int"}]
    assert (made.content["row_count"], made.rows, made.content["source_type"]) == (2, 2, "excel")
    assert made.content["sheets"] == ["first", "second"]
    assert made.dataset_id == made.content["dataset_id"]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"sheet": "third"}, "sheet_not_found"),
        ({"header_row": 500}, "header_not_found"),
        ({"header_row": -1}, "tool_call_invalid"),
        ({"sheet": 7}, "tool_call_invalid"),
    ],
)
def test_a_wrong_place_in_a_file_is_told(book: tuple[Bench, str], given: dict[str, object], code: str) -> None:
    bench, file_id = book
    told = bench.fail("create_dataset", {"file_id": file_id, **given})

    assert told["code"] == code
    assert code != "sheet_not_found" or "second" in told["message"]


def test_a_file_that_is_not_of_the_question_is_not_read(bench: Bench) -> None:
    other = bench.bench.registry.add_stream(io.BytesIO(b"a\n1\n"), "other.csv")
    (problem,) = bench.fail("create_dataset", file_id=other)["problems"]

    assert problem["path"] == "file_id"
    assert set(problem["nearest"]) == set(bench.bench.file_ids)


# get_schema


def test_types_and_examples_are_those_of_json(bench: Bench) -> None:
    text = "name,count,price,day,at,paid,time\na,1,1.5,2024-01-31,2024-01-31 10:00:00,true,10:30:00\n"
    own, made = opened(bench, "types.csv", text.encode())
    described = own.call("get_schema", dataset_id=made.dataset_id).content["columns"]

    types = [(column["name"], column["type"]) for column in described]
    assert types == [(column["name"], column["type"]) for column in made.content["schema"]]
    assert types == [
        ("name", "string"), ("count", "int"), ("price", "float"), ("day", "date"), ("at", "datetime"),
        ("paid", "bool"), ("time", "time"),
    ]  # fmt: skip
    assert [column["example_values"] for column in described][:4] == [["a"], [1], [1.5], ["2024-01-31"]]


def test_the_schema_has_ranges_and_shares_of_all_rows(bench: Bench, returns: str) -> None:
    content = bench.call("get_schema", dataset_id=returns).content
    columns = {column["name"]: column for column in content["columns"]}

    assert (content["row_count"], content["file"]) == (4, "returns.csv")
    assert columns["退货数量"] == {
        "name": "退货数量",
        "type": "int",
        "null_ratio": 0.0,
        "example_values": [10, 30, 20],
        "min": 10,
        "max": 40,
    }
    assert columns["产品质量"]["null_ratio"] == 0.25
    assert (columns["月份"]["min"], columns["月份"]["max"]) == ("2024-01-31", "2024-02-29")
    assert "min" not in columns["账号"]


def test_personal_values_are_not_shown(bench: Bench) -> None:
    text = 'last_name,copies,city\nMeier,"a.m@example.org, b@example.org",Ulm\nLi,"c@example.org,d@example.org",Bonn\n'
    own, made = opened(bench, "people.csv", text.encode())
    described = {each["name"]: each for each in own.call("get_schema", dataset_id=made.dataset_id).content["columns"]}
    sampled = own.call("sample_rows", dataset_id=made.dataset_id, columns=["last_name", "copies", "city"]).content

    kinds = {"last_name": "names of persons", "copies": "e-mail addresses"}
    assert {name: each["values_like"] for name, each in described.items() if "values_like" in each} == kinds
    assert [name for name, each in described.items() if "example_values" in each] == ["city"]
    assert sampled["rows"] == [["***", "***", "Ulm"], ["***", "***", "Bonn"]]
    assert sampled["masked"] == kinds


@pytest.mark.heavy
def test_the_schema_tells_what_was_guessed_and_what_changes_it(bench: Bench) -> None:
    content = workbooks.book(
        Orders=[["day", "price"], ["01/02/2024", "€5"], ["03/04/2024", "$7"], ["Total", "12"]],
        Notes=[["x", "y"], [1, 2]],
    )
    own, made = opened(bench, "orders.xlsx", content)
    loaded = own.call("get_schema", dataset_id=made.dataset_id).content["loaded"]

    assert (loaded["sheet"], loaded["other_sheets"], loaded["header_row"]) == ("Orders", ["Notes"], 1)
    options = [guess["option"] for guess in loaded["guesses"] if "option" in guess]
    for option in (
        {"types": {"price": "number"}}, {"drop_totals": False}, {"sheet": "Notes"},
        {"types": {"day": "date_month_first"}},
    ):  # fmt: skip
        assert option in options
        own.call("create_dataset", file_id=own.bench.file_ids[0], **option)
    assert len(made.notes) == 5 and "EUR" in made.notes[0] and "totals" in made.notes[1]


def test_nothing_is_told_of_a_secret(bench: Bench, sales: str) -> None:
    columns = bench.call("get_schema", dataset_id=sales).content["columns"]

    assert columns[-1] == {"name": "password", "type": "string"}


@pytest.mark.heavy
def test_a_wide_dataset_is_told_in_part(bench: Bench, add: Callable[[str, str], str]) -> None:
    names = [f"c{at}" for at in range(130)]
    wide = add("wide.csv", f"{','.join(names)}\n{','.join('1' * 130)}\n")
    own = Bench(Workbench(bench.bench.registry, bench.bench.open_source, (), (wide,)))
    content = own.call("get_schema", dataset_id=wide).content

    assert (len(content["columns"]), content["more_columns"]) == (100, 30)
    assert content["columns"][99]["max"] == 1
    found = own.call("resolve_fields", dataset_id=wide, terms=["c129"]).content["scores"]["c129"]
    assert found[0] == {"column": "c129", "score": 1.0, "by": "name"}


@pytest.mark.parametrize("tool", ["get_schema", "sample_rows", "run_query", "resolve_fields"])
def test_a_dataset_that_is_not_of_the_question_is_not_read(
    bench: Bench, add: Callable[[str, str], str], tool: str
) -> None:
    other = add("other.csv", "a\n1\n")
    more = {"run_query": {"query": {}}, "resolve_fields": {"terms": ["a"]}}.get(tool, {})
    (problem,) = bench.fail(tool, {"dataset_id": other, **more})["problems"]

    assert problem["path"] == "dataset_id"
    assert set(problem["nearest"]) == set(bench.bench.dataset_ids)


def test_a_dataset_that_was_removed_is_told(bench: Bench, returns: str) -> None:
    bench.bench.registry.delete_dataset(returns)

    assert bench.fail("get_schema", dataset_id=returns)["code"] == "dataset_unknown"


# sample_rows


def test_rows_are_shown_without_secrets(bench: Bench, sales: str) -> None:
    shown = bench.call("sample_rows", dataset_id=sales, n=2)

    assert shown.content["columns"] == ["region", "sold on", "net amount", "Количество"]
    assert shown.content["rows"] == [["North", "2024-01-05", 10.5, 1], ["South", "2024-01-20", 20.0, 2]]
    assert shown.rows == 2


def test_columns_can_be_chosen(bench: Bench, sales: str) -> None:
    shown = bench.call("sample_rows", dataset_id=sales, columns=["Количество", "region"])

    assert shown.content["rows"][0] == [1, "North"]


def test_a_greater_number_of_rows_is_the_greatest_one(bench: Bench, sales: str) -> None:
    assert bench.call("sample_rows", dataset_id=sales, n=50).rows == 3


@pytest.mark.parametrize(
    ("given", "path", "nearest"),
    [
        ({"columns": ["regoin"]}, "columns[0]", ["region"]),
        ({"columns": ["region", "password"]}, "columns[1]", None),
        ({"columns": []}, "columns", None),
        ({"n": "many"}, "n", None),
        ({"n": 0}, "n", None),
        ({"rows": 3}, "rows", None),
    ],
)
def test_wrong_samples_are_told(
    bench: Bench, sales: str, given: dict[str, object], path: str, nearest: list[str] | None
) -> None:
    (problem,) = bench.fail("sample_rows", {"dataset_id": sales, **given})["problems"]

    assert problem["path"] == path
    assert nearest is None or problem["nearest"][:1] == nearest


# run_query


def test_a_query_gives_rows_and_a_result_to_draw(bench: Bench, returns: str) -> None:
    found = bench.call("run_query", dataset_id=returns, query=BY_ACCOUNT)

    assert found.content == {
        "result_id": "r1", "columns": ["账号", "returns"], "types": ["string", "integer"],
        "row_count": 2, "truncated": False, "rows": [["alpha", 30], ["beta", 70]],
        "not_read": ["sales.csv"],
    }  # fmt: skip
    assert found.kept and found.kept["sql"].startswith("SELECT")
    assert bench.call("run_query", dataset_id=returns, query={}).content["result_id"] == "r2"


def test_the_model_is_told_of_the_first_rows(bench: Bench, add: Callable[[str, str], str]) -> None:
    many = add("many.csv", "n\n" + "\n".join(map(str, range(1500))))
    own = Bench(Workbench(bench.bench.registry, bench.bench.open_source, (), (many,)))
    found = own.call("run_query", dataset_id=many, query={})

    assert (found.content["row_count"], found.content["truncated"], len(found.content["rows"])) == (1000, True, 50)
    assert found.content["shown"] == "50 of 1000 rows"
    assert found.kept and len(found.kept["result"]["rows"]) == 1000


@pytest.mark.parametrize(
    ("query", "path", "nearest"),
    [
        ({"group_by": ["帐号"]}, "group_by[0]", "账号"),
        ({"filters": [{"col": "退货数", "op": "=", "value": 1}]}, "filters[0].col", "退货数量"),
        ({"filters": [{"col": "账号", "op": "sounds like", "value": 1}]}, "filters[0].op", None),
        ({"fillters": []}, "fillters", "filters"),
        ("SELECT 1", "", None),
    ],
)
def test_wrong_queries_are_told(bench: Bench, returns: str, query: object, path: str, nearest: str | None) -> None:
    told = bench.fail("run_query", dataset_id=returns, query=query)
    problem = told["problems"][0]

    assert told["code"] == "query_spec_invalid"
    assert problem["path"] == path
    assert problem["reason"]
    assert nearest is None or nearest in problem["nearest"]


# plot


def test_a_column_chart_is_one_of_bars(bench: Bench, returns: str) -> None:
    bench.call("run_query", dataset_id=returns, query=BY_ACCOUNT)
    drawn = bench.call("plot", result_id="r1", plot={"chart_type": "column", "x": "账号", "y": "returns"})

    assert drawn.content["chart_type"] == "bar"


@pytest.mark.parametrize(
    ("given", "path", "nearest"),
    [
        ({"result_id": "r2"}, "result_id", "r1"),
        ({"plot": {"chart_type": "bar", "x": "账号", "y": "return"}}, "y", "returns"),
        ({"plot": {"chart_type": "radar", "x": "账号", "y": "returns"}}, "plot.chart_type", None),
        ({"plot": {"chart_type": "bar", "x": "账号"}}, "y", None),
        ({"plot": {"chart_type": "bar", "x": "账号", "y": "returns", "color": "red"}}, "plot.color", None),
    ],
)
def test_wrong_charts_are_told(
    bench: Bench, returns: str, given: dict[str, object], path: str, nearest: str | None
) -> None:
    bench.call("run_query", dataset_id=returns, query=BY_ACCOUNT)
    right = {"result_id": "r1", "plot": {"chart_type": "bar", "x": "账号", "y": "returns"}}
    problem = bench.fail("plot", {**right, **given})["problems"][0]

    assert problem["path"] == path
    assert nearest is None or nearest in problem["nearest"]


def monthly(returns: str, account: str) -> dict[str, object]:
    query = {
        "filters": [{"col": "账号", "op": "=", "value": account}],
        "group_by": [{"col": "月份", "by": "month"}],
        "aggregations": [{"as": "returns", "agg": "sum", "col": "退货数量"}],
    }
    return {"dataset_id": returns, "query": query}


def test_several_results_are_series_of_one_chart(bench: Bench, returns: str) -> None:
    columns = {bench.call("run_query", monthly(returns, name)).content["columns"][0] for name in ("alpha", "beta")}
    (x,) = columns
    plot = {"chart_type": "line", "x": x, "y": "returns"}
    drawn = bench.call("plot", result_id="r1", other_result_ids=["r2"], names=["Alpha", "Beta"], plot=plot)
    assert drawn.drawing
    option = drawn.drawing.option
    unnamed = bench.call("plot", result_id="r1", other_result_ids=["r2"], plot=plot)
    assert unnamed.drawing

    assert [(series["name"], series["data"]) for series in option["series"]] == [
        ("Alpha", [10, 20]), ("Beta", [30, 40])
    ]  # fmt: skip
    assert [series["name"] for series in unnamed.drawing.option["series"]] == ["returns, r1", "returns, r2"]


def test_a_result_without_a_row_has_a_gap(bench: Bench, returns: str) -> None:
    first = monthly(returns, "alpha")
    second = {**monthly(returns, "beta")}
    second["query"] = {**second["query"], "limit": 1}  # type: ignore[dict-item]
    second["query"]["aggregations"] = [{"as": "problems", "agg": "sum", "col": "物流异常"}]  # type: ignore[index]
    x = bench.call("run_query", first).content["columns"][0]
    bench.call("run_query", second)
    plot = {"chart_type": "bar", "x": x, "y": ["returns", "problems"]}
    drawn = bench.call("plot", result_id="r1", other_result_ids=["r2"], plot=plot).drawing
    assert drawn

    assert [(series["name"], series["data"]) for series in drawn.option["series"]] == [
        ("Returns", [10, 20]), ("Problems", [2, None])
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"other_result_ids": ["r9"]}, "other_result_ids[0]"),
        ({"plot": {"chart_type": "bar", "x": "账号", "y": "returns"}}, "x"),
        ({"plot": {"chart_type": "bar", "x": "month", "y": "sales"}}, "y"),
        ({"names": ["Alpha"]}, "names"),
        ({"other_result_ids": ["r3"]}, "x"),
    ],
)
def test_results_that_do_not_go_together_are_told(
    bench: Bench, returns: str, given: dict[str, object], path: str
) -> None:
    x = [bench.call("run_query", monthly(returns, name)).content["columns"][0] for name in ("alpha", "beta")][0]
    bench.call("run_query", dataset_id=returns, query={"derived": [{"as": "returns", "expr": "退货数量 * 1"}]})
    plot = {"chart_type": "line", "x": x, "y": "returns"}
    told = bench.fail("plot", {"result_id": "r1", "other_result_ids": ["r2"], "plot": plot, **given})

    assert path in {problem["path"] for problem in told["problems"]}


# resolve_fields


@pytest.mark.parametrize(
    ("dataset", "term", "column", "by"),
    [
        ("returns", "退货数量", "退货数量", "name"),
        ("returns", "退货", "退货数量", "words"),
        ("returns", "物流", "物流异常", "words"),
        ("returns", "beta", "账号", "value"),
        ("returns", "high", "购买风险", "value"),
        ("sales", "amounts", "net amount", "words"),
        ("sales", "количества", "Количество", "words"),
        ("sales", "regoin", "region", "spelling"),
        ("sales", "South", "region", "value"),
        ("returns", "возвраты", "退货数量", "meaning"),
        ("returns", "logistics problems", "物流异常", "meaning"),
        ("returns", "month", "月份", "meaning"),
        ("sales", "регион", "region", "meaning"),
        ("sales", "quantity", "Количество", "meaning"),
        ("sales", "净额", "net amount", "meaning"),
        ("returns", "质量问题", "产品质量", "part"),
        ("returns", "quality issues of the goods", "产品质量", "meaning"),
        ("returns", "物流问题", "物流异常", "meaning"),
        ("returns", "проблемы с доставкой", "物流异常", "meaning"),
        ("returns", "риски", "购买风险", "meaning"),
        ("returns", "退货件数", "退货数量", "meaning"),
        ("sales", "reg", "region", "part"),
    ],
)
def test_terms_find_columns(
    bench: Bench, returns: str, sales: str, dataset: str, term: str, column: str, by: str
) -> None:
    dataset_id = {"returns": returns, "sales": sales}[dataset]
    best = bench.call("resolve_fields", dataset_id=dataset_id, terms=[term]).content["scores"][term][0]

    assert (best["column"], best["by"]) == (column, by)
    assert 0.55 <= best["score"] <= 1


def test_the_columns_of_all_terms_are_one_list(bench: Bench, returns: str) -> None:
    found = bench.call("resolve_fields", dataset_id=returns, terms=["退货原因", "质量问题"]).content

    assert found["mapped_columns"] == ["产品质量", "物流异常", "购买风险"]
    assert {match["column"] for match in found["scores"]["质量问题"]} == {"产品质量", "物流异常"}


def test_a_term_that_finds_nothing_gives_the_names(bench: Bench, sales: str) -> None:
    found = bench.call("resolve_fields", dataset_id=sales, terms=["zzzz", "region"])

    assert (found.content["mapped_columns"], found.content["scores"]["zzzz"]) == (["region"], [])
    assert list(found.content["nearest"]) == ["zzzz"]
    assert "net amount" in found.content["columns"]
    assert "hunter2" not in str(found.content)


@pytest.mark.parametrize("terms", [[], [""], ["x" * 201], ["x"] * 21, "x"])
def test_wrong_terms_are_told(bench: Bench, sales: str, terms: object) -> None:
    assert bench.fail("resolve_fields", dataset_id=sales, terms=terms)["problems"][0]["path"].startswith("terms")


# The toolbox


def test_the_model_sees_the_same_schemas_in_each_step(bench: Bench, returns: str) -> None:
    before = Toolbox(bench.bench, 1).schemas()
    bench.call("run_query", dataset_id=returns, query=BY_ACCOUNT)
    after = Toolbox(bench.bench, 1).schemas()
    schemas = {each["function"]["name"]: each["function"]["parameters"] for each in after}

    assert after == before
    assert list(schemas) == NAMES
    assert set(schemas["run_query"]["properties"]["query"]["properties"]) == set(json_schema()["properties"])


@pytest.mark.parametrize(
    ("tool", "field", "ids"),
    [
        ("get_schema", "dataset_id", "dataset_ids"),
        ("create_dataset", "file_id", "file_ids"),
        ("plot", "result_id", "results"),
    ],
)
def test_an_unknown_id_is_refused_with_those_of_the_question(
    bench: Bench, returns: str, tool: str, field: str, ids: str
) -> None:
    bench.call("run_query", dataset_id=returns, query=BY_ACCOUNT)
    others = {"plot": {"chart_type": "bar", "x": "账号", "y": "returns"}} if tool == "plot" else {}
    (problem,) = bench.fail(tool, {field: "x", **others})["problems"]

    assert problem == {"path": field, "reason": problem["reason"], "nearest": list(getattr(bench.bench, ids))}
    assert "there is no such" in problem["reason"]


def test_the_tools_take_less_than_3000_tokens_of_a_prompt(bench: Bench, returns: str) -> None:
    """A token is about four characters."""
    controls = (function_schema(name, text, kind.shown_schema()) for name, (text, kind) in CONTROLS.items())
    tools = [*Toolbox(replace(bench.bench, dataset_ids=(), file_ids=()), 1).schemas(), *controls]

    assert len(json.dumps([each["function"] for each in tools], ensure_ascii=False)) / 4 < 3_000


def test_the_model_sees_one_schema_of_all_filters(bench: Bench, returns: str) -> None:
    schema = next(
        each["function"]["parameters"]
        for each in Toolbox(bench.bench, 1).schemas()
        if each["function"]["name"] == "run_query"
    )
    shown, published = schema["$defs"]["Filter"]["properties"], json_schema()["$defs"]
    kinds = [published[kind["$ref"].rpartition("/")[2]] for kind in published["Filter"]["oneOf"]]

    assert schema["properties"]["query"]["properties"]["filters"]["items"] == {"$ref": "#/$defs/Filter"}
    assert {name for kind in kinds for name in kind["properties"]} == set(shown)
    operators = [kind["properties"]["op"] for kind in kinds if "op" in kind["properties"]]
    assert {op for each in operators for op in each.get("enum", [each.get("const")])} == set(shown["op"]["enum"])


@pytest.mark.parametrize(
    ("tool", "arguments", "path"),
    [
        ("run_sql", "{}", "tool"),
        ("getschema", "{}", "tool"),
        ("", "{}", "tool"),
        ("get_schema", "{not json", "arguments"),
        ("get_schema", "[1]", "arguments"),
        ("get_schema", "[" * 5000, "arguments"),
        ("get_schema", '"' + "x" * MAX_ARGUMENTS + '"', "arguments"),
        ("get_schema", "{}", "dataset_id"),
        ("get_schema", '{"dataset_id": null}', "dataset_id"),
    ],
)
def test_wrong_calls_are_told(bench: Bench, tool: str, arguments: str, path: str) -> None:
    told = bench.fail(tool, arguments)

    assert told["code"] == "tool_call_invalid"
    assert told["problems"][0]["path"] == path
    assert path != "tool" or told["problems"][0]["nearest"]


def test_the_same_call_has_one_form(bench: Bench, returns: str) -> None:
    box = Toolbox(bench.bench, 1)
    calls = [
        box.call("sample_rows", {"dataset_id": returns}),
        box.call("sample_rows", json.dumps({"n": 5, "columns": None, "dataset_id": returns})),
    ]

    assert calls[0].arguments == calls[1].arguments


class Nothing(Arguments):
    """No arguments."""


def tool_that(run: Callable[[Cancellation], Outcome]) -> Tool:
    return Tool("slow", "", Nothing, lambda arguments, bench, cancellation: run(cancellation))


def test_a_statement_is_stopped_at_the_limit_of_a_call(bench: Bench, returns: str) -> None:
    arguments = run_query.RunQuery(dataset_id=returns, query=QuerySpec())

    def run(cancellation: Cancellation) -> Outcome:
        while not cancellation.requested:
            pass
        return run_query.run_query(arguments, bench.bench, cancellation)

    called = Toolbox(bench.bench, 0.01, [tool_that(run)]).call("slow", {})

    assert called.error and called.error.code == "tool_timeout"


def test_a_defect_and_a_dead_store_are_raised(bench: Bench) -> None:
    def breaks(error: Exception) -> Toolbox:
        def run(cancellation: Cancellation) -> Outcome:
            raise error

        return Toolbox(bench.bench, 1, [tool_that(run)])

    for error in (ZeroDivisionError(), OSError("no disk"), SourceUnreachable("x", "gone"), StatementCancelled()):
        with pytest.raises(type(error)):
            breaks(error).call("slow", {})
