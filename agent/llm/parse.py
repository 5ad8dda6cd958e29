"""Parse structured answers from model output, which may surround the JSON with reasoning, fences and prose."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agent.core.text import valid_json
from agent.llm.schemas import GeneratedSQL, SQLValidation
from agent.llm.statement import find_statement, holds_statement

Answer = TypeVar("Answer", bound=BaseModel)

_REASONING = re.compile(r"^.*</think(?:ing)?>|^\s*<think(?:ing)?>.*", re.DOTALL)
"""The reasoning before an answer. If the chat template opens the tag in the prompt, only the closing tag remains."""

_OBJECT_START = re.compile(r"\{\s*[\"}]")
_MAX_STARTS = 300
"""Maximum number of positions where an object is tried; each takes time proportional to the length of the text."""

_LENIENT = re.compile(
    r'"""(?P<triple>.*?)"""|(?P<string>"(?:[^"\\]|\\.)*")|,(?P<closing>\s*[}\]])|\b(?P<word>True|False|None)\b',
    re.DOTALL,
)
_ESCAPE_SEQUENCE = re.compile(r"\\(\\|[\"/bfnrt]|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_WORDS = {"True": "true", "False": "false", "None": "null"}


def read_answer(text: str, schema: type[Answer]) -> Answer:
    """Return the first JSON object in `text` that matches `schema`, with its SQL statements cleaned.

    If `schema` is `GeneratedSQL`, a bare statement without JSON is accepted too.

    Raises:
        ValueError: nothing matches; the message describes the problem of the first candidate.
    """
    text = _REASONING.sub("", text)
    problem = ""
    for candidate in _json_objects(text):
        try:
            # JSON escapes can produce characters that are invalid in text, such as unpaired surrogates.
            return _with_clean_sql(schema.model_validate(valid_json(candidate)))
        except ValidationError as error:
            first = error.errors()[0]
            problem = problem or f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if schema is GeneratedSQL and holds_statement(text):
        return schema.model_validate({"sql": clean_sql(text)})
    if not problem and text.strip():
        problem = "its JSON object is not complete" if "{" in text else "there is no JSON object in the answer"
    raise ValueError(problem or "the answer is empty")


def clean_sql(text: str) -> str:
    r"""Return the SQL in `text` without reasoning, fences, prose, triple quotes and a final semicolon.

    Several statements are all kept, so that the guard can reject them.

    >>> clean_sql("Here it is: ```sql\nSELECT 1;\n```")
    'SELECT 1'
    """
    return find_statement(_REASONING.sub("", text))


def _json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in `text`, outer objects before inner ones.

    Strict JSON comes first, then JSON with raw line breaks in strings, then JSON with Python syntax.
    """
    yield from _decoded(json.JSONDecoder(), text)
    yield from _decoded(json.JSONDecoder(strict=False), text)
    yield from _decoded(json.JSONDecoder(strict=False), _as_json(text))


def _decoded(decoder: json.JSONDecoder, text: str) -> Iterator[dict[str, Any]]:
    end = 0
    for start in islice(_OBJECT_START.finditer(text), _MAX_STARTS):
        if start.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, start.start())
        except (json.JSONDecodeError, RecursionError):
            continue
        yield value
        # Weak models wrap the answer in an object named after the schema, or in a function call.
        yield from (inner for inner in value.values() if isinstance(inner, dict))


def _as_json(text: str) -> str:
    """Return `text` with triple quotes, Python literals, trailing commas and unknown escapes turned into valid JSON."""

    def rewrite(match: re.Match[str]) -> str:
        if match["triple"] is not None:
            return json.dumps(match["triple"])
        if match["string"]:
            return _ESCAPE_SEQUENCE.sub(_escape, match["string"])
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
