"""Store of few-shot examples: a SQLite file in the data directory."""

import os
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from sqlalchemy import (
    JSON,
    URL,
    Column,
    Connection,
    Engine,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    delete,
    select,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateTable

from datasphinx.agent.errors import NotFound, Unavailable
from datasphinx.agent.examples.example import Example

_BUSY_TIMEOUT_S = 10
_FIELDS = ("question", "sql", "source", "clarifications")

_metadata = MetaData()
_examples = Table(
    "examples",
    _metadata,
    Column("id", String(19), primary_key=True),
    Column("source", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("sql", Text, nullable=False),
    Column("clarifications", JSON, nullable=False),
)
_SELECT_ALL = select(*(_examples.c[name] for name in _FIELDS)).order_by(_examples.c.source, _examples.c.question)


class ExampleStore:
    """The examples of all sources. Any number of processes may share it.

    The first example creates the file. Every method raises `Unavailable` if the file cannot be used.
    """

    def __init__(self, data_dir: Path) -> None:
        """Set the path; the file is not opened yet."""
        self.path = data_dir / "examples.sqlite"
        self._last_read: tuple[Hashable, tuple[Example, ...]] = (None, ())

    def add(self, examples: Sequence[Example]) -> None:
        """Store `examples` in one transaction; an example replaces one with the same id, that is, the same question.

        They are not validated: create them with `checked_example`.
        """
        rows = {example.id: {name: getattr(example, name) for name in ("id", *_FIELDS)} for example in examples}
        if not rows:
            return
        upsert = insert(_examples)
        upsert = upsert.on_conflict_do_update(["id"], set_={name: upsert.excluded[name] for name in _FIELDS})
        with self._transaction() as connection:
            connection.execute(upsert, list(rows.values()))

    def remove(self, ids: Sequence[str]) -> None:
        """Delete the examples with these ids in one transaction.

        Raises:
            NotFound: one of the ids does not exist; nothing is deleted.
        """
        if not self.path.exists():
            raise NotFound("example_unknown", example_id=ids[0])
        with self._transaction() as connection:
            for example_id in dict.fromkeys(ids):
                if not connection.execute(delete(_examples).where(_examples.c.id == example_id)).rowcount:
                    raise NotFound("example_unknown", example_id=example_id)

    def examples(self, source: str | None = None) -> list[Example]:
        """Return the examples of `source`, or of all sources, ordered by source and question.

        The file is read again only if it has changed, since every question needs its examples.
        """
        version = self._version()
        known_version, examples = self._last_read
        if version is None or version != known_version:
            if not self.path.exists():
                return []
            with self._transaction() as connection:
                examples = tuple(Example(*row) for row in connection.execute(_SELECT_ALL))
            self._last_read = version, examples
        return [example for example in examples if source in (None, example.source)]

    def _version(self) -> Hashable:
        """Return what a change of the file changes; None if that is unknown, or if there is no file."""
        try:
            with self.path.open("rb") as file:
                header, status = file.read(28), os.fstat(file.fileno())
        except OSError:
            return None
        # Bytes 24 to 27 count the transactions, unless byte 18 says that these are in a log of their own.
        return (status.st_ino, status.st_mtime_ns, header[24:]) if header[18:19] == b"\x01" else None

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except (SQLAlchemyError, OSError) as error:
            reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0].rstrip(".")
            raise Unavailable("examples_unavailable", store=str(self.path), reason=reason) from error

    @cached_property
    def _engine(self) -> Engine:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Questions may contain personal data: only the owner of the file may read it.
        self.path.touch(mode=0o600, exist_ok=True)
        url = URL.create("sqlite", database=str(self.path))
        engine = create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT_S}, poolclass=NullPool)
        with engine.begin() as connection:
            for table in _metadata.tables.values():
                connection.execute(CreateTable(table, if_not_exists=True))
        return engine
