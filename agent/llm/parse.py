"""Parse structured answers from model output, which may surround the JSON with reasoning, fences and prose."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from agent.core.text import valid_json
from agent.llm.json_text import json_objects, parse_or_none
from agent.llm.reasoning import without_reasoning
from agent.llm.schemas import AmbiguityReview, GeneratedSQL, SQLValidation
from agent.llm.statement import find_statement, holds_statement
from agent.llm.tool_calls import answer_in_words, call_in_text, call_texts, matching_name
from agent.messages import Message

Answer = TypeVar("Answer", bound=BaseModel)


def read_answer(text: str, schema: type[Answer], tools: Sequence[str] = ()) -> Answer:
    """Return the first JSON object in `text` that matches `schema`, with its SQL statements cleaned.

    If `schema` is `GeneratedSQL`, a bare statement without JSON is accepted too. With `tools`, `schema` is
    `AnalystStep`: the calls may have the syntax of the model, those after the first one are in `further`, and a text in
    plain words is a call of `finish`.

    Raises:
        ValueError: nothing matches; the message describes the problem of the first candidate.
    """
    text = without_reasoning(text)
    inner = parse_or_none(text)
    if isinstance(inner, str):
        text = inner
    if not tools:
        return _read_object(text, schema)
    calls: list[Answer] = []
    for part in call_texts(text):
        call = _read_call(part, schema, tools)
        calls += [call] if call and call not in calls else []
    if calls:
        return calls[0].model_copy(update={"further": calls[1:]})
    if answer := answer_in_words(text, tools):
        return schema.model_validate(valid_json(answer))
    return _read_object(text, schema)


def _read_object(text: str, schema: type[Answer]) -> Answer:
    problem = ""
    for candidate in json_objects(text):
        try:
            # JSON escapes can produce characters that are invalid in text, such as unpaired surrogates.
            return _with_clean_sql(schema.model_validate(valid_json(candidate)))
        except ValidationError as error:
            first = error.errors()[0]
            problem = problem or f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if schema is GeneratedSQL and holds_statement(text):
        return schema.model_validate({"sql": clean_sql(text)})
    if not text.strip():
        raise ValueError(Message("answer_empty"))
    missing = Message("answer_json_incomplete" if "{" in text else "answer_without_json")
    raise ValueError(problem or missing)


def _read_call(text: str, schema: type[Answer], tools: Sequence[str]) -> Answer | None:
    """Return the first call of one of `tools` in `text`, else the first call of another tool."""
    unknown_call = None
    for candidate in json_objects(text):
        try:
            call = schema.model_validate(valid_json(candidate))
        except ValidationError:
            continue
        if name := matching_name(getattr(call, "tool", ""), tools):
            return call.model_copy(update={"tool": name})
        unknown_call = unknown_call or call
    if found := call_in_text(text, tools):
        return schema.model_validate(valid_json(found))
    return unknown_call


def clean_sql(text: str) -> str:
    r"""Return the SQL in `text` without reasoning, fences, prose, triple quotes and a final semicolon.

    Several statements are all kept, so that the guard can reject them.

    >>> clean_sql("Here it is: ```sql\nSELECT 1;\n```")
    'SELECT 1'
    """
    return find_statement(without_reasoning(text))


def _with_clean_sql(answer: Answer) -> Answer:
    if isinstance(answer, GeneratedSQL):
        answer.sql = clean_sql(answer.sql)
    if isinstance(answer, GeneratedSQL | AmbiguityReview):
        options = answer.alternatives if isinstance(answer, GeneratedSQL) else answer.options
        for option in options:
            option.sql = clean_sql(option.sql or "") or None
    if isinstance(answer, SQLValidation) and answer.corrected_sql is not None:
        answer.corrected_sql = clean_sql(answer.corrected_sql) or None
    return answer
