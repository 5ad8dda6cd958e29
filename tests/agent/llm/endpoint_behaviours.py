"""What OpenAI-compatible endpoints do, as scripts for the fake server: rows of docs/research/endpoints.md."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import AnalystStep, GeneratedSQL
from tests.support.fake_openai import USAGE, Reply

SQL = {"sql": "SELECT 8", "assumptions": [], "off_topic": False}
TEXT = json.dumps(SQL)
STEP = {"tool": "get_schema", "arguments": '{"dataset_id": "ds_1"}'}
ARGUMENTS = {"dataset_id": "ds_1"}
HTML = {"Content-Type": "text/html"}
Answer = Callable[[dict[str, Any]], Reply]


@dataclass(frozen=True)
class Behaviour:
    """One behaviour: the server's answer to a request, and what the client must make of it.

    With `error`, the question ends in an error that matches it, after at most two requests; otherwise it is answered.
    With `steps`, the client requests a step of an analysis (a tool call) instead of a statement. A second question must
    take at most `later` requests.
    """

    group: str
    name: str
    answer: Answer
    error: str = ""
    steps: bool = False
    first: int = 2
    later: int = 1


def completion(message: Mapping[str, Any], **fields: Any) -> Reply:
    """Return a chat completion with `message`."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice], "usage": USAGE}
    return Reply(body=json.dumps({**body, **fields}))


def says(text: Any, **fields: Any) -> Answer:
    """Return an endpoint whose model always writes `text`."""
    return lambda request: completion({"content": text, **fields})


def sends(body: str, status: int = 200, **headers: str) -> Answer:
    """Return an endpoint that always sends `body`."""
    return lambda request: Reply(status=status, body=body, headers=headers)


def rejects(
    part: Callable[[dict[str, Any]], bool], message: str, status: int = 400, content: Any = TEXT, **fields: Any
) -> Answer:
    """Return an endpoint that rejects requests with `part`, and otherwise answers with `content`."""
    error = json.dumps({"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}})

    def answer(request: dict[str, Any]) -> Reply:
        return Reply(status=status, body=error) if part(request) else completion({"content": content, **fields})

    return answer


def calls(*functions: Mapping[str, Any], **message: Any) -> Answer:
    """Return an endpoint whose model calls `functions`."""
    made = [{"id": f"c{at}", "type": "function", "function": function} for at, function in enumerate(functions)]
    return lambda request: completion({"content": None, "tool_calls": made, **message})


def streams(*deltas: Mapping[str, Any], end: bool = True, content_type: str = "text/event-stream") -> Answer:
    """Return an endpoint that streams `deltas` although nobody asked for a stream."""
    chunks = [{"id": "1", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if end:
        chunks.append({"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + ("data: [DONE]\n\n" if end else "")
    return sends(body, **{"Content-Type": content_type})


def has_temperature(request: dict[str, Any]) -> bool:
    return "temperature" in request


def has_system(request: dict[str, Any]) -> bool:
    return any(message["role"] in ("system", "developer") for message in request["messages"])


def has_twins(request: dict[str, Any]) -> bool:
    """Whether two messages in a row have one role."""
    roles = [message["role"] for message in request["messages"]]
    return any(one == other for one, other in zip(roles, roles[1:], strict=False))


def has_format(request: dict[str, Any]) -> bool:
    return "response_format" in request


def has_schema(request: dict[str, Any]) -> bool:
    return bool(request.get("response_format", {}).get("type") == "json_schema")


def has_tools(request: dict[str, Any]) -> bool:
    return "tools" in request


def any_request(request: dict[str, Any]) -> bool:
    return True


_SCHEMA_CALL = {"name": "get_schema", "arguments": json.dumps(ARGUMENTS)}
_HERMES = "<tool_call>\n" + json.dumps({"name": "get_schema", "arguments": ARGUMENTS}) + "\n</tool_call>"
_HARMONY = "<|channel|>analysis<|message|>SELECT 7 or SELECT 8?<|end|><|start|>assistant"
_WEB_PAGE = "<!DOCTYPE html><html><head><title>Sign in</title></head><body><p>Your account</p></body></html>"

_STATUS_OF_FORMAT = (400, 404, 422, 500, 501)

BEHAVIOURS = [
    # Requests
    Behaviour(
        "requests", "temperature rejected (o-series)",
        rejects(has_temperature, "Unsupported value: 'temperature' does not support 0.0 with this model."),
    ),
    Behaviour(
        "requests", "temperature rejected as an unknown parameter",
        rejects(has_temperature, "Unsupported parameter: 'temperature' is not supported with this model.", 422),
    ),
    Behaviour("requests", "temperature must be above 0", rejects(has_temperature, "`temperature` has to be positive")),
    Behaviour("requests", "system role rejected", rejects(has_system, "System role not supported")),
    Behaviour(
        "requests", "system role rejected by the chat template",
        rejects(has_system, "Jinja Exception: System role not supported", 500),
    ),
    Behaviour(
        "requests", "developer instructions not enabled",
        rejects(has_system, "Developer instruction is not enabled for models/gemma-3-27b-it"),
    ),
    Behaviour(
        "requests", "system messages rejected",
        rejects(has_system, "Unexpected role 'system' in messages"),
    ),
    Behaviour(
        "requests", "roles must alternate",
        rejects(has_twins, "Conversation roles must alternate user/assistant/user/assistant/..."),
    ),
    Behaviour(
        "requests", "roles must alternate, told with status 500",
        rejects(has_twins, "After the optional system message, conversation roles must alternate user/assistant", 500),
    ),
    Behaviour(
        "requests", "no system role and alternating roles",
        lambda request: (
            rejects(has_system, "system role is not supported")(request)
            if has_system(request)
            else rejects(has_twins, "roles must alternate")(request)
        ),
        first=3,
    ),
    *(
        Behaviour("requests", f"json_schema rejected with {status}",
                  rejects(has_schema, "response_format type json_schema is unavailable", status))
        for status in _STATUS_OF_FORMAT
    ),
    *(
        Behaviour("requests", f"response_format rejected with {status}",
                  rejects(has_format, "response_format is not supported", status), first=3)
        for status in _STATUS_OF_FORMAT
    ),
    *(
        Behaviour("requests", f"response_format rejected with {status} and no reason",
                  rejects(has_format, "bad request", status), later=2 if status >= 500 else 1)
        for status in (400, 422, 500, 501)
    ),
    *(
        Behaviour("requests", f"tools rejected with {status}",
                  rejects(has_tools, "No endpoints found that support tool use.", status, json.dumps(STEP)), steps=True)
        for status in _STATUS_OF_FORMAT
    ),
    *(
        Behaviour("requests", f"tools rejected with {status} and no reason",
                  rejects(has_tools, "invalid", status, json.dumps(STEP)),
                  steps=True, later=2 if status >= 500 else 1)
        for status in (400, 422, 500, 501)
    ),
    Behaviour(
        "requests", "parallel_tool_calls rejected",
        rejects(lambda request: "parallel_tool_calls" in request, "Unknown parameter: 'parallel_tool_calls'",
                content=json.dumps(STEP)), steps=True,
    ),
    Behaviour(
        "requests", "only streams",
        lambda request: (
            streams({"content": TEXT})(request)
            if request.get("stream")
            else rejects(any_request, "This model only supports streaming")(request)
        ),
    ),
    Behaviour("requests", "every request rejected", rejects(any_request, "no"), error="no"),
    Behaviour("requests", "every request rejected, tools", rejects(any_request, "no"), error="no", steps=True),
    Behaviour("requests", "every request fails with 500", rejects(any_request, "boom", 500), error="boom"),
    Behaviour("requests", "every request fails with 501", rejects(any_request, "nope", 501), error="nope"),
    Behaviour("requests", "wrong key", rejects(any_request, "Incorrect API key", 401), error="Incorrect API key"),
    Behaviour("requests", "no permission", rejects(any_request, "no access", 403), error="no access"),
    Behaviour("requests", "payment required", rejects(any_request, "Insufficient Balance", 402), error="Balance"),
    Behaviour("requests", "unknown model", rejects(any_request, "The model `x` does not exist", 404), error="`x`"),
    Behaviour("requests", "method not allowed", rejects(any_request, "Method Not Allowed", 405), error="Not Allowed"),
    # Reasoning
    *(
        Behaviour("reasoning", f"<{tag}> before the JSON", says(f"<{tag}>SELECT 7? No.</{tag}>\n{TEXT}"))
        for tag in ("think", "thinking", "thought", "reasoning", "Thought", "reflection", "analysis")
    ),
    *(
        Behaviour("reasoning", f"<{tag}> with JSON inside",
                  says(f'<{tag}>{{"sql": "SELECT 7"}} is wrong.</{tag}>{TEXT}'))
        for tag in ("think", "thinking", "thought", "reasoning")
    ),
    *(
        Behaviour("reasoning", f"<{tag}> alone is no answer", says(f"<{tag}>SELECT 7</{tag}>"), error="GeneratedSQL")
        for tag in ("think", "thinking", "thought", "reasoning")
    ),
    Behaviour("reasoning", "<thought> that is not closed", says('<thought>{"sql": "SELECT 7"}'), error="GeneratedSQL"),
    Behaviour("reasoning", "only the closing tag", says(f'{{"sql": "SELECT 7"}} hm </think>{TEXT}')),
    Behaviour("reasoning", "nested tags", says(f"<thought>a <thought>SELECT 7</thought> b SELECT 7</thought>{TEXT}")),
    Behaviour("reasoning", "prose before the tag", says(f"Sure.\n<thought>SELECT 7</thought>\n{TEXT}")),
    Behaviour("reasoning", "bare SQL after the tag", says("<thought>SELECT 7</thought>SELECT 8")),
    Behaviour("reasoning", "[THINK]", says(f"[THINK]SELECT 7[/THINK]{TEXT}")),
    Behaviour("reasoning", "◁think▷", says(f"◁think▷SELECT 7◁/think▷{TEXT}")),
    Behaviour("reasoning", "<|START_THINKING|>", says(f"<|START_THINKING|>SELECT 7<|END_THINKING|>{TEXT}")),
    Behaviour("reasoning", "Harmony channels", says(f"{_HARMONY}<|channel|>final<|message|>{TEXT}<|return|>")),
    Behaviour(
        "reasoning", "Harmony with a constraint",
        says(f"{_HARMONY}<|channel|>final <|constrain|>json<|message|>{TEXT}"),
    ),
    Behaviour("reasoning", "Harmony without a final channel", says(_HARMONY), error="GeneratedSQL"),
    Behaviour("reasoning", "Harmony without its marks", says(f"analysisSELECT 7 or 8?assistantfinal{TEXT}")),
    Behaviour("reasoning", "reasoning_content beside the answer", says(TEXT, reasoning_content="SELECT 7")),
    Behaviour("reasoning", "reasoning beside the answer", says(TEXT, reasoning="SELECT 7")),
    Behaviour(
        "reasoning", "reasoning_content alone", says("", reasoning_content='{"sql": "SELECT 7"}'), error="GeneratedSQL"
    ),
    Behaviour("reasoning", "reasoning alone, content null", says(None, reasoning="SELECT 7"), error="GeneratedSQL"),
    Behaviour(
        "reasoning", "content in parts with thinking",
        says([{"type": "thinking", "thinking": [{"text": "SELECT 7"}]}, {"type": "text", "text": TEXT}]),
    ),
    Behaviour("reasoning", "a field of the JSON", says('{"thought": {"sql": "SELECT 7"}, "sql": "SELECT 8"}')),
    # JSON
    Behaviour("JSON", "in a fence", says(f"```json\n{TEXT}\n```")),
    Behaviour("JSON", "in a fence without a label", says(f"```\n{TEXT}\n```")),
    Behaviour("JSON", "in prose", says(f"Here you are: {TEXT} Good luck!")),
    Behaviour("JSON", "after prose with an apostrophe", says("It's easy: {'sql': 'SELECT 8'}")),
    Behaviour("JSON", "line comments", says('{"sql": "SELECT 8", // the count\n "assumptions": []}')),
    Behaviour("JSON", "block comments", says('{/* the count */ "sql": "SELECT 8"}')),
    Behaviour("JSON", "single quotes", says("{'sql': 'SELECT 8', 'assumptions': ['none'], 'off_topic': False}")),
    Behaviour("JSON", "trailing commas", says('{"sql": "SELECT 8", "assumptions": ["a",],}')),
    Behaviour("JSON", "a comment after a trailing comma", says('{"sql": "SELECT 8", // done\n}')),
    Behaviour("JSON", "names without quotes", says('{sql: "SELECT 8", off_topic: false}')),
    Behaviour("JSON", "encoded twice", says(json.dumps(TEXT))),
    Behaviour("JSON", "encoded twice in a field", says(json.dumps({"answer": TEXT}))),
    Behaviour("JSON", "in a field named after the schema", says(json.dumps({"GeneratedSQL": SQL}))),
    Behaviour("JSON", "in an array", says(json.dumps([SQL]))),
    Behaviour("JSON", "null for a list", says('{"sql": "SELECT 8", "assumptions": null}')),
    Behaviour("JSON", "null for a boolean", says('{"sql": "SELECT 8", "off_topic": null}')),
    Behaviour("JSON", "text for a boolean", says('{"sql": "SELECT 8", "off_topic": "false"}')),
    Behaviour("JSON", "text for a list", says('{"sql": "SELECT 8", "assumptions": "all orders"}')),
    Behaviour("JSON", "query for sql", says('{"query": "SELECT 8"}')),
    Behaviour("JSON", "SQL for sql", says('{"SQL": "SELECT 8"}')),
    Behaviour("JSON", "more fields than asked for", says(json.dumps({**SQL, "confidence": 0.9}))),
    Behaviour("JSON", "line breaks inside a string", says('{"sql": "SELECT 8\n"}')),
    Behaviour("JSON", "triple quotes", says('{"sql": """SELECT 8"""}')),
    Behaviour("JSON", "a fence inside the field", says(json.dumps({"sql": "```sql\nSELECT 8;\n```"}))),
    Behaviour("JSON", "bare SQL", says("SELECT 8;")),
    Behaviour("JSON", "SQL in a fence", says("Here it is:\n```sql\nSELECT 8\n```\nIt counts.")),
    Behaviour("JSON", "a byte order mark", says("\ufeff" + TEXT)),
    # Tool calls
    Behaviour("tool calls", "a call", calls(_SCHEMA_CALL), steps=True),
    Behaviour("tool calls", "arguments as an object", calls({**_SCHEMA_CALL, "arguments": ARGUMENTS}), steps=True),
    Behaviour(
        "tool calls", "arguments encoded twice",
        calls({**_SCHEMA_CALL, "arguments": json.dumps(_SCHEMA_CALL["arguments"])}), steps=True,
    ),
    Behaviour(
        "tool calls", "the prefix functions.", calls({**_SCHEMA_CALL, "name": "functions.get_schema"}), steps=True
    ),
    Behaviour("tool calls", "several at once", calls(_SCHEMA_CALL, {"name": "plot", "arguments": "{}"}), steps=True),
    Behaviour("tool calls", "beside text", calls(_SCHEMA_CALL, content="I look at the schema."), steps=True),
    Behaviour("tool calls", "function_call", says(None, function_call=_SCHEMA_CALL), steps=True),
    Behaviour("tool calls", "Hermes XML in the text", says(_HERMES), steps=True),
    Behaviour("tool calls", "Hermes XML after reasoning", says(f"<think>plot?</think>{_HERMES}"), steps=True),
    Behaviour("tool calls", "JSON in a fence", says(f"```json\n{json.dumps(STEP)}\n```"), steps=True),
    Behaviour(
        "tool calls", "name and parameters", says(json.dumps({"name": "get_schema", "parameters": ARGUMENTS})),
        steps=True,
    ),
    Behaviour("tool calls", "streamed", streams(
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "get_schema", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"dataset_id": '}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '"ds_1"}'}}]},
    ), steps=True),
    Behaviour("tool calls", "the answer as a call", calls({"name": "GeneratedSQL", "arguments": TEXT})),
    Behaviour("tool calls", "the answer as a call with an object", calls({"name": "json", "arguments": SQL})),
    # Replies
    Behaviour("replies", "a stream", streams({"content": TEXT[:10]}, {"content": TEXT[10:]})),
    Behaviour("replies", "a stream as JSON", streams({"content": TEXT}, content_type="application/json")),
    Behaviour("replies", "a stream with reasoning", streams({"reasoning_content": "SELECT 7"}, {"content": TEXT})),
    Behaviour("replies", "a stream that breaks off", streams({"content": "SELECT 7"}, end=False), error="GeneratedSQL"),
    Behaviour("replies", "JSON as text/plain", lambda request: Reply(SQL, headers={"Content-Type": "text/plain"})),
    Behaviour("replies", "no usage", lambda request: completion({"content": TEXT}, usage=None)),
    Behaviour("replies", "usage without numbers", lambda request: completion({"content": TEXT}, usage={"total": "?"})),
    Behaviour("replies", "no role", says(TEXT, role=None)),
    Behaviour("replies", "a web page", sends(_WEB_PAGE, **HTML), error="'Sign in Your account'.*LLM_BASE_URL"),
    Behaviour("replies", "a web page as JSON", sends(_WEB_PAGE), error="'Sign in Your account'.*LLM_BASE_URL"),
    Behaviour("replies", "a web page with 404", sends(_WEB_PAGE, 404, **HTML), error="404.*DATASPHINX_LLM"),
    Behaviour("replies", "an error in a 200", sends('{"error": {"message": "quota used up", "code": 429}}'),
              error="quota used up.*DATASPHINX_LLM"),
    Behaviour("replies", "an error text in a 200", sends('{"error": "model is loading"}'), error="model is loading"),
    Behaviour("replies", "a detail in a 200", sends('{"detail": "Not authenticated"}'), error="Not authenticated"),
    Behaviour("replies", "an error in a stream", sends('data: {"error": {"message": "overloaded"}}\n\n', **{
        "Content-Type": "text/event-stream"}), error="overloaded"),
    Behaviour("replies", "no choices", sends('{"id": "1", "choices": []}'), error="choices.*DATASPHINX_LLM_BASE_URL"),
    Behaviour("replies", "null choices", sends('{"id": "1", "choices": null}'), error="DATASPHINX_LLM_BASE_URL"),
    Behaviour("replies", "another API", sends('{"message": {"content": "hi"}, "done": true}'), error="done"),
    Behaviour("replies", "plain text", sends("OK", **{"Content-Type": "text/plain"}), error="'OK'"),
    Behaviour("replies", "an empty body", sends(""), error="DATASPHINX_LLM"),
    Behaviour("replies", "a refusal", says(None, refusal="I cannot help."),
              error="I cannot help.*DATASPHINX_LLM_MODEL"),
    Behaviour("replies", "a refusal in prose", says("I cannot help with that."),
              error="I cannot help with that.*DATASPHINX_LLM_MODEL"),
    Behaviour("replies", "an empty answer", says(""), error="empty.*DATASPHINX_LLM_MODEL"),
    Behaviour("replies", "null content", says(None), error="empty.*DATASPHINX_LLM_MODEL"),
    Behaviour("replies", "cut off by the token limit", lambda request: Reply(TEXT[:12], finish_reason="length"),
              error="limit of tokens.*DATASPHINX_LLM_MODEL"),
]  # fmt: skip
MESSAGES = [SystemMessage("You write SQL."), HumanMessage("The tables."), HumanMessage("How many?")]
PARAMETERS = {"type": "object", "properties": {"dataset_id": {"type": "string"}}, "required": ["dataset_id"]}
TOOLS = [
    {"type": "function", "function": {"name": "get_schema", "description": "Columns.", "parameters": PARAMETERS}}
]  # fmt: skip
KEY = "sk-very-secret-0123456789"


def outcome(client: ModelClient, behaviour: Behaviour) -> Any:
    """Return the statement, the tool call, or the text of the error."""
    try:
        if behaviour.steps:
            step = client.ask(AnalystStep, MESSAGES, TOOLS)
            return step.tool, json.loads(step.arguments)
        return client.ask(GeneratedSQL, MESSAGES).sql
    except DatasphinxError as error:
        return str(error)
