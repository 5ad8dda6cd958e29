"""Fields in which a model reasons before it answers, which reasoning models are not asked for."""

import json
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from datasphinx.agent.llm.parse import read_answer
from datasphinx.agent.llm.schemas import GeneratedSQL, SQLValidation
from tests.agent.llm.conftest import Connect
from tests.support.fake_openai import USAGE, FakeOpenAI, Reply

QUESTION = [HumanMessage("How many?")]
SQL = {"sql": "SELECT 1", "assumptions": [], "off_topic": False}
PLAIN_FIELDS = [
    "plan", "metric", "sql", "language", "standalone", "assumptions", "not_answered", "output_type", "off_topic",
    "reason", "reply", "title",
]  # fmt: skip
FORM = ["answer", "empty_answer", "formats", "chart", "follow_ups"]
VALID = {"is_valid": True, "reason": "", "corrected_sql": None}


def fields(request: dict[str, Any]) -> list[str]:
    """The fields of the requested schema, in order; all of them are required."""
    schema = request["response_format"]["json_schema"]["schema"]
    assert schema["required"] == list(schema["properties"])
    return schema["required"]


def completion(message: dict[str, Any], **usage: Any) -> Reply:
    """A reply with this message."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice]}
    return Reply(body=json.dumps({**body, "usage": {**USAGE, **usage}}))


def test_a_plan_precedes_the_statement_and_issues_the_verdict(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = [{**SQL, "plan": "count orders"}, {**VALID, "issues": []}]
    model = connect()

    assert model.ask(GeneratedSQL, QUESTION).plan == "count orders"
    assert model.ask(SQLValidation, QUESTION).is_valid
    assert [fields(request)[:2] for request in server.requests] == [["plan", "metric"], ["issues", "is_valid"]]


@pytest.mark.parametrize(
    "reply",
    [
        f"<think>One?</think>{json.dumps(SQL)}",
        completion({"content": json.dumps(SQL), "reasoning_content": "One?"}),
        completion({"content": json.dumps(SQL), "reasoning": "One?"}),
        completion({"content": json.dumps(SQL)}, completion_tokens_details={"reasoning_tokens": 20}),
    ],
    ids=["in the text", "reasoning_content", "reasoning", "tokens"],
)
def test_a_model_that_returns_reasoning_is_not_asked_for_it(
    server: FakeOpenAI, connect: Connect, reply: Reply | str
) -> None:
    server.answers = [reply, SQL, VALID]
    model = connect()

    assert [model.ask(GeneratedSQL, QUESTION).sql for _ in range(2)] == ["SELECT 1"] * 2
    assert model.ask(SQLValidation, QUESTION).is_valid
    without_reasoning = [
        "metric", "sql", "language", "standalone", "assumptions", "not_answered", "output_type", "off_topic", "reason",
        "alternatives", "question", "ambiguity_type", "reply", "title", *FORM,
    ]  # fmt: skip
    assert [fields(request) for request in server.requests] == [
        ["plan", *without_reasoning],
        without_reasoning,
        ["is_valid", "reason", "corrected_sql", *FORM],
    ]


@pytest.mark.parametrize("mode", ["json_schema", "text"])
def test_a_model_that_may_not_give_alternatives_is_not_told_of_them(
    server: FakeOpenAI, connect: Connect, mode: str
) -> None:
    server.answers = [SQL]
    model = connect(llm_structured_output=mode)
    model.ask(GeneratedSQL, QUESTION, without=GeneratedSQL.alternative_fields)
    (request,) = server.requests

    assert "assumptions" in str(request)
    assert not any(name in str(request) for name in ("ReadingOption", "ambiguity_type", "two or three readings"))
    assert mode == "text" or fields(request) == [*PLAIN_FIELDS, *FORM]


def test_the_schema_in_a_prompt_has_no_such_fields_either(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = [f"<think>One?</think>{json.dumps(SQL)}", SQL]
    model = connect(llm_structured_output="text")
    model.ask(GeneratedSQL, QUESTION)
    model.ask(GeneratedSQL, QUESTION)

    first, second = (request["messages"][-1]["content"] for request in server.requests)
    assert '"plan"' in first and '"plan"' not in second
    assert '"sql"' in first and '"sql"' in second


@pytest.mark.parametrize("reply", [json.dumps(SQL), json.dumps({**SQL, "plan": "<think>"}), "SELECT 1<|im_end|>"])
def test_an_answer_without_reasoning_changes_nothing(server: FakeOpenAI, connect: Connect, reply: str) -> None:
    server.answers = [reply, SQL]
    model = connect()
    model.ask(GeneratedSQL, QUESTION)
    model.ask(GeneratedSQL, QUESTION)

    assert fields(server.requests[1])[0] == "plan"


def test_answers_of_earlier_versions_are_readable() -> None:
    validation = '{"is_valid": false, "reason": "r", "issues": ["a"], "corrected_sql": "SELECT 2"}'

    assert read_answer('{"sql": "SELECT 1", "assumptions": ["a"], "off_topic": false}', GeneratedSQL).sql == "SELECT 1"
    assert read_answer(validation, SQLValidation).issues == ["a"]


@pytest.mark.parametrize("plan", [["join", "count"], {"tables": ["orders"]}, 7, None])
def test_a_plan_of_another_form_does_not_spoil_the_answer(plan: Any) -> None:
    assert read_answer(json.dumps({"plan": plan, "sql": "SELECT 1"}), GeneratedSQL).sql == "SELECT 1"
