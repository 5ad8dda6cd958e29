"""How a model is asked to call a tool: in the endpoint's own way, or as structured JSON where it has none."""

import json
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from datasphinx.agent.errors import ModelAnswerUnreadable, ModelRejected
from datasphinx.agent.llm.parse import read_answer
from datasphinx.agent.llm.schemas import AnalystStep, GeneratedSQL
from tests.agent.llm.conftest import Connect
from tests.support.fake_openai import USAGE, FakeOpenAI, Reply

QUESTION = [HumanMessage("What next?")]
PARAMETERS = {"type": "object", "properties": {"dataset_id": {"type": "string"}}, "required": ["dataset_id"]}
TOOLS = [
    {"type": "function", "function": {"name": "get_schema", "description": "Columns.", "parameters": PARAMETERS}}
]  # fmt: skip
STEP = {"tool": "get_schema", "arguments": '{"dataset_id": "ds_1"}'}


def calling(*calls: tuple[str, str], finish_reason: str = "tool_calls") -> Reply:
    """An answer that calls functions."""
    made = [
        {"id": str(at), "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    completion = {"id": "1", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice]}
    return Reply(body=json.dumps({**completion, "usage": USAGE}))


def without_tools(request: dict[str, Any]) -> Reply:
    """An endpoint that cannot call functions."""
    if "tools" in request:
        error = {"message": "tools are not supported", "code": None, "type": "invalid", "param": None}
        return Reply(status=400, body=json.dumps({"error": error}))
    return Reply(STEP)


def test_an_endpoint_calls_in_its_own_way(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = [calling(("get_schema", '{"dataset_id": "ds_1"}'))]
    step = connect().ask(AnalystStep, QUESTION, TOOLS)

    (request,) = server.requests
    assert (step.tool, json.loads(step.arguments)) == ("get_schema", {"dataset_id": "ds_1"})
    assert (request["tools"], request["tool_choice"]) == (TOOLS, "required")
    assert "response_format" not in request
    assert len(request["messages"]) == 1


NAMES = ("get_schema", "run_query", "finish")
SEVERAL = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in NAMES]


def test_all_calls_of_a_reply_are_read_in_order(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = [calling(("get_schema", "{}"), ("functions.run_query", '{"n": 1}'), ("look", "{}"))]
    step = connect().ask(AnalystStep, QUESTION, SEVERAL)

    assert [(call.tool, call.arguments) for call in (step, *step.further)] == [
        ("get_schema", "{}"), ("run_query", '{"n": 1}'), ("look", "{}")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "said",
    [
        '[{"name": "get_schema", "arguments": {"a": 1}}, {"name": "run_query", "arguments": {"b": 2}}]',
        '{"tool_calls": [{"function": {"name": "get_schema", "arguments": "{\\"a\\": 1}"}},'
        ' {"function": {"name": "run_query", "arguments": "{\\"b\\": 2}"}}]}',
        '<tool_call>\n{"name": "get_schema", "arguments": {"a": 1}}\n</tool_call>\n'
        '<tool_call>\n{"name": "run_query", "arguments": {"b": 2}}\n</tool_call>',
        "<tool_call><function=get_schema><parameter=a>1</parameter></function></tool_call>"
        "<tool_call><function=run_query><parameter=b>2</parameter></function></tool_call>",
        'First\n```json\n{"tool": "get_schema", "arguments": {"a": 1}}\n```\nthen\n'
        '```json\n{"tool": "run_query", "arguments": {"b": 2}}\n```',
    ],
)
def test_calls_in_the_text_are_read_in_order(said: str) -> None:
    step = read_answer(said, AnalystStep, NAMES)

    assert [(call.tool, json.loads(call.arguments)) for call in (step, *step.further)] == [
        ("get_schema", {"a": 1}), ("run_query", {"b": 2})
    ]  # fmt: skip


STEP_IN_FENCE = '```json\n{"tool": "get_schema", "arguments": {"a": 1}}\n```\n'
CUT_BY_TOKENS = "length"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(STEP_IN_FENCE * 3 + '```json\n{"tool": "get_sch', finish_reason=CUT_BY_TOKENS),
        Reply(f"<think>{{maybe}}</think>{STEP_IN_FENCE}Then", finish_reason=CUT_BY_TOKENS),
        Reply('[{"tool": "get_schema", "arguments": {"a": 1}}, {"tool": "fini', finish_reason=CUT_BY_TOKENS),
        calling(("get_schema", '{"a": 1}'), ("run_query", '{"b": '), finish_reason=CUT_BY_TOKENS),
        Reply(f"Columns [1, 2] first. {STEP_IN_FENCE}", finish_reason=CUT_BY_TOKENS),
    ],
    ids=lambda reply: (reply.content or reply.body)[:40],
)
def test_the_first_call_of_a_reply_that_was_cut_off_is_used(server: FakeOpenAI, connect: Connect, reply: Reply) -> None:
    server.answers = [reply]
    step = connect().ask(AnalystStep, QUESTION, SEVERAL)

    assert (step.tool, json.loads(step.arguments), step.further) == ("get_schema", {"a": 1}, [])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply('{"tool": "get_schema", "arguments": {"a": 1}, "more', finish_reason=CUT_BY_TOKENS),
        Reply('{"tool": "run_query", "arguments": {"in": [{"a": 1}, {"b": 2}], "x', finish_reason=CUT_BY_TOKENS),
        Reply('<function=run_query><parameter=in>[{"a": 1}, {"b": 2}]</parameter><par', finish_reason=CUT_BY_TOKENS),
        calling(("get_schema", '{"in": [1, 2], "x'), finish_reason=CUT_BY_TOKENS),
        Reply(f"<think>{STEP_IN_FENCE} or", finish_reason=CUT_BY_TOKENS),
        Reply(STEP_IN_FENCE, finish_reason="content_filter"),
        calling(("get_schema", '{"a": 1'), finish_reason=CUT_BY_TOKENS),
    ],
    ids=lambda reply: (reply.content or reply.body)[:40],
)
def test_a_call_that_was_cut_off_is_requested_again(server: FakeOpenAI, connect: Connect, reply: Reply) -> None:
    server.answers = [reply, STEP]
    step = connect().ask(AnalystStep, QUESTION, SEVERAL)

    assert json.loads(step.arguments) == {"dataset_id": "ds_1"}
    assert len(server.requests) == 2


def test_a_reply_in_words_is_the_end(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = ["<think>Done.</think>beta has 70 returns."]
    step = connect().ask(AnalystStep, QUESTION, SEVERAL)

    assert (step.tool, json.loads(step.arguments)) == ("finish", {"answer": "beta has 70 returns."})


@pytest.mark.parametrize(
    "said",
    [
        "run_query with group_by account",
        '{"tool": "run_query", "argum',
        "<tool_call>",
        "...",
    ],
)
def test_what_is_no_answer_is_not_the_end(said: str) -> None:
    with pytest.raises(ValueError):
        read_answer(said, AnalystStep, NAMES)


def test_arguments_that_are_no_json_reach_the_toolbox(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = [calling(("get_schema", '{"dataset_id": '))]
    step = connect().ask(AnalystStep, QUESTION, TOOLS)

    assert step == AnalystStep(tool="get_schema", arguments='{"dataset_id": ')


def test_without_calls_the_tools_stand_in_the_prompt_from_then_on(server: FakeOpenAI, connect: Connect) -> None:
    server.default = without_tools
    client = connect()
    steps = [client.ask(AnalystStep, QUESTION, TOOLS) for _ in range(2)]

    assert [step.tool for step in steps] == ["get_schema"] * 2
    assert ["tools" in request for request in server.requests] == [True, False, False]
    assert all(request["response_format"]["json_schema"]["name"] == "AnalystStep" for request in server.requests[1:])
    assert '"name": "get_schema"' in server.requests[2]["messages"][-1]["content"]


def test_other_answers_are_asked_for_as_before(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = [calling(("get_schema", "{}")), {"sql": "SELECT 1"}]
    client = connect()
    client.ask(AnalystStep, QUESTION, TOOLS)
    client.ask(GeneratedSQL, QUESTION)

    assert server.schemas == [None, "GeneratedSQL"]


def test_a_call_that_stands_in_the_text_is_read(server: FakeOpenAI, connect: Connect) -> None:
    said = 'I call:\n```json\n{"tool": "get_schema", "arguments": {"dataset_id": "ds_1"}}\n```'
    server.answers = [said]
    assert connect().ask(AnalystStep, QUESTION, TOOLS) == AnalystStep.model_validate(STEP)


def test_prose_is_asked_for_again_once(server: FakeOpenAI, connect: Connect) -> None:
    server.answers = ["The schema, please.", STEP, "Well", "well"]
    client = connect()
    assert client.ask(AnalystStep, QUESTION, TOOLS).tool == "get_schema"
    with pytest.raises(ModelAnswerUnreadable):
        client.ask(AnalystStep, QUESTION, TOOLS)

    assert "JSON schema" in server.requests[1]["messages"][-1]["content"]


def test_an_endpoint_that_refuses_everything_is_told(server: FakeOpenAI, connect: Connect) -> None:
    error = {"message": "no", "code": None, "type": "invalid", "param": None}
    server.default = Reply(status=400, body=json.dumps({"error": error}))
    with pytest.raises(ModelRejected):
        connect().ask(AnalystStep, QUESTION, TOOLS)
