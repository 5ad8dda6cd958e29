"""Secret columns: their values appear in no sample, prompt, index, file or log."""

import logging
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from zipfile import ZipFile, is_zipfile

import pytest

from datasphinx.agent.schema.catalog import Column, Table
from datasphinx.agent.schema.describe import describe
from datasphinx.agent.schema.secret import SECRET_NAMES, is_secret, mark_secrets
from datasphinx.agent.sources.reflect import reflect
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.database import Database
from tests.agent.sql.engines import ENGINES
from tests.support.databases import make_database, open_url, url

SECRET = "swordfish-4711"
STATEMENTS = (
    f"CREATE TABLE customers (id INTEGER, email TEXT, password TEXT, nick TEXT, CHECK (nick <> '{SECRET}'))",
    f"INSERT INTO customers VALUES (1, '{SECRET}@example.org', '{SECRET}', 'anna')",
    "CREATE VIEW everyone (a, b, c, d) AS SELECT * FROM customers",
    "CREATE VIEW addresses AS SELECT lower(email) AS contact FROM customers",
    "CREATE VIEW addresses_again AS SELECT contact AS line FROM addresses",
    "CREATE VIEW nicks AS SELECT nick FROM customers",
    "CREATE VIRTUAL TABLE found USING fts5(email, nick)",
    f"INSERT INTO found VALUES ('{SECRET}@example.org', 'anna')",
    "CREATE VIRTUAL TABLE words USING fts5vocab('found', 'row')",
    "CREATE TABLE shown (id INTEGER, email TEXT, line TEXT GENERATED ALWAYS AS (upper(email)) STORED)",
    f"INSERT INTO shown (id, email) VALUES (1, '{SECRET}@example.org')",
)
PEOPLE = {
    "duckdb": (
        "CREATE TABLE sphinx_people (id INT, email VARCHAR, upper_email VARCHAR GENERATED ALWAYS AS (upper(email)))",
        "CREATE VIEW sphinx_rows AS SELECT to_json(sphinx_people) AS r FROM sphinx_people",
    ),
    "postgres": (
        "CREATE TABLE sphinx_people (id INT, email TEXT, upper_email TEXT GENERATED ALWAYS AS (upper(email)) STORED)",
        "CREATE VIEW sphinx_rows AS SELECT p AS r FROM sphinx_people p",
    ),
    "clickhouse": (
        "CREATE TABLE sphinx_people (id Int64, email String, upper_email String MATERIALIZED upper(email))"
        " ENGINE = MergeTree ORDER BY id",
        "CREATE VIEW sphinx_rows AS SELECT lower(email) AS r FROM sphinx_people",
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        *("password", "Password", "user_passwd", "passwordHash", "PWD", "secret", "client_secret", "ClientSecret"),
        *(
            "api_key",
            "apiKey",
            "ApiKey",
            "access_token",
            "ssn",
            "SSN",
            "credit card number",
            "creditCard",
            "cvv",
            "iban",
        ),
    ],
)
def test_names_that_speak_for_themselves(name: str) -> None:
    assert is_secret(Table("t", ()), name)


@pytest.mark.parametrize("pattern", SECRET_NAMES)
@pytest.mark.parametrize("style", ["{}", "x {}", "ß-{}", "Old_{}"])
def test_secret_names_are_marked_beside_other_columns(pattern: str, style: str) -> None:
    name = style.format(pattern.strip("*_").replace("_", " ").title().replace(" ", ""))
    names = ("id", "größe", name, "pass", "word")
    table = Table("t", tuple(Column(each, "TEXT") for each in names))

    marked = mark_secrets({"t": table}, (), {})["t"]

    assert {column.name for column in marked.columns if column.secret} == {
        each for each in names if is_secret(table, each)
    }


@pytest.mark.parametrize(
    "name", ["secretary_id", "tokens_used", "taliban", "pinned", "compass", "session", "email", "id"]
)
def test_names_that_only_look_so(name: str) -> None:
    assert not is_secret(Table("t", ()), name)


@pytest.mark.parametrize(
    ("pattern", "table", "column", "meets"),
    [
        ("customers.email", Table("customers", ()), "email", True),
        ("customers.email", Table("customers", (), schema="shop"), "email", True),
        ("shop.customers.email", Table("customers", (), schema="shop"), "Email", True),
        ("*.salary", Table("staff", ()), "salary", True),
        ("staff.*", Table("staff", ()), "anything", True),
        ("salary", Table("staff", ()), "SALARY", True),
        ("customers.email", Table("suppliers", ()), "email", False),
        ("salary", Table("staff", ()), "salary_band", False),
    ],
)
def test_patterns(pattern: str, table: Table, column: str, meets: bool) -> None:
    assert is_secret(table, column, [pattern]) is meets


def test_a_view_that_cannot_be_read_is_secret_where_anything_is() -> None:
    view = Table("v", (Column("x", "TEXT"),), is_view=True)
    plain = Table("t", (Column("x", "TEXT"),))
    guarded = Table("g", (Column("password", "TEXT"),))
    assert not mark_secrets({"v": view, "t": plain}, (), {"v": None})["v"].columns[0].secret
    assert mark_secrets({"v": view, "g": guarded}, (), {"v": None})["v"].columns[0].secret


@pytest.fixture
def source(tmp_path: Path) -> Source:
    database = make_database(tmp_path, *STATEMENTS)
    patterns = ["customers.email", "found.email", "shown.email"]
    return open_url(url(database), cache_dir=tmp_path / "cache", secret_columns=patterns)


def contents(path: Path) -> Iterator[bytes]:
    """All that a file says: its bytes, and what is packed inside them."""
    written = path.read_bytes()
    parts = [written]
    if is_zipfile(path):
        with ZipFile(path) as archive:
            parts += [archive.read(name) for name in archive.namelist()]
    for part in parts:
        yield part
        for found in re.finditer(b"\x78[\x01\x5e\x9c\xda]", part):
            with suppress(zlib.error):
                yield zlib.decompressobj().decompress(part[found.start() :])


def test_nothing_that_is_made_of_the_database_has_a_secret(
    source: Source, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert source.background is not None and source.background.wait(10)
        catalog = source.catalog
        prompt = describe(catalog, catalog.selection(), source.database.quote)
        found = source.values.find(SECRET) + source.values.find("swordfish")
        source.close()
    assert source.background.error is None
    assert found == []
    assert SECRET not in prompt + repr(catalog) + caplog.text
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert sorted(path.suffix for path in files) == [".catalog", ".index", ".values"]
    kept = b"".join(content for path in files for content in contents(path))
    assert b"anna" in kept
    assert SECRET.split("-")[0].encode() not in kept
    assert catalog.values["customers", "nick"] == ("anna",)
    assert catalog.values["nicks", "nick"] == ("anna",)


def test_a_secret_is_never_even_selected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datasphinx.agent.sources import profile

    asked: list[str] = []
    run = profile.execute
    monkeypatch.setattr(profile, "execute", lambda sql, *rest, **named: asked.append(sql) or run(sql, *rest, **named))
    path = make_database(tmp_path, *STATEMENTS)
    source = open_url(url(path), secret_columns=["*.email"])
    assert source.values.find("anna")
    source.close()
    assert any("nick" in sql for sql in asked)
    assert not any(word in sql for sql in asked for word in ("email", "password", "everyone", "addresses"))


@pytest.mark.parametrize(
    ("dialect", "definition", "is_shown"),
    [
        ("duckdb", "CREATE VIEW v AS SELECT to_json(c) AS j FROM clients AS c", True),
        ("duckdb", "CREATE VIEW v AS SELECT c AS r FROM clients c", True),
        ("duckdb", "CREATE VIEW v AS SELECT clients AS r FROM main.clients", True),
        ("postgres", "SELECT ROW(c.*)::text AS r FROM clients c", True),
        ("postgres", "SELECT r FROM (SELECT id, nick FROM clients) AS r", True),
        ("clickhouse", "CREATE MATERIALIZED VIEW d.v TO d.t AS SELECT lower(email) AS e FROM d.clients", True),
        ("sqlite", "CREATE VIRTUAL TABLE v USING fts5vocab('clients', 'row')", True),
        ("duckdb", "CREATE VIEW v AS SELECT c.nick FROM clients AS c", False),
        ("postgres", "SELECT c.id, count(c.nick) AS n FROM clients c GROUP BY c.id", False),
        ("mysql", "select `c`.`nick` AS `nick` from `d`.`clients` `c`", False),
    ],
)
def test_a_view_of_a_secret_column_or_of_whole_rows_is_secret(dialect: str, definition: str, is_shown: bool) -> None:
    tables = {
        "clients": Table("clients", tuple(Column(name, "TEXT") for name in ("id", "nick", "email"))),
        "v": Table("v", (Column("j", "TEXT"),), is_view=True),
    }

    marked = mark_secrets(tables, ["clients.email"], {"v": definition}, dialect=dialect)

    assert marked["v"].columns[0].secret is is_shown


def test_relatives_of_a_table_have_its_secret_columns() -> None:
    columns = (Column("id", "INT"), Column("email", "TEXT"))
    tables = {
        "all": Table("all", columns),
        "part": Table("part", columns, parents=("all",)),
        "sub": Table("sub", columns, parents=("part",)),
        "child": Table("child", (*columns, Column("note", "TEXT")), parents=("all",)),
        "merged": Table("merged", columns, shares_rows=True),
        "other": Table("other", columns),
    }

    for pattern in ("all.email", "sub.email"):
        marked = mark_secrets(tables, [pattern], {})
        secret = {key: [column.name for column in table.columns if column.secret] for key, table in marked.items()}
        assert secret == {key: ["email"] if key != "other" else [] for key in tables}


@pytest.mark.parametrize(
    "name", ["duckdb", *(pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("postgres", "clickhouse"))]
)
def test_generated_columns_and_views_of_an_engine_are_secret(name: str, tmp_path: Path) -> None:
    with ENGINES[name](tmp_path) as engine:
        for statement in ("DROP VIEW IF EXISTS sphinx_rows", "DROP TABLE IF EXISTS sphinx_people", *PEOPLE[name]):
            engine.admin(statement)
        catalog = reflect(Database(engine.url), secret_columns=["sphinx_people.email"])
        for statement in ("DROP VIEW sphinx_rows", "DROP TABLE sphinx_people"):
            engine.admin(statement)

    tables = {table.name: table for table in catalog.tables.values() if table.name in {"sphinx_people", "sphinx_rows"}}
    secret = {key: {column.name for column in table.columns if column.secret} for key, table in tables.items()}
    assert secret == {"sphinx_people": {"email", "upper_email"}, "sphinx_rows": {"r"}}


def test_what_becomes_secret_leaves_the_cache(tmp_path: Path) -> None:
    path = make_database(tmp_path, "CREATE TABLE people (nick TEXT)", f"INSERT INTO people VALUES ('{SECRET}')")
    before = open_url(url(path), cache_dir=tmp_path / "cache")
    assert before.background is not None and before.background.wait(10)
    assert before.values.find(SECRET)
    assert before.index.rank("swordfish") == ["people"]
    before.close()
    kept = [path for path in (tmp_path / "cache").rglob("*.index")]
    assert any(b"swordfish" in content for path in kept for content in contents(path))
    after = open_url(url(path), cache_dir=tmp_path / "cache", secret_columns=["people.nick"])
    assert after.catalog.values == {}
    assert after.values.find(SECRET) == []
    after.close()
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert ".index" in {path.suffix for path in files}
    assert not any(SECRET.split("-")[0].encode() in content for path in files for content in contents(path))


def test_a_foreign_key_to_a_secret_column_has_its_values(tmp_path: Path) -> None:
    path = make_database(
        tmp_path,
        "CREATE TABLE people (number TEXT PRIMARY KEY, name TEXT)",
        "CREATE TABLE cards (holder TEXT PRIMARY KEY REFERENCES people (number), kind TEXT)",
        "CREATE TABLE payments (paid_by TEXT REFERENCES cards (holder), amount INTEGER)",
    )
    tables = open_url(url(path), secret_columns=("people.number",)).catalog.tables
    secret = {f"{key}.{column.name}" for key, table in tables.items() for column in table.columns if column.secret}
    assert secret == {"people.number", "cards.holder", "payments.paid_by"}
