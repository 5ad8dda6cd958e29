"""The start of an analysis: register its files, and plan the calls that read them without the model."""

import json
import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from datasphinx.agent.clarify.feedback import apply_user_input
from datasphinx.agent.core.redact import without_password
from datasphinx.agent.core.text import clean_question
from datasphinx.agent.datasets.options import LoadOptions, problem_of
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.errors import InputInvalid, NotFound, NotPermitted, Refused
from datasphinx.agent.messages import Message
from datasphinx.agent.queryspec.statement import spelling_of
from datasphinx.agent.record.step import note
from datasphinx.agent.sources.source import Source
from datasphinx.agent.state import AnalystState, ToolCall

_MAX_TABLES = 8
"""Number of tables of a database taken from the ranking of the index; foreign keys may add as many again."""
_MAX_SCHEMAS = 4
"""Number of schemas read in advance; the model requests those of further datasets itself."""


def start_analysis(
    state: AnalystState,
    registry: Registry,
    open_source: Callable[[str], Source],
    *,
    any_path: bool,
    read: Callable[[str], str],
) -> dict[str, Any]:
    """Return the state update with the question, the files and datasets of the tools, and the first calls.

    `open_source` returns a source that has tables. `any_path` permits files outside of `registry`, and `read`
    returns a question of a conversation as the model reads it.

    Raises:
        InvalidQuestion: errors of `clean_question`.
        Conflict, Refused, InputInvalid: errors of `apply_user_input`, or `load` is invalid.
        Refused: there is no file, dataset or source, or a source is combined with files.
        NotPermitted: row rules deny every relevant table.
        Unanswered, ConfigurationError: the source has no tables, or its dialect does not support query specs.
        SourceNotFound, SourceUnreachable: errors of `open_source`.
        NotFound: a file or dataset does not exist.
        FileTooLarge: a file exceeds the size limit.
    """
    question, turns = clean_question(state.get("question")), state.get("turns")
    if turns and state.get("clarification_answer") is None:
        question = read(question)
    has_data = any(state.get(name) for name in ("source", "files", "datasets"))
    may_remark = has_data and not turns
    update = {"clarifications": [], **apply_user_input(state, may_remark=may_remark), "question": question}
    if state.get("source"):
        asked = f"{turns[-1]['question']}\n{question}" if turns else question
        return {**update, **_database_update(asked, state, open_source)}
    options = _load_options(state.get("load"))
    file_ids = [_file_id(name, registry, any_path) for name in state.get("files") or ()]
    dataset_ids = [registry.dataset(name).dataset_id for name in state.get("datasets") or ()]
    if not file_ids and not dataset_ids:
        raise Refused("data_missing")
    return {
        **update,
        "file_ids": list(dict.fromkeys(file_ids)),
        "dataset_ids": list(dict.fromkeys(dataset_ids)),
        "pending": [automatic_call("create_dataset", file_id=name, **options) for name in dict.fromkeys(file_ids)]
        + schema_calls(dataset_ids),
    }


def _load_options(options: dict[str, Any] | None) -> dict[str, Any]:
    """Return the loader options of the input that are set, checked."""
    try:
        return LoadOptions.model_validate(options or {}).content()
    except ValidationError as error:
        raise InputInvalid("load", problem_of(error)) from None


def _database_update(question: str, state: AnalystState, open_source: Callable[[str], Source]) -> dict[str, Any]:
    """Return the state update for a database: its best-ranked tables become the datasets.

    Tables and views that row rules deny, and those that the business knowledge hides, are left out.
    """
    if state.get("files") or state.get("datasets"):
        raise Refused("sources_not_together", first=without_password(str(state["source"])), second=Message("files"))
    source = open_source(str(state["source"]))
    spelling_of(source.catalog.dialect)
    ranking = source.index.rank(source.knowledge.expanded(question)) or list(source.catalog.tables)
    shown = source.shown_catalog.tables
    best = list(islice(filter(shown.__contains__, ranking), _MAX_TABLES))
    if not best:
        raise NotPermitted(ranking[0])
    denied = [key for key in ranking[: ranking.index(best[-1])] if not source.is_readable(key)]
    if denied:
        note(f"left out because of row rules: {', '.join(denied)}")
    tables = list(islice(filter(shown.__contains__, source.index.with_neighbours(best)), 2 * _MAX_TABLES))
    return {"dataset_ids": tables, "pending": schema_calls(tables)}


def automatic_call(tool: str, **arguments: Any) -> ToolCall:
    """Return a call that was not chosen by a model."""
    return ToolCall(tool=tool, arguments=json.dumps(arguments), is_given=True)


def schema_calls(dataset_ids: list[str], read: int = 0) -> list[ToolCall]:
    """Return the calls that read the schemas of `dataset_ids`, up to the limit, after `read` earlier ones."""
    remaining = max(0, _MAX_SCHEMAS - read)
    return [automatic_call("get_schema", dataset_id=dataset_id) for dataset_id in dataset_ids[:remaining]]


def _file_id(name: str, registry: Registry, any_path: bool) -> str:
    """Return the id of the file `name`: an id, or a path if `any_path` permits it."""
    try:
        return registry.file(name).file_id
    except NotFound:
        path = Path(name)
        if not any_path or not os.path.isfile(path):
            raise
        return registry.add_file(path)
