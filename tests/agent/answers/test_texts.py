"""The text of an answer: a sentence first, a table where the output is one, and names where a text is asked for."""

from typing import Any

import pytest

from agent.answers.outputs import compose_answer
from agent.run_events import LOGGED_ANSWER
from agent.sql.summary import EMPTY_SUMMARY
from agent.types import OutputType, Result

NAMES = [f"Person {letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXY"]


def result_of(columns: list[str], rows: list[list[Any]], secret: list[int] | None = None) -> Result:
    types = ["string" if isinstance(value, str) else "integer" for value in rows[0]]
    result = Result(columns=columns, types=types, rows=rows, truncated=False)
    return {**result, "secret": secret} if secret else result


def composed(question: str, result: Result, requested: OutputType | None = None, draft: str = "") -> dict[str, Any]:
    """Return the answer, with a draft of a model that is supported as it is."""

    class Model:
        """A model that is not asked."""

        profile = "standard"

    model: Any = Model() if draft else None
    return compose_answer(
        question, {"r1": result}, model, max_rows=20, requested=requested, sql="", summary=EMPTY_SUMMARY, draft=draft
    )


PEOPLE = result_of(["name"], [[name] for name in NAMES[:8]])
SOLD = result_of(["name", "sold"], [[name, at] for at, name in enumerate(NAMES[:8], 1)])


@pytest.mark.parametrize(
    "question", ["Who works here?", "Кто здесь работает?", "谁在这里工作？", "To whom do we sell?"]
)
def test_a_question_for_persons_is_answered_by_a_text_with_all_names(question: str) -> None:
    for result in (PEOPLE, SOLD):
        output = composed(question, result)
        assert output["output_type"] == "string" and output["value"] == output["answer"]
        assert "|" not in output["answer"] and all(name in output["answer"] for name in NAMES[:8])


def test_a_long_list_of_persons_and_other_questions_are_tables() -> None:
    many = result_of(["name"], [[name] for name in NAMES])
    found = [
        composed("Who works here?", many)["output_type"],
        composed("Who works here? As a table", PEOPLE)["output_type"],
        composed("Which people work here?", PEOPLE)["output_type"],
        composed("Who sold how many? Draw a bar chart", SOLD)["output_type"],
        composed("Who knows how many?", result_of(["n"], [[3]]))["output_type"],
    ]
    assert found == ["dataframe", "dataframe", "dataframe", "plot", "number"]


def test_a_forced_string_is_never_a_markdown_table() -> None:
    table = "| name |\n|---|\n| Person A |"
    results = [PEOPLE, SOLD, result_of(["name"], [[name] for name in NAMES])]
    results.append(result_of(["api_key"], [["k1"], ["k2"]], secret=[0]))
    for result in results:
        for draft in ("", f"They are these.\n\n{table}"):
            output = composed("List the people", result, "string", draft)
            assert "|" not in output["answer"] and output["answer"].strip()
            assert "k1" not in output["answer"]


SENTENCES = {
    "How much did each person sell?": "Name (8): Person A",
    "Сколько продал каждый?": "Name (8): Person A",
    "每个人卖了多少？": "Name（8）：Person A",
}
"""Questions about `SOLD` and the beginnings of the sentences that answer them."""


def test_a_draft_with_values_of_the_rows_is_the_whole_answer() -> None:
    for question in SENTENCES:
        for draft in ("Person H leads everyone with 8.", "Person H is ahead of Person G."):
            assert composed(question, SOLD, draft=draft)["answer"] == draft
    assert (
        composed("How many were sold?", result_of(["sold"], [[70]]), draft="70 were sold.")["answer"] == "70 were sold."
    )
    nothing = Result(columns=["name"], types=["string"], rows=[], truncated=False)
    assert (
        composed("Who sold 9 in 2030?", nothing, draft="Nobody sold 9 in 2030.")["answer"] == "Nobody sold 9 in 2030."
    )


def test_few_rows_without_a_draft_begin_with_a_sentence_in_the_language_of_the_question() -> None:
    for question, start in SENTENCES.items():
        answer = composed(question, SOLD)["answer"]
        assert answer.startswith(start) and "| name | sold |" in answer


def test_a_draft_without_values_follows_the_sentence_if_it_says_more() -> None:
    for question, start in SENTENCES.items():
        answer = composed(question, SOLD, draft="The chart compares the staff.")["answer"]
        assert answer.startswith(start) and answer.endswith("\n\nThe chart compares the staff.")


def test_the_logged_text_has_no_secret() -> None:
    output = composed("Which key?", result_of(["api_key"], [["hunter2"]], secret=[0]))
    assert "hunter2" in output["answer"] and "hunter2" not in output[LOGGED_ANSWER]
