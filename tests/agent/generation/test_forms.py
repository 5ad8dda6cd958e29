"""The form of an answer belongs to the statement that it was written for, and never costs that statement."""

from typing import Any

import pytest

from datasphinx.agent.llm.formats import model_schema
from datasphinx.agent.llm.schemas import GeneratedSQL, ReadingOption, SQLValidation
from tests.agent.walk import COUNT, HOW_MANY, calls, correction, walk
from tests.conftest import VALID, MakeAgent, ScriptedAgent
from tests.support.best_customer import AMOUNT, ASKS, BEST, BY_AMOUNT, ORDERS, Talk

FORM = {
    "answer": ["There are {orders#order|orders}."],
    "empty_answer": "There are no orders.",
    "formats": {"orders": "integer"},
    "chart": {"type": "bar", "x": "orders", "y": ["orders"], "series": None},
    "follow_ups": ["How many orders were cancelled?"],
}
OTHER = {"answer": ["{n#order was|orders were} placed."]}
PAID = "SELECT COUNT(*) AS n FROM orders WHERE status = 'delivered'"


def last_form(agent: ScriptedAgent, question: str = HOW_MANY, **given: Any) -> Any:
    """Return the form of the last statement."""
    attempts = [update["attempts"] for _, update in walk(agent, question, **given) if "attempts" in update][-1]
    return attempts[-1].get("form", {})


def test_the_form_of_the_statement_is_in_the_state(scripted: MakeAgent) -> None:
    assert last_form(scripted({"GeneratedSQL": [{**COUNT, **FORM}]})) == FORM
    assert last_form(scripted({"GeneratedSQL": [COUNT]})) == {}


def test_a_correction_has_its_own_form_or_none(scripted: MakeAgent) -> None:
    for form in (OTHER, {}):
        answers = {"GeneratedSQL": [{**COUNT, **FORM}], "SQLValidation": [{**correction(PAID), **form}, VALID]}
        assert last_form(scripted(answers)) == form


def test_the_statement_that_outlasts_alternating_corrections_keeps_its_form_without_the_sentences(
    scripted: MakeAgent,
) -> None:
    verdicts = [{**correction(PAID), **OTHER}, {**correction(COUNT["sql"]), **OTHER}]
    answers = {"GeneratedSQL": [{**COUNT, **FORM}] * 4, "SQLValidation": verdicts}

    assert last_form(scripted(answers)) == {**FORM, "answer": [], "empty_answer": ""}, "the model judged it wrong"


def test_the_chosen_option_brings_its_form(scripted: MakeAgent) -> None:
    asks = {**ASKS, **FORM, "alternatives": [ORDERS, {**AMOUNT, **OTHER}]}
    for option, expected in ((1, {}), (2, OTHER)):
        talk = Talk(scripted({"GeneratedSQL": [asks]}, enable_sql_validation=False))
        talk.ask(BEST)
        output = talk.ask(clarification_answer=str(option))
        assert talk.state()["attempts"][-1]["form"] == expected
        assert (output["sql"] == BY_AMOUNT) == bool(expected)


def test_an_option_of_a_thread_of_an_earlier_version_is_chosen(scripted: MakeAgent) -> None:
    talk = Talk(scripted({"GeneratedSQL": [ASKS]}, enable_sql_validation=False))
    talk.ask(BEST)
    talk.graph.update_state(talk.thread, {"readings": {AMOUNT["label"]: BY_AMOUNT}})

    output = talk.ask(clarification_answer="2")
    assert (output["sql"], output["chosen"], output["error"]) == (BY_AMOUNT, True, None)


def test_the_candidate_that_is_chosen_brings_its_form(scripted: MakeAgent) -> None:
    candidates = [{"sql": PAID, **OTHER}, {"sql": PAID.replace("*", "order_id")}]
    agent = scripted({"GeneratedSQL": [{**COUNT, **FORM}, *candidates]}, enable_sql_validation=None)

    assert last_form(agent, effort="high") == OTHER


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("answer", {"text": 1}),
        ("answer", [None, 3]),
        ("empty_answer", ["a", {}]),
        ("formats", "integer"),
        ("formats", [{"orders": 1}, 7]),
        ("chart", "bar"),
        ("chart", {"type": 3}),
        ("follow_ups", {"1": ["a"]}),
        ("reply", {"a": 1}),
    ],
)
def test_a_malformed_form_never_costs_the_statement(scripted: MakeAgent, name: str, value: Any) -> None:
    agent = scripted({"GeneratedSQL": [{**COUNT, **FORM, name: value}]})

    assert agent.ask(HOW_MANY)["sql"] == COUNT["sql"] and calls(agent)["GeneratedSQL"] == 1


def test_formats_are_read_from_lines_and_objects() -> None:
    lines = GeneratedSQL.model_validate({"sql": "SELECT 1", "formats": ["net: sales: currency EUR", "share:fraction"]})

    assert lines.form() == {"formats": {"net: sales": "currency EUR", "share": "fraction"}}


@pytest.mark.parametrize("names", [["share"], ["share", "rate"]])
def test_formats_are_read_from_pairs_of_column_and_format(names: list[str]) -> None:
    pairs = [{"column": name, "format": "fraction"} for name in names]
    read = GeneratedSQL.model_validate({"sql": "SELECT 1", "formats": pairs})

    assert read.form() == {"formats": dict.fromkeys(names, "fraction")}


@pytest.mark.parametrize("schema", [GeneratedSQL, ReadingOption, SQLValidation])
def test_a_model_writes_the_statement_before_its_form(schema: Any) -> None:
    names = list(model_schema(schema, strict=True)["properties"])
    statement = next(index for index, name in enumerate(names) if name.endswith("sql"))

    assert statement < names.index("answer") and set(FORM) <= set(names)
