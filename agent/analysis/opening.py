"""How an analysis begins: files are kept, and what has to be known of them is asked without the model."""

import json
import os
from itertools import islice
from pathlib import Path
from typing import Any

from agent.analyst_state import AnalystState, ToolCall
from agent.audit.step import note
from agent.clarify.hearing import hear
from agent.datasets.registry import Registry
from agent.errors import DataMissing, FileUnknown, NotPermitted, SourcesNotTogether
from agent.filled_source import filled_source
from agent.queryspec.dialect import spec_dialect
from agent.question import clean_question
from agent.services import Services
from agent.sql.redact import without_password

_TABLES_OF_DATABASE = 8
"""Tables of a database that the index ranks best; as many that foreign keys link with them come along."""
_READ_AT_ONCE = 4
"""Of more datasets the model asks for the schemas that it needs."""


def opening(state: AnalystState, services: Services) -> dict[str, Any]:
    """Return the question, the files and datasets that tools may read, and the calls that follow from them.

    Raises:
        InvalidQuestion, QuestionTooLong: as `clean_question` says.
        NothingAsked, OptionUnknown, InputInvalid: as `hear` says.
        DataMissing: there is neither a file, nor a dataset, nor a source.
        SourcesNotTogether: there are a source and files.
        NotPermitted: row rules close every table that the question may mean.
        SourceEmpty, ConfigurationError: the source has no tables, or specs are not compiled to its SQL.
        SourceNotFound, SourceUnreachable: as `Services.source` says.
        FileUnknown, DatasetUnknown: there is no such file or dataset.
        FileTooLarge: a file has too many bytes.
    """
    question = clean_question(state.get("question"), services.settings.max_question_chars)
    has_data = any(state.get(name) for name in ("source", "files", "datasets"))
    may_remark = has_data and not state.get("turns")
    heard = {"clarifications": [], **hear(state, may_remark=may_remark), "question": question}
    if state.get("source"):
        return {**heard, **_opening_of_database(question, state, services)}
    registry = services.registry
    file_ids = [_file_id(name, registry, services.any_source) for name in state.get("files") or ()]
    dataset_ids = [registry.dataset(name).dataset_id for name in state.get("datasets") or ()]
    if not file_ids and not dataset_ids:
        raise DataMissing()
    return {
        **heard,
        "file_ids": list(dict.fromkeys(file_ids)),
        "dataset_ids": list(dict.fromkeys(dataset_ids)),
        "pending": [given_call("create_dataset", file_id=file_id) for file_id in dict.fromkeys(file_ids)]
        + schema_calls(dataset_ids),
    }


def _opening_of_database(question: str, state: AnalystState, services: Services) -> dict[str, Any]:
    """Return the same for the tables of a database: those that the index ranks best are the datasets.

    Tables and views that a row rule closes are left out.
    """
    if state.get("files") or state.get("datasets"):
        raise SourcesNotTogether(without_password(str(state["source"])), "files")
    source = filled_source(services, state["source"])
    spec_dialect(source.catalog.dialect)
    met = source.index.rank(question) or list(source.catalog.tables)
    ranked = list(islice(filter(source.is_open, met), _TABLES_OF_DATABASE))
    if not ranked:
        raise NotPermitted(met[0])
    closed = [key for key in met[: met.index(ranked[-1])] if key not in ranked]
    if closed:
        note(f"left out, since row rules close them: {', '.join(closed)}")
    tables = list(islice(filter(source.is_open, source.index.with_neighbours(ranked)), 2 * _TABLES_OF_DATABASE))
    return {"dataset_ids": tables, "pending": schema_calls(tables)}


def given_call(tool: str, **arguments: Any) -> ToolCall:
    """Return a call that no model has chosen."""
    return ToolCall(tool=tool, arguments=json.dumps(arguments), is_given=True)


def schema_calls(dataset_ids: list[str], read: int = 0) -> list[ToolCall]:
    """Return the calls that read the schemas of `dataset_ids`, where `read` others were read before."""
    wanted = dataset_ids[: max(0, _READ_AT_ONCE - read)]
    return [given_call("get_schema", dataset_id=dataset_id) for dataset_id in wanted]


def _file_id(name: str, registry: Registry, any_path: bool) -> str:
    """Return the id of the file that a question names: by its id, or by its path where that is allowed."""
    try:
        return registry.file(name).file_id
    except FileUnknown:
        path = Path(name)
        if not any_path or not os.path.isfile(path):
            raise
        return registry.add_file(path)
