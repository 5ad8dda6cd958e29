"""Datasets as a source of queries: read-only, behind the same walls as every DuckDB file."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import URL

from agent.catalog.source import Source, open_source
from agent.datasets.limits import Loading
from agent.datasets.registry import Registry
from agent.datasets.workspace import quoted, workspace
from agent.source_settings import SourceSettings
from agent.sql.known_results import KnownResults
from agent.sql.limits import Limits


def open_datasets(
    registry: Registry,
    dataset_ids: Sequence[str],
    limits: Limits,
    *,
    is_cached: bool = False,
    known: KnownResults | None = None,
) -> Source:
    """Return a source with one table for each dataset, named by its `dataset_id`.

    A single dataset is read where it is; several are copied into one file first, once, since a statement may read
    only one file. Datasets never change, so a statement that was asked before, of those whose results are in `known`,
    is not run again. With `is_cached` what is read of them on opening is kept, and goes with them.

    Raises:
        DatasetUnknown: there is no such dataset.
        FileTooLarge: they do not fit into memory while they are copied.
        DriverMissing: a package is not installed.
        SourceUnreachable: the file cannot be read.
    """
    wanted = sorted(set(dataset_ids))
    paths = [registry.path_of(dataset_id) for dataset_id in wanted]
    path = paths[0] if len(paths) == 1 else _joined(registry, wanted, paths)
    url = URL.create("duckdb", database=str(path.absolute())).render_as_string(hide_password=False)
    cache_dir = registry.cache_of(wanted) if is_cached else None
    source = open_source(SourceSettings(url=SecretStr(url)), limits, cache_dir=cache_dir)
    source.database.known_results = known or KnownResults()
    return source


def _joined(registry: Registry, dataset_ids: list[str], paths: Sequence[Path]) -> Path:
    def build(target: Path) -> None:
        # DuckDB looks for the log of a file that it attaches, also where there is none.
        readable = [*paths, *(path.with_name(f"{path.name}.wal") for path in paths)]
        with workspace(target, readable, Loading(", ".join(dataset_ids), registry.limits)) as work:
            for dataset_id, path in zip(dataset_ids, paths, strict=True):
                place, table = "'" + str(path).replace("'", "''") + "'", quoted(dataset_id)
                work.run(f"ATTACH {place} AS part (READ_ONLY)")
                work.run(f"CREATE TABLE {table} AS SELECT * FROM part.main.{table}")
                work.run("DETACH part")

    return registry.joined_path(dataset_ids, build)
