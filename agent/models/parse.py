"""Reads structured answers out of what models really write: thoughts, fences, prose, quotes, and JSON in between."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agent.models.schemas import GeneratedSQL, SQLValidation
from agent.models.statement import find_statement, holds_statement
from agent.text import valid_json

Answer = TypeVar("Answer", bound=BaseModel)

_THOUGHTS = re.compile(r"^.*</think(?:ing)?>|^\s*<think(?:ing)?>.*", re.DOTALL)
"""What a reasoning model writes first. Templates that open the tag in the prompt leave only its end in the answer."""

_OBJECT_START = re.compile(r"\{\s*[\"}]")
_MOST_STARTS = 300
"""Each one costs time in proportion to the text; an answer has one object, or a few."""

_LENIENT = re.compile(
    r'"""(?P<triple>.*?)"""|(?P<string>"(?:[^"\\]|\\.)*")|,(?P<closing>\s*[}\]])|\b(?P<word>True|False|None)\b',
    re.DOTALL,
)
_WRONG_ESCAPE = re.compile(r"\\(\\|[\"/bfnrt]|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_WORDS = {"True": "true", "False": "false", "None": "null"}


def read_answer(text: str, schema: type[Answer]) -> Answer:
    """Return the first JSON object in `text` that fits `schema`, its statements cleaned.

    A text without JSON that holds a query is read as `GeneratedSQL`, since that is all it can mean.

    Raises:
        ValueError: nothing fits; the text says what was wrong with the first that came near.
    """
    text = _THOUGHTS.sub("", text)
    problem = ""
    for candidate in _json_objects(text):
        try:
            # An escape in JSON can stand for what the text itself cannot hold.
            return _with_clean_sql(schema.model_validate(valid_json(candidate)))
        except ValidationError as error:
            first = error.errors()[0]
            problem = problem or f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if schema is GeneratedSQL and holds_statement(text):
        return schema.model_validate({"sql": clean_sql(text)})
    raise ValueError(problem or _what_is_missing(text))


def clean_sql(text: str) -> str:
    """Return the statement in `text` without thoughts, fences, prose, triple quotes and a last semicolon.

    Two statements stay two: the guard has to see them.
    """
    return find_statement(_THOUGHTS.sub("", text))


def _what_is_missing(text: str) -> str:
    if not text.strip():
        return "the answer is empty"
    return "its JSON object is not complete" if "{" in text else "there is no JSON object in the answer"


def _json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in `text`, each outermost one before those within it.

    Strict JSON first, then with raw line breaks inside strings, then with what Python allows and JSON does not.
    """
    yield from _decoded(json.JSONDecoder(), text)
    yield from _decoded(json.JSONDecoder(strict=False), text)
    yield from _decoded(json.JSONDecoder(strict=False), _as_json(text))


def _decoded(decoder: json.JSONDecoder, text: str) -> Iterator[dict[str, Any]]:
    end = 0
    for start in islice(_OBJECT_START.finditer(text), _MOST_STARTS):
        if start.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, start.start())
        except (json.JSONDecodeError, RecursionError):
            continue
        yield value
        # Weak models wrap the answer in its own name, or in the form of a function call.
        yield from (inner for inner in value.values() if isinstance(inner, dict))


def _as_json(text: str) -> str:
    """Return `text` with triple-quoted strings, `True` and last commas as JSON has them, and no unknown escapes."""

    def rewrite(match: re.Match[str]) -> str:
        if match["triple"] is not None:
            return json.dumps(match["triple"])
        if match["string"]:
            return _WRONG_ESCAPE.sub(_escape, match["string"])
        return match["closing"] or _WORDS[match["word"]]

    return _LENIENT.sub(rewrite, text)


def _escape(match: re.Match[str]) -> str:
    if match[1] == "'":
        return "'"
    return match[0] if match[1][0] in '\\"/bfnrt' or len(match[1]) > 1 else "\\" + match[0]


def _with_clean_sql(answer: Answer) -> Answer:
    if isinstance(answer, GeneratedSQL):
        answer.sql = clean_sql(answer.sql)
    elif isinstance(answer, SQLValidation) and answer.corrected_sql is not None:
        answer.corrected_sql = clean_sql(answer.corrected_sql) or None
    return answer
