"""Settings of a server, role or database that affect parsing have no effect on statements.

The guard parses a statement by fixed rules, so each session must use the same rules.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import Engine, create_engine, make_url

from datasphinx.agent.engines import engine_of
from datasphinx.agent.errors import StatementRefused
from datasphinx.agent.types import Limits
from tests.support.databases import open_url
from tests.support.heavy import heavy
from tests.support.servers import MYSQL_URL, POSTGRES_URL, administer, prepared

SECRET = "the hidden note"
ROLE = "sphinx_settings_reader"
SCHEMA = "sphinx_settings_shadow"


# PostgreSQL


@pytest.fixture(scope="module")
def administrator() -> Iterator[Engine]:
    """A superuser account in a database with a role, a shadowing schema and two tables."""
    drop = (
        f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE",
        "DROP TABLE IF EXISTS sphinx_hidden, sphinx_open",
        f"DROP ROLE IF EXISTS {ROLE}",
    )
    create = (
        f"CREATE ROLE {ROLE} LOGIN",
        "CREATE TABLE sphinx_hidden (note TEXT)",
        f"INSERT INTO sphinx_hidden VALUES ('{SECRET}')",
        "CREATE TABLE sphinx_open (id INTEGER, name TEXT)",
        "INSERT INTO sphinx_open VALUES (1, NULL), (2, 'Ann')",
        f"CREATE SCHEMA {SCHEMA}",
        f"CREATE FUNCTION {SCHEMA}.lower(text) RETURNS text LANGUAGE sql AS 'SELECT note FROM public.sphinx_hidden'",
        f"""CREATE FUNCTION {SCHEMA}.same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'""",
        f"CREATE OPERATOR {SCHEMA}.= (LEFTARG = text, RIGHTARG = text, FUNCTION = {SCHEMA}.same)",
        f"GRANT USAGE ON SCHEMA {SCHEMA} TO {ROLE}",
        f"GRANT SELECT ON sphinx_hidden, sphinx_open TO {ROLE}",
    )
    with prepared(POSTGRES_URL, create, drop) as engine:
        yield engine


@pytest.fixture
def postgres(administrator: Engine) -> Iterator[Engine]:
    """The superuser account; the role has no settings before and after the test."""
    yield administrator
    database = make_url(POSTGRES_URL).database
    administer(administrator, f"ALTER ROLE {ROLE} RESET ALL", f"ALTER ROLE {ROLE} IN DATABASE {database} RESET ALL")


def rows_of(url: str, *statements: str) -> list[list[list[Any]]]:
    """Return the rows of each statement, run twice on one connection: before and after the session reset."""
    source = open_url(url, Limits(5, 100))
    try:
        first = [source.execute(sql)["rows"] for sql in statements]
        assert [source.execute(f"{sql} ")["rows"] for sql in statements] == first
        return first
    finally:
        source.database.engine.dispose()


READINGS = {
    r"""SELECT '\', ' AS x, note FROM sphinx_hidden --' FROM sphinx_open WHERE id = 1""": [
        ["\\", " AS x, note FROM sphinx_hidden --"]
    ],
    r"""SELECT 'a\\b' AS x, E'a\\b' AS y""": [["a\\\\b", "a\\b"]],
    """SELECT COUNT(*) AS n FROM sphinx_open WHERE name = NULL""": [[0]],
    """SELECT lower('ABC') AS x""": [["abc"]],
    """SELECT id FROM sphinx_open WHERE name = 'Bob' OR id = 1""": [[1]],
    """SELECT 'Анна 优品' AS x, '\u0436' AS y""": [["Анна 优品", "ж"]],
}
"""Statements with their rows as the guard reads them."""
POSTGRES_SETTINGS = [
    "standard_conforming_strings = off",
    "transform_null_equals = on",
    "client_encoding = 'SJIS'",
    f"search_path = {SCHEMA}, pg_catalog, public",
    *heavy(
        "backslash_quote = on",
        "escape_string_warning = off",
        "array_nulls = off",
        "quote_all_identifiers = on",
        "client_encoding = 'LATIN1'",
        f"search_path = {SCHEMA}, public, pg_catalog",
    ),
]


@pytest.mark.heavy
@pytest.mark.postgres
@pytest.mark.parametrize("setting", POSTGRES_SETTINGS)
@pytest.mark.parametrize("of", ["role", *heavy("role in database", "connection")])
def test_settings_of_postgres(postgres: Engine, setting: str, of: str) -> None:
    url = make_url(POSTGRES_URL).set(username=ROLE)
    if of == "connection":
        name, _, value = setting.partition(" = ")
        value = value.replace("'", "").replace(" ", "\\ ")
        url = url.update_query_dict({"options": f"-c {name}={value}"})
    else:
        database = f" IN DATABASE {url.database}" if of == "role in database" else ""
        administer(postgres, f"ALTER ROLE {ROLE}{database} SET {setting}")
    rows = rows_of(url.render_as_string(hide_password=False), *READINGS)
    assert dict(zip(READINGS, rows, strict=True)) == READINGS


@pytest.mark.heavy
@pytest.mark.postgres
@pytest.mark.parametrize("path", ["''", "pg_temp, pg_catalog, public", '"$user", public', "public"])
def test_search_paths_that_are_kept(postgres: Engine, path: str) -> None:
    administer(postgres, f"ALTER ROLE {ROLE} SET search_path = {path}")
    url = make_url(POSTGRES_URL).set(username=ROLE).render_as_string(hide_password=False)
    sql = "SELECT lower(name) AS x FROM public.sphinx_open WHERE id = 2"
    assert rows_of(url, sql if path == "''" else sql.replace("public.", "")) == [[["ann"]]]


# MySQL and MariaDB


@pytest.fixture(scope="module")
def mysql() -> Iterator[Engine]:
    create = (
        "CREATE TABLE sphinx_hidden (note VARCHAR(100))",
        f"INSERT INTO sphinx_hidden VALUES ('{SECRET}')",
        "CREATE TABLE sphinx_open (id INTEGER PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20))",
        "INSERT INTO sphinx_open VALUES (1, NULL), (2, 'Ann')",
    )
    with prepared(MYSQL_URL, create, ["DROP TABLE IF EXISTS sphinx_hidden, sphinx_open"]) as engine:
        yield engine


MYSQL_READINGS = {
    r"""SELECT '\', note FROM sphinx_hidden -- ' AS x""": [["', note FROM sphinx_hidden -- "]],
    r"""SELECT '¿\', note FROM sphinx_hidden -- ' AS x""": [["¿', note FROM sphinx_hidden -- "]],
    r"""SELECT 'л\', note FROM sphinx_hidden -- ' AS x""": [["л', note FROM sphinx_hidden -- "]],
    """SELECT "note" AS x FROM sphinx_hidden""": [["note"]],
    """SELECT '1' || '0' AS x""": [[1]],
    """SELECT NOT 1 BETWEEN -5 AND 5 AS x""": [[0]],
    """SELECT '' IS NULL AS x""": [[0]],
    """SELECT 'Анна 优品' AS x""": [["Анна 优品"]],
}
MODES = [
    "NO_BACKSLASH_ESCAPES,ANSI_QUOTES,ONLY_FULL_GROUP_BY,PIPES_AS_CONCAT", "",
    *heavy(
        "ANSI_QUOTES", "PIPES_AS_CONCAT", "NO_BACKSLASH_ESCAPES", "IGNORE_SPACE", "HIGH_NOT_PRECEDENCE", "ANSI",
        "ORACLE", "MSSQL", "DB2", "POSTGRESQL", "MAXDB", "MYSQL323", "EMPTY_STRING_IS_NULL", "STRICT_TRANS_TABLES",
    ),
]  # fmt: skip


@pytest.mark.mysql
@pytest.mark.parametrize("mode", MODES)
def test_sql_modes(mysql: Engine, mode: str) -> None:
    rows = rows_of(f"{MYSQL_URL}?init_command={quote(f'''SET SESSION sql_mode = '{mode}' ''')}", *MYSQL_READINGS)
    assert dict(zip(MYSQL_READINGS, rows, strict=True)) == MYSQL_READINGS


@pytest.mark.mysql
def test_sql_modes_that_do_not_change_how_sql_is_read_are_kept(mysql: Engine) -> None:
    kept = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES"
    url = f"{MYSQL_URL}?init_command={quote(f'''SET SESSION sql_mode = '{kept},ANSI_QUOTES' ''')}"
    source = open_url(url, Limits(5, 100))
    with source.database.connect() as connection:
        assert connection.exec_driver_sql("SELECT @@sql_mode").scalar() == kept
    source.database.engine.dispose()


@pytest.mark.mysql
@pytest.mark.parametrize(
    "query", ["charset=gbk", "init_command=SET NAMES gbk", *heavy("charset=cp932", "charset=latin1")]
)
def test_character_sets(mysql: Engine, query: str) -> None:
    rows = rows_of(f"{MYSQL_URL}?{quote(query, safe='=')}", *MYSQL_READINGS)
    assert dict(zip(MYSQL_READINGS, rows, strict=True)) == MYSQL_READINGS


# Spark


@pytest.mark.spark
def test_spark_replaces_no_variables_and_reads_strings_as_the_guard_does() -> None:
    from tests.support.spark_server import spark_url

    variables = "SELECT '${env:PATH}${system:user.dir}${spark:spark.master}' AS x"
    with pytest.raises(StatementRefused, match="variable"):
        rows_of(spark_url(), variables)
    engine = create_engine(spark_url())
    with engine.connect() as connection:
        for statement in engine_of("spark").setup_statements(connection, Limits(5, 100)):
            connection.exec_driver_sql(statement)
        assert [tuple(row) for row in connection.exec_driver_sql(variables)] == [(variables.split("'")[1],)]
    engine.dispose()
    readings = {
        r"""SELECT "a" AS x, 'b\'c' AS y""": [["a", "b'c"]],
    }
    rows = rows_of(spark_url(), *readings)
    assert dict(zip(readings, rows, strict=True)) == readings
