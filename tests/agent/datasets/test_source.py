"""Datasets are queried through the choke point, read-only, with no access to other files."""

import io

import pytest

from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.datasets.source import open_datasets
from datasphinx.agent.engines.read_only import open_duckdb_read_only
from datasphinx.agent.errors import DatasphinxError, NotFound, StatementError
from datasphinx.agent.types import Limits
from tests.support.errors import of_code


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return Registry(tmp_path_factory.mktemp("registry"))


@pytest.fixture(scope="module")
def made(registry):
    """Two datasets that share a key, which no test changes."""
    sales = b"city,units\nKazan,1\nTver,2\nKazan,4\n"
    cities = b"city,region\nKazan,east\nTver,west\n"
    return [
        registry.create(registry.add_stream(io.BytesIO(content), f"{name}.csv"))
        for name, content in (("sales", sales), ("cities", cities))
    ]


def test_several_datasets_are_joined(registry, made) -> None:
    sales, cities = made
    source = open_datasets(registry, [sales.dataset_id, cities.dataset_id], Limits(10, 100))
    found = source.execute(
        f"SELECT c.region, SUM(s.units) AS units FROM {sales.table} s JOIN {cities.table} c ON s.city = c.city "
        "GROUP BY c.region ORDER BY c.region"
    )
    source.close()

    assert set(source.catalog.tables) == {sales.table, cities.table}
    assert found["rows"] == [["east", 5], ["west", 2]]


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE {table}",
        "INSERT INTO {table} VALUES ('x', 1)",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '{path}'",
        "COPY {table} TO '/tmp/out.csv'",
        "ATTACH '{path}' AS other",
        "INSTALL httpfs",
        "SET enable_external_access = true",
    ],
)
def test_nothing_but_reading_is_done(sql, registry, made) -> None:
    import duckdb

    sales, other = made
    path = registry.path_of(sales.dataset_id)
    before = path.read_bytes()
    statement = sql.format(table=sales.table, path=registry.path_of(other.dataset_id))
    source = open_datasets(registry, [sales.dataset_id], Limits(10, 100))
    with pytest.raises(DatasphinxError) as raised:
        source.execute(statement)
    source.close()
    # The connection refuses it too, should the guard fail.
    with open_duckdb_read_only(str(path), 256) as connection, pytest.raises(duckdb.Error):
        connection.execute(statement)

    assert isinstance(raised.value, StatementError)
    assert path.read_bytes() == before


def test_an_unknown_dataset(registry) -> None:
    with pytest.raises(NotFound, check=of_code("dataset_unknown")):
        open_datasets(registry, ["ds_0123456789abcdef"], Limits(10, 100))


def test_a_statement_that_was_asked_before_is_not_run_again(registry, made, monkeypatch) -> None:
    table = made[0].table
    source = open_datasets(registry, [table], Limits(10, 100))
    sql = f"SELECT city, units FROM {table} ORDER BY units"
    first = source.execute(sql)
    monkeypatch.setattr("datasphinx.agent.sql.execute._run", lambda *_: pytest.fail("the database was asked again"))
    first["rows"].clear()

    assert source.execute(sql)["rows"] == [["Kazan", 1], ["Tver", 2], ["Kazan", 4]]
    with pytest.raises(StatementError):
        source.execute(f"DELETE FROM {table}")
    with pytest.raises(pytest.fail.Exception, match="asked again"):
        source.execute(f"{sql} DESC")
    source.close()
