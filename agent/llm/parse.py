"""Parse structured answers from model output, which may surround the JSON with reasoning, fences and prose."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from agent.core.text import valid_json
from agent.llm.json_text import json_objects, parse_or_none
from agent.llm.reasoning import without_reasoning
from agent.llm.schemas import AmbiguityReview, AnalystStep, GeneratedSQL, SQLValidation
from agent.llm.statement import find_statement, holds_statement
from agent.llm.tool_calls import call_in_text, matching_name
from agent.messages import Message

Answer = TypeVar("Answer", bound=BaseModel)


def read_answer(text: str, schema: type[Answer], tools: Sequence[str] = ()) -> Answer:
    """Return the first JSON object in `text` that matches `schema`, with its SQL statements cleaned.

    If `schema` is `GeneratedSQL`, a bare statement without JSON is accepted too, and if it is `AnalystStep`, a call of
    one of `tools` in the syntax of the model.

    Raises:
        ValueError: nothing matches; the message describes the problem of the first candidate.
    """
    text = without_reasoning(text)
    inner = parse_or_none(text)
    if isinstance(inner, str):
        text = inner
    problem, unknown_call = "", None
    for candidate in json_objects(text):
        try:
            # JSON escapes can produce characters that are invalid in text, such as unpaired surrogates.
            answer = _with_clean_sql(schema.model_validate(valid_json(candidate)))
        except ValidationError as error:
            first = error.errors()[0]
            problem = problem or f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            continue
        if not isinstance(answer, AnalystStep) or not tools:
            return answer
        if name := matching_name(answer.tool, tools):
            return answer.model_copy(update={"tool": name})
        unknown_call = unknown_call or answer
    if tools and (call := call_in_text(text, tools)):
        return schema.model_validate(valid_json(call))
    if unknown_call:
        return unknown_call
    if schema is GeneratedSQL and holds_statement(text):
        return schema.model_validate({"sql": clean_sql(text)})
    if not text.strip():
        raise ValueError(Message("answer_empty"))
    missing = Message("answer_json_incomplete" if "{" in text else "answer_without_json")
    raise ValueError(problem or missing)


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
