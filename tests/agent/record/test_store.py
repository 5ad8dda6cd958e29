"""The record in a database: one chain for any number of writers."""

import hashlib
import json
import multiprocessing
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, Table, create_engine, inspect, text

from datasphinx.agent.errors import NotFound, Unavailable
from datasphinx.agent.record.events import BEGINNING
from datasphinx.agent.record.migrations import MIGRATIONS, StoreTooNew, migrate
from datasphinx.agent.record.store import GroupCommit, Store, sqlite_url
from datasphinx.agent.record.verify import verify
from tests.agent.record.stores import fresh_url, happened, tampering
from tests.support.errors import of_code
from tests.support.servers import STORES

OTHER = "b" * 32
ODD = "«\u0000🐘 \ud800 客户 Клиенты ' \" \\ %s :name"


WRITERS = 8


def test_what_is_written_comes_back(url: str) -> None:
    store = Store(url)
    store.append([happened(text=ODD, number=1.5, nothing=None), happened(nested={"b": [1, 2], "a": ODD})])
    first, second = Store(url).run("a" * 32)
    assert first.content == {"text": ODD, "number": 1.5, "nothing": None}
    assert second.content == {"nested": {"b": [1, 2], "a": ODD}}
    assert (first.position, first.sequence, second.position, second.sequence) == (1, 1, 2, 2)


def test_the_hash_is_what_the_documentation_says(url: str) -> None:
    store = Store(url)
    store.append([happened(z=1, a="é"), happened(OTHER, "run")])
    first, second = store.scan()
    assert first.body == '{"a":"\\u00e9","z":1}'
    parts = [BEGINNING, first.trace_id, 1, first.time, "step", first.body]
    assert first.hash == hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode("ascii")).hexdigest()
    assert second.previous == first.hash
    assert store.head() == (2, second.hash)


def test_runs_are_counted_each_by_itself_in_one_chain(url: str) -> None:
    store = Store(url)
    for trace in ("a" * 32, OTHER, "a" * 32, OTHER):
        store.append([happened(trace)])
    assert [(event.trace_id[0], event.sequence) for event in store.scan()] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


@pytest.mark.heavy
def test_many_writers_make_one_chain(url: str) -> None:
    def write(trace: str) -> None:
        store = Store(url)
        for number in range(10):
            store.append([happened(trace, number=number)])

    writers = [threading.Thread(target=write, args=(str(name) * 32,)) for name in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    store = Store(url)
    done = verify(store)
    assert (done.events, done.findings) == (40, [])
    assert [event.content["number"] for event in store.run("3" * 32)] == list(range(10))


def _write_once(url: str, trace: str, failures: "multiprocessing.Queue[str]") -> None:
    try:
        Store(url).append([happened(trace)])
    except Exception as error:
        failures.put(repr(error))


@pytest.mark.heavy
@pytest.mark.process
def test_processes_that_start_at_the_same_time_make_the_tables_once(url: str) -> None:
    context = multiprocessing.get_context("spawn")
    failures: multiprocessing.Queue[str] = context.Queue()
    starters = [context.Process(target=_write_once, args=(url, str(name) * 32, failures)) for name in range(3)]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join(120)
    assert failures.empty(), failures.get()
    store = Store(url)
    done = verify(store)
    assert (done.events, done.findings) == (3, [])
    with tampering(store) as connection:
        assert connection.execute(text("SELECT number FROM datasphinx_migrations")).scalars().all() == [1, 2]


def test_migrations_run_in_order_each_once(url: str) -> None:
    ran: list[str] = []

    def migration_0003_third(connection: Connection) -> None:
        ran.append("third")

    def migration_0004_fourth(connection: Connection) -> None:
        ran.append("fourth")

    store = Store(url)
    store.append([happened()])
    engine = store._engine
    assert migrate(engine, [*MIGRATIONS, migration_0003_third, migration_0004_fourth]) == [3, 4]
    assert migrate(engine, [*MIGRATIONS, migration_0003_third, migration_0004_fourth]) == []
    assert ran == ["third", "fourth"]
    with pytest.raises(Unavailable, match="version 4, but this datasphinx supports up to 2"):
        Store(url).append([happened()])
    assert len(store.run("a" * 32)) == 1


@pytest.mark.parametrize("engine", STORES)
def test_a_migration_that_breaks_leaves_nothing(engine: str, tmp_path: Path) -> None:
    def migration_0003_broken(connection: Connection) -> None:
        Table("halfway", MetaData(), Column("id", Integer)).create(connection)
        raise OSError("the disk is full")

    with fresh_url(engine, tmp_path) as url:
        made = Store(url)
        made.append([happened()])
        with pytest.raises(OSError, match="disk"):
            migrate(made._engine, [*MIGRATIONS, migration_0003_broken])
        assert not inspect(made._engine).has_table("halfway")
        assert migrate(made._engine) == []


def test_an_older_datasphinx_refuses_the_tables_of_a_newer(tmp_path: Path) -> None:
    engine = create_engine(sqlite_url(tmp_path))
    migrate(engine, [*MIGRATIONS, MIGRATIONS[0]])
    with pytest.raises(StoreTooNew):
        migrate(engine)
    engine.dispose()


def test_a_run_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    store = Store(sqlite_url(tmp_path))
    store.append([happened("abc1" * 8), happened("abd2" * 8), happened("100%" * 8)])
    assert store.run("abc")[0].trace_id == "abc1" * 8
    assert store.run("abd2" * 8)[0].trace_id == "abd2" * 8
    for unknown, reason in [("ab", "several"), ("zzz", "no run"), ("", "no run"), ("%", "no run"), ("ab_", "no run")]:
        with pytest.raises(NotFound, match=reason):
            store.run(unknown)


def test_the_newest_runs_come_first_with_their_output(tmp_path: Path) -> None:
    store = Store(sqlite_url(tmp_path))
    store.append([happened("1" * 32, "run"), happened("2" * 32, "run"), happened("1" * 32, "output", answer="7")])
    ((second, unfinished), (first, output)) = store.newest(10)
    assert (second.trace_id[0], unfinished, first.trace_id[0]) == ("2", None, "1")
    assert output and output.content == {"answer": "7"}
    assert [run.trace_id[0] for run, _ in store.newest(1)] == ["2"]


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    Store(sqlite_url(tmp_path / "new" / "folder")).append([happened()])
    assert stat.S_IMODE((tmp_path / "new" / "folder" / "record.sqlite").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://auditor:hunter2hunter2@127.0.0.1:1/record",
        "mysql://auditor:hunter2hunter2@127.0.0.1:1/record",
        "nonsense+driver://auditor:hunter2hunter2@host/record",
        "auditor:hunter2hunter2@host is no url",
        "sqlite:////proc/nothing/here/record.sqlite",
    ],
)
def test_a_store_that_cannot_be_opened_says_so_without_the_password(url: str) -> None:
    with pytest.raises(Unavailable, check=of_code("record_unavailable")) as failed:
        Store(url).append([happened()])
    assert "hunter2" not in str(failed.value) + repr(failed.value.details())
    assert "DATASPHINX_RECORD_URL" in str(failed.value)


def test_a_file_that_is_no_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "record.sqlite"
    path.write_text("these are my notes, and no database" * 100)
    before = path.read_bytes()
    with pytest.raises(Unavailable, match="not a database"):
        Store(sqlite_url(tmp_path)).append([happened()])
    assert path.read_bytes() == before


def many_while_one_writes(put: Callable[[str], None], begun: threading.Event, go_on: threading.Event) -> None:
    """Let one writer into its transaction, then others into the line behind it, then all of them to their end."""
    first = threading.Thread(target=put, args=("first",))
    first.start()
    assert begun.wait(10)
    others = [threading.Thread(target=put, args=(str(name),)) for name in range(WRITERS)]
    for other in others:
        other.start()
    go_on.set()
    for each in (first, *others):
        each.join(10)


def test_all_is_written_once_and_in_fewer_transactions_than_there_are_writers() -> None:
    written, begun, go_on = list[list[str]](), threading.Event(), threading.Event()
    group: GroupCommit[str]

    def write(items: list[str]) -> None:
        begun.set()
        assert go_on.wait(10)
        while len(written) == 1 and len(group._waiting) + len(items) < WRITERS:
            threading.Event().wait(0.001)
        written.append(items)

    group = GroupCommit(write)
    many_while_one_writes(lambda item: group.put([item]), begun, go_on)
    assert written[0] == ["first"]
    assert sorted(item for items in written[1:] for item in items) == [str(name) for name in range(WRITERS)]
    assert len(written) <= 3


def test_each_hears_of_the_error_of_its_transaction() -> None:
    heard, begun, go_on = list[str](), threading.Event(), threading.Event()

    def write(items: list[str]) -> None:
        begun.set()
        assert go_on.wait(10)
        raise OSError("no space")

    group = GroupCommit(write)

    def put(item: str) -> None:
        with pytest.raises(OSError, match="no space"):
            group.put([item])
        heard.append(item)

    many_while_one_writes(put, begun, go_on)
    assert len(heard) == WRITERS + 1


def test_what_waits_behind_a_writer_that_is_stopped_is_written_by_the_next() -> None:
    written, stops = list[str](), iter([KeyboardInterrupt()])

    def write(items: list[str]) -> None:
        for stop in stops:
            raise stop
        written.extend(items)

    group = GroupCommit(write)
    with pytest.raises(KeyboardInterrupt):
        group.put(["stopped"])
    group.put(["next"])
    assert written == ["stopped", "next"]
