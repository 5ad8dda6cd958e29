"""What a chat model is sent for a structured answer: the form, the instruction, the plea to say it again."""

import json
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_function
from pydantic import BaseModel


def response_format(schema: type[BaseModel], mode: str) -> dict[str, Any]:
    """Return the options of a call whose answer has the form `schema`, for an endpoint that knows `mode`."""
    if mode == "json_object":
        return {"response_format": {"type": "json_object"}}
    if mode == "text":
        return {}
    function = convert_to_openai_function(schema, strict=True)
    wanted = {"name": schema.__name__, "strict": True, "schema": _without_defaults(function["parameters"])}
    return {"response_format": {"type": "json_schema", "json_schema": wanted}}


def instruction(schema: type[BaseModel]) -> HumanMessage:
    """Return the message that spells `schema` out."""
    return HumanMessage(
        f"Answer with one JSON object and nothing else. Its JSON schema: {json.dumps(schema.model_json_schema())}"
    )


def repair(text: str, problem: str, schema: str) -> list[BaseMessage]:
    """Return the messages that follow an answer, `text`, that could not be read."""
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
