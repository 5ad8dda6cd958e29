"""Conversations with the analyst: what holds from question to question, and what the user is asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from tests.agent.analysis.conftest import BY_ACCOUNT, QUESTION, TOTAL, MakeAnalyst, ScriptedAnalyst, query, step

ASKED = step("ask_user", question="Which account?", options=["alpha", "beta"])
DONE = step("finish", answer="{returns}")

Talking = Callable[..., ScriptedAnalyst]


@pytest.fixture
def talking(analyst: MakeAnalyst, dataset: str) -> Talking:
    """A maker of threads: the model's steps, where QUERY stands for the sum and SUMS for the sums by account."""
    specs = {"QUERY": TOTAL, "SUMS": BY_ACCOUNT}

    def make(*steps: Any, **overrides: Any) -> ScriptedAnalyst:
        known = [query(dataset, specs[each]) if isinstance(each, str) else each for each in steps]
        return analyst(known, checkpointer=InMemorySaver(), **overrides)

    return make


def test_an_answer_with_nothing_asked_loses_nothing(talking: Talking, returns: str) -> None:
    talk = talking("QUERY", DONE, "SUMS", DONE)
    talk.ask(files=[returns])
    assert talk.ask(clarification_answer="1")["error"]["code"] == "nothing_asked"

    assert talk.ask("How many returns are there for every single account?")["error"] is None


def test_the_form_of_the_question_holds_after_the_answer(talking: Talking, returns: str) -> None:
    talk = talking(ASKED, "QUERY", step("finish", answer="{returns}"))
    talk.ask(files=[returns], output_type="string")

    assert talk.ask(clarification_answer="beta")["output_type"] == "string"


def test_a_wrong_answer_leaves_the_question_open_and_the_files_in_hand(talking: Talking, returns: str) -> None:
    talk = talking(ASKED, "QUERY", DONE)
    asked = talk.ask(files=[returns])["clarification"]
    wrong = talk.ask(clarification_answer="7")

    assert (wrong["error"]["code"], wrong["clarification"]) == ("option_unknown", asked)
    assert talk.ask(clarification_answer="2")["error"] is None


def test_the_settings_say_how_often(talking: Talking, returns: str) -> None:
    again = step("ask_user", question="Which year?", options=["2023", "2024"])
    talk = talking(ASKED, again, "QUERY", DONE, max_clarifications=1)
    talk.ask(files=[returns])

    assert talk.ask(clarification_answer="1")["clarification"] is None


@pytest.mark.parametrize(
    "asks",
    [
        step("ask_user", question="Which account?", options=["alpha", "ALPHA "]),
        step("ask_user", question="Which account?", options=["SELECT 1 FROM accounts", "beta"]),
        step("ask_user", question="SELECT name FROM accounts?", options=["alpha", "beta"]),
        step("ask_user", question=" \n", options=["alpha", "beta"]),
    ],
    ids=["twice", "SQL", "SQL question", "empty"],
)
def test_what_no_user_can_be_asked_is_told_to_the_model(talking: Talking, returns: str, asks: dict[str, Any]) -> None:
    output = talking(asks, "QUERY", DONE).ask(files=[returns])

    assert (output["clarification"], output["error"]) == (None, None)


def test_a_question_is_one_line(talking: Talking, returns: str) -> None:
    asks = step("ask_user", question="Which\naccount\x1b?", options=["al\x00pha\n", "be\u202eta"])
    asked = talking(asks).ask(files=[returns])["clarification"]

    assert asked["question"] == "Which account ?"
    assert [option["label"] for option in asked["options"]] == ["al pha", "be ta"]


def test_a_follow_up_is_asked_of_the_same_files(talking: Talking, returns: str) -> None:
    talk = talking("QUERY", DONE, "SUMS", DONE)
    talk.ask(files=[returns])
    output = talk.ask("and beta?")

    assert output["error"] is None and output["tables"][0]["rows"] == [["alpha", 30], ["beta", 70]]
    assert "Question: and beta?" in talk.prompts()[-1] and f"- {QUESTION}" in talk.prompts()[-1]
    assert {call.schema_name for call in talk.model.calls} == {"AnalystStep"}


@pytest.mark.parametrize("stored_record", [True])
def test_thanks_are_answered_without_figures_that_nobody_gave(talking: Talking, returns: str) -> None:
    invented, thanked = step("finish", reply="There were 98,765."), step("finish", reply="You are welcome.")
    talk = talking("SUMS", step("finish"), invented, thanked, "QUERY", step("finish"))
    talk.ask(files=[returns])
    output = talk.ask("thanks!")
    settings = talk.services.settings

    assert (output["error"], output["answer"], output["tables"]) == (None, "You are welcome.", [])
    assert replay(open_store(settings), output["audit"]["trace_id"], settings).differences == []
    assert talk.ask("and beta?")["error"] is None and f"- {QUESTION}" in talk.prompts()[-1]


@pytest.mark.parametrize("stored_record", [True])
def test_each_run_is_replayed(talking: Talking, returns: str) -> None:
    talk = talking(ASKED, "QUERY", DONE, "SUMS", DONE)
    outputs = [talk.ask(files=[returns]), talk.ask(clarification_answer="9")]
    outputs += [talk.ask(clarification_answer="2"), talk.ask(clarification_answer="2"), talk.ask("and beta?")]
    settings = talk.services.settings

    assert [bool(output["error"]) for output in outputs] == [False, True, False, True, False]
    for output in outputs:
        done = replay(open_store(settings), output["audit"]["trace_id"], settings)
        assert done.differences == []
        assert done.output["answer"] == output["answer"]


AVERAGE = {"aggregations": [{"as": "average", "agg": "avg", "col": "returns"}]}


@pytest.mark.parametrize("stored_record", [True])
def test_a_query_reads_a_result_of_an_earlier_question(talking: Talking, returns: str) -> None:
    of_sums = step("run_query", query={"from": "r1", **AVERAGE})
    again = step("run_query", query={"from": "r2", "derived": [{"as": "double", "expr": "average * 2"}]})
    talk = talking("SUMS", step("finish"), of_sums, step("finish"), again, step("finish"))
    talk.ask(files=[returns])
    second = talk.ask("What is the average number of returns of all accounts?")
    third = talk.ask("What is twice the average number of returns of all accounts?")

    assert (second["error"], second["tables"][0]["rows"]) == (None, [[50]])
    assert (third["error"], third["tables"][0]["rows"]) == (None, [[50, 100]])
    listed = [[line for line in prompt.splitlines() if line.startswith("<data result=")] for prompt in talk.prompts()]
    assert [len(lines) for lines in listed] == [0, 0, 1, 1, 2, 2]
    assert listed[2][0].startswith('<data result="r1">') and QUESTION in listed[2][0] and "returns" in listed[2][0]

    settings = talk.services.settings
    for output in (second, third):
        done = replay(open_store(settings), output["audit"]["trace_id"], settings)
        assert (done.differences, done.output["tables"]) == ([], output["tables"])


def test_results_of_other_data_are_not_offered(talking: Talking, returns: str, sales: str) -> None:
    of_sums = step("run_query", query={"from": "r1", **AVERAGE})
    talk = talking("SUMS", step("finish"), of_sums, step("finish", cannot_answer="no such result"))
    talk.ask(files=[returns])
    output = talk.ask("What is the average number of returns of all accounts?", files=[sales])

    assert output["error"]["code"] == "cannot_answer"
    assert "there is no dataset or result r1" in talk.prompts()[-1]
    assert not any('<data result="' in prompt for prompt in talk.prompts())


@pytest.mark.heavy
def test_the_number_of_earlier_results_is_bounded(talking: Talking, returns: str) -> None:
    steps: list[Any] = ["SUMS"]
    steps += [step("run_query", query={"from": "r1", **AVERAGE, "limit": number}) for number in range(1, 6)]
    others = [step("run_query", query={"from": f"r{number}", "limit": 1}) for number in (2, 3, 4, 5, 6)]
    talk = talking(*steps, step("finish"), *others, step("finish"), "QUERY", step("finish"))
    talk.ask(files=[returns])
    output = talk.ask("What is the average number of returns of all accounts?")
    assert output["error"] is None
    talk.ask("How many returns has each account in the whole file?")

    shown = [line.split('"')[1] for line in talk.prompts()[-1].splitlines() if line.startswith("<data result=")]
    assert shown == ["r1", "r3", "r4", "r5", "r6", "r9", "r10", "r11"]


@pytest.mark.heavy
def test_a_file_stays_open_as_it_was_read(talking: Talking, tmp_path: Path) -> None:
    path = tmp_path / "months.csv"
    path.write_text("kind,Jan,Feb,Mar\nboot,3,4,5\n", encoding="utf-8")
    load = {"unpivot": {"name": "month", "value": "pairs"}}
    talk = talking()
    registry = talk.services.registry
    file_id = registry.add_file(path)
    read, other = (
        registry.create(file_id, LoadOptions.model_validate(options)).dataset_id
        for options in (load, {"header_row": 0})
    )
    pairs = {"aggregations": [{"as": "pairs", "agg": "sum", "col": "pairs"}]}
    rows = {"aggregations": [{"as": "rows", "agg": "count", "col": "*"}]}
    talk = talking(
        step("create_dataset", file_id=file_id, header_row=0),
        step("run_query", dataset_id=read, query=pairs),
        step("finish"),
        step("run_query", dataset_id=other, query=rows),
        step("finish"),
    )
    first = talk.ask("How many pairs are there in all months?", files=[str(path)], load=load)
    second = talk.ask("How many rows are there in the whole file?")

    assert (first["tables"][0]["rows"], second["tables"][0]["rows"]) == ([[12]], [[2]])
    opened = [each for each in second["audit"]["steps"] if each.get("tool") == "create_dataset"]
    assert [each["arguments"].get("unpivot", {}).get("value") for each in opened] == ["pairs"]
