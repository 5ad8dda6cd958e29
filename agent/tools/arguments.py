"""Validation of the arguments of a call."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from datasphinx.agent.core.text import valid_json
from datasphinx.agent.errors import SpecProblem, ToolCallInvalid
from datasphinx.agent.llm.json_text import parse_or_none
from datasphinx.agent.queryspec.spec import path_of
from datasphinx.agent.schema import spelling
from datasphinx.agent.tools.tool import Arguments

Kind = TypeVar("Kind", bound=Arguments)

MAX_ARGUMENTS = 20_000
"""Maximum length of the arguments of a call, in characters."""


def read_arguments(tool: str, kind: type[Kind], arguments: str | Mapping[str, Any]) -> Kind:
    """Return the arguments of a call, a JSON text or a mapping, as `kind`.

    Objects and lists may be JSON texts, fields that are not needed null, and those of a query or chart may stand beside
    the others.

    Raises:
        ToolCallInvalid: the arguments do not match `kind`; lists every problem.
        QuerySpecInvalid: the query of the call does not match its schema.
    """
    mapping = _nested(_with_decoded_texts(parse_arguments(tool, arguments), kind), kind)
    try:
        return kind.model_validate(mapping)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        raise ToolCallInvalid(tool, tuple(_problem(detail, kind) for detail in details)) from None


def parse_arguments(tool: str, arguments: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call as a mapping.

    Raises:
        ToolCallInvalid: they are no JSON object, or too long.
    """
    if isinstance(arguments, str) and len(arguments) > MAX_ARGUMENTS:
        reason = f"they have more than {MAX_ARGUMENTS} characters"
        raise ToolCallInvalid(tool, (SpecProblem("arguments", reason),))
    try:
        value = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError) as error:
        raise ToolCallInvalid(tool, (SpecProblem("arguments", f"they are no JSON: {error}"),)) from None
    if not isinstance(value, Mapping):
        raise ToolCallInvalid(tool, (SpecProblem("arguments", "a JSON object is expected"),))
    valid: dict[str, Any] = _without_null(valid_json(dict(value)))
    return valid


def _without_null(value: Any) -> Any:
    """Return `value` without the fields of objects that are null."""
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_null(item) for name, item in value.items() if item is not None}
    return value


def _fields(kind: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the name in JSON and the definition of each field."""
    for name, field in kind.model_fields.items():
        yield field.alias or name, field


def _with_decoded_texts(mapping: dict[str, Any], kind: type[Arguments]) -> dict[str, Any]:
    """Return `mapping` with JSON texts decoded in fields that hold objects or lists."""
    decoded = dict(mapping)
    for name, field in _fields(kind):
        value = decoded.get(name)
        is_text = field.annotation is str or str in get_args(field.annotation)
        if isinstance(value, str) and value.lstrip()[:1] in {"{", "["} and not is_text:
            decoded[name] = parse_or_none(value) or value
    return decoded


def _nested(mapping: dict[str, Any], kind: type[Arguments]) -> dict[str, Any]:
    """Return `mapping` with the unknown fields in the field that is an object, if one of them belongs there."""
    fields = dict(_fields(kind))
    others = {name: value for name, value in mapping.items() if name not in fields}
    for name, field in fields.items():
        part, inner = field.annotation, mapping.get(name, {})
        if isinstance(part, type) and issubclass(part, BaseModel) and isinstance(inner, dict):
            if not others.keys().isdisjoint(each for each, _ in _fields(part)):
                rest = {each: value for each, value in mapping.items() if each in fields}
                return {**rest, name: {**others, **inner}}
    return mapping


def _problem(error: ErrorDetails, kind: type[Arguments]) -> SpecProblem:
    location, reason = error["loc"], error["msg"].removeprefix("Value error, ")
    if error["type"] != "extra_forbidden":
        return SpecProblem(path_of(location) or "arguments", reason)
    names = [name for name, _ in _fields(kind)] if len(location) == 1 else []
    return SpecProblem(path_of(location), "there is no such field", spelling.nearest(str(location[-1]), names, 0))
