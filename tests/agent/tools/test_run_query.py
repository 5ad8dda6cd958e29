"""Queries over earlier results, unions and joins, as the model calls them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.formatting.checks import with_formats
from datasphinx.agent.formatting.filters import condition_words
from tests.agent.tools.conftest import Bench

ORDERS = "id,customer,day,amount\n1,007,2024-01-05,10\n2,007,2024-01-09,20\n3,8,2024-03-01,5\n4,9,2024-03-02,7\n"
CUSTOMERS = "number,city,credit\n7,Riga,100\n8,Oslo,50\n9,Oslo,10\n"
TOTAL = {"as": "total", "agg": "sum", "col": "amount"}
COUNT = {"as": "n", "agg": "count", "col": "*"}

Ids = dict[str, str]


@pytest.fixture
def ids(bench: Bench, add: Callable[[str, str], str]) -> Ids:
    """The ids of two files, which are the datasets of the question."""
    made = {"orders": add("orders.csv", ORDERS), "customers": add("customers.csv", CUSTOMERS)}
    bench.bench = replace(bench.bench, dataset_ids=tuple(made.values()))
    return made


def ask(bench: Bench, query: dict[str, Any], **given: Any) -> Any:
    return bench.call("run_query", query=query, **given).content


def by_customer(ids: Ids) -> dict[str, Any]:
    return {"from": ids["orders"], "group_by": ["customer"], "aggregations": [TOTAL]}


def test_an_average_of_sums(bench: Bench, ids: Ids) -> None:
    assert ask(bench, by_customer(ids))["result_id"] == "r1"
    query = {"from": "r1", "aggregations": [{"as": "average", "agg": "avg", "col": "total"}]}

    assert ask(bench, query)["rows"] == [[14.0]]
    assert ask(bench, {"from": "r2"})["rows"] == [[14.0]]
    assert ask(bench, {"limit": 1}, dataset_id="r1")["rows"] == [["007", 30]]


def test_aggregates_have_the_format_of_their_column_of_the_file(bench: Bench, add: Callable[[str, str], str]) -> None:
    prices = add("prices.csv", "shop;price;rate\nA;€ 2,50;12,5 %\nB;€ 3,50;25 %\nB;€ 4,00;30 %\n")
    bench.bench = replace(bench.bench, dataset_ids=(prices,))
    functions = [("sum", "price"), ("avg", "price"), ("avg", "rate"), ("max", "rate"), ("count", "price")]
    aggregations = [{"as": f"{agg} of {col}", "agg": agg, "col": col} for agg, col in functions]
    share = {"as": "in percent", "expr": '"avg of rate" * 100'}
    ask(bench, {"from": prices, "group_by": ["shop"], "aggregations": aggregations, "derived": [share]})
    ask(bench, {"from": "r1", "aggregations": [{"as": "all", "agg": "sum", "col": "sum of price"}]})
    ask(bench, {"from": prices, "derived": [{"as": "double", "expr": "price * 2"}]})

    shown = {
        name: [(each["kind"], each["unit"]) for each in kept["result"]["formats"][-6:]]
        for name, kept in bench.bench.results.items()
    }
    euro, fraction, number = ("currency", "EUR"), ("fraction", ""), ("number", "")
    assert shown["r1"] == [euro, euro, fraction, fraction, number, number]
    assert shown["r2"] == [euro]
    assert shown["r3"] == [("text", ""), euro, fraction, number]


@pytest.mark.parametrize(
    ("cells", "kinds"),
    [
        ("€ 2,50;€ 3,50;€ 4,50", ["currency", "currency"]),
        ("12,5 %;25 %;30 %", ["fraction", "fraction"]),
        ("€ 2,50;€ 3,50;4,50", ["number", "number"]),
        ("€ 2,50;$ 3,50;€ 4,50", ["number", "number"]),
    ],
)
def test_columns_that_became_rows_leave_their_common_format_to_the_values(
    bench: Bench, add: Callable[[str, str], str], cells: str, kinds: list[str]
) -> None:
    wide, registry = add("wide.csv", f"shop;2023;2024;2025\nA;{cells}\nB;{cells}\n"), bench.bench.registry
    options = LoadOptions.model_validate({"header_row": 1, "unpivot": {"name": "year", "value": "2024"}})
    tall = registry.create(registry.dataset(wide).file_id, options).dataset_id
    bench.bench = replace(bench.bench, dataset_ids=(tall,))
    functions = [{"as": agg, "agg": agg, "col": "2024"} for agg in ("sum", "max")]
    ask(bench, {"from": tall, "group_by": ["year"], "aggregations": functions})

    assert [each["kind"] for each in bench.bench.results["r1"]["result"]["formats"]][1:] == kinds


def test_what_a_file_shows_is_stronger_than_the_format_of_the_model(
    bench: Bench, add: Callable[[str, str], str]
) -> None:
    rates = add("rates.csv", "shop,rate\nA,12.5%\nB,25%\n")
    bench.bench = replace(bench.bench, dataset_ids=(rates,))
    ask(bench, {"from": rates, "aggregations": [{"as": "rate", "agg": "avg", "col": "rate"}]})
    kept = bench.bench.results["r1"]
    catalog = bench.bench.open_source([rates]).catalog

    assert with_formats(kept["result"], kept["sql"], catalog, {"rate": "percent"})["formats"][0]["kind"] == "fraction"


def test_a_result_is_not_cut_for_a_later_query(bench: Bench, add: Callable[[str, str], str]) -> None:
    many = add("many.csv", "n\n" + "\n".join(map(str, range(1500))))
    bench.bench = replace(bench.bench, dataset_ids=(many,))

    assert ask(bench, {}, dataset_id=many)["truncated"]
    assert ask(bench, {"from": "r1", "aggregations": [COUNT]})["rows"] == [[1500]]


def test_results_are_united_with_a_label(bench: Bench, ids: Ids) -> None:
    for bound, op in (("2024-02-01", "<"), ("2024-02-01", ">=")):
        condition = {"col": "day", "op": op, "value": bound}
        ask(bench, {"from": ids["orders"], "filters": [condition], "aggregations": [TOTAL]})
    union = {"union": [{"from": "r1", "as": "January"}, {"from": "r2", "as": "March"}], "label": "month"}

    found = ask(bench, {"from": union})
    assert (found["columns"], found["rows"]) == (["month", "total"], [["January", 30], ["March", 12]])


def test_a_result_is_a_side_of_a_join(bench: Bench, ids: Ids) -> None:
    ask(bench, by_customer(ids))
    query = {
        "from": ids["customers"], "joins": [{"dataset": "r1", "on": {"number": "customer"}}],
        "group_by": ["city"],
        "aggregations": [{**TOTAL, "col": "total"}, {"as": "credit", "agg": "sum", "col": "credit"}],
    }  # fmt: skip

    assert ask(bench, query)["rows"] == [["Oslo", 12, 60], ["Riga", 30, 100]]


def test_differing_keys_are_converted_with_a_note(bench: Bench, ids: Ids) -> None:
    query = {
        "from": ids["orders"], "joins": [{"dataset": ids["customers"], "on": {"customer": "number"}}],
        "group_by": ["city"], "aggregations": [TOTAL],
    }  # fmt: skip
    for language, word in (("en", "numbers"), ("ru", "числа"), ("zh", "数字")):
        bench.bench = replace(bench.bench, language=language)
        found = bench.call("run_query", query=query)

        assert found.content["rows"] == [["Oslo", 12], ["Riga", 30]]
        (note,) = found.notes
        assert word in note and found.content["notes"] == [note]
    declared = [{**query["joins"][0], "cast": {"customer": "number"}}]
    assert not bench.call("run_query", query={**query, "joins": declared}).notes


def test_an_aggregation_over_repeated_rows_is_rejected(bench: Bench, ids: Ids) -> None:
    join = {"dataset": ids["orders"], "on": {"number": "customer"}}
    credit = {"as": "credit", "agg": "sum", "col": "credit"}
    query = {"from": ids["customers"], "joins": [join], "aggregations": [credit]}
    (problem,) = bench.fail("run_query", query=query)["problems"]

    assert problem["path"] == "aggregations[0].col"
    assert "customer is not unique" in problem["reason"] and "credit" in problem["reason"]
    assert ask(bench, {**query, "aggregations": [TOTAL]})["rows"] == [[42]]
    assert bench.fail("run_query", query={**query, "aggregations": [COUNT]})["problems"]
    # A row that no other row repeats can be summed.
    only = {"col": "number", "op": ">", "value": 7}
    assert ask(bench, {**query, "filters": [only]})["rows"] == [[60]]


def test_a_result_of_repeated_rows_is_not_aggregated(bench: Bench, ids: Ids) -> None:
    join = {"dataset": ids["orders"], "on": {"number": "customer"}}
    found = ask(bench, {"from": ids["customers"], "joins": [join]})
    assert any("credit" in note for note in found["notes"])
    ask(bench, {"from": "r1", "derived": [{"as": "double", "expr": "credit * 2"}]})

    for col, source in (("credit", "r1"), ("credit", "r2"), ("double", "r2")):
        query = {"from": source, "aggregations": [{"as": "x", "agg": "sum", "col": col}]}
        assert "several times" in bench.fail("run_query", query=query)["problems"][0]["reason"]
    amount = {"as": "x", "agg": "sum", "col": f"{ids['orders']}.amount"}
    assert ask(bench, {"from": "r1", "aggregations": [amount]})["rows"] == [[42]]


def test_unknown_results_are_told_with_the_known_ones(bench: Bench, ids: Ids) -> None:
    ask(bench, by_customer(ids))
    for query, path in (
        ({"from": "r2"}, "from"),
        ({"from": {"union": [{"from": "r1"}, {"from": "r9"}]}}, "from.union[1].from"),
        ({"from": "r1", "joins": [{"dataset": "r3", "on": {"customer": "customer"}}]}, "joins[0].dataset"),
    ):
        (problem,) = bench.fail("run_query", query=query)["problems"]
        assert problem["path"] == path
        assert {"r1", *ids.values()} <= set(problem["nearest"])
    assert bench.fail("run_query", query={})["problems"][0]["path"] == "dataset_id"


def test_the_filters_of_every_kind_of_query_are_told(bench: Bench, ids: Ids) -> None:
    month = {"col": "day", "by": "month"}
    source = {"from": ids["orders"], "filters": [{"col": "customer", "op": "!=", "value": "8"}]}
    ask(bench, {**source, "group_by": [month], "aggregations": [TOTAL]})
    queries = (
        {**source, "group_by": [month], "aggregations": [TOTAL]},
        {
            **source, "group_by": [month, "customer"], "aggregations": [TOTAL, COUNT],
            "derived": [{"as": "so_far", "expr": "cumulative(total)"}],
        },
        {"from": "r1", "aggregations": [{"as": "average", "agg": "avg", "col": "total"}]},
        {**source, "group_by": ["part"], "aggregations": [TOTAL], "derived": [{"as": "part", "expr": "weekday(day)"}]},
        {**source, "aggregations": [{"as": "m", "agg": "mode", "col": "customer"}]},
        {**source, "aggregations": [{"as": "m", "agg": "median", "col": "amount"}]},
        {**source, "aggregations": [{"as": "f", "agg": "first", "col": "amount", "order_by": "day"}]},
        {**source, "joins": [{"dataset": ids["customers"], "on": {"customer": "number"}, "how": "left"}]},
    )  # fmt: skip
    for query in queries:
        summary = bench.call("run_query", query=query).kept["summary"]
        assert summary["conditions"] == [{"column": "customer", "operator": "≠", "values": ["8"]}], query
    query = {**source, "sort": [{"by": "amount"}], "limit_per_group": {"n": 1, "by": ["customer"]}}
    told = condition_words(bench.call("run_query", query=query).kept["summary"]["conditions"], "en")
    assert told == ["customer ≠ 8", "only the first, sorted by amount, for each customer"]


def test_a_summary_does_not_name_a_dataset_by_its_id(bench: Bench, ids: Ids) -> None:
    by_id = [{"col": "id", "op": "=", "value": 1}]
    count = bench.call("run_query", query={"from": ids["orders"], "filters": by_id, "aggregations": [COUNT]}).kept

    assert condition_words(count["summary"]["conditions"], "en") == ["id = 1"]


def test_the_filters_of_every_operator_are_told(bench: Bench, ids: Ids) -> None:
    words: tuple[tuple[str, Any, str], ...] = (
        ("=", "007", "= 007"),
        ("!=", "8", "≠ 8"),
        ("in", ["007", "8"], "= 007 or 8"),
        ("not_in", ["8", "9"], "≠ 8, 9"),
        ("contains", "0", "contains 0"),
        ("contains", "50%!_", "contains 50%!_"),
        ("not_contains", "0", "does not contain 0"),
        ("starts_with", "00", "starts with 00"),
        ("ends_with", "7", "ends with 7"),
        ("is_null", True, "is empty"),
        ("is_null", False, "is not empty"),
    )
    for op, value, text in words:
        query = {"from": ids["orders"], "filters": [{"col": "customer", "op": op, "value": value}]}
        summary = bench.call("run_query", query=query).kept["summary"]
        assert condition_words(summary["conditions"], "en") == [f"customer {text}"]
    amount = {"as": "n", "agg": "count", "col": "*", "where": [{"col": "amount", "op": ">", "value": 6}]}
    parts = [{"from": ids["orders"], "filters": [{"col": "id", "op": "=", "value": value}]} for value in (1, 2)]
    for part in parts:
        ask(bench, part)
    number = len(words)
    union = {"union": [{"from": f"r{number + 1}"}, {"from": f"r{number + 2}"}]}
    for query in ({"from": ids["orders"], "aggregations": [amount]}, {"from": union}):
        assert bench.call("run_query", query=query).kept["summary"]["more_conditions"], query


def test_files_are_united_by_name_and_what_a_part_lacks_is_told(bench: Bench, add: Callable[[str, str], str]) -> None:
    ids = [
        add("jan.csv", "day,shop,amount\n2026-01-01,A,1\n2026-01-02,B,2\n"),
        add("feb.csv", "Amount,day,SHOP,channel\n30,2026-02-01,A,web\n40,2026-02-02,B,web\n"),
        add("mar.csv", "day,shop,amount\n2026-03-01,A,500\n2026-03-02,B,600\n"),
    ]
    bench.bench = replace(bench.bench, dataset_ids=tuple(ids))
    source = {"union": [{"from": ids[0], "as": "jan"}, {"from": ids[1], "as": "feb"}]}
    groups = ["part", "channel"]

    found = ask(bench, {"from": source, "group_by": groups, "aggregations": [TOTAL], "sort": [{"by": "part"}]})

    assert found["rows"] == [["feb", "web", 70], ["jan", None, 3]]
    assert any("jan has no column channel" in note for note in found["notes"])
    assert found["not_read"] == ["mar.csv"]
    rest = ask(bench, {"from": ids[2], "aggregations": [TOTAL]})
    assert (rest["rows"], "not_read" in rest) == ([[1100]], False)


def test_a_file_of_which_one_table_is_read_is_not_told_as_left_out(
    bench: Bench, add: Callable[[str, str], str]
) -> None:
    read, registry = add("jan.csv", "day,shop,amount\n2026-01-01,A,1\n2026-01-02,B,2\n"), bench.bench.registry
    other = registry.create(registry.dataset(read).file_id, LoadOptions(header_row=2)).dataset_id
    bench.bench = replace(bench.bench, dataset_ids=(read, other))

    assert "not_read" not in ask(bench, {"from": read, "aggregations": [TOTAL]})


def test_columns_of_other_types_become_text_with_a_note(bench: Bench, add: Callable[[str, str], str]) -> None:
    ids = [add("a.csv", "code,n\n7,1\n8,2\n"), add("b.csv", "code,n\nx7,1.5\ny8,2.5\n")]
    bench.bench = replace(bench.bench, dataset_ids=tuple(ids))

    union = {"union": [{"from": name} for name in ids]}
    query = {"from": union, "group_by": ["code"], "aggregations": [{"as": "n", "agg": "sum", "col": "n"}]}
    found = ask(bench, query)

    assert sorted(found["rows"]) == [["7", 1], ["8", 2], ["x7", 1.5], ["y8", 2.5]]
    assert any("code" in note and "text" in note for note in found["notes"])
