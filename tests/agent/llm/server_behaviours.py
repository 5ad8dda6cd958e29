"""Replies of common servers and models, written without knowledge of the client, as scripts for the fake server."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.agent.llm.endpoint_behaviours import (
    ARGUMENTS,
    HTML,
    SQL,
    STEP,
    TEXT,
    Behaviour,
    calls,
    completion,
    has_format,
    has_schema,
    has_system,
    has_temperature,
    has_tools,
    has_twins,
    says,
    sends,
    streams,
)
from tests.support.fake_openai import Reply

ARGS = json.dumps(ARGUMENTS)
STEP_TEXT = json.dumps(STEP)
CALL = {"name": "get_schema", "arguments": ARGS}
NATIVE = {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": CALL}]}
WRONG = "The user wants a number. Maybe SELECT 7 would do? Let me check again."
WRONG_JSON = '{"sql": "SELECT 7", "assumptions": [], "off_topic": false}'
PLAIN = {"Content-Type": "text/plain; charset=utf-8"}
Part = Callable[[dict[str, Any]], bool]
Body = str | dict[str, Any]
Rule = tuple[Part, int, Body]


def setting(piece: str) -> str:
    """Return a regex for a text with `piece`, a regex, that also names a setting, before it or after it."""
    return f"(?s:(?=.*{piece})(?=.*DATASPHINX_LLM))"


def openai_error(message: str, code: Any = None, param: Any = None, kind: str = "invalid_request_error") -> Body:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def vllm_error(message: str, code: int = 400, kind: str = "BadRequestError") -> Body:
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


def google_error(message: str, code: int = 400, status: str = "INVALID_ARGUMENT", **fields: Any) -> str:
    return json.dumps([{"error": {"code": code, "message": message, "status": status, **fields}}])


def good(request: dict[str, Any]) -> Reply:
    """Answer a statement request."""
    return completion({"content": TEXT})


def good_step(request: dict[str, Any]) -> Reply:
    """Answer a step request: natively if tools were sent, otherwise as text."""
    return completion(NATIVE if has_tools(request) else {"content": STEP_TEXT})


def refuses(*rules: Rule, then: Callable[[dict[str, Any]], Reply] = good, **headers: str) -> Any:
    """Return an endpoint that answers with the status and body of the first rule that fits, and otherwise as `then`."""

    def answer(request: dict[str, Any]) -> Reply:
        for part, status, body in rules:
            if part(request):
                return fails(status, body, **headers)(request)
        return then(request)

    return answer


def fails(status: int, body: Body, **headers: str) -> Any:
    return sends(body if isinstance(body, str) else json.dumps(body, ensure_ascii=False), status, **headers)


def format_type(request: dict[str, Any]) -> Any:
    return (request.get("response_format") or {}).get("type")


def is_object(request: dict[str, Any]) -> bool:
    return format_type(request) == "json_object"


def no_word_json(request: dict[str, Any]) -> bool:
    return is_object(request) and "json" not in json.dumps(request["messages"]).lower()


def forces_tool(request: dict[str, Any]) -> bool:
    return request.get("tool_choice") not in (None, "auto", "none")


def is_zero(request: dict[str, Any]) -> bool:
    return request.get("temperature") == 0


def has_strict(request: dict[str, Any]) -> bool:
    return any("strict" in tool.get("function", {}) for tool in request.get("tools") or [])


def has_additional(request: dict[str, Any]) -> bool:
    return "additionalProperties" in json.dumps(request.get("tools") or [])


def ends_wrong(request: dict[str, Any]) -> bool:
    return request["messages"][-1]["role"] not in ("user", "tool")


def starts_late(request: dict[str, Any]) -> bool:
    return any(message["role"] == "system" for message in request["messages"][1:])


def sse(*events: Any, newline: str = "\n", prefix: str = "data: ", done: bool = True) -> str:
    lines = [prefix + json.dumps(event) for event in events] + ([prefix + "[DONE]"] if done else [])
    return "".join(line + newline * 2 for line in lines)


def chunk(delta: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **fields}


def choice(message: dict[str, Any], finish: Any = "stop", **fields: Any) -> Any:
    """Return an endpoint that answers with a choice of `message` and `finish`."""
    made = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, **fields}
    return lambda request: completion({}, choices=[made])


BODY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
}

# ---------------------------------------------------------------- rejected parts of a statement request
REJECTED: list[Behaviour] = [
    Behaviour("temperature", "OpenAI o3: only the default temperature",
        refuses((has_temperature, 400, openai_error(
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is "
            "supported.", "unsupported_value", "temperature")))),
    Behaviour("temperature", "TGI: temperature must be strictly positive",
        refuses((is_zero, 422,
            {"error": "Input validation error: `temperature` must be strictly positive", "error_type": "validation"}))),
    Behaviour("temperature", "Zhipu GLM: Chinese text, a code as text",
        refuses((is_zero, 400, {"error": {"code": "1210", "message": "API 调用参数有误，请检查文档。temperature参数非法。"}}))),
    Behaviour("system", "llama.cpp with a Jinja exception (500)",
        refuses((has_system, 500, {"error": {"code": 500,
            "message": "\n------------\nWhile executing CallExpression at line 1, column 63 in source:\n... if "
                "messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') ...\nError: "
                "Jinja Exception: System role not supported", "type": "server_error"}}))),
    Behaviour("system", "LM Studio: only user and assistant roles, a bare error text",
        refuses((has_system, 400, {
            "error": 'Error rendering prompt with jinja template: "Only user and assistant roles are '
                "supported!\".\n\nThis is usually an issue with the model's prompt template. If you are "
                "using a popular model, you can try to search the model under lmstudio-community"}))),
    Behaviour("system", "Bedrock gateway: no system messages",
        refuses((has_system, 400, {
            "detail": "An error occurred (ValidationException) when calling the Converse operation: This model "
                "doesn't support system messages. Try again without a system message or use a model that "
                "supports system messages."}))),
    Behaviour("system", "o1-preview: no system role and then no temperature",
        refuses((has_system, 400, openai_error(
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.", "unsupported_value",
            "messages[0].role")),
            (has_temperature, 400, openai_error(
                "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is "
                "supported.", "unsupported_value", "temperature"))), first=3),
    Behaviour("roles", "Perplexity: messages should alternate",
        refuses((has_twins, 400, {"error": {
            "message": "After the (optional) system message(s), user or tool message(s) should alternate with "
                "assistant message(s).", "type": "invalid_message", "code": 400}}))),
    Behaviour("roles", "Mistral: the last role must be user or tool",
        refuses((ends_wrong, 400, vllm_error(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant", 3230,
            "invalid_request_message_order")))),
    Behaviour("roles", "Qwen3.5 template: the system message must be at the beginning",
        refuses((starts_late, 400, vllm_error("System message must be at the beginning.")))),
    Behaviour("format", "Groq: json_validate_failed while a format is demanded",
        refuses((has_format, 400, {"error": {
            "message": "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.",
            "type": "invalid_request_error", "code": "json_validate_failed", "failed_generation": ""}})), first=3),
    Behaviour("format", "json_object demands the word json",
        refuses((has_schema, 400, openai_error(
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", None,
            "response_format")),
            (no_word_json, 400, openai_error(
                "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
                None, "messages"))), first=3),
    Behaviour("format", "DashScope: <400> InternalError.Algo.InvalidParameter",
        refuses((has_schema, 400, {"error": {"code": "invalid_parameter_error", "param": None,
            "message": "<400> InternalError.Algo.InvalidParameter: 'response_format.type' Invalid value: "
                "'json_schema'. Supported values are: 'json_object' and 'text'.", "type": "invalid_request_error"},
            "id": "chatcmpl-1", "request_id": "1"}))),
    Behaviour("format", "TGI: a Rust deserialiser's plain text",
        refuses((has_schema, 422,
            "Failed to deserialize the JSON body into the target type: response_format.type: unknown variant "
            "`json_schema`, expected one of `json`, `json_object`, `regex` at line 1 column 2210"),
            (is_object, 422,
                "Failed to deserialize the JSON body into the target type: response_format: missing field `value` at "
                "line 1 column 1804"), **PLAIN), first=3),
    Behaviour("format", "Pydantic 1: temperature not permitted, then the format",
        refuses((has_temperature, 422, {"detail": [{"loc": ["body", "temperature"],
            "msg": "ensure this value is greater than 0", "type": "value_error.number.not_gt",
            "ctx": {"limit_value": 0}}]}),
            (has_schema, 422, {"detail": [{"loc": ["body", "response_format", "type"],
                "msg": "unexpected value; permitted: 'text', 'json_object'", "type": "value_error.const",
                "ctx": {"given": "json_schema", "permitted": ["text", "json_object"]}}]})), first=3),
    Behaviour("format", "Gemini: unknown name additionalProperties, the error in a list",
        refuses((has_schema, 400, google_error(
            'Invalid JSON payload received. Unknown name "additionalProperties" at '
            "'generation_config.response_schema': Cannot find field.",
            details=[{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": []}])))),
    Behaviour("format", "OpenRouter: the provider's own error in metadata.raw",
        refuses((has_schema, 400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {
            "raw": '{"error":{"message":"response_format json_schema is not supported by this '
                'model","type":"invalid_request_error","param":"response_format","code":null}}',
            "provider_name": "Novita"}}, "user_id": "user_1"}))),
    Behaviour("format", "vLLM: the grammar does not compile (xgrammar)",
        refuses((has_schema, 400,
            vllm_error("The provided JSON schema contains features not supported by xgrammar.")))),
    Behaviour("format", "llama.cpp: JSON schema conversion failed",
        refuses((has_schema, 400, {"error": {"code": 400,
            "message": 'JSON schema conversion failed:\nUnrecognized schema: {"not":{}}',
            "type": "invalid_request_error"}}))),
    Behaviour("format", "LM Studio MLX: no schema, and json_object is not a type",
        refuses((has_schema, 400, {"error": "Failed to process response_format: error compiling grammar"}),
            (is_object, 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})), first=3),
    Behaviour("format", "LocalAI: 500 when response_format cannot be read",
        refuses((has_schema, 500, {"error": {"code": 500,
            "message": "failed reading parameters from request: json: cannot unmarshal object into Go struct field "
                "OpenAIRequest.response_format of type string", "type": ""}}),
            (is_object, 500, {"error": {"code": 500,
                "message": "failed reading parameters from request: json: cannot unmarshal object into Go struct "
                    "field OpenAIRequest.response_format of type string", "type": ""}})), first=3),
    Behaviour("format", "json_schema is ignored and answered with prose, json_object works",
        lambda request: completion(
            {"content": TEXT if not has_schema(request) else "Sure! The statement is: `SELECT 8`"})),
]  # fmt: skip

# ---------------------------------------------------------------- rejected parts of a step request
_STEPS_REJECTED: list[tuple[str, int, list[Rule]]] = [
    ("Ollama: the model does not support tools", 2,
        [(has_tools, 400,
            openai_error("registry.ollama.ai/library/gemma3:latest does not support tools", None, None, "api_error"))]),
    ("llama.cpp without --jinja (500)", 2,
        [(has_tools, 500,
            {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}})]),
    ("old vLLM: neither required nor auto", 3,
        [(forces_tool, 400, vllm_error('Value error, `tool_choice` must either be a named tool, "auto", or "none".')),
            (has_tools, 400,
                vllm_error('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'))]),
    ("Anthropic layer: thinking and forced tool use", 2,
        [(forces_tool, 400,
            openai_error("Thinking may not be enabled when tool_choice forces tool use.", "invalid_request_error"))]),
    ("Bedrock gateway: no tool use", 2,
        [(has_tools, 400, {
            "detail": "An error occurred (ValidationException) when calling the Converse operation: This model "
                "doesn't support tool use."})]),
    ("Gemini: unknown name additionalProperties in the tools", 2,
        [(has_additional, 400, google_error(
            'Invalid JSON payload received. Unknown name "additionalProperties" at '
            "'tools.function_declarations[0].parameters': Cannot find field."))]),
    ("strict is not permitted in a function", 2,
        [(has_strict, 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "tools", 0, "function", "strict"],
            "msg": "Extra inputs are not permitted", "input": True}]})]),
    ("Groq: tool_use_failed with the failed generation", 2,
        [(has_tools, 400, {"error": {
            "message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more "
                "details.", "type": "invalid_request_error", "code": "tool_use_failed",
            "failed_generation": f"<function=get_schema{ARGS}</function>"}})]),
]  # fmt: skip
STEPS_REJECTED = [
    Behaviour("tools", name, refuses(*rules, then=good_step), steps=True, first=first)
    for name, first, rules in _STEPS_REJECTED
]

# ---------------------------------------------------------------- what models write instead of the JSON
SAID: list[tuple[str, str]] = [
    ("a fence of tildes", f"~~~json\n{TEXT}\n~~~"),
    ("a fence in capitals with CRLF", f"```JSON\r\n{TEXT}\r\n```"),
    ("a fence that is never closed", f"```json\n{TEXT}"),
    ("a fence only at the end", f"{TEXT}\n```"),
    ("Seed-OSS: seed:think", f"<seed:think>{WRONG} {WRONG_JSON}</seed:think>{TEXT}"),
    ("Gemma 4: channel thought", f"<|channel>thought\n{WRONG} {WRONG_JSON}<channel|>{TEXT}"),
    ("Hermes: scratch_pad", f"<scratch_pad>\n{WRONG}\n{WRONG_JSON}\n</scratch_pad>\n{TEXT}"),
    ("Reflection: thinking, reflection, output",
        f"<thinking>{WRONG_JSON}\n<reflection>That is wrong.</reflection></thinking>\n<output>{TEXT}</output>"),
    ("Granite 3.2: thought process and response",
        f"Here is my thought process:\n{WRONG}\n{WRONG_JSON}\n\nHere is my response:\n{TEXT}"),
    ("Granite 3.3: think and response", f"<think>{WRONG} {WRONG_JSON}</think><response>{TEXT}</response>"),
    ("GLM-4.5V: box", f"<think>{WRONG}</think>\n<answer><|begin_of_box|>{TEXT}<|end_of_box|></answer>"),
    ("Phi-4-reasoning: Thought and Solution",
        f"<|begin_of_thought|>\n{WRONG}\n{WRONG_JSON}\n<|end_of_thought|>\n<|begin_of_solution|>\n{TEXT}\n<|end_of_solution|>"),
    ("Llama: a header leaks", f"<|start_header_id|>assistant<|end_header_id|>\n\n{TEXT}<|eot_id|>"),
    ("ChatML: im_end leaks", f"{TEXT}<|im_end|>\n"),
    ("Gemma: end_of_turn leaks", f"```json\n{TEXT}\n```<end_of_turn>"),
    ("Mistral: </s> leaks", f" {TEXT}</s>"),
    ("ChatML: the model goes on as the user", f"{TEXT}<|im_end|>\n<|im_start|>user\nThanks, and SELECT 7?<|im_end|>"),
    ("an invalid escape in a string",
        "{\"sql\": \"SELECT 8\", \"assumptions\": [\"it\\'s the sales\\_table\"], \"off_topic\": false}"),
    ("the last brace is missing", '{"sql": "SELECT 8", "assumptions": [], "off_topic": false'),
    ("one brace too many", TEXT + "}"),
    ("doubled braces, as in a template", '{{"sql": "SELECT 8", "assumptions": [], "off_topic": false}}'),
    ("the SQL in an XML tag", f"<think>{WRONG}</think>\n<sql>SELECT 8</sql>"),
    ("SQL: prefix", "SQL: SELECT 8"),
    ("bold field names", "**SQL:**\n```sql\nSELECT 8\n```\n**Assumptions:** none\n**Off topic:** false"),
    ("braces in the prose before", f"The placeholder {{value}} stands for a number. Result: {TEXT}"),
    ("the schema is repeated first",
        'Schema: {"type": "object", "properties": {"sql": {"type": "string"}}}\n\nAnswer:\n' + TEXT),
]  # fmt: skip
FIELDS: list[tuple[str, Any]] = [
    ("camel case", {"sql": "SELECT 8", "assumptions": [], "offTopic": False}),
    ("sql_query", {"sql_query": "SELECT 8", "assumptions": [], "off_topic": False}),
    ("reasoning first", {"reasoning": "Not SELECT 7.", **SQL}),
    ("properties around", {"properties": SQL}),
    ("the schema with values", {"type": "object", "title": "GeneratedSQL", "properties": SQL}),
    ("a function call of the schema's name", {"name": "GeneratedSQL", "arguments": SQL}),
    ("Llama: parameters", {"name": "GeneratedSQL", "parameters": SQL}),
    ("assumptions are objects", {"sql": "SELECT 8", "assumptions": [{"assumption": "a"}], "off_topic": False}),
    ("off_topic is a number", {"sql": "SELECT 8", "assumptions": [], "off_topic": 0}),
    ("sql is a list of one", {"sql": ["SELECT 8"], "assumptions": [], "off_topic": False}),
]  # fmt: skip
WRITTEN: list[Behaviour] = [
    *(Behaviour("writes", name, says(text)) for name, text in SAID),
    *(Behaviour("fields", name, says(json.dumps(value))) for name, value in FIELDS),
]

# ---------------------------------------------------------------- shapes of a completion with a statement
SHAPES: list[Behaviour] = [
    Behaviour("shape", "Ollama: thinking beside", says(TEXT, thinking=WRONG_JSON)),
    Behaviour("shape", "Databricks: reasoning and text parts",
        says([{"type": "reasoning", "summary": [{"type": "summary_text", "text": WRONG_JSON}]},
            {"type": "text", "text": TEXT}])),
    Behaviour("shape", "text parts that cut the JSON",
        says([{"type": "text", "text": TEXT[:15]}, {"type": "text", "text": TEXT[15:]}])),
    Behaviour("shape", "output_text part", says([{"type": "output_text", "text": TEXT, "annotations": []}])),
    Behaviour("shape", "content is an object", says(SQL)),
    Behaviour("shape", "LiteLLM for Claude: a json_tool_call", calls({"name": "json_tool_call", "arguments": TEXT})),
    Behaviour("shape", "tool_calls is an empty list",
        says(TEXT, tool_calls=[], function_call=None, audio=None, annotations=[])),
    Behaviour("shape", "finish_reason is null", choice({"content": TEXT}, None)),
    Behaviour("shape", "finish_reason missing, stop_reason instead",
        lambda request: completion(
            {}, choices=[{"message": {"role": "assistant", "content": TEXT}, "stop_reason": 128009}])),
    Behaviour("shape", "usage is odd",
        sends(json.dumps({**BODY, "usage": {"prompt_tokens": "12", "completion_tokens": None, "queue_time": 0.1}}))),
    Behaviour("shape", "error is null beside the choices",
        sends(json.dumps({**BODY, "error": None, "code": 0, "message": "success"}))),
    Behaviour("shape", "Azure: content filter results beside",
        sends(json.dumps({**BODY, "prompt_filter_results": [{"prompt_index": 0,
            "content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}}]}))),
    Behaviour("body", "OpenRouter: white space keeps the connection alive",
        sends("\n         \n" * 30 + json.dumps(BODY))),
    Behaviour("body", "OpenRouter: comments before the JSON",
        sends(": OPENROUTER PROCESSING\n\n" * 3 + json.dumps(BODY))),
    Behaviour("body", "a byte order mark before the JSON", sends("\ufeff" + json.dumps(BODY))),
    Behaviour("body", "JSON as text/html", sends(json.dumps(BODY), **HTML)),
    Behaviour("body", "JSON called an event stream", sends(json.dumps(BODY), **{"Content-Type": "text/event-stream"})),
    Behaviour("body", "one event with a whole completion", sends(sse(BODY), **{"Content-Type": "text/event-stream"})),
    Behaviour("body", "NaN in logprobs",
        sends(json.dumps({**BODY, "choices": [{**BODY["choices"][0], "logprobs": float("nan")}]}))),
    Behaviour("body", "201", sends(json.dumps(BODY), 201)),
    Behaviour("stream", "think in the content's deltas",
        streams({"content": "<thi"}, {"content": f"nk>{WRONG_JSON}</th"}, {"content": "ink>"}, {"content": TEXT})),
    Behaviour("stream", "without a space after data, CRLF",
        sends(sse(chunk({"content": TEXT[:12]}), chunk({"content": TEXT[12:]}), chunk({}, "stop"), newline="\r\n",
            prefix="data:"), **{"Content-Type": "text/event-stream;charset=UTF-8"})),
    Behaviour("stream", "comments, ids and events",
        sends(
            ": OPENROUTER PROCESSING\n\n: ping\n\nevent: message\nid: 1\nretry: 3000\n" + sse(
                chunk({"content": TEXT}), chunk({"content": ""}, "stop"), {**chunk({}), "choices": [],
                    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}),
            **{"Content-Type": "text/event-stream"})),
    Behaviour("stream", "Azure: the first chunk has no choices",
        sends(sse({"choices": [], "created": 0, "id": "", "model": "", "object": "",
            "prompt_filter_results": [{"prompt_index": 0}]},
            chunk({"role": "assistant", "content": "", "refusal": None}), chunk({"content": TEXT}), chunk({}, "stop")),
            **{"Content-Type": "text/event-stream"})),
    Behaviour("stream", "no DONE at the end",
        sends(sse(chunk({"content": TEXT[:5]}), chunk({"content": TEXT[5:]}, "stop"), done=False),
            **{"Content-Type": "text/event-stream"})),
    Behaviour("stream", "lines of JSON",
        sends("".join(
            json.dumps(one) + "\n"
            for one in (chunk({"content": TEXT[:8]}), chunk({"content": TEXT[8:]}), chunk({}, "stop"))),
            **{"Content-Type": "application/x-ndjson"})),
]  # fmt: skip

# ---------------------------------------------------------------- how a model calls a tool
TOOL = {"name": "get_schema", "arguments": ARGUMENTS}
PARAMETERS = {"name": "get_schema", "parameters": ARGUMENTS}
CALLED: list[tuple[str, Any]] = [
    ("arguments in a fence", calls({"name": "get_schema", "arguments": f"```json\n{ARGS}\n```"})),
    ("arguments with single quotes", calls({"name": "get_schema", "arguments": "{'dataset_id': 'ds_1'}"})),
    ("arguments with a token after", calls({"name": "get_schema", "arguments": ARGS + "<|call|>"})),
    ("arguments twice in a row", calls({"name": "get_schema", "arguments": "{}" + ARGS})),
    ("parameters instead of arguments", calls({"name": "get_schema", "parameters": ARGUMENTS})),
    ("Kimi: the id as the name", calls({"name": "functions.get_schema:0", "arguments": ARGS})),
    ("Gemini: default_api before the name", calls({"name": "default_api.get_schema", "arguments": ARGS})),
    ("gpt-oss: the channel leaks into the name", calls({"name": "get_schema<|channel|>commentary", "arguments": ARGS})),
    ("the name in capitals and a hyphen", calls({"name": "Get-Schema", "arguments": ARGS})),
    ("the same call twice", calls(CALL, CALL)),
    ("null and empty ids", says("", tool_calls=[{"id": None, "index": 0, "type": None, "function": CALL}])),
    ("flat: the name beside the type",
        says(None, tool_calls=[{"id": "1", "type": "function", "name": "get_schema", "arguments": ARGS}])),
    ("tool_calls is one object", says(None, tool_calls={"id": "1", "type": "function", "function": CALL})),
    ("an empty call before",
        says(None, tool_calls=[{"id": "0", "type": "function", "function": {"name": "", "arguments": ""}},
            {"id": "1", "type": "function", "function": CALL}])),
    ("Anthropic: a tool_use part",
        says([{"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "get_schema", "input": ARGUMENTS}])),
    ("streamed, the name repeated as null",
        streams({"tool_calls": [{"index": 0, "id": "c1", "type": "function",
            "function": {"name": "get_schema", "arguments": ARGS[:3]}}]},
            {"tool_calls": [{"index": 0, "id": None, "function": {"name": None, "arguments": ARGS[3:]}}]})),
]  # fmt: skip
STEP_TEXTS: list[tuple[str, str]] = [
    ("Hermes, never closed", f"<tool_call>\n{json.dumps(TOOL)}"),
    ("Hermes, the opening lost", f"{json.dumps(TOOL)}\n</tool_call>"),
    ("Hermes with single quotes",
        "<tool_call>\n{'name': 'get_schema', 'arguments': {'dataset_id': 'ds_1'}}\n</tool_call>"),
    ("Qwen3-Coder",
        "<tool_call>\n<function=get_schema>\n<parameter=dataset_id>\nds_1\n</parameter>\n</function>\n</tool_call>"),
    ("GLM-4.5",
        "<think></think>\n<tool_call>get_schema\n<arg_key>dataset_id</arg_key>\n<arg_value>ds_1</arg_value>\n"
        "</tool_call>"),
    ("GLM-4", f"get_schema\n{ARGS}"),
    ("Mistral 7B v0.3", f"[TOOL_CALLS] [{json.dumps(TOOL)}]</s>"),
    ("Mistral Small 3.2", f"[TOOL_CALLS]get_schema[ARGS]{ARGS}"),
    ("Devstral: the name and JSON", f"[TOOL_CALLS]get_schema{ARGS}"),
    ("Llama 3.1", f"<|python_tag|>{json.dumps(PARAMETERS)}<|eom_id|>"),
    ("Llama 3: function tag", f"<function=get_schema>{ARGS}</function>"),
    ("Llama 3.2 and 4: pythonic", '[get_schema(dataset_id="ds_1")]'),
    ("Gemma: tool_code", '```tool_code\nget_schema(dataset_id="ds_1")\n```'),
    ("Gemma: tool_code with print", '```tool_code\nprint(default_api.get_schema(dataset_id="ds_1"))\n```'),
    ("DeepSeek V3.1",
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_schema<｜tool▁sep｜>{ARGS}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    ("DeepSeek V3.2: DSML",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_schema">\n<｜DSML｜parameter name="dataset_id" '
        'string="true">ds_1</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'),
    ("Kimi K2",
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.get_schema:0<|tool_call_argument_begin|>{ARGS}<|tool_call_end|><|tool_calls_section_end|>"),
    ("gpt-oss: commentary",
        f"<|channel|>analysis<|message|>Need the schema.<|end|><|start|>assistant<|channel|>commentary to=functions.get_schema <|constrain|>json<|message|>{ARGS}<|call|>"),
    ("gpt-oss: the special tokens are stripped",
        f"analysisNeed the schema.assistantcommentary to=functions.get_schema json{ARGS}"),
    ("Command R",
        "Action: ```json\n" + json.dumps([{"tool_name": "get_schema", "parameters": ARGUMENTS}], indent=4) + "\n```"),
    ("Command A",
        "<|START_THINKING|>I look at it.<|END_THINKING|><|START_ACTION|>[\n    "
        + json.dumps({"tool_call_id": "0", "tool_name": "get_schema", "parameters": ARGUMENTS})
        + "\n]<|END_ACTION|>"),
    ("Claude",
        '<function_calls>\n<invoke name="get_schema">\n<parameter name="dataset_id">ds_1</parameter>\n</invoke>\n'
        "</function_calls>"),
    ("ReAct", f"Thought: I need the columns.\nAction: get_schema\nAction Input: {ARGS}\nObservation:"),
    ("xLAM: a list", json.dumps([TOOL])),
    ("OpenAI's own shape", json.dumps({"id": "call_1", "type": "function", "function": CALL})),
    ("OpenAI's tool_calls",
        json.dumps({"content": None, "tool_calls": [{"id": "c", "type": "function", "function": CALL}]})),
    ("action and action_input", json.dumps({"action": "get_schema", "action_input": ARGUMENTS})),
    ("tool and flat arguments", json.dumps({"tool": "get_schema", "dataset_id": "ds_1"})),
    ("the name as the key", json.dumps({"get_schema": ARGUMENTS})),
    ("a call in prose", 'I will call `get_schema(dataset_id="ds_1")` now.'),
]  # fmt: skip
STEPS: list[Behaviour] = [
    *(Behaviour("calls", name, answer, steps=True) for name, answer in CALLED),
    *(Behaviour("calls in text", name, says(text), steps=True) for name, text in STEP_TEXTS),
    Behaviour("calls in text", "Kimi: the call in reasoning_content, the content empty",
        says("",
            reasoning_content=f"I look.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_schema:0<|tool_call_argument_begin|>{ARGS}<|tool_call_end|><|tool_calls_section_end|>"),
        steps=True),
    Behaviour("calls in text", "tools are ignored, tools in the text work",
        lambda request: completion({"content": "I would look at the schema." if has_tools(request) else STEP_TEXT}),
        steps=True),
]  # fmt: skip

# ---------------------------------------------------------------- errors
NGINX = "<html>\r\n<head><title>{0}</title></head>\r\n<body>\r\n<center><h1>{0}</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>\r\n"
LOGIN = '<!DOCTYPE html><html><head><meta charset="utf-8"><title>Sign in to your account</title><style>body{margin:0}</style><script>var $Config={"a":1};</script></head><body><form method="post" action="/login"><input name="user"></form></body></html>'
WEBUI = '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8" />\n<title>Open WebUI</title>\n</head>\n<body><div id="app"></div></body></html>'
CLOUDFLARE = '<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title><meta name="robots" content="noindex,nofollow"></head><body><noscript>Enable JavaScript and cookies to continue</noscript></body></html>'
ERRORS: list[tuple[str, Any, str]] = [
    # the key
    ("OpenAI: wrong key",
        fails(401, openai_error(
            "Incorrect API key provided: sk-abc*****xyz. You can find your API key at "
            "https://platform.openai.com/account/api-keys.", "invalid_api_key")), setting("Incorrect API key")),
    ("Gemini: wrong key with 400",
        fails(400, google_error("API key not valid. Please pass a valid API key.",
            details=[{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}])),
        setting("API key not valid")),
    ("vLLM: Unauthorized as the whole error", fails(401, '{"error":"Unauthorized"}'), setting("Unauthorized")),
    ("MiniMax: login fail with 200",
        fails(200,
            '{"id":"","choices":null,"created":0,"model":"","object":"","usage":null,"base_resp":{"status_code":1004,"status_msg":"login '
            "fail: Please carry the API secret key in the 'Authorization' field of the request header\"}}"),
        "login fail"),
    ("OpenAI: country not supported",
        fails(403, openai_error("Country, region, or territory not supported", "unsupported_country_region_territory",
            None, "request_forbidden")), "Country, region, or territory not supported"),
    # the model
    ("OpenAI: not a chat model",
        fails(404, openai_error(
            "This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use "
            "v1/completions?", None, "model")), setting("not a chat model")),
    ("Azure: no such deployment",
        fails(404,
            '{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. '
            'If you created the deployment within the last 5 minutes, please wait a moment and try again."}}'),
        setting("API deployment for this resource does not exist")),
    # the address
    ("Ollama: 404 page not found", fails(404, "404 page not found", **PLAIN), setting("404 page not found")),
    ("LM Studio: unexpected endpoint with 200",
        fails(200, '{"error":"Unexpected endpoint or method. (POST /chat/completions)"}'),
        setting("Unexpected endpoint or method")),
    ("Express: Cannot POST",
        fails(404,
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Error</title>\n</head>\n'
            "<body>\n<pre>Cannot POST /chat/completions</pre>\n</body>\n</html>\n", **HTML), setting("Cannot POST")),
    ("Open WebUI: its page with 200", fails(200, WEBUI, **HTML), setting("Open WebUI")),
    ("nginx: plain HTTP to an HTTPS port",
        fails(400, NGINX.format("400 The plain HTTP request was sent to HTTPS port"), **HTML),
        setting("plain HTTP request was sent to HTTPS port")),
    ("the list of models", fails(200, '{"object":"list","data":[{"id":"my-model","object":"model"}]}'), "my-model"),
    # proxies
    ("a login page with 401", fails(401, LOGIN, **HTML), setting("Sign in to your account")),
    ("Cloudflare: Just a moment",
        fails(403, CLOUDFLARE,
            **{"Content-Type": "text/html; charset=UTF-8", "Server": "cloudflare", "cf-mitigated": "challenge"}),
        "Just a moment"),
    ("Cloudflare: 524",
        fails(524,
            "<!DOCTYPE html><html><head><title>llm.example.com | 524: A timeout "
            "occurred</title></head><body></body></html>", **HTML), "A timeout occurred"),
    ("nginx: 502", fails(502, NGINX.format("502 Bad Gateway"), **HTML), "Bad Gateway"),
    ("Envoy: no healthy upstream", fails(503, "no healthy upstream", **PLAIN), "no healthy upstream"),
    # limits and loading
    ("OpenAI: quota",
        fails(429, openai_error(
            "You exceeded your current quota, please check your plan and billing details. For more information on "
            "this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
            "insufficient_quota", None, "insufficient_quota")), "exceeded your current quota"),
    ("OpenRouter: more credits",
        fails(402,
            '{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 '
            "tokens, but can only afford 1234. To increase, visit https://openrouter.ai/settings/credits and upgrade "
            'to a paid account","code":402}}'), "requires more credits"),
    ("Groq: rate limit for minutes",
        fails(429, openai_error(
            "Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` "
            "on tokens per day (TPD): Limit 100000, Used 99421, Requested 1211. Please try again in 9m6.048s.",
            "rate_limit_exceeded", None, "tokens"), **{"Content-Type": "application/json", "retry-after": "547"}),
        "Rate limit reached"),
    ("Gemini: resource exhausted in a list",
        fails(429, google_error(
            "You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for "
            "metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0", 429,
            "RESOURCE_EXHAUSTED"), **{"Content-Type": "application/json", "Retry-After": "3600"}),
        "exceeded your current quota"),
    ("OpenAI: context length",
        fails(400, openai_error(
            "This model's maximum context length is 4096 tokens. However, your messages resulted in 5120 tokens. "
            "Please reduce the length of the messages.", "context_length_exceeded", "messages")),
        "maximum context length"),
    ("TGI: inputs too long",
        fails(422,
            '{"error":"Input validation error: `inputs` must have less than 4096 tokens. Given: '
            '5120","error_type":"validation"}'), "must have less than 4096 tokens"),
    ("llama.cpp: Loading model",
        fails(503, '{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}'), "Loading model"),
    ("Ollama: not enough memory",
        fails(500, openai_error("model requires more system memory (48.2 GiB) than is available (15.1 GiB)", None, None,
            "api_error")), "requires more system memory"),
    # errors inside a 200
    ("OpenRouter: provider error with 200",
        fails(200,
            '{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"upstream connect error or '
            'disconnect/reset before headers","provider_name":"DeepInfra"}},"user_id":"user_1"}'),
        "upstream connect error|Provider returned error"),
    ("OpenRouter: an error in the choice",
        choice({"content": ""}, "error",
            error={"code": 502, "message": "Upstream error from Chutes: no instances available"}),
        "no instances available"),
    ("a gateway's code and msg with 200",
        fails(200, '{"code":40301,"msg":"该应用未授权访问此模型 (app not authorised)","data":null}'), "app not authorised"),
    ("API Gateway: a Lambda's answer with 200",
        fails(200, '{"errorMessage":"2025-01-01T00:00:00Z 1a2b Task timed out after 29.03 seconds"}'),
        "Task timed out"),
    # refusals, filters, emptiness
    ("Azure: the prompt is filtered",
        fails(400, {"error": {
            "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management "
                "policy. Please modify your prompt and retry. To learn more about our content filtering "
                "policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766", "type": None,
            "param": "prompt", "code": "content_filter", "status": 400,
            "innererror": {"code": "ResponsibleAIPolicyViolation"}}}), "content management policy"),
    ("Gemini: prohibited content",
        choice({"content": None}, "content_filter: PROHIBITED_CONTENT"), "(?i:content.?filter)"),
    ("only white space", says("\n\n   \n"), "(?i:empty|nothing|no (text|content|answer))"),
    ("null as the body", fails(200, "null"), "."),
    ("a body cut in the middle", fails(200, json.dumps(BODY)[:120]), "."),
    ("thinking used up the tokens",
        choice({"content": f"<think>\n{WRONG} {WRONG_JSON} And then"}, "length"),
        "(?i:length|token|cut|truncat|limit)"),
    ("the statement is cut",
        choice({"content": '{"sql": "SELECT a, b, c FROM some_table WHERE'}, "length"),
        "(?i:length|token|cut|truncat|limit)"),
    ("small talk",
        says("Hello! I'm Qwen, created by Alibaba Cloud. How can I assist you today?"), "created by Alibaba Cloud"),
]  # fmt: skip
FAILURES = [Behaviour("errors", name, answer, error=error) for name, answer, error in ERRORS]

_REPEATED = (
    "Cloudflare: 524", "nginx: 502", "Envoy: no healthy upstream", "llama.cpp: Loading model",
)  # fmt: skip
"""An overloaded server gets the request three times."""

_UNREADABLE = {
    "the last brace is missing": "not complete",
    "Kimi: the call in reasoning_content, the content empty": "empty",
}
"""What is not read, and the error: a cut-off answer, reasoning, and prose after a repeated request."""

SERVER_BEHAVIOURS = [
    replace(each, first=3 if each.name in _REPEATED else each.first, error=_UNREADABLE.get(each.name, each.error))
    for each in (*REJECTED, *STEPS_REJECTED, *WRITTEN, *SHAPES, *STEPS, *FAILURES)
]
