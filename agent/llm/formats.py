"""Response formats for structured answers: request options and the instructions that go with them."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_function
from pydantic import BaseModel

from datasphinx.agent.llm.schemas import Lenient

Tools = Sequence[dict[str, Any]]
"""Functions that a model may call, in the format of OpenAI."""

_LEFT_OUT = {
    "title", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minimum", "maximum",
    "pattern",
}  # fmt: skip
"""Keywords of JSON schemas that models are not given."""
_MAY_BE_EMPTY = {"default", "additionalProperties", "propertyNames"}
"""Keywords that models are not given if they are empty or false."""


def function_schema(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a function in the format of OpenAI; `parameters` is the JSON schema of its arguments.

    A part of the schema that is used once stands where it is used.
    """
    definitions = parameters.get("$defs", {})
    text = json.dumps(parameters)
    once = {kind: part for kind, part in definitions.items() if text.count(f'"#/$defs/{kind}"') == 1}
    # The description of the function is also that of its arguments.
    fields = {keyword: part for keyword, part in parameters.items() if keyword not in ("$defs", "description")}
    if shared := {kind: part for kind, part in definitions.items() if kind not in once}:
        fields["$defs"] = shared
    function = {"name": name, "description": description, "parameters": _with_definitions(fields, once)}
    return {"type": "function", "function": function}


def _with_definitions(node: Any, definitions: dict[str, Any]) -> Any:
    """Return `node` with `definitions` in place of the references to them."""
    if isinstance(node, list):
        return [_with_definitions(part, definitions) for part in node]
    if not isinstance(node, dict):
        return node
    found = definitions.get(str(node.get("$ref")).rpartition("/")[2])
    if found:
        node = {**found, **{keyword: part for keyword, part in node.items() if keyword != "$ref"}}
    return {keyword: _with_definitions(part, definitions) for keyword, part in node.items()}


@cache
def model_schema(model: type[BaseModel], *, strict: bool = False) -> dict[str, Any]:
    """Return the JSON schema of `model` that a model is shown; with `strict`, that with which endpoints constrain it.

    The one that is shown has no titles, no null or empty default of a field that may be left out, and no sizes and
    patterns of texts and lists: they cost tokens, llama.cpp cannot make a grammar of all of them, and answers are
    checked when they are read. It takes milliseconds to compute, so callers share it; none may change it.
    """
    if strict:
        return cast(
            dict[str, Any], _without_defaults_and_titles(convert_to_openai_function(model, strict=True)["parameters"])
        )
    return cast(dict[str, Any], _shortened(model.model_json_schema()))


def _shortened(node: Any) -> Any:
    if isinstance(node, list):
        return [_shortened(part) for part in node]
    if not isinstance(node, dict):
        return node
    if "default" in node and node["default"] is None:
        kinds = [kind for kind in node.get("anyOf", ()) if kind != {"type": "null"}]
        node = {name: part for name, part in node.items() if name not in ("anyOf", "default")}
        if kinds:
            node |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    # Properties may have the names of keywords: their schemas are no texts or numbers.
    kept = {
        name: _shortened(part)
        for name, part in node.items()
        if name not in _LEFT_OUT or not isinstance(part, str | int | float)
    }
    return {name: part for name, part in kept.items() if part or name not in _MAY_BE_EMPTY}


def request_of(
    schema: type[BaseModel], mode: str, tools: Tools, *, without: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Return the options of a request for `schema` in a mode of `MODES`, or for a call of `tools` in mode "tools".

    The fields `without` are left out.
    """
    if mode == "tools":
        return {"tools": list(tools), "tool_choice": "required"}
    if mode == "json_object":
        return body_options({"response_format": {"type": "json_object"}})
    if mode == "text":
        return {}
    return json_schema_options(schema.__name__, _without_fields(model_schema(schema, strict=True), without))


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
def reasoning_fields(schema: type[BaseModel]) -> frozenset[str]:
    """Return the fields of `schema` in which a model reasons before it answers."""
    return frozenset(schema.reasoning_fields if issubclass(schema, Lenient) else ())


def _without_fields(json_schema: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Return `json_schema` without the properties `names`, also of its definitions, and without unused definitions."""
    if not names:
        return json_schema
    shorter = _without_properties(json_schema, names)
    definitions = {name: _without_properties(part, names) for name, part in shorter.pop("$defs", {}).items()}
    while unused := [name for name in definitions if f'"#/$defs/{name}"' not in json.dumps([shorter, definitions])]:
        definitions = {name: part for name, part in definitions.items() if name not in unused}
    return {**shorter, "$defs": definitions} if definitions else shorter


def _without_properties(json_schema: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    properties = {name: field for name, field in json_schema.get("properties", {}).items() if name not in names}
    required = [name for name in json_schema.get("required", ()) if name not in names]
    return {**json_schema, "properties": properties, "required": required}


def format_messages(
    schema: type[BaseModel], mode: str, tools: Tools, *, with_schema: bool, without: frozenset[str] = frozenset()
) -> list[BaseMessage]:
    """Return the messages that describe the format: the tools, and the schema if requested or needed in `mode`.

    The fields `without` are left out.
    """
    messages: list[BaseMessage] = []
    if tools and mode != "tools":
        functions = [tool["function"] for tool in tools]
        messages.append(HumanMessage(f"The tools, each with the JSON schema of its arguments: {json.dumps(functions)}"))
    if with_schema or mode not in {"json_schema", "tools"}:
        text = "Answer with one JSON object and nothing else. Its JSON schema: "
        json_schema = _without_fields(model_schema(schema), without)
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


def _without_defaults_and_titles(node: Any) -> Any:
    # All properties are required, so defaults have no effect; Azure rejects a strict schema with defaults. A property
    # may have the name `title`: then it is no text.
    if isinstance(node, list):
        return [_without_defaults_and_titles(part) for part in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_defaults_and_titles(value)
        for key, value in node.items()
        if key != "default" and not (key == "title" and isinstance(value, str))
    }
