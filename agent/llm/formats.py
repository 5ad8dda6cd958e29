"""Response formats for structured answers: request options and the instructions that go with them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import openai
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_function
from pydantic import BaseModel

from agent.llm.endpoint import names_format
from agent.llm.schemas import Lenient

Tools = Sequence[dict[str, Any]]
"""Functions that a model may call, in the format of OpenAI."""

MODES = ("json_schema", "json_object", "text")
"""Response formats, strictest first."""


@dataclass
class Formats:
    """The response formats that an endpoint accepts, learned from its rejections. Shared by copies of a client."""

    modes: tuple[str, ...]
    """The modes to try, strictest first."""
    calls_tools: bool
    """Whether to request tool calls in the endpoint's own format."""
    schema_in_prompt: bool = False
    """Whether the model follows a schema only if the prompt contains it."""
    returns_reasoning: bool = False
    """Whether the model has returned reasoning; it is then not asked for fields in which to reason."""
    unexplained_errors: int = 0
    """Server errors that were avoided by a plainer request, while the error text named no format."""

    @classmethod
    def of(cls, setting: str) -> "Formats":
        """Return the initial formats for the setting `llm_structured_output`."""
        return cls(MODES, calls_tools=True) if setting == "auto" else cls((setting,), calls_tools=False)

    def candidates(self, *, with_tools: bool) -> tuple[str, ...]:
        """Return the modes to try for one call, in order."""
        return ("tools", *self.modes) if with_tools and self.calls_tools else self.modes

    def note_accepted(self, mode: str, candidates: Sequence[str], rejection: openai.APIStatusError | None) -> None:
        """Stop trying the modes before `mode`, which the endpoint rejected with `rejection`.

        A server error that names no format may be a temporary failure, so it counts from the second time on.
        """
        if rejection is None:
            return
        if rejection.status_code >= 500 and not names_format(rejection):
            self.unexplained_errors += 1
            if self.unexplained_errors < 2:
                return
        self.calls_tools = self.calls_tools and (mode == "tools" or "tools" not in candidates)
        if mode != "tools":
            self.modes = (mode,)


def function_schema(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a function in the format of OpenAI; `parameters` is the JSON schema of its arguments."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def request_of(schema: type[BaseModel], mode: str, tools: Tools, *, returns_reasoning: bool = False) -> dict[str, Any]:
    """Return the options of a request for `schema` in a mode of `MODES`, or in mode "tools" for a call of `tools`.

    If the model `returns_reasoning`, the fields in which a model reasons are left out.
    """
    if mode == "tools":
        return {"tools": list(tools), "tool_choice": "required"}
    if mode == "json_object":
        return body_options({"response_format": {"type": "json_object"}})
    if mode == "text":
        return {}
    return json_schema_options(schema.__name__, _strict_schema(schema, returns_reasoning))


def json_schema_options(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a request for JSON that conforms to `schema`."""
    json_schema = {"name": name, "strict": True, "schema": schema}
    return body_options({"response_format": {"type": "json_schema", "json_schema": json_schema}})


def body_options(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a request with `fields` added to its body.

    Extra fields are sent unchanged. OpenAI's client converts its own fields part by part, which would take longer than
    the rest of the call.
    """
    return {"extra_body": fields}


def response_format(options: dict[str, Any]) -> dict[str, Any]:
    """Return the `response_format` of request options, empty if there is none."""
    value: dict[str, Any] = options.get("extra_body", {}).get("response_format", {})
    return value


@cache
def _strict_schema(schema: type[BaseModel], returns_reasoning: bool) -> dict[str, Any]:
    parameters = convert_to_openai_function(schema, strict=True)["parameters"]
    strict_schema = cast(dict[str, Any], _without_defaults(parameters))
    return _without_reasoning_fields(strict_schema, schema) if returns_reasoning else strict_schema


def _without_reasoning_fields(json_schema: dict[str, Any], schema: type[BaseModel]) -> dict[str, Any]:
    names = schema.reasoning_fields if issubclass(schema, Lenient) else ()
    return {
        **json_schema,
        "properties": {name: field for name, field in json_schema["properties"].items() if name not in names},
        "required": [name for name in json_schema.get("required", ()) if name not in names],
    }


def format_messages(
    schema: type[BaseModel], mode: str, tools: Tools, *, with_schema: bool, returns_reasoning: bool = False
) -> list[BaseMessage]:
    """Return the messages that describe the format: the tools, and the schema if requested or needed in `mode`.

    If the model `returns_reasoning`, the fields in which a model reasons are left out.
    """
    messages: list[BaseMessage] = []
    if tools and mode != "tools":
        functions = [tool["function"] for tool in tools]
        messages.append(HumanMessage(f"The tools, each with the JSON schema of its arguments: {json.dumps(functions)}"))
    if with_schema or mode not in {"json_schema", "tools"}:
        text = "Answer with one JSON object and nothing else. Its JSON schema: "
        json_schema = schema.model_json_schema()
        if returns_reasoning:
            json_schema = _without_reasoning_fields(json_schema, schema)
        messages.append(HumanMessage(f"{text}{json.dumps(json_schema)}"))
    return messages


def tool_names(tools: Tools) -> list[str]:
    """Return the names of `tools`."""
    return [tool["function"]["name"] for tool in tools]


def repair_messages(text: str, problem: str, schema: str) -> list[BaseMessage]:
    """Return the messages that report an unreadable answer and request another one."""
    answer: list[BaseMessage] = [AIMessage(text)] if text else []
    return [
        *answer,
        HumanMessage(f"That could not be read as {schema}: {problem}. Answer again, completely and correctly."),
    ]


def _without_defaults(node: Any) -> Any:
    # All properties are required, so defaults have no effect; Azure rejects a strict schema with defaults.
    if isinstance(node, dict):
        return {key: _without_defaults(value) for key, value in node.items() if key != "default"}
    return [_without_defaults(part) for part in node] if isinstance(node, list) else node
