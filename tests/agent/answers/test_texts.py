"""The text of an answer: the sentence of the model that wrote the statement, or the plain form, and a table."""

from typing import Any

import pytest

from datasphinx.agent.answers.outputs import compose_answer
from datasphinx.agent.answers.references import Said, facts_of
from datasphinx.agent.answers.wording import form_text
from datasphinx.agent.formatting.checks import with_formats
from datasphinx.agent.run_events import LOGGED_ANSWER
from datasphinx.agent.sql.summary import EMPTY_SUMMARY
from datasphinx.agent.types import AnswerForm, ChartForm, OutputType, Result
from tests.agent.answers.tables import CATALOG, CITIES, COUNT, SALES

NAMES = [f"Person {letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXY"]


def result_of(columns: list[str], rows: list[list[Any]], secret: list[int] | None = None) -> Result:
    types = ["string" if isinstance(value, str) else "integer" for value in rows[0]]
    result = Result(columns=columns, types=types, rows=rows, truncated=False)
    return {**result, "secret": secret} if secret else result


def composed(
    result: Result, sentence: str = "", requested: OutputType | None = None, chart: ChartForm | None = None
) -> dict[str, Any]:
    return compose_answer(
        "How many?",
        {"r1": result},
        language="en",
        requested=requested,
        sql="",
        summary=EMPTY_SUMMARY,
        worded=lambda rows: sentence,
        chart_form=chart,
    ).output()


SOLD = result_of(["name", "units_sold"], [[name, at] for at, name in enumerate(NAMES[:3], 1)])


def test_the_sentence_comes_before_the_table() -> None:
    answer = composed(SOLD, "Person C sold most.")["answer"]
    assert answer.startswith("Person C sold most.\n\n| Name | Units sold |\n")


def test_a_text_has_no_table_and_its_value_is_the_sentence() -> None:
    output = composed(SOLD, "Person C sold most.", "string")
    assert output["answer"] == output["value"] == "Person C sold most."


def test_the_plain_form_has_the_names_of_the_columns() -> None:
    assert composed(result_of(["units_sold"], [[1184]]))["answer"] == "Units sold: 1,184"
    assert composed(result_of(["COUNT(*)"], [[1184]]))["answer"] == "1,184"
    assert composed(SOLD)["answer"].startswith("| Name | Units sold |\n")
    assert composed(SOLD, requested="string")["answer"] == "Name, Units sold\nPerson A, 1\nPerson B, 2\nPerson C, 3"
    nothing = Result(columns=["name"], types=["string"], rows=[], truncated=False)
    assert composed(nothing)["answer"] == "The query found no rows."


def test_a_forced_string_is_never_a_markdown_table() -> None:
    results = [SOLD, result_of(["name"], [[name] for name in NAMES]), result_of(["api_key"], [["k1"], ["k2"]], [0])]
    for result in results:
        output = composed(result, requested="string")
        assert "|" not in output["answer"] and output["answer"].strip()
        assert "k1" not in output[LOGGED_ANSWER]


def test_the_logged_text_has_no_secret() -> None:
    output = composed(result_of(["api_key"], [["hunter2"]], secret=[0]))
    assert "hunter2" in output["answer"] and "hunter2" not in output[LOGGED_ANSWER]


def test_a_proposed_chart_is_drawn_if_it_fits_the_rows() -> None:
    output = composed(SOLD, chart={"type": "bar", "x": "name", "y": ["units_sold"]})
    assert [chart["type"] for chart in output["charts"]] == ["bar"] and output["output_type"] == "dataframe"
    assert composed(SOLD, chart={"type": "bar", "x": "no_column", "y": ["units_sold"]})["charts"] == []
    assert composed(SOLD, chart={"type": "<script>", "x": "name"})["charts"] == []


def worded(form: AnswerForm, sql: str, columns: list[str], rows: list[list[Any]], question: str = "?") -> str:
    types = ["integer" if isinstance(value, int | None) else "string" for value in (rows or [columns])[0]]
    result, said = Result(columns=columns, types=types, rows=rows, truncated=False), Said(question)
    return form_text(form, facts_of(with_formats(result, sql, CATALOG), sql, CATALOG, "en"), said)


@pytest.mark.parametrize(
    ("sentences", "expected"),
    [
        (["{max.sales:city} sold most.", "That is {share.max.sales}."], "Berlin sold most. That is 62.5%."),
        (["{max.sales:city} sold most.", "That is 99 %."], "Berlin sold most."),
        (["Paris sold most, {max.sales}.", "That is {share.max.sales}."], ""),
        (["{max.sales:city} sold most.", "Returns are not counted."], "Berlin sold most. Returns are not counted."),
        ([], ""),
    ],
)
def test_a_second_sentence_falls_away_alone(sentences: list[str], expected: str) -> None:
    rows = [[city, int(2 * sales)] for city, sales in SALES]
    assert worded({"answer": sentences}, CITIES, ["city", "sales"], rows) == expected


@pytest.mark.parametrize("rows", [[], [[None]], [[0]]])
def test_nothing_has_a_sentence_of_its_own(rows: list[list[Any]]) -> None:
    form = AnswerForm(answer=["{n} orders were placed."], empty_answer="No order was placed in 2024.")
    assert worded(form, COUNT, ["n"], rows, "Orders in 2024?") == "No order was placed in 2024."
    assert worded(form, COUNT, ["n"], rows, "Orders last year?") == "No order was placed in 2024."
    assert worded({"empty_answer": "No order in 2023."}, COUNT, ["n"], rows, "Orders last year?") == ""
    assert worded({"empty_answer": "No order, {n}."}, COUNT, ["n"], rows) == ""


def test_a_zero_that_is_no_count_is_a_value() -> None:
    form = AnswerForm(answer=["{s} were sold."], empty_answer="Nothing was sold.")
    assert worded(form, "SELECT SUM(total) AS s FROM orders", ["s"], [[0]]) == "0 were sold."
