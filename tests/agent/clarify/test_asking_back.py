"""Clarifying questions, through the graph: when they are asked, what comes of the answers, and what goes wrong."""

from typing import Any

import pytest

from tests.agent.walk import COUNT, HOW_MANY, calls
from tests.conftest import NO_AMBIGUITY
from tests.support.best_customer import AMOUNT, ASKS, BEST, BY_AMOUNT, BY_ORDERS, ORDERS, TWICE, Talking, review_of

pytestmark = pytest.mark.integration

# Whether somebody is asked


def test_a_clear_question_costs_no_review(talking: Talking) -> None:
    talk = talking([COUNT])

    assert talk.ask(HOW_MANY)["error"] is None
    assert calls(talk.agent) == {"GeneratedSQL": 1}


def test_a_vague_question_is_put_back_with_previews(talking: Talking) -> None:
    talk = talking([ASKS])
    output = talk.ask(BEST)

    asked = output["clarification"]
    assert (asked["question"], asked["ambiguity_type"]) == (ASKS["question"], "AmbQuestion")
    assert [option["label"] for option in asked["options"]] == ["by orders", "by amount"]
    assert [option["preview"]["rows"] for option in asked["options"]] == [3, 3]
    assert all(isinstance(option["preview"]["first"], int) for option in asked["options"])
    assert "SELECT" not in str({name: asked[name] for name in asked if name != "rejected_sql"})
    assert (output["output_type"], output["value"], output["error"], output["tables"]) == (None, None, None, [])
    assert output["answer"].startswith("What makes a customer the best?\n1. by orders (rows: 3)")
    assert output["answer"].endswith("(or answer in your own words)")
    value = output["__interrupt__"][0].value
    assert asked.items() <= value.items() and value["config"]["allow_respond"]
    assert value["description"] == "What makes a customer the best?\n1. by orders\n2. by amount"


def test_readings_may_have_labels_alone(talking: Talking) -> None:
    options = [{key: each[key] for key in each if key != "reading"} for each in ASKS["alternatives"]]
    output = talking([{**ASKS, "alternatives": options}]).ask(BEST)

    assert [option["label"] for option in output["clarification"]["options"]] == ["by orders", "by amount"]


@pytest.mark.parametrize("clarify", ["auto", "always"])
def test_the_language_that_the_model_states_holds_for_the_question_and_its_answer(
    talking: Talking, clarify: str
) -> None:
    asks = {**ASKS, "language": "de"}
    talk = talking([asks], [review_of(asks), {"summary": "", "no_ambiguity": True}])
    asked = talk.ask(BEST, clarify=clarify)
    answered = talk.ask(clarification_answer="2")

    assert asked["answer"].endswith("(oder antworten Sie in eigenen Worten)")
    assert (asked["language"], answered["language"]) == ("de", "de")
    assert "Verstanden als: by amount" in answered["answer"]


def test_a_stated_assumption_takes_the_place_of_a_question(talking: Talking) -> None:
    output = talking([{"sql": BY_AMOUNT, "assumptions": ["the best are those who spent the most"]}]).ask(BEST)

    assert output["answer"].endswith("Assumed: the best are those who spent the most")


@pytest.mark.parametrize("mode", ["never", "always"])
def test_mode_says_when_the_model_looks(talking: Talking, mode: str) -> None:
    talk = talking([COUNT], [NO_AMBIGUITY])
    talk.ask(BEST if mode == "never" else HOW_MANY, clarify=mode)

    assert calls(talk.agent).get("AmbiguityReview", 0) == (mode == "always")
    assert "alternatives" not in talk.prompts("GeneratedSQL")[0]


def test_alternatives_that_were_not_offered_are_not_asked_about(talking: Talking) -> None:
    output = talking([ASKS]).ask(BEST, clarify="never")

    assert (output["sql"], output["clarification"]) == (BY_ORDERS, None)


def test_readings_with_equal_results_are_one_and_nobody_is_asked(talking: Talking) -> None:
    same = {**AMOUNT, "sql": BY_ORDERS.replace("customer_id FROM", "customer_id AS best FROM")}
    talk = talking([{**ASKS, "alternatives": [ORDERS, same]}])
    output = talk.ask(BEST)

    assert output["clarification"] is None and output["sql"] == BY_ORDERS
    assert "no clarifying question: the readings do not differ in result" in output["audit"]["notes"]
    assert sum(len(step["statements"]) for step in output["audit"]["steps"] if step["node"] == "generate_sql") == 2
    assert calls(talk.agent) == {"GeneratedSQL": 1}


def test_equal_rows_in_another_order_are_one_reading_only_where_no_order_is_asked_for(talking: Talking) -> None:
    down = "SELECT name FROM regions ORDER BY name DESC"
    ordered = {
        **ASKS,
        "alternatives": [{**ORDERS, "sql": "SELECT name FROM regions ORDER BY name"}, {**AMOUNT, "sql": down}],
    }

    assert talking([ordered]).ask(BEST)["clarification"]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM orders",
        "SELECT nothing FROM orders",
        "SELECT * FROM nowhere",
        "SELECT 1; SELECT 2",
        "no SQL",
        "SELECT * FROM sqlite_master",
        "SELECT sql FROM sqlite_schema",
        "PRAGMA table_info(orders)",
    ],
)
def test_a_reading_that_is_refused_is_no_option(talking: Talking, sql: str) -> None:
    third = {"label": "the 98765", "reading": "those of the schema", "sql": sql}
    output = talking([{**ASKS, "alternatives": [ORDERS, third, AMOUNT]}]).ask(BEST)

    assert output["error"] is None
    assert "left out a reading" in str(output["audit"]["notes"]) and "98765" not in str(output["audit"]["notes"])
    assert [option["label"] for option in output["clarification"]["options"]] == ["by orders", "by amount"]


def test_readings_of_which_none_runs_are_written_anew(talking: Talking) -> None:
    broken = [{**option, "sql": "SELECT nothing FROM orders"} for option in (ORDERS, AMOUNT)]
    talk = talking([{**ASKS, "alternatives": broken}, COUNT])

    assert talk.ask(BEST)["sql"] == COUNT["sql"]
    assert "alternatives" not in talk.prompts("GeneratedSQL")[1]


def test_readings_without_statements_are_asked_as_they_are(talking: Talking) -> None:
    bare = [{"label": each["label"], "reading": each["reading"]} for each in (ORDERS, AMOUNT)]
    output = talking([{**ASKS, "alternatives": bare}]).ask(BEST)

    assert [option["preview"] for option in output["clarification"]["options"]] == [None, None]
    assert "1. by orders\n2. by amount" in output["answer"]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (BEST, "1. by orders (returns nothing)"),
        ("Кто лучшие покупатели customers?", "1. by orders (ничего не возвращает)"),
        ("最好的customers是谁？", "1. by orders (无结果)"),
    ],
)
def test_an_option_that_returns_nothing_says_so(talking: Talking, question: str, text: str) -> None:
    nothing = {**ORDERS, "sql": "SELECT customer_id FROM orders WHERE total_amount < 0"}
    output = talking([{**ASKS, "alternatives": [nothing, AMOUNT]}]).ask(question)

    assert text in output["answer"].splitlines()


def test_a_preview_has_the_format_of_its_reading(talking: Talking) -> None:
    options = [
        {
            "label": label,
            "reading": "",
            "sql": f"SELECT {share} AS share FROM orders",
            "formats": {"share": "fraction"},
        }
        for label, share in (("of all", "COUNT(*) * 0.125 / COUNT(*)"), ("of some", "MIN(0.5)"))
    ]
    asked = talking([{**ASKS, "alternatives": options}]).ask("What share of customers return?")

    assert asked["answer"].splitlines()[1:3] == ["1. of all (12.5%)", "2. of some (50%)"]
    previews = [option["preview"] for option in asked["clarification"]["options"]]
    assert [each["first"] for each in previews] == [0.125, 0.5]
    assert {each["format"]["kind"] for each in previews} == {"fraction"}


def test_long_results_are_not_said_to_be_equal(talking: Talking) -> None:
    options = [
        {**ORDERS, "sql": "SELECT order_id FROM orders"},
        {**AMOUNT, "sql": "SELECT order_id FROM orders ORDER BY 1"},
    ]
    output = talking([{**ASKS, "alternatives": options}]).ask(BEST)

    code = {"kind": "code", "decimals": 0, "unit": ""}
    assert [option["preview"] for option in output["clarification"]["options"]] == [
        {"rows": 200, "more": True, "first": 1, "format": code}
    ] * 2
    assert "rows: 200+" in output["answer"]


@pytest.mark.parametrize(
    "answer",
    [
        {**ASKS, "question": "Run SELECT name FROM customers?"},
        {**ASKS, "alternatives": [{**ORDERS, "label": "SELECT 1 FROM orders"}, AMOUNT]},
        {**ASKS, "alternatives": [ORDERS]},
        {**ASKS, "alternatives": [ORDERS, {**AMOUNT, "label": "By Orders"}]},
        {**ASKS, "question": "  "},
    ],
)
def test_alternatives_that_no_user_can_be_asked_about_ask_nobody(talking: Talking, answer: dict[str, Any]) -> None:
    output = talking([answer, COUNT]).ask(BEST)

    assert (output["clarification"], output["error"]) == (None, None)
    assert any(note.startswith("no clarifying question") for note in output["audit"]["notes"])


def test_an_unreadable_review_asks_nobody(talking: Talking) -> None:
    assert talking([COUNT], ["no", "JSON"]).ask(BEST, clarify="always")["error"] is None


# Answers


@pytest.mark.parametrize("answer", ["2", "by amount", "BY AMOUNT", " by amount "])
def test_the_chosen_reading_is_answered_with_its_statement_and_no_further_call(talking: Talking, answer: str) -> None:
    talk = talking([ASKS])
    talk.ask(BEST)
    output = talk.ask(clarification_answer=answer)

    assert (output["sql"], output["clarification"], output["error"]) == (BY_AMOUNT, None, None)
    assert calls(talk.agent) == {"GeneratedSQL": 1}
    assert talk.state()["clarifications"] == [
        {"question": ASKS["question"], "answer": "by amount: those who spent the most", "ambiguity_type": "AmbQuestion",
         "options": ["by orders", "by amount"], "results": talk.state()["clarifications"][0]["results"]}
    ]  # fmt: skip


@pytest.mark.parametrize("answer", ["1", 1, {"clarification_answer": "1"}])
def test_an_interrupt_is_resumed(talking: Talking, answer: Any) -> None:
    talk = talking([ASKS])
    talk.ask(BEST)

    assert talk.resume(answer)["sql"] == BY_ORDERS


def test_own_words_go_to_generation(talking: Talking) -> None:
    talk = talking([ASKS, COUNT])
    talk.ask(BEST)
    talk.ask(clarification_answer="those who signed up first")

    options = "1. by orders; 2. by amount"
    assert f"Clarified: {ASKS['question']} ({options}) - those who signed up first" in talk.prompts("GeneratedSQL")[1]


def test_always_asks_on_until_nothing_is_open_or_the_rounds_are_used_up(talking: Talking) -> None:
    talk = talking([COUNT], [review_of(ASKS), review_of(TWICE), NO_AMBIGUITY])
    talk.ask(BEST, clarify="always")
    second = talk.ask(clarification_answer="1")
    third = talk.ask(clarification_answer="ten")

    assert second["clarification"]["question"] == "How many of them?"
    assert [said["question"] for said in second["clarification"]["earlier"]] == [ASKS["question"]]
    assert third["clarification"] is None
    assert talk.state()["clarification_count"] == 2
    bounded = talking([COUNT], [review_of(ASKS), review_of(TWICE)], max_clarifications=1)
    bounded.ask(BEST, clarify="always")
    assert bounded.ask(clarification_answer="1")["clarification"] is None


AGAIN = {
    "the question": {**ASKS, "alternatives": [ORDERS, {**AMOUNT, "label": "by money", "sql": "SELECT 1"}]},
    "the options": {**ASKS, "question": "What is best?"},
    "the results": {
        **ASKS,
        "question": "How is best measured?",
        "alternatives": [{**AMOUNT, "label": "money"}, {**ORDERS, "label": "number", "sql": f"{BY_ORDERS} OFFSET 0"}],
    },
}


@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_the_same_is_never_asked_twice(talking: Talking, again: dict[str, Any]) -> None:
    talk = talking([COUNT], [review_of(ASKS), review_of(again)])
    talk.ask(BEST, clarify="always")

    assert talk.ask(clarification_answer="those who signed up first")["sql"] == COUNT["sql"]


def test_the_same_results_are_not_asked_about_by_generation_after_own_words(talking: Talking) -> None:
    talk = talking([ASKS, AGAIN["the results"]])
    talk.ask(BEST)
    output = talk.ask(clarification_answer="the usual ones")

    assert (output["sql"], output["clarification"]) == (BY_AMOUNT, None)
    assert "no clarifying question: it was asked before" in output["audit"]["notes"]
    assert output["answer"].endswith("Assumed: money: those who spent the most")


# Without a thread


def test_without_a_thread_the_question_comes_back_with_the_answer(talking: Talking) -> None:
    agent = talking([ASKS, {"sql": BY_AMOUNT}]).agent
    asked = agent.ask(BEST)
    assert "__interrupt__" not in asked
    output = agent.ask(BEST, clarification=asked["clarification"], clarification_answer="by amount")

    assert (output["sql"], output["clarification"]) == (BY_AMOUNT, None)
    assert "Clarified: What makes a customer the best? - by amount: those who spent the most" in str(
        agent.model.calls[-1]
    )


def test_an_answer_that_comes_alone_is_a_remark(talking: Talking) -> None:
    agent = talking([{"sql": BY_AMOUNT}]).agent
    agent.ask(HOW_MANY, clarification_answer="those that were paid")

    assert "The user remarks: those that were paid" in agent.model.calls[-1].prompt


@pytest.mark.parametrize(
    "clarification",
    ["?", {}, {"question": "?"}, {"question": "?", "options": "none"}, {"question": 1, "options": [{"label": "a"}]}],
)
def test_a_question_that_comes_back_in_another_form_is_an_error(talking: Talking, clarification: Any) -> None:
    output = talking().agent.ask(HOW_MANY, clarification=clarification, clarification_answer="1")

    assert output["error"]["code"] == "input_invalid"


# What goes wrong


@pytest.mark.parametrize("answer", ["0", "3", "99"])
def test_an_option_that_is_not_there_leaves_the_question_open(talking: Talking, answer: str) -> None:
    talk = talking([ASKS])
    asked = talk.ask(BEST)["clarification"]
    wrong = talk.ask(clarification_answer=answer)

    assert wrong["error"]["code"] == "option_unknown"
    assert "1 to 2" in wrong["answer"] and wrong["clarification"] == asked
    assert talk.resume("2")["sql"] == BY_AMOUNT


@pytest.mark.parametrize("answer", ["", "  ", "x" * 2001])
def test_an_answer_that_is_none(talking: Talking, answer: str) -> None:
    talk = talking([ASKS])
    talk.ask(BEST)

    assert talk.ask(clarification_answer=answer)["error"]["code"] == "input_invalid"
    assert talk.ask(clarification_answer="1")["sql"] == BY_ORDERS


def test_a_second_answer_to_one_question_is_an_error_and_runs_nothing(talking: Talking) -> None:
    talk = talking([ASKS])
    talk.ask(BEST), talk.ask(clarification_answer="1")
    second = talk.ask(clarification_answer="2")

    assert second["error"]["code"] == "nothing_asked"
    assert all(not step["statements"] for step in second["audit"]["steps"])
    assert talk.state()["turns"][-1]["sql"] == BY_ORDERS


def test_a_dead_model_leaves_the_question_open(talking: Talking) -> None:
    talk = talking([ASKS, ConnectionError("gone"), COUNT])
    talk.ask(BEST)

    assert talk.ask(clarification_answer="the oldest")["error"]["code"] == "model_unreachable"
    assert talk.ask(clarification_answer="the oldest")["error"] is None
