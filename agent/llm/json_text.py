"""Find JSON objects in the output of a model, also in invalid JSON."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

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


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in `text`, outer objects before inner ones.

    Strict JSON comes first, then JSON with raw line breaks in strings, then JSON with Python syntax.
    """
    yield from _decode_objects(json.JSONDecoder(), text)
    yield from _decode_objects(json.JSONDecoder(strict=False), text)
    for start in islice(_OBJECT_START.finditer(text), _MAX_LENIENT_STARTS):
        yield from islice(_decode_objects(json.JSONDecoder(strict=False), _as_json(text[start.start() :])), 2)


def _decode_objects(decoder: json.JSONDecoder, text: str) -> Iterator[dict[str, Any]]:
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
                inner = parse_or_none(inner)
            if isinstance(inner, dict) and not _REASONING_FIELD.fullmatch(name):
                yield inner


def json_text_of(value: Any) -> str:
    """Return `value` as JSON text; text counts as JSON already, and text that was encoded twice is decoded once.

    >>> json_text_of({"x": 1}), json_text_of('{"x": 1}'), json_text_of('"{}"')
    ('{"x": 1}', '{"x": 1}', '{}')
    """
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    try:
        decoded = json.loads(value)
    except ValueError:
        return value
    return decoded if isinstance(decoded, str) else value


def parse_or_none(text: str) -> Any:
    """Return the value of JSON text, which may have raw line breaks in strings; None if it is not JSON."""
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
