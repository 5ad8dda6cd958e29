"""User-defined functions, macros and operators are never called; composite fields can be read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from datasphinx.agent.errors import StatementError, StatementRefused
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sources.cache import CatalogCache
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.guard import check
from datasphinx.agent.sql.validation import validated_sql
from tests.support.databases import open_url
from tests.support.servers import MYSQL_URL, POSTGRES_URL, prepared

POSTGRES = (
    "CREATE TABLE notes (id int, body text)",
    "CREATE FUNCTION lower(int) RETURNS text LANGUAGE sql AS 'SELECT ''user code ran'''",
    "CREATE FUNCTION audit(notes) RETURNS text LANGUAGE sql AS 'SELECT ''user code ran'''",
    "CREATE OPERATOR + (LEFTARG = text, RIGHTARG = int, FUNCTION = repeat)",
    "CREATE TYPE address AS (city text, zip text)",
    "CREATE TABLE people (id int, home address, homes address[])",
    "INSERT INTO people VALUES (1, ROW('Bonn', '53111'), ARRAY[ROW('Ulm', '89073')::address])",
    "CREATE TABLE mails (id int, body text)",
    "INSERT INTO mails VALUES (1, 'a')",
    "CREATE FUNCTION leak(mails) RETURNS text LANGUAGE sql AS 'SELECT ''user code ran'''",
    "CREATE FUNCTION leak(address) RETURNS text LANGUAGE sql AS 'SELECT ''user code ran'''",
    "CREATE CAST (mails AS text) WITH FUNCTION leak(mails) AS IMPLICIT",
    "CREATE CAST (address AS text) WITH FUNCTION leak(address) AS IMPLICIT",
    "CREATE TYPE mood AS ENUM ('low', 'high')",
    "CREATE DOMAIN feel AS mood",
    "CREATE TABLE visits (id int, note text, feeling mood, feelings mood[], felt feel)",
    "INSERT INTO visits VALUES (1, '5', 'low', ARRAY['low']::mood[], 'low')",
    "CREATE FUNCTION leak(mood) RETURNS text LANGUAGE sql AS 'SELECT ''user code ran'''",
    "CREATE CAST (mood AS text) WITH FUNCTION leak(mood) AS ASSIGNMENT",
    "CREATE FUNCTION ranked(mood) RETURNS int LANGUAGE sql AS 'SELECT 77'",
    "CREATE CAST (mood AS int) WITH FUNCTION ranked(mood) AS IMPLICIT",
    "CREATE FUNCTION worth(text) RETURNS bigint LANGUAGE sql AS 'SELECT 88::bigint'",
    "CREATE CAST (text AS bigint) WITH FUNCTION worth(text)",
)
MYSQL = (
    "CREATE TABLE notes (id int, body text)",
    "CREATE FUNCTION format_bytes(x int) RETURNS int DETERMINISTIC RETURN 42",
)
DUCKDB = (
    "CREATE TABLE notes (id int, body text)",
    "CREATE TABLE hidden (secret text)",
    "CREATE MACRO lower(x) AS (SELECT max(secret) FROM hidden)",
)


@contextmanager
def on_server(admin_url: str, statements: tuple[str, ...]) -> Iterator[Source]:
    """A source on a separate database created by `statements`."""
    url = make_url(admin_url).set(database="guard_routines")
    with prepared(admin_url, ["CREATE DATABASE guard_routines"], ["DROP DATABASE IF EXISTS guard_routines"]):
        with prepared(url, statements):
            pass
        source = open_url(url.render_as_string(hide_password=False))
        yield source
        source.database.engine.dispose()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Source]:
    with on_server(POSTGRES_URL, POSTGRES) as source:
        yield source


@pytest.mark.postgres
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT lower(id) FROM notes",
        "SELECT audit(n) FROM notes n",
        "SELECT n.audit FROM notes n",
        "SELECT t.audit FROM (SELECT * FROM notes) t",
        "WITH t AS (SELECT * FROM notes) SELECT u.row_to_json FROM (SELECT * FROM t) AS u",
        "SELECT n.pg_typeof FROM notes n",
        "SELECT n.text FROM notes n",
        "SELECT body + 2 FROM notes",
        # Casts call functions too.
        "SELECT m::text FROM mails m",
        "SELECT mails::text FROM mails",
        "SELECT CAST(m AS text) FROM mails AS m",
        "SELECT upper(m) FROM mails m",
        "SELECT string_agg(m, ',') FROM mails m",
        "SELECT (m.*)::text FROM mails m",
        "SELECT (m)::text FROM mails m",
        "SELECT x::text FROM (SELECT m AS x FROM mails m) t",
        "SELECT coalesce(m, m)::text FROM mails m",
        "SELECT public.mails::text FROM mails",
        "SELECT home::text FROM people",
        "SELECT upper(p.home) FROM people p",
        "SELECT feeling::text FROM visits",
        "SELECT feeling + 1 FROM visits",
        "SELECT feeling || 'x' FROM visits",
        "SELECT COUNT(*) FROM visits WHERE feeling = id",
        "SELECT COUNT(*) FROM visits JOIN (SELECT 77 AS feeling) AS t USING (feeling)",
        "SELECT COUNT(*) FROM visits NATURAL JOIN (SELECT 77 AS feeling) AS t",
        "SELECT feeling FROM visits UNION SELECT 3",
        "SELECT feelings[1]::text FROM visits",
        "SELECT felt::text FROM visits",
        "SELECT x::text FROM (SELECT feeling AS x FROM visits) AS t",
        "SELECT t.c::text FROM (SELECT * FROM visits) AS t(a, b, c, d, e)",
        "SELECT t.c::text FROM (SELECT v.* FROM visits v) AS t(a, b, c, d, e)",
        "SELECT x::text FROM unnest((SELECT feelings FROM visits)) AS x",
        "SELECT to_json(v) FROM visits v",
        "SELECT note::bigint FROM visits",
        "SELECT string_to_array(note, ',')::bigint[] FROM visits",
    ],
)
def test_postgres_runs_no_routine_of_a_user(postgres: Source, sql: str) -> None:
    with pytest.raises(StatementError):
        postgres.execute(sql)


@pytest.mark.postgres
def test_rows_with_a_cast_of_a_user_are_read_by_column(postgres: Source) -> None:
    sql = "SELECT m.*, upper(m.body), count(*) OVER () FROM mails m ORDER BY m.id"
    assert postgres.execute(sql)["rows"] == [[1, "a", "A", 1]]


@pytest.mark.postgres
def test_values_with_a_cast_of_a_user_are_shown_grouped_and_sorted(postgres: Source) -> None:
    sql = "SELECT feeling, COUNT(felt) FROM visits WHERE feelings IS NOT NULL GROUP BY feeling ORDER BY feeling DESC"
    assert postgres.execute(sql)["rows"] == [["low", 1]]
    assert postgres.execute("SELECT * FROM visits")["rows"] == [[1, "5", "low", "{low}", "low"]]
    assert postgres.execute("SELECT note::int FROM visits")["rows"] == [[5]]
    assert postgres.catalog.values["visits", "feeling"] == ("low",)


@pytest.mark.postgres
def test_postgres_runs_its_own_function_where_the_statement_says_so(postgres: Source) -> None:
    assert postgres.execute("SELECT pg_catalog.lower('A'), upper('b')")["rows"] == [["a", "B"]]


@pytest.mark.postgres
def test_fields_of_composite_columns_are_read_and_nothing_else(postgres: Source) -> None:
    rows = postgres.execute("SELECT (p.home).city, (home).zip, (homes[1]).city FROM people p")["rows"]

    assert rows == [["Bonn", "53111", "Ulm"]]
    for attribute in (
        "(home).upper",
        "(home).pg_column_size",
        "(homes[1]).pg_sleep",
        "(id).city",
        "((home).city).upper",
    ):
        with pytest.raises(StatementRefused):
            postgres.execute(f"SELECT {attribute} FROM people")


@pytest.mark.mysql
def test_mariadb_runs_no_stored_function() -> None:
    with on_server(MYSQL_URL, MYSQL) as source:
        with pytest.raises(StatementRefused, match="defined by a user"):
            source.execute("SELECT format_bytes(id) FROM notes")
        assert source.execute("SELECT MAX(id) FROM notes")["rows"] == [[None]]


def test_duckdb_runs_no_macro_of_the_file(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "macros.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in DUCKDB:
            connection.execute(statement)
    source = open_url(f"duckdb:///{path}")

    assert source.catalog.routines == {"lower"}
    with pytest.raises(StatementRefused, match="defined by a user"):
        source.execute("SELECT lower(body) FROM notes")
    with pytest.raises(StatementRefused, match="defined by a user"):
        source.execute("SELECT n.body.lower() FROM notes n")


def test_routines_and_composite_fields_are_kept_in_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite"
    path.touch()
    table = Table("t", (Column("a", "INTEGER"),))
    catalog = Catalog(
        "sqlite", {"t": table}, "main", routines=frozenset({"abs"}), composite_fields=frozenset({("a", "b")})
    )
    cache = CatalogCache(tmp_path, Database(f"sqlite:///{path}"), ())
    cache.store(catalog, "")
    entry = cache.load()

    assert entry is not None
    assert entry.catalog.readable == catalog.readable
    with pytest.raises(StatementRefused):
        validated_sql("SELECT abs(a) FROM t", entry.catalog)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * APPLY(sleep) FROM t",
        "SELECT arrayReduce('aggThrow(1)', [1]) FROM t",
        "SELECT arrayReduce(a, [1]) FROM t",
        "SELECT generateSerialID('x')",
        "SELECT assignCentroid([1.0], 'dictionary') FROM t",
    ],
)
def test_clickhouse_calls_no_unlisted_function_by_its_name(sql: str) -> None:
    assert {finding.rule for finding in check(sql, "clickhouse", {"t"})} == {"harmless_functions"}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * APPLY(sum) FROM t",
        "SELECT arrayReduce('sum', [1]), arrayReduce('quantile(0.5)', [1])",
        "SELECT countIf(a > 1), sumIf(a, b = 2), quantileIf(0.5)(a, b > 1) FROM t",
        "SELECT uniqMerge(s), avgOrNull(a), sumMap(m) FROM t",
    ],
)
def test_clickhouse_calls_listed_functions_by_their_names(sql: str) -> None:
    assert check(sql, "clickhouse", {"t"}) == ()
