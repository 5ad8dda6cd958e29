"""A registry in the test's own folder, and a fixture that loads bytes and returns rows."""

import io
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from datasphinx.agent.datasets.dataset import Dataset
from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.sql.rows import json_safe


class Loaded(NamedTuple):
    """A dataset with the rows that a query finds in it."""

    dataset: Dataset
    rows: list[list[Any]]

    @property
    def schema(self) -> dict[str, str]:
        return dict(self.dataset.schema)

    @property
    def warnings(self) -> set[tuple[str, str]]:
        return {(warning.code, warning.column) for warning in self.dataset.report.warnings}


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "data")


def rows_of(registry: Registry, dataset: Dataset) -> list[list[Any]]:
    """All rows as results have them. To open a source for them took as long as to load most files."""
    with closing(duckdb.connect(registry.path_of(dataset.dataset_id), read_only=True)) as connection:
        rows = connection.execute(f"SELECT * FROM {dataset.table}").fetchall()
    return [[json_safe(value) for value in row] for row in rows]


@pytest.fixture
def load(registry: Registry) -> Callable[..., Loaded]:
    """A maker of datasets from a name and the bytes of a file."""

    def make(name: str, content: bytes, **given: Any) -> Loaded:
        dataset = registry.create(registry.add_stream(io.BytesIO(content), name), LoadOptions(**given))
        return Loaded(dataset, rows_of(registry, dataset))

    return make
