"""Tool calls of a model: in the endpoint's own format, and as the text that models write for them."""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage

from agent.llm.json_text import json_objects

_XML_PARAMETER = re.compile(
    r"<[^<>]*\bparameter(?:=|\s+name=)\"?(?P<name>[\w-]+)\"?[^<>]*>\s*(?P<value>.*?)\s*</[^<>]*\bparameter>"
    r"|<arg_key>\s*(?P<key>[\w-]+)\s*</arg_key>\s*<arg_value>\s*(?P<argument>.*?)\s*</arg_value>",
    re.DOTALL,
)
_MAX_MARKUP = 120
"""Characters between the name of a tool and its arguments."""
_MAX_CALL = 20_000


def call_of(message: AIMessage, names: Sequence[str]) -> dict[str, str] | None:
    """Return the first call of a reply, in the form of `AnalystStep`; None if there is none."""
    calls = [(call["name"], json.dumps(call["args"], ensure_ascii=False)) for call in message.tool_calls]
    calls += [(call["name"] or "", call["args"] or "") for call in message.invalid_tool_calls]
    for name, arguments in calls:
        if name:
            return {"tool": matching_name(name, names) or name, "arguments": _repair_arguments(arguments)}
    return None


def matching_name(text: str, names: Sequence[str]) -> str | None:
    """Return the tool that `text` names: models and servers add a namespace, a number, or marks of the template.

    >>> matching_name("functions.get_schema:0", ["get_schema", "plot"]), matching_name("Get-Schema", ["get_schema"])
    ('get_schema', 'get_schema')
    """
    words = re.sub(r"[\s-]+", "_", text.partition("<|")[0].strip().lower())
    words = re.sub(r":\d+$", "", words)
    return next((name for name in names if re.split(r"[.:]", words)[-1] == name.lower()), None)


def call_in_text(text: str, names: Sequence[str]) -> dict[str, str] | None:
    """Return the first call of one of the tools in `text`, in the form of `AnalystStep`; None if there is none.

    The arguments may be XML elements, a JSON object after the name, or Python keyword arguments.

    >>> call_in_text("<function=plot><parameter=x>city</parameter></function>", ["plot"])
    {'tool': 'plot', 'arguments': '{"x": "city"}'}
    >>> call_in_text('[TOOL_CALLS]plot[ARGS]{"x": "city"}', ["plot"])
    {'tool': 'plot', 'arguments': '{"x": "city"}'}
    >>> call_in_text('[plot(x="city")]', ["plot"])
    {'tool': 'plot', 'arguments': '{"x": "city"}'}
    """
    for match in re.finditer("|".join(rf"(?<![^\W_])(?<!\w_){re.escape(name)}(?!\w)" for name in names), text):
        after = text[match.end() : match.end() + _MAX_CALL]
        start = after[:_MAX_MARKUP].find("{")
        json_arguments = next(json_objects(after[start:]), None) if start >= 0 else None
        for arguments in (_xml_arguments(after), json_arguments, _python_arguments(after)):
            if arguments is not None:
                return {"tool": match[0], "arguments": json.dumps(arguments, ensure_ascii=False)}
    return None


def _xml_arguments(text: str) -> dict[str, Any] | None:
    first = _XML_PARAMETER.search(text)
    if first is None or first.start() > _MAX_MARKUP:
        return None
    pairs = [
        (match["name"] or match["key"], match["value"] if match["name"] else match["argument"])
        for match in _XML_PARAMETER.finditer(text)
    ]
    return {name: _value(value) for name, value in pairs}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _python_arguments(text: str) -> dict[str, Any] | None:
    if not text.startswith("("):
        return None
    for end in (at for at, character in enumerate(text[: _MAX_MARKUP * 10]) if character == ")"):
        try:
            call = ast.parse(f"f{text[: end + 1]}", mode="eval").body
            if isinstance(call, ast.Call) and not call.args:
                return {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in call.keywords}
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _repair_arguments(arguments: str) -> str:
    """Return the first object with entries in invalid JSON, such as one in a fence; `arguments` if there is none."""
    if isinstance(_value(arguments), dict):
        return arguments
    objects: Iterator[dict[str, Any]] = json_objects(arguments)
    json_object = next((value for value in objects if value), None)
    return arguments if json_object is None else json.dumps(json_object, ensure_ascii=False)
