"""Reflection of a schema: warnings for unreadable objects, an error if the database does not answer."""

import sqlite3
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Inspector, event
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.exc import OperationalError
from sqlalchemy.types import TypeEngine

from datasphinx.agent.engines.sqlite import SQLite
from datasphinx.agent.errors import SourceUnreachable
from datasphinx.agent.sources.reflect import reflect
from datasphinx.agent.sql.database import Database
from tests.support.databases import make_database, many_tables, open_url, strange_names, url, wide_table


def test_views_are_told_from_tables(tmp_path: Path) -> None:
    path = make_database(tmp_path, "CREATE TABLE a (id INTEGER)", "CREATE VIEW b AS SELECT * FROM a")
    catalog = reflect(Database(url(path)))
    assert {key: table.is_view for key, table in catalog.tables.items()} == {"a": False, "b": True}
    assert catalog.warnings == ()


def test_names_of_types_are_read_without_a_dialect_for_each_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_dialect(kind: TypeEngine[object]) -> object:
        raise AssertionError("a dialect is created")

    monkeypatch.setattr(TypeEngine, "_default_dialect", no_dialect)
    path = make_database(tmp_path, "CREATE TABLE a (id INTEGER, name VARCHAR(20), price DECIMAL(10, 2))")

    types = [column.type for column in reflect(Database(url(path))).tables["a"].columns]

    assert types == ["INTEGER", "VARCHAR(20)", "DECIMAL(10, 2)"]


def test_comments_in_the_statement_that_created_a_table_are_those_of_its_columns(tmp_path: Path) -> None:
    path = make_database(
        tmp_path,
        """CREATE TABLE orders ( id INTEGER PRIMARY KEY, -- the key
            -- NULL: web order
            store INTEGER,
            channel TEXT DEFAULT '--' /* W = web, S = shop */ NOT NULL,
            "a -- b" REAL CHECK ("a -- b" > 0), -- in euro
            -- without tax
            net REAL
            , note INTEGER REFERENCES notes (id) -- by hand
        )""",
        "CREATE TABLE plain (id INTEGER, word TEXT DEFAULT '-- no comment')",
        "CREATE TABLE copied AS SELECT 1 AS id -- as a copy",
    )
    tables = reflect(Database(url(path))).tables

    assert {column.name: column.comment for column in tables["orders"].columns} == {
        "id": "the key",
        "store": "NULL: web order",
        "channel": "W = web, S = shop",
        "a -- b": "in euro",
        "net": "without tax",
        "note": "by hand",
    }
    assert [column.comment for key in ("plain", "copied") for column in tables[key].columns] == [None] * 3


def test_progress_is_told_up_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.sources.reflect._CHUNK_SIZE", 20)
    told: list[tuple[int, int]] = []
    reflect(Database(url(many_tables(tmp_path, 45))), progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 46), (20, 46), (40, 46), (46, 46)]


def test_a_view_that_fails_is_left_out_with_a_warning(tmp_path: Path) -> None:
    path = make_database(
        tmp_path,
        "CREATE TABLE good (id INTEGER)",
        "CREATE TABLE gone (id INTEGER)",
        "CREATE VIEW broken AS SELECT id FROM gone",
        "CREATE VIEW fine AS SELECT id FROM good",
        "DROP TABLE gone",
    )
    source = open_url(url(path))
    assert list(source.catalog.tables) == ["fine", "good"]
    assert len(source.catalog.warnings) == 1
    assert "broken is left out" in source.catalog.warnings[0]
    assert source.execute("SELECT COUNT(*) FROM fine")["rows"] == [[0]]


def test_odd_names_are_read_and_sampled(tmp_path: Path) -> None:
    source = open_url(url(strange_names(tmp_path)))
    assert source.catalog.values["order details", "it's"] == ("apostrophe",)
    assert source.catalog.values["клиенты", "город"] == ("Москва",)
    assert source.catalog.warnings == ()


@pytest.mark.parametrize("name", ["t" * 1000, 'a"b', "a'b", "a\nb", "a;b -- c", "a\tb", "\\", "100%"])
def test_hostile_names_do_no_harm(tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    path = make_database(
        tmp_path,
        f"CREATE TABLE {quoted} ({quoted} TEXT)",
        f"INSERT INTO {quoted} VALUES ('kept')",
        "CREATE TABLE plain (word TEXT)",
        "INSERT INTO plain VALUES ('here')",
    )
    source = open_url(url(path), cache_dir=tmp_path / "cache", profile_budget_s=60)
    assert source.background is not None and source.background.wait(60)
    source.close()
    again = open_url(url(path), cache_dir=tmp_path / "cache")
    again.close()
    assert name in source.catalog.tables
    assert source.catalog.values["plain", "word"] == ("here",)
    assert again.catalog == source.catalog


def test_a_table_that_disappears_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_database(tmp_path, "CREATE TABLE a (id INTEGER)", "CREATE TABLE b (id INTEGER)")
    listed = Inspector.get_table_names

    def list_then_drop(inspector: Inspector, schema: str | None = None) -> list[str]:
        names = listed(inspector, schema)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("DROP TABLE IF EXISTS b")
        return names

    monkeypatch.setattr(Inspector, "get_table_names", list_then_drop)
    catalog = reflect(Database(url(path)))
    assert list(catalog.tables) == ["a"]
    assert catalog.warnings == ("b is left out: it cannot be reflected",)


def test_filters_of_warnings_that_another_thread_sets_meanwhile_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_database(tmp_path, "CREATE TABLE a (id INTEGER(1))")  # SQLAlchemy warns of the 1
    read = SQLite.columns

    def filter_then_read(engine: SQLite, inspector: Inspector, tables: Sequence[str]) -> Mapping[Any, list[Any]]:
        warnings.filterwarnings("ignore", message="of another thread")
        return read(engine, inspector, tables)

    monkeypatch.setattr(SQLite, "columns", filter_then_read)

    assert reflect(Database(url(path))).warnings == ()

    warnings.warn("of another thread", stacklevel=1)


def test_one_table_that_fails_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_database(tmp_path, *(f"CREATE TABLE t{number} (id INTEGER)" for number in range(5)))
    read = SQLite.columns

    def fail_on_one(engine: SQLite, inspector: Inspector, tables: Sequence[str]) -> Mapping[Any, list[Any]]:
        if "t3" in tables:
            raise OperationalError("", {}, Exception("permission denied for table t3"))
        return read(engine, inspector, tables)

    monkeypatch.setattr(SQLite, "columns", fail_on_one)
    catalog = reflect(Database(url(path)))
    assert list(catalog.tables) == ["t0", "t1", "t2", "t4"]
    assert catalog.warnings == ("t3 is left out: permission denied for table t3",)


def test_a_connection_that_is_gone_ends_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_database(tmp_path, "CREATE TABLE a (id INTEGER)")

    def fail(*_: object, **__: object) -> None:
        raise OperationalError("", {}, Exception("server closed the connection"), connection_invalidated=True)

    monkeypatch.setattr(SQLite, "columns", fail)
    with pytest.raises(SourceUnreachable, match="server closed the connection"):
        reflect(Database(url(path)))


def test_wide_tables_are_read_whole(tmp_path: Path) -> None:
    source = open_url(url(wide_table(tmp_path)))
    assert len(source.catalog.tables["readings"].columns) == 502
    assert source.catalog.tables["readings"].columns[-1].distinct == 1


def test_columns_of_sqlite_are_those_that_sqlalchemy_reads(tmp_path: Path) -> None:
    path = make_database(
        tmp_path,
        "CREATE TABLE a (id INTEGER PRIMARY KEY, n VARCHAR(30) NOT NULL DEFAULT 'x', d DECIMAL(10, 2), e \"odd type\")",
        "CREATE TABLE b (x INTEGER, y INT AS (x + 1) STORED, z INTEGER GENERATED ALWAYS AS (x * 2) VIRTUAL, k BOOLEAN)",
        "CREATE TABLE c (f, k BOOLEAN DEFAULT 1, x INTEGER, n VARCHAR(30), PRIMARY KEY (x, n)) WITHOUT ROWID",
        'CREATE TABLE "odd "" name" ("a b" TIMESTAMP, c timestamp, d DATE, r REAL, "" TEXT)',
        "CREATE VIEW v AS SELECT a.id, COUNT(*) AS number, b.y FROM a JOIN b ON a.id = b.x",
        "CREATE VIRTUAL TABLE texts USING fts5(title, body)",
    )
    with Database(url(path)).inspector() as inspector:
        names = [*inspector.get_table_names(), *inspector.get_view_names()]
        expected = inspector.get_multi_columns(filter_names=names, kind=ObjectKind.ANY)
        assert repr(dict(SQLite().columns(inspector, names))) == repr(dict(sorted(expected.items())))


def test_keys_of_tables_and_columns_are_read_in_one_statement(tmp_path: Path) -> None:
    path = make_database(
        tmp_path,
        "CREATE TABLE a (x INTEGER, y INTEGER, PRIMARY KEY (x, y))",
        "CREATE TABLE b (id INTEGER PRIMARY KEY)",
        "CREATE TABLE c (p INTEGER REFERENCES b, q INTEGER, r INTEGER, s INTEGER REFERENCES b (id),"
        " FOREIGN KEY (q, r) REFERENCES a (x, y), FOREIGN KEY (r) REFERENCES b (id))",
        *(f"CREATE TABLE d{number} (b_id INTEGER REFERENCES b (id))" for number in range(30)),
    )
    statements: list[str] = []

    @event.listens_for(Engine, "before_cursor_execute")
    def count(_: object, __: object, statement: str, *___: object) -> None:
        statements.append(statement)

    try:
        tables = reflect(Database(url(path))).tables
    finally:
        event.remove(Engine, "before_cursor_execute", count)
    keys = [(key.columns, key.target, key.target_columns) for key in tables["c"].foreign_keys if not key.inferred]
    assert keys == [
        (("q", "r"), "a", ("x", "y")), (("r",), "b", ("id",)), (("s",), "b", ("id",)), (("p",), "b", ("id",)),
    ]  # fmt: skip
    assert all(table.foreign_keys[0].target == "b" for key, table in tables.items() if key.startswith("d"))
    assert sum("foreign_key_list" in statement for statement in statements) == 1
    assert not any("SELECT sql" in statement for statement in statements), "the schema is scanned for a table"
