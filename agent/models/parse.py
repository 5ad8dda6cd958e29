"""Reads structured answers out of what models really write: fences, prose, quotes, and JSON anywhere in between."""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agent.models.schemas import GeneratedSQL, SQLValidation

Answer = TypeVar("Answer", bound=BaseModel)

_FENCE = re.compile(r"```[\w+-]*[ \t]*\n?(.*?)```", re.DOTALL)
_OPEN_FENCE = re.compile(r"^\s*```[\w+-]*[ \t]*\n?")
_TRIPLE_QUOTES = re.compile(r"^(\"\"\"|''')(.*?)\1$", re.DOTALL)
_CTE = r"WITH\s+(?:RECURSIVE\s+)?[\w\"`\[\]]+\s*(?:\([^)]*\)\s*)?AS\b"
_QUERY_START = re.compile(rf"(?:^|(?<=[\s:(]))(?:SELECT\b|{_CTE})", re.IGNORECASE)
_STATEMENT_START = re.compile(
    rf"\(*\s*(?:SELECT|INSERT|UPDATE|DELETE|MERGE|REPLACE|DROP|CREATE|ALTER|TRUNCATE|GRANT|REVOKE|PRAGMA|ATTACH|COPY|"
    rf"EXPLAIN|VALUES|CALL|EXEC|EXECUTE|SET|{_CTE})\b",
    re.IGNORECASE,
)
_PARAGRAPH = re.compile(r"\n\s*\n")


def read_answer(text: str, schema: type[Answer]) -> Answer:
    """Return the first JSON object in `text` that fits `schema`, its statements cleaned.

    A text without JSON that holds a query is read as `GeneratedSQL`, since that is all it can mean.

    Raises:
        ValueError: nothing fits; the text says what was wrong with the nearest.
    """
    problem = "the answer is empty" if not text.strip() else "there is no JSON object in the answer"
    for candidate in _json_objects(text):
        try:
            return _with_clean_sql(schema.model_validate(candidate))
        except ValidationError as error:
            first = error.errors()[0]
            problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if schema is GeneratedSQL and "{" not in text and _QUERY_START.search(text):
        return schema.model_validate({"sql": clean_sql(text)})
    raise ValueError(problem)


def clean_sql(text: str) -> str:
    """Return the statement in `text` without fences, prose, triple quotes and a last semicolon.

    Two statements stay two: the guard has to see them.
    """
    fenced = _FENCE.search(text)
    sql = fenced.group(1) if fenced else _OPEN_FENCE.sub("", text)
    sql = sql.strip()
    quoted = _TRIPLE_QUOTES.match(sql)
    if quoted:
        sql = quoted.group(2).strip()
    if not _STATEMENT_START.match(sql):
        start = _QUERY_START.search(sql)
        sql = _PARAGRAPH.split(sql[start.start() :])[0].strip() if start else sql
    return sql.rstrip("; \t\r\n")


def _json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield each outermost JSON object in `text`; strict JSON first, then with raw line breaks inside strings."""
    for strict in (True, False):
        decoder = json.JSONDecoder(strict=strict)
        at = text.find("{")
        while at != -1:
            try:
                value, end = decoder.raw_decode(text, at)
            except (json.JSONDecodeError, RecursionError):
                end = at + 1
            else:
                yield value
            at = text.find("{", end)


def _with_clean_sql(answer: Answer) -> Answer:
    if isinstance(answer, GeneratedSQL):
        answer.sql = clean_sql(answer.sql)
    elif isinstance(answer, SQLValidation) and answer.corrected_sql is not None:
        answer.corrected_sql = clean_sql(answer.corrected_sql) or None
    return answer
