"""Threads that are older than a limit are deleted with all that belongs to them, and no others."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from datasphinx.agent.conversation.retention import prune_threads
from datasphinx.agent.conversation.thread_list import ThreadList
from datasphinx.agent.conversation.threads import Link, Threads, config_of, open_threads
from datasphinx.agent.record.store import open_store
from datasphinx.agent.server import app
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, load_settings
from tests.agent.record.stores import fresh_url, happened
from tests.support.commands import Run
from tests.support.servers import STORES

pytestmark = pytest.mark.integration

OLD, NEW, USED, OTHER, UNUSED = ("a" * 32, "b" * 32, "c" * 32, "d" * 32, "e" * 32)


@pytest.fixture(params=STORES)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    if request.param == "sqlite":
        yield load_settings(data_dir=tmp_path / "data")
        return
    with fresh_url("postgres", tmp_path) as empty:
        yield load_settings(data_dir=tmp_path / "data", threads_url=empty)


def run_on(threads: Threads, thread_id: str, graph: str = "agent") -> str:
    """Store a run of a thread with an answer of some rows, and return its id."""
    checkpoint = {**empty_checkpoint(), "id": str(uuid6())}
    checkpoint["channel_values"], checkpoint["channel_versions"] = {"tables": [[1, 2]]}, {"tables": checkpoint["id"]}
    config = config_of(threads.key(graph, thread_id))
    with threads.saver() as saver:
        stored: Any = checkpoint
        saver.put_writes(saver.put(config, stored, {}, stored["channel_versions"]), [("tables", [[1, 2]])], "task")
    return str(checkpoint["id"])


def contents(threads: Threads) -> str:
    """Return all rows of the tables in which threads have rows, as a text."""
    blobs = threads.rows("SELECT * FROM checkpoint_blobs", ()) if "postgres" in threads.name else []
    writes = "checkpoint_writes" if "postgres" in threads.name else "writes"
    tables = ("checkpoints", writes, "conversations")
    return str([*blobs, *(row for table in tables for row in threads.rows(f"SELECT * FROM {table}", ()))])


def test_old_threads_are_deleted_with_runs_writes_charts_links_and_entries_of_lists(settings: Settings) -> None:
    threads = open_threads(settings)
    users = ThreadList(threads, "ann"), ThreadList(threads, "ben")
    for thread_id in (OLD, USED, OTHER):
        graph = "analyst" if thread_id == OTHER else "agent"
        run_id = run_on(threads, thread_id, graph)
        threads.save_chart(threads.key(graph, thread_id), run_id, "{}")
        threads.link(f"link of {thread_id}", Link(thread_id, run_id))
        for user in users:
            user.add(thread_id, "agent", "How many?")
    users[0].add(UNUSED, "", None)
    limit = time.time()
    for thread_id in (NEW, USED):
        run_id = run_on(threads, thread_id)
        threads.link(f"last link of {thread_id}", Link(thread_id, run_id))

    assert prune_threads(settings, limit) == 2
    left = contents(threads)
    assert OLD not in left and OTHER not in left and UNUSED not in left
    assert len(threads.runs(threads.key("agent", USED), 10)) == 2
    assert threads.last(threads.key("agent", NEW))
    assert [threads.linked(f"link of {each}") is not None for each in (OLD, OTHER, USED)] == [False, False, True]
    assert threads.linked(f"last link of {NEW}") and threads.linked(f"last link of {USED}")
    assert [[each["thread_id"] for each in user.find("", 10)] for user in users] == [[USED], [USED]]
    assert prune_threads(settings, limit) == 0 and contents(threads) == left


def test_threads_of_every_tenant_are_deleted(settings: Settings) -> None:
    own = (
        settings if settings.threads_url else settings.model_copy(update={"data_dir": settings.data_dir / "tenants/x"})
    )
    stores = [open_threads(settings), open_threads(own).for_owner("x"), open_threads(own).for_owner("x-y.z")]
    for threads, thread_id in zip(stores, (OLD, USED, OTHER), strict=True):
        run_on(threads, thread_id)
    assert prune_threads(settings, time.time() + 1) == 3
    assert not any(threads.rows("SELECT 1 FROM checkpoints", ()) for threads in stores)


def test_a_thread_with_a_run_in_progress_is_kept(settings: Settings) -> None:
    threads = open_threads(settings)
    for thread_id in (OLD, USED):
        run_on(threads, thread_id)
    key = threads.key("agent", USED)
    with threads.lock(key) as is_locked:
        assert is_locked
        assert prune_threads(settings, time.time() + 1) == 1
        assert threads.last(key)
    assert prune_threads(settings, time.time() + 1) == 1
    assert threads.last(key) is None


def test_without_a_store_nothing_is_deleted_and_none_is_made(tmp_path: Path) -> None:
    assert prune_threads(load_settings(data_dir=tmp_path / "data"), time.time()) == 0
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("days", [1, None])
def test_a_server_deletes_old_threads_and_events_if_the_settings_say_so(
    days: int | None, tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings(cache_dir=cache_dir, data_dir=tmp_path / "data", thread_days=days, record_days=days)
    threads, record = open_threads(settings), open_store(settings)
    key = threads.key("agent", OLD)
    run_on(threads, OLD)
    record.append([happened("a" * 32)])
    searches = list[float]()

    def later(prune: Callable[[Settings, float], int], settings: Settings, before: float) -> int:
        searches.append(before)
        return prune(settings, before + 2 * 86_400)

    monkeypatch.setattr(app, "PRUNE_S", 0.001)
    for name in ("prune_threads", "prune_record"):
        monkeypatch.setattr(app, name, partial(later, getattr(app, name)))
    served = app.create_app(Services(settings, any_source=False))

    async def run() -> None:
        async with served.router.lifespan_context(served), asyncio.timeout(20):
            for _ in range(20):
                await asyncio.sleep(0.002)
            while days and (threads.last(key) or [*record.scan()]):
                await asyncio.sleep(0.002)

    asyncio.run(run())
    assert (threads.last(key) is None) == ([*record.scan()] == []) == bool(days)
    assert all(before < time.time() - 86_390 for before in searches) and bool(searches) == bool(days)


@pytest.mark.parametrize(
    ("command", "setting", "said"),
    [("threads", "THREAD_DAYS", "conversations deleted: 1\n"), ("trace", "RECORD_DAYS", "events deleted: 1\n")],
)
def test_the_command_deletes_after_the_days_of_its_option_or_of_the_setting(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, setting: str, said: str
) -> None:
    monkeypatch.setenv("DATASPHINX_DATA_DIR", str(tmp_path / "data/tenants/acme"))
    settings = load_settings()
    run_on(open_threads(settings), NEW)
    open_store(settings).append([happened("a" * 32)])
    monkeypatch.setenv("DATASPHINX_DATA_DIR", str(tmp_path / "data"))
    code, _, error = run(command, "prune")
    assert code == 2 and f"DATASPHINX_{setting}" in error
    monkeypatch.setattr("datasphinx.agent.conversation.retention.DAY_S", -1)
    assert run(command, "prune", "--days", "5") == (0, said, "")
    monkeypatch.setenv(f"DATASPHINX_{setting}", "3")
    code, shown, _ = run(command, "prune", "--json")
    assert (code, json.loads(shown)) == (0, {"deleted": 0})
