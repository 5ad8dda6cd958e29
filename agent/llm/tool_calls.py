"""Tool calls of a model: in the endpoint's own format, and as the text that models write for them."""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage

from datasphinx.agent.llm.json_text import json_objects
from datasphinx.agent.llm.schemas import FINISH

_XML_PARAMETER = re.compile(
    r"<[^<>]*\bparameter(?:=|\s+name=)\"?(?P<name>[\w-]+)\"?[^<>]*>\s*(?P<value>.*?)\s*</[^<>]*\bparameter>"
    r"|<arg_key>\s*(?P<key>[\w-]+)\s*</arg_key>\s*<arg_value>\s*(?P<argument>.*?)\s*</arg_value>",
    re.DOTALL,
)
_MAX_MARKUP = 120
"""Characters between the name of a tool and its arguments."""
_MAX_CALL = 20_000
MAX_CALLS = 16
"""Maximum number of calls that are read from one reply."""

_LISTS_OF_CALLS = ("tool_calls", "calls", "steps")
"""Names of the field with the calls, in the JSON that models write."""

_END_OF_CALL = re.compile(r"</(?:tool_call|function|invoke)>|<[|｜]tool[_▁]call[_▁]end[|｜]>")


def calls_of(message: AIMessage, names: Sequence[str]) -> list[dict[str, str]]:
    """Return the calls of a reply in order, in the form of `AnalystStep`, at most 16."""
    calls = [(call["name"], json.dumps(call["args"], ensure_ascii=False)) for call in message.tool_calls]
    calls += [(call["name"] or "", call["args"] or "") for call in message.invalid_tool_calls]
    named = [(name, arguments) for name, arguments in calls if name]
    return [
        {"tool": matching_name(name, names) or name, "arguments": _repair_arguments(arguments)}
        for name, arguments in named[:MAX_CALLS]
    ]


def call_texts(text: str) -> list[str]:
    """Return the parts of a reply that may each hold one call, at most 16: elements of a list, objects, or elements.

    A text that cannot be divided is returned whole.

    >>> call_texts('[{"tool": "plot"}, {"tool": "finish"}]')
    ['{"tool": "plot"}', '{"tool": "finish"}']
    >>> call_texts("<tool_call>a</tool_call><tool_call>b</tool_call>")
    ['<tool_call>a', '<tool_call>b']
    """
    start = min((at for at in map(text.find, "[{") if at >= 0), default=0)
    value = _value(text[start : max(text.rfind("]"), text.rfind("}")) + 1])
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS_OF_CALLS if isinstance(value.get(name), list)), None)
    if isinstance(value, list):
        parts = [json.dumps(item, ensure_ascii=False) for item in value if isinstance(item, dict)]
    else:
        parts = [part.strip() for part in _END_OF_CALL.split(text) if part.strip()]
        if len(parts) == 1:
            parts = [json.dumps(item, ensure_ascii=False) for item in _objects_in_a_row(text)]
    return parts[:MAX_CALLS] if len(parts) > 1 or isinstance(value, list) and parts else [text]


def _objects_in_a_row(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a text that name a tool, without those inside of others."""
    decoder, objects, at = json.JSONDecoder(strict=False), list[dict[str, Any]](), text.find("{")
    while at >= 0 and len(objects) < MAX_CALLS:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        objects += [value] if _is_call(value) else []
        at = text.find("{", end)
    return objects


def first_complete_call(text: str) -> str:
    """Return the first call of a reply that was cut off, as JSON text; an empty string if it may be incomplete.

    It is complete if more text follows it. Small models repeat a call until they reach the token limit.

    >>> first_complete_call('{"tool": "plot"} {"tool": "pl'), first_complete_call('{"tool": "pl')
    ('{"tool": "plot"}', '')
    """
    start = text.find("{")
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, max(start, 0))
    except (ValueError, RecursionError):
        return ""
    return json.dumps(value, ensure_ascii=False) if _is_call(value) and text[end:].strip() else ""


def _is_call(value: Any) -> bool:
    """Return whether a JSON value is an object that names a tool."""
    return isinstance(value, dict) and ("tool" in value or "function" in value or ("name" in value and len(value) == 2))


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


def answer_in_words(text: str, names: Sequence[str]) -> dict[str, str] | None:
    """Return the call of `finish` that a reply in plain words stands for; None if it is not an answer.

    A text with an object of JSON or markup is a call that was cut off, and one that names a tool is none. Names in
    braces are references. Whether the text is an answer shows in them: one that says what comes next has none.

    >>> answer_in_words("Oslo leads.", ["finish"]), answer_in_words("run_query next", ["finish", "run_query"])
    ({'tool': 'finish', 'arguments': '{"answer": "Oslo leads."}'}, None)
    """
    text = text.strip()
    is_markup = re.search(r"\{\s*[\"'}]|</?\w+[^<>]*>|<[|｜]", text) or text.count("{") != text.count("}")
    is_call = is_markup or any("_" in name and name in text for name in names)
    if FINISH not in names or not re.search(r"\w", text) or is_call:
        return None
    return {"tool": FINISH, "arguments": json.dumps({"answer": text}, ensure_ascii=False)}


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
