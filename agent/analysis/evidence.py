"""The evidence for the answer of an analysis, from its calls and the user's answers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.answers.filters import condition_words
from agent.grounding.evidence import Evidence
from agent.grounding.facts import question_figures
from agent.grounding.numbers import Figure, figures_of
from agent.messages import language_of
from agent.state import AnalystState

_VALUE_KEYS = {"value", "values", "limit", "p"}
"""Fields of a query spec whose values a text may repeat."""


def evidence_from_calls(state: AnalystState, result_ids: Sequence[str]) -> Evidence:
    """Return the filters of the queries with `result_ids`, the user's answers, and the sizes of the data."""
    language = language_of(state["question"])
    conditions = [
        words
        for result_id in result_ids
        for words in condition_words(state["results"][result_id]["summary"]["conditions"], language)
    ]
    values = [
        str(value)
        for observation in state["observations"]
        if observation["content"].get("result_id") in result_ids
        for value in _values(observation["arguments"].get("query"))
    ]
    answers = [text for turn in state["clarifications"] for text in (turn["question"], turn["answer"])]
    return Evidence(tuple(dict.fromkeys(conditions)), tuple(dict.fromkeys([*values, *answers])), _sizes(state))


def unknown_figures(text: str, state: AnalystState) -> list[Figure]:
    """Return the figures of `text` that are neither in the question nor in what the calls returned."""
    evidence = evidence_from_calls(state, list(state["results"]))
    seen = [observation["content"] for observation in state["observations"] if not observation["failed"]]
    contents = json.dumps(seen, ensure_ascii=False)
    known = {value for _, value in question_figures([state["question"], *evidence.stated, contents])}
    return [
        figure
        for figure in figures_of(text)
        if not evidence.is_size(figure, text)
        and not any(value * figure.factor in known for value, _ in figure.readings)
    ]


def _values(query: Any, key: str = "") -> Iterator[Any]:
    """Yield the values of the conditions of a query spec, and the numbers of rows that it asks for."""
    if isinstance(query, Mapping):
        for name, part in query.items():
            yield from _values(part, name)
    elif isinstance(query, list):
        for part in query:
            yield from _values(part, key)
    elif key in _VALUE_KEYS and isinstance(query, str | int | float) and not isinstance(query, bool):
        yield query


def _sizes(state: AnalystState) -> dict[str, frozenset[int]]:
    schemas = [each for each in state["observations"] if each["tool"] == "get_schema" and not each["failed"]]
    described = [schema["content"] for schema in schemas if schema["content"]]
    sheets = [
        len({content["loaded"].get("sheet"), *content["loaded"].get("other_sheets", ())})
        for content in described
        if content.get("loaded", {}).get("sheet")
    ]
    return {
        "rows": frozenset(content["row_count"] for content in described),
        "columns": frozenset(len(content["columns"]) + content.get("more_columns", 0) for content in described),
        "sheets": frozenset(sheets),
        "files": frozenset({len(state["file_ids"]) or len(state["dataset_ids"])}),
    }
