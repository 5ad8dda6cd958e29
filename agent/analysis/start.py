"""The start of an analysis: its files or tables, and the calls that read them without the model."""

import json
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from datasphinx.agent.core.redact import without_password
from datasphinx.agent.datasets.options import checked_options
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.errors import NotFound, NotPermitted, Refused
from datasphinx.agent.messages import Message
from datasphinx.agent.queryspec.statement import spelling_of
from datasphinx.agent.record.step import note
from datasphinx.agent.sources.source import Source
from datasphinx.agent.state import ToolCall

_MAX_TABLES = 8
"""Number of tables of a database taken from the ranking of the index; foreign keys may add as many again."""
_MAX_SCHEMAS = 4
"""Number of schemas read in advance; the model requests those of further datasets itself."""


def start_with_files(
    files: Sequence[str],
    datasets: Sequence[str],
    options: dict[str, Any] | None,
    registry: Registry,
    *,
    any_path: bool,
) -> dict[str, Any]:
    """Return the changes of the state for files, which are registered, and datasets: their ids, and the first calls.

    `options` are those of the loader. `any_path` permits files outside of `registry`.

    Raises:
        InputInvalid: the options are invalid.
        Refused: there is no file or dataset.
        NotFound: a file or dataset does not exist.
    """
    checked = checked_options(options).content()
    file_ids = list(dict.fromkeys(_file_id(name, registry, any_path) for name in files))
    dataset_ids = [registry.dataset(name).dataset_id for name in datasets]
    if not file_ids and not dataset_ids:
        raise Refused("data_missing")
    return {
        "file_ids": file_ids,
        "dataset_ids": list(dict.fromkeys(dataset_ids)),
        "pending": [automatic_call("create_dataset", file_id=name, **checked) for name in file_ids]
        + schema_calls(dataset_ids),
    }


def start_with_source(question: str, source: Source) -> dict[str, Any]:
    """Return the changes of the state for a source: its best-ranked tables as the datasets, and the first calls.

    Tables and views that row rules deny, and those that the business knowledge hides, are left out.

    Raises:
        NotPermitted: row rules deny every relevant table.
    """
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


def check_one_kind(source: str | None, has_files: bool) -> None:
    """Raise Refused if a question is about both a source and files or datasets."""
    if source and has_files:
        raise Refused("sources_not_together", first=without_password(source), second=Message("files"))


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
