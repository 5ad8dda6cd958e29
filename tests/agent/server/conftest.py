"""A server as most of these tests ask it."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.sql import execute
from tests.agent.record.stores import fresh_url
from tests.agent.server.asking import kept
from tests.agent.server.serving import Served, serving
from tests.support.databases import make_table


@pytest.fixture(scope="module")
def shared_server(
    request: pytest.FixtureRequest, cache_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """A server for all tests of a file, with its own data directory.

    Its model always counts the orders, unless the file has ANSWERS; SETTINGS of the file are those of the server.
    """
    answers, settings = (getattr(request.module, name, {}) for name in ("ANSWERS", "SETTINGS"))
    with serving(cache_dir, answers, data_dir=tmp_path_factory.mktemp("served"), **settings) as server:
        yield server


@pytest.fixture
def served(shared_server: Served) -> Served:
    """The server of the file, as if its model had not been called."""
    shared_server.model.calls.clear()
    return shared_server


@pytest.fixture
def emptied(shared_server: Served) -> Iterator[Served]:
    """The server of the file; the files that a test leaves there are removed."""
    yield shared_server
    for dataset in shared_server.http.get("/datasets").json()["datasets"]:
        shared_server.http.delete(f"/datasets/{dataset['dataset_id']}")
    assert kept(shared_server) == []


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Settings that name an empty store of threads, in a file or in a database of PostgreSQL."""
    with fresh_url(request.param, tmp_path) as url:
        yield {"data_dir": tmp_path, **({"threads_url": url} if request.param == "postgres" else {})}


@pytest.fixture
def things(tmp_path: Path) -> Path:
    """A database with one table of two rows."""
    return make_table(tmp_path, "thing TEXT", [["north"], ["south"]])


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Semaphore, list[Any]]:
    """One that is released as each endless statement begins, and the outcomes of those that have ended."""
    begun, outcomes = threading.Semaphore(0), list[Any]()
    run, record = execute._run, execute._record

    def begin(sql: str, *given: Any) -> Any:
        if "RECURSIVE" in sql:
            begun.release()
        return run(sql, *given)

    def end(sql: str, *given: Any, **named: Any) -> None:
        record(sql, *given, **named)
        if "RECURSIVE" in sql:
            outcomes.append(given[-1])

    monkeypatch.setattr(execute, "_run", begin)
    monkeypatch.setattr(execute, "_record", end)
    return begun, outcomes
