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


def test_few_rows_begin_with_a_sentence_in_the_language_of_the_question_also_with_a_draft() -> None:
    draft = "Person H leads everyone with 8."
    starts = {
        "How much did each person sell?": "Name (8): Person A",
        "Сколько продал каждый?": "Name (8): Person A",
        "每个人卖了多少？": "Name（8）：Person A",
    }
    for question, start in starts.items():
        answer = composed(question, SOLD, draft=draft)["answer"]
        assert answer.startswith(start) and answer.endswith(f"\n\n{draft}")


def test_a_draft_that_says_no_more_than_the_sentence_is_left_out() -> None:
    answer = composed("How many were sold?", result_of(["sold"], [[70]]), draft="70 were sold.")["answer"]
    assert "\n" not in answer and "70" in answer


def test_the_logged_text_has_no_secret() -> None:
    output = composed("Which key?", result_of(["api_key"], [["hunter2"]], secret=[0]))
    assert "hunter2" in output["answer"] and "hunter2" not in output[LOGGED_ANSWER]
