"""The database that holds the record: SQLite by default, any that SQLAlchemy reaches."""

import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Select,
    bindparam,
    column,
    create_engine,
    event,
    func,
    insert,
    make_url,
    select,
    table,
    update,
)
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from agent.audit.canonical import canonical
from agent.audit.events import Event, StoredEvent, chained_hash
from agent.audit.group_commit import GroupCommit
from agent.audit.migrations import StoreTooNew, is_current, migrate
from agent.errors import RecordUnavailable, TraceUnknown
from agent.settings import Settings
from agent.sql.redact import without_password

_DRIVERS = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}
_CONNECT_S = 5
_ANSWER_S = 10
_BATCH = 500
_COLUMNS = ("position", "trace_id", "sequence", "time", "kind", "body", "previous", "hash")

_events = table("datasphinx_events", *map(column, _COLUMNS))
_head = table("datasphinx_head", column("id"), column("position"), column("hash"))

# What every event costs is built once.
_CLAIM = update(_head).values(position=_head.c.position + bindparam("count"))
_END = select(_head.c.position, _head.c.hash)
_LAST_OF_RUNS = (
    select(_events.c.trace_id, func.max(_events.c.sequence))
    .where(_events.c.trace_id.in_(bindparam("traces", expanding=True)))
    .group_by(_events.c.trace_id)
)
_INSERT = insert(_events)
_SEAL = update(_head).values(hash=bindparam("last"))


class Store:
    """The record in a database. It is connected, and its tables are made, at first use. Safe to share by threads.

    Every method raises `RecordUnavailable` where the database cannot be reached or refuses.
    """

    def __init__(self, url: str) -> None:
        """Take the SQLAlchemy URL; `name` is what users see of it: without its password."""
        self.name = without_password(url)
        self._url = url
        # Writers of a SQLite file that wait for each other inside SQLite do so without an order, and some for long.
        self._end = GroupCommit(self._write)

    def append(self, events: Sequence[Event]) -> None:
        """Put `events` at the end of the chain, all of them or none."""
        self._end.put(events)

    def _write(self, events: Sequence[Event]) -> None:
        with self._transaction(writes=True) as connection:
            # The update comes first: until the commit all other writers wait here for the end of the chain.
            connection.execute(_CLAIM, {"count": len(events)})
            position, previous = connection.execute(_END).one()
            last = dict.fromkeys((event.trace_id for event in events), 0)
            last |= {trace_id: number for trace_id, number in connection.execute(_LAST_OF_RUNS, {"traces": list(last)})}
            rows = _rows(events, position - len(events), previous, last)
            connection.execute(_INSERT, rows)
            connection.execute(_SEAL, {"last": rows[-1]["hash"]})

    def run(self, trace_id: str) -> list[StoredEvent]:
        """Return the events of a run in their order; a beginning of the trace id will do where it fits one alone.

        Raises:
            TraceUnknown: no run has it, or several do.
        """
        begins = _events.c.trace_id.startswith(trace_id, autoescape=True)
        ids = select(_events.c.trace_id).where(begins).distinct().order_by(_events.c.trace_id).limit(2)
        with self._transaction() as connection:
            found = list(connection.execute(ids).scalars())
        if not trace_id or not found:
            raise TraceUnknown(trace_id, "no run has it")
        if len(found) > 1 and found[0] != trace_id:
            raise TraceUnknown(trace_id, "several runs begin with it")
        return self._select(select(_events).where(_events.c.trace_id == found[0]).order_by(_events.c.sequence))

    def newest(self, limit: int) -> list[tuple[StoredEvent, StoredEvent | None]]:
        """Return the beginning and, where there is one, the output of the last `limit` runs, the newest first."""
        begun = select(_events).where(_events.c.kind == "run").order_by(_events.c.position.desc()).limit(limit)
        runs = self._select(begun)
        ids = [run.trace_id for run in runs]
        ended = select(_events).where(_events.c.kind == "output", _events.c.trace_id.in_(ids))
        outputs = {output.trace_id: output for output in self._select(ended)}
        return [(run, outputs.get(run.trace_id)) for run in runs]

    def scan(self, position: int = -1) -> Iterator[StoredEvent]:
        """Yield every event after `position`, in the order of the chain."""
        while True:
            after = select(_events).where(_events.c.position > position).order_by(_events.c.position).limit(_BATCH)
            batch = self._select(after)
            yield from batch
            if len(batch) < _BATCH:
                return
            position = batch[-1].position

    def with_hash(self, wanted: str) -> StoredEvent | None:
        """Return the event that has this hash."""
        return next(iter(self._select(select(_events).where(_events.c.hash == wanted).limit(1))), None)

    def head(self) -> tuple[int, str]:
        """Return position and hash of the last event, as they were noted when it was written."""
        with self._transaction() as connection:
            position, last = connection.execute(_END).one()
        return int(position), str(last)

    def _select(self, query: Select[Any]) -> list[StoredEvent]:
        with self._transaction() as connection:
            return [StoredEvent(**row) for row in connection.execute(query).mappings()]

    @contextmanager
    def _transaction(self, *, writes: bool = False) -> Iterator[Connection]:
        try:
            with _begun(self._engine, writes=writes) as connection:
                yield connection
        except (SQLAlchemyError, sqlite3.Error, OSError, ImportError, StoreTooNew) as error:
            raise RecordUnavailable(self.name, reason_of(error)) from error

    @cached_property
    def _engine(self) -> Engine:
        engine = connected(self._url)
        weakref.finalize(self, engine.dispose)
        with _begun(engine) as connection:
            current = is_current(connection)
        if not current:
            migrate(engine)
        return engine


def open_store(settings: Settings) -> Store:
    """Return the record that `settings` name; it is connected at first use."""
    url = settings.record_url.get_secret_value() if settings.record_url else sqlite_url(settings.data_dir)
    return Store(url)


def sqlite_url(folder: Path) -> str:
    """Return the URL of the record in the data directory `folder`."""
    return URL.create("sqlite", database=str(folder / "record.sqlite")).render_as_string()


@contextmanager
def _begun(engine: Engine, *, writes: bool = False) -> Iterator[Connection]:
    with engine.connect().execution_options(writes=writes) as connection, connection.begin():
        yield connection


def _rows(events: Sequence[Event], position: int, previous: str, sequences: dict[str, int]) -> list[dict[str, Any]]:
    """Return the rows of `events` after the event at `position`, whose hash is `previous`."""
    rows = []
    for number, each in enumerate(events, position + 1):
        sequences[each.trace_id] += 1
        facts = (each.trace_id, sequences[each.trace_id], each.time, each.kind, canonical(each.body))
        own = chained_hash(previous, *facts)
        rows.append(dict(zip(_COLUMNS, (number, *facts, previous, own), strict=True)))
        previous = own
    return rows


def connected(text: str, **pool: Any) -> Engine:
    """Return an engine for the database at this URL, whose every answer comes in time; nothing is connected yet.

    Raises:
        ArgumentError: it is no URL of an engine.
    """
    url = make_url(text)
    url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
    name = url.get_backend_name()
    if name == "sqlite":
        return _sqlite(url)
    arguments: dict[str, Any] = {}
    if name == "postgresql":
        limits = f"-c statement_timeout={_ANSWER_S}s -c lock_timeout={_ANSWER_S}s"
        arguments = {"connect_timeout": _CONNECT_S, "options": limits, "tcp_user_timeout": _ANSWER_S * 1000}
    elif name in ("mysql", "mariadb"):
        arguments = {"connect_timeout": _CONNECT_S, "read_timeout": _ANSWER_S, "write_timeout": _ANSWER_S}
    return create_engine(url, connect_args=arguments, pool_pre_ping=True, **pool)


def _sqlite(url: URL) -> Engine:
    path = Path(url.database or "")
    path.parent.mkdir(parents=True, exist_ok=True)
    # It holds questions, and rows that stood in prompts: nobody else on this machine has to read them.
    path.touch(mode=0o600, exist_ok=True)
    engine = create_engine(url, connect_args={"timeout": _ANSWER_S})

    @event.listens_for(engine, "connect")
    def _open(connection: Any, _: Any) -> None:
        # By itself the driver begins no transaction for the making of tables.
        connection.isolation_level = None
        with suppress(sqlite3.OperationalError):
            # Another process that opens the new file at this moment sets it too, and then it is set for both.
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def reason_of(error: Exception) -> str:
    """Return the first line of what the database complains of."""
    if isinstance(error, ArgumentError):
        # Its text holds the URL, with the password.
        return "DATASPHINX_RECORD_URL is no URL of an engine that SQLAlchemy knows"
    text = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
    return text.splitlines()[0][:300].rstrip(".")
