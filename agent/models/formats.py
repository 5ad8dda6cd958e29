"""The forms in which a model is asked for a structured answer, and what it is told of them."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_function
from pydantic import BaseModel

Tools = Sequence[dict[str, Any]]
"""Functions that a model may call, as OpenAI describes them."""

MODES = ("json_schema", "json_object", "text")
"""From the strictest form of an answer to none."""


def function_schema(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a function that a model may call; `parameters` is the JSON schema of its arguments."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def request_of(schema: type[BaseModel], mode: str, tools: Tools) -> dict[str, Any]:
    """Return the options of a request for `schema` in one of `MODES`, or by a call of `tools` where it is "tools"."""
    if mode == "tools":
        return {"tools": list(tools), "tool_choice": "required"}
    if mode == "json_object":
        return body_options({"response_format": {"type": "json_object"}})
    if mode == "text":
        return {}
    return json_schema_options(schema.__name__, _strict_schema(schema))


def json_schema_options(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a request for JSON that keeps to `schema`."""
    wanted = {"name": name, "strict": True, "schema": schema}
    return body_options({"response_format": {"type": "json_schema", "json_schema": wanted}})


def body_options(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a request whose body has `fields`.

    They go out as they are: what is no field of its own for the client of OpenAI's is not converted part by part, which
    takes longer than all the rest of a call.
    """
    return {"extra_body": fields}


def form_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return the `response_format` of a request with these options, empty where it has none."""
    form: dict[str, Any] = options.get("extra_body", {}).get("response_format", {})
    return form


@cache
def _strict_schema(schema: type[BaseModel]) -> dict[str, Any]:
    function = convert_to_openai_function(schema, strict=True)
    return cast(dict[str, Any], _without_defaults(function["parameters"]))


def spelt_out(schema: type[BaseModel], mode: str, tools: Tools, *, spell_out: bool) -> list[BaseMessage]:
    """Return what the prompt has to say of the form beside the request: the tools, and the schema where needed."""
    said: list[BaseMessage] = []
    if tools and mode != "tools":
        functions = [tool["function"] for tool in tools]
        said.append(HumanMessage(f"The tools, each with the JSON schema of its arguments: {json.dumps(functions)}"))
    if spell_out or mode not in {"json_schema", "tools"}:
        said.append(HumanMessage(_instruction(schema)))
    return said


def call_as_answer(answer: AIMessage) -> str | None:
    """Return the first call of a tool as the JSON that `AnalystStep` reads; None where nothing was called."""
    if answer.tool_calls:
        first = answer.tool_calls[0]
        return json.dumps({"tool": first["name"], "arguments": json.dumps(first["args"], ensure_ascii=False)})
    if answer.invalid_tool_calls:
        broken = answer.invalid_tool_calls[0]
        return json.dumps({"tool": broken["name"] or "", "arguments": broken["args"] or ""})
    return None


def repair_messages(text: str, problem: str, schema: str) -> list[BaseMessage]:
    """Return what asks again for an answer that could not be read."""
    said: list[BaseMessage] = [AIMessage(text)] if text else []
    return [
        *said,
        HumanMessage(f"That could not be read as {schema}: {problem}. Answer again, completely and correctly."),
    ]


def _without_defaults(node: Any) -> Any:
    # All properties are required, so a default means nothing; Azure refuses a strict schema that has one.
    if isinstance(node, dict):
        return {key: _without_defaults(value) for key, value in node.items() if key != "default"}
    return [_without_defaults(part) for part in node] if isinstance(node, list) else node


def _instruction(schema: type[BaseModel]) -> str:
    return f"Answer with one JSON object and nothing else. Its JSON schema: {json.dumps(schema.model_json_schema())}"
