"""Cached catalogs: read back unchanged, and refused if damaged or outdated."""

from dataclasses import replace
from pathlib import Path

import pytest

from datasphinx.agent.retrieval.arrays import pack_json, read_arrays, write_arrays
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table
from datasphinx.agent.sources.cache import CatalogCache, fingerprint
from datasphinx.agent.sql.database import Database
from tests.support.databases import empty_database, url

CATALOG = Catalog(
    "sqlite",
    {
        "a": Table(
            "a",
            (Column("id", "INTEGER", False), Column("b", "TEXT", True, "a\nremark", 0.25, 7, ("x", "\udcff"), False)),
            primary_key=("id",),
            foreign_keys=(ForeignKey(("b",), "s.b", ("id",), inferred=True),),
            comment="Ünïcode",
            rows=12,
        ),
        "s.b": Table("b", (Column("password", "TEXT", secret=True),), schema="s", is_view=True),
    },
    "main",
    {("a", "b"): ("x", "y")},
    ("c is left out: broken",),
)


@pytest.fixture
def cache(tmp_path: Path) -> CatalogCache:
    return CatalogCache(tmp_path / "cache", Database(url(empty_database(tmp_path))), ["secret"])


def test_what_is_stored_is_read_again(cache: CatalogCache) -> None:
    cache.store(CATALOG, "stamp")
    entry = cache.load()
    assert entry is not None
    assert entry.catalog == CATALOG
    assert entry.stamp == "stamp"
    assert [path.name for path in cache.path.parent.iterdir()] == [cache.path.name]
    assert cache.path.stat().st_mode & 0o077 == 0


def test_a_missing_a_broken_and_another_file_are_no_catalog(cache: CatalogCache) -> None:
    assert cache.load() is None
    cache.path.parent.mkdir(parents=True)
    cache.path.write_bytes(b"PK\x03\x04")
    assert cache.load() is None
    assert not cache.path.exists()


@pytest.mark.parametrize("head", [7, ["others", *range(8)]])
def test_a_file_with_another_head_is_thrown_away(cache: CatalogCache, head: object) -> None:
    cache.store(CATALOG, "")
    write_arrays(cache.path, read_arrays(cache.path) | {"head": pack_json(head)})
    cache.values_path.write_text("values that belong to it")
    cache.index_path.write_text("the index that belongs to it")
    assert cache.load() is None
    assert list(cache.path.parent.iterdir()) == []


def test_the_fingerprint_is_of_the_schema_alone() -> None:
    table = CATALOG.tables["a"]
    sampled = replace(table, rows=99, columns=tuple(column._replace(distinct=5) for column in table.columns))
    assert fingerprint(replace(CATALOG, tables={**CATALOG.tables, "a": sampled}, values={})) == fingerprint(CATALOG)
    for other in (
        replace(table, comment="changed"),
        replace(table, primary_key=()),
        replace(table, foreign_keys=()),
        replace(table, columns=table.columns[:1]),
        replace(table, columns=(table.columns[0]._replace(type="TEXT"), table.columns[1])),
        replace(table, columns=(table.columns[0]._replace(secret=True), table.columns[1])),
    ):
        assert fingerprint(replace(CATALOG, tables={**CATALOG.tables, "a": other})) != fingerprint(CATALOG)


def test_sources_are_told_apart_but_not_by_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def path(address: str, secret: str = "") -> str:
        return CatalogCache(tmp_path, Database(address), [secret]).path.name

    first = "postgresql://anna:one@127.0.0.1/shop"
    assert path(first) == path("postgresql://anna:two@127.0.0.1/shop") == path(first, "other options")
    assert len({path(first), path("postgresql://ben@127.0.0.1/shop"), path("postgresql://anna@127.0.0.1/x")}) == 3
    assert "one" not in Database(first).identity
    file = empty_database(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert path(url(file)) == path(f"sqlite:///{file.name}")
