"""Catalogs of PostgreSQL and MariaDB: schemas, keys, comments, statistics and unreadable objects."""

from collections.abc import Iterator

import pytest
from sqlalchemy import event, make_url

from datasphinx.agent.schema.catalog import ForeignKey
from datasphinx.agent.schema.describe import describe
from datasphinx.agent.sources.reflect import reflect
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.database import Database
from datasphinx.agent.types import Limits
from tests.support.databases import open_url
from tests.support.servers import SERVERS, administer, prepared

MAIN, OTHER, HIDDEN, ROLE = "sphinx_catalog", "sphinx_catalog_other", "sphinx_catalog_hidden", "sphinx_catalog_reader"
MAKE = {
    "postgres": f"""
        CREATE SCHEMA {OTHER};
        CREATE SCHEMA {HIDDEN};
        CREATE TYPE mood AS ENUM ('glad', 'sad');
        CREATE TABLE {OTHER}.regions (code VARCHAR(2) PRIMARY KEY, label TEXT);
        CREATE TABLE {HIDDEN}.salaries (id INT PRIMARY KEY, amount INT);
        CREATE TABLE shops (id INT PRIMARY KEY, region VARCHAR(2) REFERENCES {OTHER}.regions, feeling mood,
            opened DATE, tags TEXT[], facts JSONB, "Odd ""name" UUID, password TEXT);
        CREATE TABLE visits (id INT PRIMARY KEY, shop_id INT, note TEXT, day DATE, stars DECIMAL(9, 1));
        CREATE TABLE locked (id INT PRIMARY KEY, word TEXT);
        CREATE TABLE planned (id INT PRIMARY KEY, feeling mood);
        CREATE VIEW open_shops AS SELECT id, region FROM shops;
        CREATE MATERIALIZED VIEW counted AS SELECT region, COUNT(*) AS shops FROM shops GROUP BY region;
        COMMENT ON TABLE shops IS 'where we sell';
        COMMENT ON COLUMN shops.opened IS 'first day';
        INSERT INTO {OTHER}.regions VALUES ('TX', 'Texas'), ('CA', 'California');
        INSERT INTO shops VALUES (1, 'TX', 'glad', '2020-01-02', '{{a,b}}', '{{"a": 1}}',
            '00000000-0000-0000-0000-000000000001', 'swordfish'), (2, NULL, 'sad', NULL, NULL, NULL, NULL, NULL);
        INSERT INTO visits SELECT n, 1, 'note ' || n % 300, DATE '2020-01-01' + n, n / 2.0
            FROM generate_series(1, 4000) AS n;
        INSERT INTO locked VALUES (1, 'unseen')""",
    "mysql": f"""
        CREATE DATABASE {OTHER};
        CREATE TABLE {OTHER}.regions (code VARCHAR(2) PRIMARY KEY, label TEXT);
        CREATE TABLE shops (id INT PRIMARY KEY, region VARCHAR(2), feeling ENUM('glad', 'sad'),
            opened DATE COMMENT 'first day', facts JSON, `Odd "name` VARCHAR(36), password TEXT,
            FOREIGN KEY (region) REFERENCES {OTHER}.regions (code)) COMMENT 'where we sell';
        CREATE TABLE visits (id INT PRIMARY KEY, shop_id INT, note TEXT, day DATE, stars DECIMAL(9, 1));
        CREATE TABLE planned (id INT PRIMARY KEY, feeling ENUM('glad', 'sad'));
        CREATE VIEW open_shops AS SELECT id, region FROM shops;
        INSERT INTO {OTHER}.regions VALUES ('TX', 'Texas'), ('CA', 'California');
        INSERT INTO shops VALUES (1, 'TX', 'glad', '2020-01-02', '{{"a": 1}}', 'u', 'swordfish'),
            (2, NULL, 'sad', NULL, NULL, NULL, NULL);
        INSERT INTO visits SELECT seq, 1, CONCAT('note ', seq % 300),
            DATE_ADD('2020-01-01', INTERVAL seq DAY), seq / 2 FROM seq_1_to_4000""",
}
DROP = {
    "postgres": (f"DROP DATABASE IF EXISTS {MAIN} WITH (FORCE)", f"DROP ROLE IF EXISTS {ROLE}"),
    "mysql": (f"DROP DATABASE IF EXISTS {MAIN}", f"DROP DATABASE IF EXISTS {OTHER}"),
}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=getattr(pytest.mark, name)) for name in SERVERS])
def engine_name(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server with a database of these tests on it."""
    name = request.param
    with prepared(SERVERS[name], [f"CREATE DATABASE {MAIN}"], DROP[name]):
        with prepared(own(name), MAKE[name].split(";")):
            pass
        yield name


def own(name: str, **changes: str) -> str:
    return make_url(SERVERS[name]).set(database=MAIN, **changes).render_as_string(hide_password=False)


@pytest.fixture
def source(engine_name: str) -> Iterator[Source]:
    opened = open_url(own(engine_name), Limits(5, 10), schemas=(OTHER, MAIN, "public"))
    yield opened
    opened.close()


@pytest.mark.heavy
def test_ranges_beyond_the_sample(source: Source) -> None:
    columns = source.catalog.tables["visits"].columns
    ranges = {column.name: (column.minimum, column.maximum) for column in columns if column.minimum}
    assert ranges == {"day": ("2020-01-02", "2030-12-14"), "stars": ("0.5", "2000")}


def test_tables_of_all_schemas_and_keys_between_them(source: Source) -> None:
    tables = source.catalog.tables
    assert {"shops", "visits", "open_shops", f"{OTHER}.regions"} <= set(tables)
    assert tables["shops"].foreign_keys == (ForeignKey(("region",), f"{OTHER}.regions", ("code",)),)
    assert tables["visits"].foreign_keys == (ForeignKey(("shop_id",), "shops", ("id",), inferred=True),)
    assert tables[f"{OTHER}.regions"].schema == OTHER
    assert (tables["open_shops"].is_view, tables["shops"].is_view) == (True, False)
    joined = f"SELECT label FROM shops JOIN {OTHER}.regions AS r ON r.code = shops.region"
    assert source.execute(joined)["rows"] == [["Texas"]]


def test_comments_types_and_samples(source: Source) -> None:
    shops = source.catalog.tables["shops"]
    columns = {column.name: column for column in shops.columns}
    assert (shops.comment, columns["opened"].comment, shops.rows) == ("where we sell", "first day", 2)
    kinds = {name: column.type_class for name, column in columns.items()}
    assert (kinds["id"], kinds["opened"], kinds["feeling"]) == ("number", "date", "text")
    assert (columns["opened"].null_share, columns["opened"].examples) == (0.5, ("2020-01-02",))
    assert (columns["opened"].minimum, columns["opened"].maximum) == ("2020-01-02", "2020-01-02")
    assert source.catalog.values["shops", "feeling"] == ("glad", "sad")
    assert source.catalog.values[f"{OTHER}.regions", "label"] == ("California", "Texas")
    assert columns["password"].secret and "swordfish" not in repr(source.catalog)


def test_an_enumeration_without_rows_shows_what_it_declares(source: Source) -> None:
    catalog = source.catalog
    shown = describe(catalog, catalog.selection(["planned"]), source.database.quote)

    assert catalog.values["planned", "feeling"] == ("glad", "sad")
    assert "values 'glad', 'sad'" in shown


def test_rows_and_distinct_values_of_a_larger_table(source: Source) -> None:
    visits = source.catalog.tables["visits"]
    assert 3000 <= (visits.rows or 0) <= 5000
    assert 250 <= (visits.columns[2].distinct or 0) <= 600


def test_values_are_found(source: Source) -> None:
    found = {(match.table, match.value) for match in source.values.find("Texas")}
    assert {("shops", "TX"), (f"{OTHER}.regions", "TX"), (f"{OTHER}.regions", "Texas")} <= found
    assert source.values.contains("visits", "note", "note 299") is True
    assert source.values.contains("visits", "note", "note 300") is False
    assert source.values.contains("shops", "region", "tx") is (source.catalog.dialect == "mysql")
    assert source.values.nearest("shops", "region", "Texas") == ["TX"]


def test_a_changed_schema_is_seen(engine_name: str, source: Source) -> None:
    assert source.refresh() is None
    create = ("CREATE TABLE fresh (word VARCHAR(9))", "INSERT INTO fresh VALUES ('new')")
    with prepared(own(engine_name), create, ["DROP TABLE IF EXISTS fresh"]):
        refreshed = source.refresh()
    assert refreshed is not None
    assert refreshed.catalog.values["fresh", "word"] == ("new",)


only_postgres = pytest.mark.parametrize(
    "engine_name", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
only_mysql = pytest.mark.parametrize("engine_name", [pytest.param("mysql", marks=pytest.mark.mysql)], indirect=True)


@only_mysql
def test_mariadb_reads_the_database_of_the_url_alone(engine_name: str) -> None:
    alone = open_url(own(engine_name), Limits(5, 10))
    alone.close()
    assert {table.schema for table in alone.catalog.tables.values()} == {None}


@only_postgres
def test_postgres_reads_every_schema_and_none_of_its_own(engine_name: str) -> None:
    everything = open_url(own(engine_name), Limits(5, 10))
    everything.close()
    assert {table.schema for table in everything.catalog.tables.values()} == {None, OTHER, HIDDEN}
    assert "counted" in everything.catalog.tables
    kinds = {column.name: column.type_class for column in everything.catalog.tables["shops"].columns}
    assert (kinds["tags"], kinds["facts"], kinds['Odd "name']) == ("array", "json", "text")


@pytest.mark.heavy
@only_postgres
def test_the_statements_that_read_a_schema_do_not_grow_with_it(engine_name: str) -> None:
    def count() -> int:
        statements: list[str] = []

        def add(_: object, __: object, statement: str, *___: object) -> None:
            statements.append(statement)

        database = Database(own(engine_name))
        event.listen(database.engine, "before_cursor_execute", add)
        tables = reflect(database, schemas=["many"]).tables
        database.engine.dispose()
        assert all(table.key.startswith("many.t") for table in tables.values()) and tables
        return len(statements)

    create = ("CREATE SCHEMA many", "CREATE TABLE many.t (id INT PRIMARY KEY)")
    others = (f"CREATE TABLE many.t{number} (id INT PRIMARY KEY, t_id INT REFERENCES many.t)" for number in range(60))
    with prepared(own(engine_name), create, ["DROP SCHEMA IF EXISTS many CASCADE"]) as engine:
        few = count()
        administer(engine, *others)
        many = count()
    assert few == many <= 25


@pytest.fixture
def reader(engine_name: str) -> Iterator[Source]:
    """The database as a role sees it that may read little of it."""
    with prepared(
        own(engine_name), [f"CREATE ROLE {ROLE} LOGIN", f"GRANT SELECT ON shops, visits TO {ROLE}"]
    ) as engine:
        opened = open_url(own(engine_name, username=ROLE), Limits(5, 10))
        yield opened
        opened.close()
        administer(engine, f"DROP OWNED BY {ROLE}", f"DROP ROLE {ROLE}")


@only_postgres
def test_what_a_role_may_not_read_costs_it_nothing_else(reader: Source) -> None:
    catalog = reader.catalog
    assert catalog.values["shops", "feeling"] == ("glad", "sad")
    assert ("locked", "word") not in catalog.values
    assert "unseen" not in repr(catalog)
    assert "'locked' is not sampled: permission_denied" in catalog.warnings


@pytest.mark.parametrize("engine_name", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
def test_types_of_postgres_are_named_by_what_their_columns_hold(engine_name: str) -> None:
    create = (
        "CREATE DOMAIN ward AS text",
        "CREATE DOMAIN euro AS numeric(12, 2)",
        "CREATE TYPE place AS (street text, zip text)",
        "CREATE TABLE stays (ward ward, fee euro, tags text[], seen timestamptz, noted timestamp, at place)",
        "INSERT INTO stays VALUES ('W3', 5.5, '{x,y}', now(), now(), ROW('s', '1'))",
    )
    drop = ("DROP TABLE IF EXISTS stays", "DROP TYPE IF EXISTS place", "DROP DOMAIN IF EXISTS ward, euro")
    with prepared(own(engine_name), create, drop):
        source = open_url(own(engine_name))
        columns = {column.name: column for column in source.catalog.tables["stays"].columns}
    assert {name: column.type for name, column in columns.items()} == {
        "ward": "TEXT",
        "fee": "NUMERIC",
        "tags": "TEXT[]",
        "seen": "TIMESTAMP WITH TIME ZONE",
        "noted": "TIMESTAMP",
        "at": "place",
    }
    assert columns["ward"].comment == "domain ward"
    assert columns["fee"].minimum == "5.5" and columns["tags"].parts == ("elements ('x', 'y')",)
