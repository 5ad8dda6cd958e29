"""Endpoints as the probe meets them: the rows of a table in docs/research/endpoints.md."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.agent.llm.endpoint_behaviours import (
    Answer,
    completion,
    has_format,
    has_schema,
    has_system,
    has_temperature,
    has_tools,
    has_twins,
    sends,
    streams,
)
from tests.fake_openai import Reply

COUNT = json.dumps({"number": 24})
TWO_CALLS = [
    {"id": f"c{at}", "type": "function", "function": {"name": "legs_of", "arguments": json.dumps({"animal": animal})}}
    for at, animal in enumerate(("cat", "spider"))
]
_WEB_PAGE = "<!DOCTYPE html><html><head><title>Sign in</title></head><body><p>Your account</p></body></html>"
Part = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True)
class ProbeBehaviour:
    """An endpoint, and what the probe must find: `values`, or an error that matches `error` after two requests."""

    name: str
    answer: Answer
    values: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    requests: int = 3


def model(text: str = COUNT, calls: int = 2, **fields: Any) -> Answer:
    """Return an endpoint that supports everything; its model answers `text` and makes `calls` tool calls."""

    def answer(request: dict[str, Any]) -> Reply:
        if has_tools(request):
            return completion({"content": None, "tool_calls": TWO_CALLS[:calls]} if calls else {"content": "Four."})
        if has_stream(request):
            return streams({"content": text[:5]}, {"content": text[5:]})(request)
        return completion({"content": text, **fields})

    return answer


def rejects(part: Part, message: str, status: int = 400, then: Answer | None = None) -> Answer:
    """Return the endpoint `then`, by default one that supports everything, but requests with `part` are rejected."""
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}})

    def answer(request: dict[str, Any]) -> Reply:
        return Reply(status=status, body=body) if part(request) else (then or model())(request)

    return answer


def has_stream(request: dict[str, Any]) -> bool:
    return bool(request.get("stream"))


def lacks_stream(request: dict[str, Any]) -> bool:
    return not has_stream(request)


def has_parallel(request: dict[str, Any]) -> bool:
    return "parallel_tool_calls" in request


def has_json_object(request: dict[str, Any]) -> bool:
    return bool(request.get("response_format", {}).get("type") == "json_object")


def _without_usage(request: dict[str, Any]) -> Reply:
    reply = model()(request)
    body = reply.body or ""
    return Reply(body=json.dumps({**json.loads(body), "usage": None})) if body.startswith("{") else reply


def _ignores_stream(request: dict[str, Any]) -> Reply:
    return completion({"content": COUNT}) if has_stream(request) else model()(request)


def _only_streams(request: dict[str, Any]) -> Reply:
    if has_tools(request):
        parts = [{"index": at, "id": call["id"], "function": call["function"]} for at, call in enumerate(TWO_CALLS)]
        return streams({"tool_calls": parts})(request)
    return streams({"content": COUNT})(request)


_EVERYTHING = {
    "temperature": True,
    "system_role": True,
    "consecutive_messages": True,
    "non_streaming": True,
    "streaming": True,
    "json_schema": True,
    "follows_schema": True,
    "json_object": True,
    "tools": True,
    "parallel_tool_calls": True,
    "usage": True,
    "reasoning": (),
}


def _all_but(*names: str, **values: Any) -> dict[str, Any]:
    return {**_EVERYTHING, **dict.fromkeys(names, False), **values}


PROBE_BEHAVIOURS = [
    ProbeBehaviour("everything is supported", model(), _EVERYTHING),
    ProbeBehaviour("temperature is rejected",
                   rejects(has_temperature, "Unsupported value: 'temperature' does not support 0 with this model."),
                   _all_but("temperature"), requests=4),
    ProbeBehaviour("the system role is rejected", rejects(has_system, "System role not supported"),
                   _all_but("system_role", consecutive_messages=None), requests=4),
    ProbeBehaviour("roles must alternate", rejects(has_twins, "Conversation roles must alternate user/assistant/..."),
                   _all_but("consecutive_messages"), requests=4),
    ProbeBehaviour("json_schema is rejected with 400", rejects(has_schema, "response_format json_schema is unknown"),
                   _all_but("json_schema", follows_schema=None), requests=4),
    ProbeBehaviour("json_schema is rejected with 404",
                   rejects(has_schema, "No endpoints found that support json_schema", 404),
                   _all_but("json_schema", follows_schema=None), requests=4),
    ProbeBehaviour("json_schema is rejected with 500",
                   rejects(has_schema, "failed to compile the json_schema grammar", 500),
                   _all_but("json_schema", follows_schema=None), requests=4),
    ProbeBehaviour("json_schema fails with 500 and no reason", rejects(has_schema, "internal error", 500),
                   _all_but(json_schema=None, follows_schema=None), requests=4),
    ProbeBehaviour("json_schema is accepted and ignored", model("Twenty-four."), _all_but("follows_schema")),
    ProbeBehaviour("json_object is rejected", rejects(has_json_object, "response_format json_object is unavailable"),
                   _all_but("json_object"), requests=4),
    ProbeBehaviour("response_format is rejected with 422", rejects(has_format, "response_format: not permitted", 422),
                   _all_but("json_schema", "json_object", follows_schema=None), requests=5),
    ProbeBehaviour("response_format is rejected with 400 and no reason", rejects(has_format, "bad request"),
                   _all_but("json_schema", "json_object", streaming=None, follows_schema=None), requests=5),
    ProbeBehaviour("tools are rejected with 400", rejects(has_tools, "tools are not supported"),
                   _all_but("tools", parallel_tool_calls=None)),
    ProbeBehaviour("tools are rejected with 501", rejects(has_tools, "not implemented", 501),
                   _all_but("tools", parallel_tool_calls=None)),
    ProbeBehaviour("tools fail with 500 and no reason", rejects(has_tools, "internal error", 500),
                   _all_but(tools=None, parallel_tool_calls=None)),
    ProbeBehaviour("tools are accepted and ignored", model(calls=0), _all_but("tools", parallel_tool_calls=None)),
    ProbeBehaviour("parallel_tool_calls is rejected", rejects(has_parallel, "unknown parameter parallel_tool_calls"),
                   _all_but("parallel_tool_calls"), requests=4),
    ProbeBehaviour("one tool call in a reply", model(calls=1), _all_but("parallel_tool_calls")),
    ProbeBehaviour("streaming is rejected", rejects(has_stream, "stream is not supported"),
                   _all_but("streaming"), requests=4),
    ProbeBehaviour("streaming is ignored", _ignores_stream, _all_but("streaming")),
    ProbeBehaviour("only streaming is supported",
                   rejects(lacks_stream, "This model only support stream mode, please enable the stream parameter",
                           then=_only_streams),
                   _all_but("non_streaming", usage=False), requests=4),
    ProbeBehaviour("no usage is reported", _without_usage, _all_but("usage")),
    ProbeBehaviour("reasoning in reasoning_content", model(reasoning_content="4 * 6"),
                   _all_but(reasoning=("reasoning_content",))),
    ProbeBehaviour("reasoning in <think>", model(f"<think>4 * 6</think>{COUNT}"), _all_but(reasoning=("<think>",))),
    ProbeBehaviour("Harmony channels",
                   model(f"<|channel|>analysis<|message|>4 * 6<|end|><|channel|>final<|message|>{COUNT}"),
                   _all_but(reasoning=("Harmony channels",))),
    ProbeBehaviour("a web page", sends(_WEB_PAGE, **{"Content-Type": "text/html"}),
                   error=r"no chat completion but 'Sign in Your account'.*LLM_BASE_URL", requests=1),
    ProbeBehaviour("a wrong key", sends('{"error": {"message": "Incorrect API key provided"}}', 401),
                   error=r"Incorrect API key provided.*DATASPHINX_LLM_\*", requests=1),
    ProbeBehaviour("an unknown model", sends('{"error": {"message": "The model does not exist"}}', 404),
                   error="The model does not exist", requests=1),
    ProbeBehaviour("an overloaded server", sends("overloaded", 503), error="503 - overloaded", requests=2),
    ProbeBehaviour("a failing server", sends("crashed", 500), error="500 - crashed", requests=2),
    ProbeBehaviour("every request is rejected", sends('{"error": "no"}', 400), error="400 - no", requests=2),
    ProbeBehaviour("an error with status 200", sends('{"error": {"message": "quota used up"}}'),
                   error="quota used up", requests=1),
]  # fmt: skip
