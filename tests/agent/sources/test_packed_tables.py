"""A cached catalog decodes only the tables that are accessed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from datasphinx.agent.errors import NamesUnknown
from datasphinx.agent.retrieval.arrays import read_arrays, write_arrays
from datasphinx.agent.retrieval.index import SchemaIndex
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table
from datasphinx.agent.schema.describe import describe, describe_compactly
from datasphinx.agent.sources.cache import CatalogCache, fingerprint
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.names import nearest_names, resolve
from datasphinx.agent.sql.validation import validated_sql
from tests.support.databases import empty_database, url

TABLES = {
    table.key: table
    for table in [
        *(Table(f"t{n}", (Column("id", "INTEGER"), Column(f"name_{n}", "TEXT")), rows=n) for n in range(40)),
        Table(
            "T1",
            (Column("id", "INTEGER"), Column("n", "INTEGER", minimum="1", maximum="9")),
            schema="other",
            foreign_keys=(ForeignKey(("n",), "t1", ("id",), inferred=True, likely=False),),
        ),
    ]
}
VALUES = {(f"t{n}", f"name_{n}"): (f"value {n}",) for n in range(0, 40, 3)}
CATALOG = Catalog("sqlite", TABLES, "main", VALUES, ("a warning",))


@pytest.fixture
def cache(tmp_path: Path) -> CatalogCache:
    cache = CatalogCache(tmp_path / "cache", Database(url(empty_database(tmp_path))), [])
    cache.store(CATALOG, "")
    return cache


def load(cache: CatalogCache) -> Catalog:
    entry = cache.load()
    assert entry is not None
    return entry.catalog


@pytest.fixture
def damaged(cache: CatalogCache) -> CatalogCache:
    """A file whose checksums are right and whose second of three blocks makes no sense."""
    arrays = read_arrays(cache.path)
    for kind in ("table", "value"):
        _, start, end, _ = arrays[f"{kind}_starts"].tolist()
        arrays[f"{kind}_blocks"][start:end] = np.arange(end - start)
    write_arrays(cache.path, arrays)
    return cache


def test_values_of_other_options_are_not_used_and_are_deleted_too(cache: CatalogCache, tmp_path: Path) -> None:
    other = CatalogCache(tmp_path / "cache", Database(url(empty_database(tmp_path))), ["other"])
    other.values_path.write_text("values of a source with other options")
    assert not cache.values_path.exists()
    cache.clear_values()
    assert not other.values_path.exists()


def test_it_is_the_catalog_that_was_stored(cache: CatalogCache) -> None:
    catalog = load(cache)

    assert catalog == CATALOG
    assert list(catalog.tables.items()) == list(TABLES.items())
    assert dict(catalog.values) == VALUES
    assert (len(catalog.tables), len(catalog.values)) == (len(TABLES), len(VALUES))
    assert catalog.readable == CATALOG.readable
    assert catalog.selection() == CATALOG.selection()
    assert catalog.full_names == CATALOG.full_names
    assert catalog.has_schemas is CATALOG.has_schemas is True
    assert fingerprint(catalog) == fingerprint(CATALOG)


def test_what_is_not_there(cache: CatalogCache) -> None:
    catalog = load(cache)

    assert "t99" not in catalog.tables and ("t1", "name_1") not in catalog.values
    assert catalog.tables.get("t99") is None and catalog.values.get(("t99", "id")) is None
    with pytest.raises(KeyError):
        catalog.tables["t99"]


def test_it_stays_when_the_file_goes(cache: CatalogCache) -> None:
    catalog = load(cache)
    cache.clear()
    assert catalog == CATALOG


def test_a_catalog_without_tables(cache: CatalogCache) -> None:
    cache.store(Catalog("sqlite", {}), "")
    catalog = load(cache)

    assert catalog == Catalog("sqlite", {})
    assert not catalog.tables and not catalog.values and catalog.selection() == {}


def test_a_question_about_some_tables_reads_no_others(damaged: CatalogCache) -> None:
    """The block that makes no sense is never decoded: that would raise an error."""
    catalog = load(damaged)

    assert len(catalog.tables) == len(TABLES) and all(key in catalog.tables for key in TABLES)
    assert catalog.readable == CATALOG.readable
    assert catalog.selection() == CATALOG.selection()
    validated_sql("SELECT name_3 FROM t3 JOIN main.t39 USING (id)", catalog)
    with pytest.raises(NamesUnknown, match="name_3"):
        resolve("SELECT name_33 FROM t3", catalog)
    resolve("SELECT 1", catalog)
    assert nearest_names("name_22", catalog)[0] == "t22.name_22"
    assert "value 3" in describe(catalog, {"t3": ["id", "name_3"]}, str)
    assert describe_compactly(catalog, {"other.T1": ["id"]}, str)
    assert damaged.path.exists()


@pytest.mark.parametrize("catalog", [CATALOG, None], ids=["read", "stored"])
def test_names_are_found_in_any_case_and_schema(cache: CatalogCache, catalog: Catalog | None) -> None:
    catalog = catalog or load(cache)

    assert list(catalog.keys_named("t1")) == ["t1", "other.T1"] == list(catalog.keys_named("T1"))
    assert catalog.key_of("OTHER.t1") == "other.T1"
    assert not catalog.keys_named("t99") and catalog.key_of("t99") is None


def test_of_keys_that_differ_by_case_an_equal_one_is_found_else_the_first() -> None:
    catalog = Catalog("postgres", {key: Table(key, ()) for key in ("Ta", "tA")})

    assert [catalog.key_of(key) for key in ("tA", "ta", "tb")] == ["tA", "Ta", None]


def test_threads_share_it(cache: CatalogCache) -> None:
    catalog = load(cache)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: catalog.tables[f"t{n % 40}"], range(400)))

    assert found == [TABLES[f"t{n % 40}"] for n in range(400)]
    assert len({id(table) for table in found}) == 40


def test_it_is_indexed_as_the_one_that_was_stored(cache: CatalogCache) -> None:
    question = "value 3 in name"
    assert SchemaIndex(load(cache)).scores(question) == SchemaIndex(CATALOG).scores(question)


def test_what_was_stored_twice_has_one_digest(cache: CatalogCache) -> None:
    other = Catalog("sqlite", TABLES, "main", {**VALUES, ("t1", "name_1"): ("more",)})
    digests = [cache.store(each, stamp) for each, stamp in ((CATALOG, "a"), (CATALOG, "b"), (other, "a"))]

    assert digests[0] == digests[1] != digests[2]
    entry = cache.load()
    assert entry is not None and entry.digest == digests[2]
