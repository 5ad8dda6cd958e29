"""A source as it is read from a real database."""

import sqlite3
from pathlib import Path

import pytest
from pydantic import SecretStr

from datasphinx.agent.errors import (
    ConfigurationError,
    NamesUnknown,
    NotPermitted,
    SourceNotFound,
)
from datasphinx.agent.schema.catalog import ForeignKey
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import open_source
from datasphinx.agent.types import Limits
from tests.support.databases import make_database, open_url, url


def make(path: Path, script: str) -> str:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return f"sqlite:///{path}"


def test_tables_views_keys_and_values(tmp_path: Path) -> None:
    url = make(
        tmp_path / "a.db",
        """
        CREATE TABLE "my customers" (id INTEGER PRIMARY KEY, "select" TEXT);
        CREATE TABLE orders (id INTEGER, customer INTEGER REFERENCES "my customers", amount REAL);
        CREATE VIEW big AS SELECT * FROM orders WHERE amount > 100;
        INSERT INTO "my customers" VALUES (1, 'b'), (2, 'a'), (3, 'a'), (4, NULL);
        """,
    )
    catalog = open_url(url, Limits(1, 10)).catalog
    assert list(catalog.tables) == ["big", "my customers", "orders"]
    assert catalog.tables["orders"].foreign_keys == (ForeignKey(("customer",), "my customers", ("id",)),)
    assert catalog.tables["my customers"].primary_key == ("id",)
    assert catalog.values["my customers", "select"] == ("a", "b")
    assert "main.my customers" in (catalog.readable.tables or ())


def test_a_key_to_a_table_that_does_not_exist_is_no_problem(tmp_path: Path) -> None:
    url = make(tmp_path / "a.db", "CREATE TABLE orders (id INTEGER, customer INTEGER REFERENCES nobody (id))")
    source = open_url(url, Limits(1, 10))
    assert source.index.with_neighbours(["orders"]) == ["orders"]


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("shop.db", SourceNotFound),
        ("sqlite://", SourceNotFound),
        ("sqlite:///none.db", SourceNotFound),
        ("nonsense://x", ConfigurationError),
        ("oracle://user@127.0.0.1/x", ConfigurationError),
    ],
)
def test_a_url_that_leads_nowhere(url: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        open_url(url, Limits(1, 10))


@pytest.mark.parametrize("column", ["salary", "nothing"])
def test_errors_do_not_tell_which_columns_a_denied_table_has(tmp_path: Path, column: str) -> None:
    path = make_database(tmp_path, "CREATE TABLE staff (name TEXT, salary INTEGER)", "CREATE TABLE shops (name TEXT)")
    settings = SourceSettings(url=SecretStr(url(path)), row_rules={"staff": "deny"})
    source = open_source(settings, Limits(10, 100), cache_dir=tmp_path)

    for sql in (f"SELECT {column} FROM staff", f"SELECT * FROM shops WHERE name IN (SELECT {column} FROM staff AS s)"):
        with pytest.raises(NotPermitted):
            source.execute(sql)
    with pytest.raises(NamesUnknown):
        source.execute("SELECT nothing FROM shops")
    source.close()
