"""Log entries from the recorded events of a run."""

import json

from datasphinx.agent.evals.experiments.log import (
    Exchange,
    ambiguity_review,
    format_clarification,
    generated_statements,
)
from tests.agent.evals.experiments.turns import call, step, written


def test_a_correction_by_the_model_is_an_entry() -> None:
    events = [
        *written("SELECT 1"),
        call("SQLValidation", "{}", "check", 2.0),
        step("validate_sql", sql_request="SELECT 2"),
        step("check_stop_words"),
    ]

    assert list(generated_statements(events)) == [Exchange("write", "SELECT 1"), Exchange("check", "SELECT 2", 2.0)]


def test_what_was_repaired_without_the_model_says_how() -> None:
    events = [*written("SELECT nam"), step("execute_sql", ["repaired: nam is name"], sql_request="SELECT name")]

    assert list(generated_statements(events)) == [
        Exchange("write", "SELECT nam"),
        Exchange("repaired: nam is name", "SELECT name"),
    ]


def test_an_answer_without_a_statement_is_there_as_it_came() -> None:
    assert list(generated_statements([call("GeneratedSQL", "I cannot", "p"), step("generate_sql")])) == [
        Exchange("p", "I cannot")
    ]


def test_of_several_candidates_the_one_that_was_taken_counts() -> None:
    calls = [call("GeneratedSQL", text, text, value) for text, value in (("a", 1.0), ("b", 2.0), ("c", 3.0))]
    events = [*calls, step("generate_sql", sql_request="SELECT b")]
    taken = list(
        generated_statements(events, lambda made, sql: next(each for each in made if sql.endswith(each["output"])))
    )

    assert taken == [Exchange("b", "SELECT b", 2.0)]


def test_the_last_review_counts() -> None:
    events = [call("AmbiguityReview", "no JSON", "first"), call("AmbiguityReview", "{}", "second", 1.25)]

    assert ambiguity_review(events) == Exchange("second", "{}", 1.25)
    assert ambiguity_review([]) is None


def test_a_question_is_shown_with_numbers() -> None:
    options = [
        {"label": "cheap", "reading": "by price", "preview": None},
        {"label": "b", "reading": "b", "preview": None},
    ]
    asked = json.loads(json.dumps({"question": "Which?", "ambiguity_type": "AmbValue", "options": options}))

    assert format_clarification(asked) == "Which?\n1) cheap: by price\n2) b"
