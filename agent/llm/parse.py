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

_TAG_NAMES = (
    r"(?:\w+:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflect(?:ion)?|analysis|scratch_?pad|inner_?monologue)"
)
_REASONING_TAG = re.compile(
    rf"<(?P<close>/)?(?P<name>{_TAG_NAMES})\b[^<>]*>|\[(?P<close2>/)?(?P<name2>THINK)\]|◁(?P<close3>/)?(?P<name3>think)▷|"
    r"<\|(?:(?P<open4>begin_of|START)|(?P<close4>end_of|END))_(?P<name4>thought|THINKING)\|>",
    re.IGNORECASE,
)
"""The marks around the reasoning of a model: tags of several names, Magistral, Kimi, and Cohere and OpenThinker."""

_HARMONY = re.compile(
    r"<\|channel\|>\s*(?P<channel>\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>(?P<text>.*?)"
    r"(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.DOTALL,
)
_HARMONY_WITHOUT_MARKS = re.compile(r"^\s*analysis.*assistant\s*final(?=\W|[A-Z])", re.DOTALL)
_SPECIAL_TOKEN = re.compile(r"<\|(?:start|end|return|call|im_end|eot_id|endoftext)\|>(?:assistant)?")

_OBJECT_START = re.compile(r"\{\s*(?:[\"'}]|//|/\*|\w+\s*:)")
_MAX_STARTS = 300
"""Maximum number of positions where an object is tried; each takes time proportional to the length of the text."""

_MAX_LENIENT_STARTS = 20

_LENIENT = re.compile(
    r'"""(?P<triple>.*?)"""|(?P<string>"(?:[^"\\]|\\.)*")|(?P<single>(?<![\w\\])\'(?:[^\'\\]|\\.)*\')|'
    r",(?P<closing>(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])|\b(?P<word>True|False|None|undefined)\b|(?P<comment>//[^\n]*|/\*.*?\*/)|"
    r"(?P<key>(?<=[{,\s])[A-Za-z_]\w*)(?=\s*:)",
    re.DOTALL,
)
_REASONING_FIELD = re.compile(r"think(ing)?|thoughts?|reason(ing)?(_content)?|analysis|plan", re.IGNORECASE)
_ESCAPE_SEQUENCE = re.compile(r"\\(\\|[\"/bfnrt]|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_WORDS = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def read_answer(text: str, schema: type[Answer]) -> Answer:
    """Return the first JSON object in `text` that matches `schema`, with its SQL statements cleaned.

    If `schema` is `GeneratedSQL`, a bare statement without JSON is accepted too.

    Raises:
        ValueError: nothing matches; the message describes the problem of the first candidate.
    """
    text = without_reasoning(text)
    encoded = _parsed(text)
    if isinstance(encoded, str):
        text = encoded
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
    raise ValueError(problem or _missing_json(text))


def clean_sql(text: str) -> str:
    r"""Return the SQL in `text` without reasoning, fences, prose, triple quotes and a final semicolon.

    Several statements are all kept, so that the guard can reject them.

    >>> clean_sql("Here it is: ```sql\nSELECT 1;\n```")
    'SELECT 1'
    """
    return find_statement(without_reasoning(text))


def without_reasoning(text: str) -> str:
    """Return `text` without the reasoning of the model, which may contain rejected statements.

    Reasoning without an end is removed up to the end of the text, and reasoning without a beginning from its start: if
    the chat template opens the tag in the prompt, only the closing tag remains.

    >>> without_reasoning("<thought>SELECT 7? No.</thought>SELECT 8")
    'SELECT 8'
    >>> without_reasoning("<|channel|>analysis<|message|>SELECT 7?<|end|><|channel|>final<|message|>SELECT 8")
    'SELECT 8'
    """
    if isinstance(_parsed(text), dict):
        return text
    if "<|channel|>" in text:
        text = "\n".join(part["text"] for part in _HARMONY.finditer(text) if part["channel"].lower() != "analysis")
    text = _HARMONY_WITHOUT_MARKS.sub("", _SPECIAL_TOKEN.sub("", text))
    kept, opened, end = "", list[str](), 0
    for mark in _REASONING_TAG.finditer(text):
        name = (mark["name"] or mark["name2"] or mark["name3"] or mark["name4"]).lower()
        if not opened:
            kept += text[end : mark.start()]
        if not (mark["close"] or mark["close2"] or mark["close3"] or mark["close4"]):
            opened.append(name)
        elif name in opened:
            del opened[opened.index(name) :]
        elif not opened:
            kept = ""
        end = mark.end()
    return kept if opened else kept + text[end:]


def _missing_json(text: str) -> str:
    if not text.strip():
        return "the answer is empty"
    return "its JSON object is not complete" if "{" in text else "there is no JSON object in the answer"


def _json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in `text`, outer objects before inner ones.

    Strict JSON comes first, then JSON with raw line breaks in strings, then JSON with Python syntax.
    """
    yield from _decoded(json.JSONDecoder(), text)
    yield from _decoded(json.JSONDecoder(strict=False), text)
    for start in islice(_OBJECT_START.finditer(text), _MAX_LENIENT_STARTS):
        yield from islice(_decoded(json.JSONDecoder(strict=False), _as_json(text[start.start() :])), 2)


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
        # Weak models wrap the answer in an object named after the schema, or in a function call with text arguments.
        for name, inner in value.items():
            if isinstance(inner, str) and inner.lstrip().startswith("{"):
                inner = _parsed(inner)
            if isinstance(inner, dict) and not _REASONING_FIELD.fullmatch(name):
                yield inner


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _as_json(text: str) -> str:
    """Return `text` with triple quotes, Python literals, trailing commas and unknown escapes turned into valid JSON."""

    def rewrite(match: re.Match[str]) -> str:
        if match["triple"] is not None:
            return json.dumps(match["triple"])
        if match["string"]:
            return _ESCAPE_SEQUENCE.sub(_escape, match["string"])
        if match["single"]:
            inner = match["single"][1:-1].replace("\\'", "'").replace('"', '\\"')
            return _ESCAPE_SEQUENCE.sub(_escape, f'"{inner}"')
        if match["key"]:
            return json.dumps(match["key"])
        if match["comment"]:
            return ""
        return _COMMENT.sub("", match["closing"]) if match["closing"] else _WORDS[match["word"]]

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
