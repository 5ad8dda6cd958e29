"""The database of the record: SQLite by default, or any database supported by SQLAlchemy."""

import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Select,
    bindparam,
    column,
    create_engine,
    delete,
    event,
    func,
    insert,
    make_url,
    select,
    table,
    update,
)
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from datasphinx.agent.core.canonical import canonical
from datasphinx.agent.core.redact import without_password
from datasphinx.agent.engines import engine_called
from datasphinx.agent.engines.store import Store as StoreOfEngine
from datasphinx.agent.errors import NotFound, Unavailable
from datasphinx.agent.messages import Message, message_of
from datasphinx.agent.record.events import BEGINNING, Event, StoredEvent, chained_hash
from datasphinx.agent.record.migrations import StoreTooNew, is_current, migrate
from datasphinx.agent.settings import Settings

Item = TypeVar("Item")

_CONNECT_TIMEOUT_S = 5
_RESPONSE_TIMEOUT_S = 10
_BATCH = 500
_COLUMNS = ("position", "trace_id", "sequence", "time", "kind", "body", "previous", "hash")


@dataclass
class _Entry(Generic[Item]):
    """Items of one caller, and the error of the transaction that wrote them, once done."""

    items: Sequence[Item]
    is_done: bool = False
    error: Exception | None = None


class GroupCommit(Generic[Item]):
    """Writes the items of all waiting threads together, one transaction at a time. Thread-safe."""

    def __init__(self, write: Callable[[list[Item]], None]) -> None:
        """Set the function that writes items in one transaction."""
        self._write = write
        self._write_lock = threading.Lock()
        self._waiting: deque[_Entry[Item]] = deque()

    def put(self, items: Sequence[Item]) -> None:
        """Return when `items` are written. Raise the error of `write` to every caller of the transaction."""
        entry = _Entry(items)
        self._waiting.append(entry)
        with self._write_lock:
            if not entry.is_done:
                self._write_all([self._waiting.popleft() for _ in range(len(self._waiting))])
        if entry.error:
            raise entry.error

    def _write_all(self, entries: list[_Entry[Item]]) -> None:
        error: Exception | None = None
        try:
            self._write([item for entry in entries for item in entry.items])
        except Exception as exception:
            error = exception
        except BaseException:
            # This thread is being stopped; the next one writes the remaining items.
            self._waiting.extendleft(reversed(entries))
            raise
        for entry in entries:
            entry.is_done, entry.error = True, error


_events = table("datasphinx_events", *map(column, _COLUMNS))
_head = table("datasphinx_head", column("id"), column("position"), column("hash"))

_END, _START = 1, 2
"""The rows of `_head`: the last event, and the last one that `prune` has deleted, if any."""

# Statements for every event are built once.
_SELECT_HEAD = select(_head.c.position, _head.c.hash).where(_head.c.id == _END)
_LOCK_HEAD = _SELECT_HEAD.with_for_update()
_LAST_SEQUENCES = (
    select(_events.c.trace_id, func.max(_events.c.sequence))
    .where(_events.c.trace_id.in_(bindparam("traces", expanding=True)))
    .group_by(_events.c.trace_id)
)
_INSERT = insert(_events)
_SET_HEAD = (
    update(_head).where(_head.c.id == _END).values(position=bindparam("last_position"), hash=bindparam("last_hash"))
)


class Store:
    """The record in a database. Connects and creates its tables on first use. Thread-safe.

    Every method raises `Unavailable` if the database is unreachable or reports an error.
    """

    def __init__(self, url: str) -> None:
        """Set the SQLAlchemy URL; `name` is the URL without its password."""
        self.name = without_password(url)
        self._url = url
        # SQLite does not queue waiting writers, so some would wait very long.
        self._commits = GroupCommit(self._write)

    def append(self, events: Sequence[Event]) -> None:
        """Append all `events` to the chain, or none."""
        self._commits.put(events)

    def _write(self, events: Sequence[Event]) -> None:
        with self.transaction(writes=True) as connection:
            # The end of the chain is locked until the commit; in SQLite, the transaction locks the whole file.
            position, previous = connection.execute(_LOCK_HEAD).one()
            sequences = dict.fromkeys((event.trace_id for event in events), 0)
            sequences |= {
                trace_id: number
                for trace_id, number in connection.execute(_LAST_SEQUENCES, {"traces": list(sequences)})
            }
            rows = _rows(events, position, previous, sequences)
            connection.execute(_INSERT, rows)
            connection.execute(_SET_HEAD, {"last_position": rows[-1]["position"], "last_hash": rows[-1]["hash"]})

    def run(self, trace_id: str) -> list[StoredEvent]:
        """Return the events of a run in order. A prefix of the trace id is sufficient if it is unique.

        Raises:
            NotFound: no run has this trace id, or several match.
        """
        has_prefix = _events.c.trace_id.startswith(trace_id, autoescape=True)
        ids = select(_events.c.trace_id).where(has_prefix).distinct().order_by(_events.c.trace_id).limit(2)
        with self.transaction() as connection:
            matches = list(connection.execute(ids).scalars())
        if not trace_id or not matches:
            raise NotFound("trace_unknown", trace_id=trace_id, reason=Message("no_run"))
        if len(matches) > 1 and matches[0] != trace_id:
            raise NotFound("trace_unknown", trace_id=trace_id, reason=Message("several_runs"))
        return self._select(select(_events).where(_events.c.trace_id == matches[0]).order_by(_events.c.sequence))

    def newest(self, limit: int) -> list[tuple[StoredEvent, StoredEvent | None]]:
        """Return the first event and the output, if any, of the last `limit` runs, newest first."""
        query = select(_events).where(_events.c.kind == "run").order_by(_events.c.position.desc()).limit(limit)
        runs = self._select(query)
        ids = [run.trace_id for run in runs]
        output_query = select(_events).where(_events.c.kind == "output", _events.c.trace_id.in_(ids))
        outputs = {output.trace_id: output for output in self._select(output_query)}
        return [(run, outputs.get(run.trace_id)) for run in runs]

    def scan(self, position: int = -1) -> Iterator[StoredEvent]:
        """Yield every event after `position`, in the order of the chain."""
        while True:
            query = select(_events).where(_events.c.position > position).order_by(_events.c.position).limit(_BATCH)
            batch = self._select(query)
            yield from batch
            if len(batch) < _BATCH:
                return
            position = batch[-1].position

    def with_hash(self, digest: str) -> StoredEvent | None:
        """Return the event with this hash; None if there is none."""
        return next(iter(self._select(select(_events).where(_events.c.hash == digest).limit(1))), None)

    def head(self) -> tuple[int, str]:
        """Return the stored position and hash of the last event."""
        with self.transaction() as connection:
            position, last = connection.execute(_SELECT_HEAD).one()
        return int(position), str(last)

    def start(self) -> tuple[int, str]:
        """Return the position and hash of the event before the first that is kept; 0 if none was pruned."""
        with self.transaction() as connection:
            stored = connection.execute(select(_head.c.position, _head.c.hash).where(_head.c.id == _START)).first()
        return (int(stored[0]), str(stored[1])) if stored else (0, BEGINNING)

    def prune(self, before: str) -> int:
        """Delete the events before the first one at or after the time `before`, in ISO 8601; return how many."""
        with self.transaction(writes=True) as connection:
            end, _ = connection.execute(_LOCK_HEAD).one()
            kept = connection.execute(select(func.min(_events.c.position)).where(_events.c.time >= before)).scalar()
            last = end if kept is None else kept - 1
            digest = connection.execute(select(_events.c.hash).where(_events.c.position == last)).scalar()
            if digest is None:
                return 0
            deleted = connection.execute(delete(_events).where(_events.c.position <= last)).rowcount
            connection.execute(delete(_head).where(_head.c.id == _START))
            connection.execute(insert(_head).values(id=_START, position=last, hash=digest))
        return int(deleted)

    def _select(self, query: Select[Any]) -> list[StoredEvent]:
        with self.transaction() as connection:
            return [StoredEvent(**row) for row in connection.execute(query).mappings()]

    @contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[Connection]:
        """Open a transaction, which is committed at the end of the block; `writes` if it changes anything."""
        try:
            with _transaction(self._engine, writes=writes) as connection:
                yield connection
        except (SQLAlchemyError, sqlite3.Error, OSError, ImportError, StoreTooNew) as error:
            raise Unavailable("record_unavailable", store=self.name, reason=reason_of(error)) from error

    @cached_property
    def _engine(self) -> Engine:
        engine = create_store_engine(self._url)
        weakref.finalize(self, engine.dispose)
        with _transaction(engine) as connection:
            current = is_current(connection)
        if not current:
            migrate(engine)
        return engine


def open_store(settings: Settings) -> Store:
    """Return the store configured in `settings`; it connects on first use."""
    url = settings.record_url.get_secret_value() if settings.record_url else sqlite_url(settings.data_dir)
    return Store(url)


def sqlite_url(folder: Path, name: str = "record") -> str:
    """Return the URL of the SQLite file with this name in `folder`, by default the record in the data directory."""
    return URL.create("sqlite", database=str(folder / f"{name}.sqlite")).render_as_string()


@contextmanager
def _transaction(engine: Engine, *, writes: bool = False) -> Iterator[Connection]:
    with engine.connect().execution_options(writes=writes) as connection, connection.begin():
        yield connection


def _rows(events: Sequence[Event], position: int, previous: str, sequences: dict[str, int]) -> list[dict[str, Any]]:
    """Return the rows of `events` that follow the event at `position` with hash `previous`."""
    rows = []
    for number, item in enumerate(events, position + 1):
        sequences[item.trace_id] += 1
        facts = (item.trace_id, sequences[item.trace_id], item.time, item.kind, canonical(item.body))
        event_hash = chained_hash(previous, *facts)
        rows.append(dict(zip(_COLUMNS, (number, *facts, previous, event_hash), strict=True)))
        previous = event_hash
    return rows


def create_store_engine(text: str, **pool: Any) -> Engine:
    """Return an engine with timeouts for the database at this URL; it connects on first use.

    Raises:
        ArgumentError: the URL is invalid.
    """
    url = make_url(text)
    kind = engine_called(url.drivername)
    if kind and "+" not in url.drivername:
        url = url.set(drivername=kind.driver)
    kept = kind.store if kind else StoreOfEngine()
    if kept.is_file:
        return _sqlite(url)
    arguments = kept.arguments(_CONNECT_TIMEOUT_S, _RESPONSE_TIMEOUT_S)
    engine = create_engine(url, connect_args=arguments, pool_pre_ping=True, **pool)
    limits = kept.transaction_limits(_RESPONSE_TIMEOUT_S)
    if limits:
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(limits))
    return engine


def _sqlite(url: URL) -> Engine:
    path = Path(url.database or "")
    path.parent.mkdir(parents=True, exist_ok=True)
    # The file contains questions and rows from prompts, so other users must not read it.
    path.touch(mode=0o600, exist_ok=True)
    engine = create_engine(url, connect_args={"timeout": _RESPONSE_TIMEOUT_S})

    @event.listens_for(engine, "connect")
    def _open(connection: Any, _: Any) -> None:
        # The driver does not begin a transaction for CREATE TABLE by itself.
        connection.isolation_level = None
        with suppress(sqlite3.OperationalError):
            # Another process that opens the new file at the same time sets the mode for both.
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def reason_of(error: Exception) -> str:
    """Return the message of datasphinx in `error`, or the first line of the database's message."""
    if isinstance(error, ArgumentError):
        # The message of the error contains the URL with the password.
        return Message("record_url_invalid")
    text = message_of(getattr(error, "orig", None) or error)
    if isinstance(text, Message):
        return text
    text = text.strip() or type(error).__name__
    return text.splitlines()[0][:300].rstrip(".")
