"""Questions that the model proposes on an answer: which are shown."""

from datasphinx.agent.answers.references import Said
from datasphinx.agent.answers.wording import not_asked, proposed_questions


def test_questions_of_the_model_type_only_what_was_said() -> None:
    proposed = ["Orders of 2024 by month?", "Orders of 2023?", "And in Berlin?", "Orders of {1.city}?", " "]
    said = Said("How many orders were there in 2024 by city?", literals=["2024-01-01"])
    assert proposed_questions(proposed, said, {"Berlin"}) == ["Orders of 2024 by month?"]
    assert len(proposed_questions(proposed, Said("Berlin, 2023 and 2024"), {"Berlin"})) == 3


def test_up_to_three_that_are_new_in_the_conversation_are_shown_as_a_whole() -> None:
    question = "How many orders were placed per month by customers in the region with the highest revenue?"
    assert proposed_questions([question], Said("How many orders?"), ()) == [question]
    assert not_asked([question, "By month?", "By city?", "By day?", "Why?"], ["BY MONTH"]) == [
        question,
        "By city?",
        "By day?",
    ]
