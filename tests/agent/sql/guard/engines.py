"""The engines whose lexers and printers the guard is compared with."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest
from sqlalchemy.pool import NullPool

from tests.support.servers import SERVERS, prepared

MARKS = {"postgres": pytest.mark.postgres, "mysql": pytest.mark.mysql, "clickhouse": pytest.mark.clickhouse}
ENGINES = [pytest.param(name, marks=[MARKS[name]] if name in MARKS else []) for name in ("sqlite", "duckdb", *MARKS)]

Run = Callable[[str], tuple[list[str], list[list[Any]]]]
"""Returns columns and rows of a statement."""


@contextmanager
def running(name: str, script: Sequence[str] = (), schema: str = "") -> Iterator[Run]:
    """Run statements on an engine, in one session, after `script`; on a server, in a new `schema`, if it is given."""

    def fetched(cursor: Any) -> tuple[list[str], list[list[Any]]]:
        return [column[0] for column in cursor.description], [list(row) for row in cursor.fetchall()]

    def run_on_chdb(sql: str) -> tuple[list[str], list[list[Any]]]:
        answer = json.loads(session.query(sql, "JSONCompact").bytes())
        return [column["name"] for column in answer["meta"]], answer["data"]

    if name == "clickhouse":
        # Without a session, chDB is started for each statement.
        with pytest.importorskip("chdb.session").Session() as session:
            for statement in script:
                session.query(statement)
            yield run_on_chdb
    elif name in {"sqlite", "duckdb"}:
        module = sqlite3 if name == "sqlite" else pytest.importorskip("duckdb")
        with closing(module.connect(":memory:")) as connection:
            for statement in script:
                connection.execute(statement)
            yield lambda sql: fetched(connection.execute(sql))
    else:
        kind, use = ("SCHEMA", "SET search_path =") if name == "postgres" else ("DATABASE", "USE")
        drop = [f"DROP {kind} IF EXISTS {schema}{' CASCADE' if kind == 'SCHEMA' else ''}"] if schema else []
        own = [f"CREATE {kind} {schema}", f"{use} {schema}"] if schema else []
        with prepared(SERVERS[name], drop=drop, poolclass=NullPool) as engine, engine.connect() as server:
            server.execution_options(no_parameters=True)
            for statement in (*own, *script):
                server.exec_driver_sql(statement)
            yield lambda sql: fetched(server.exec_driver_sql(sql).cursor)
