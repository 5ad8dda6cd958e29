"""The catalog of a DuckDB file: schemas without the name of the file, and no duplicates."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from datasphinx.agent.errors import NotPermitted, StatementRefused
from datasphinx.agent.sources.source import Source
from tests.support.databases import open_url

pytestmark = pytest.mark.integration


@pytest.fixture(params=["ware.duckdb", "my shop-1.db.duckdb"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    import duckdb

    path = tmp_path / request.param
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA hr")
        connection.execute("CREATE TABLE hr.employees (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("CREATE TABLE shipments (id INTEGER, region TEXT)")
        connection.execute("INSERT INTO shipments VALUES (1, 'north'), (2, 'south')")
        connection.execute("INSERT INTO hr.employees VALUES (1, 'Ann')")
        connection.execute("CREATE VIEW northern AS SELECT * FROM shipments WHERE region = 'north'")
    return path


def opened(path: Path, **settings: object) -> Source:
    return open_url(f"duckdb:///{path}", **settings)


@pytest.fixture
def source(path: Path) -> Iterator[Source]:
    source = opened(path)
    yield source
    source.close()


def test_the_version_is_told(source: Source) -> None:
    import duckdb

    assert source.database.product == f"DuckDB {duckdb.__version__}"


def test_every_table_is_there_once(source: Source) -> None:
    assert set(source.catalog.tables) == {"hr.employees", "northern", "shipments"}
    assert source.catalog.warnings == ()
    assert source.catalog.tables["hr.employees"].primary_key == ("id",)


def test_other_schemas_are_sampled_and_read(source: Source) -> None:
    assert source.catalog.values["hr.employees", "name"] == ("Ann",)
    assert source.execute("SELECT name FROM hr.employees")["rows"] == [["Ann"]]
    assert source.execute("SELECT COUNT(*) FROM main.shipments")["rows"] == [[2]]


@pytest.mark.parametrize(("rule", "outcome"), [("deny", None), ("region = 'north'", [[1]])])
def test_no_spelling_of_a_table_walks_around_its_rule(path: Path, rule: str, outcome: list[list[int]] | None) -> None:
    source = opened(path, row_rules={"shipments": rule})
    for table in ("shipments", "main.shipments", '"main"."shipments"', "SHIPMENTS"):
        if outcome is None:
            with pytest.raises(NotPermitted):
                source.execute(f"SELECT COUNT(*) FROM {table}")
        else:
            assert source.execute(f"SELECT COUNT(*) FROM {table}")["rows"] == outcome
    refused = (StatementRefused,) if outcome else (NotPermitted, StatementRefused)
    for table in (f'"{path.stem}".main.shipments', f'"{path.stem}".shipments'):
        with suppress(*refused):
            assert source.execute(f"SELECT COUNT(*) FROM {table}")["rows"] == outcome
    source.close()


def test_a_table_of_another_schema_has_its_rule(path: Path) -> None:
    source = opened(path, row_rules={"hr.employees": "deny"})
    with pytest.raises(NotPermitted):
        source.execute("SELECT * FROM hr.employees")
    source.close()


def test_a_view_is_closed_until_it_has_a_rule(path: Path) -> None:
    rules = {"shipments": "region = 'south'"}
    source = opened(path, row_rules=rules)
    with pytest.raises(NotPermitted):
        source.execute("SELECT * FROM northern")
    source.close()
    source = opened(path, row_rules={**rules, "northern": "true"})
    assert source.execute("SELECT COUNT(*) FROM northern")["rows"] == [[1]]
    source.close()
