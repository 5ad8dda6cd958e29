"""Tables that share rows share their row rule or are closed; names that differ in case are different tables."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import (
    ConfigurationError,
    NotPermitted,
    RowRuleNotApplied,
    StatementError,
    StatementRefused,
)
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sources.cache import fingerprint
from datasphinx.agent.sources.packed_tables import decode_table, encode_table
from datasphinx.agent.sources.reflect import reflect
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.execute import RowAccess, execute
from datasphinx.agent.sql.row_rules import RowRules, restrict
from datasphinx.agent.types import Limits
from tests.agent.sql.engines import EngineUnderTest, over
from tests.support.databases import open_url
from tests.support.servers import SERVERS, prepared

MAKE = {
    "postgres": """
        CREATE TABLE sr_orders (id INT, region VARCHAR(9), year INT) PARTITION BY RANGE (year);
        CREATE TABLE sr_orders_2024 PARTITION OF sr_orders FOR VALUES FROM (2024) TO (2025) PARTITION BY LIST (region);
        CREATE TABLE sr_orders_2024_n PARTITION OF sr_orders_2024 FOR VALUES IN ('n');
        CREATE TABLE sr_orders_2024_s PARTITION OF sr_orders_2024 FOR VALUES IN ('s');
        CREATE TABLE sr_animals (id INT, region VARCHAR(9));
        CREATE TABLE sr_cats (lives INT) INHERITS (sr_animals);
        CREATE TABLE sr_people (name VARCHAR(9), region VARCHAR(9));
        CREATE TABLE "SR_Orders" (id INT, region VARCHAR(9));
        CREATE MATERIALIZED VIEW sr_copied AS SELECT * FROM sr_orders;
        INSERT INTO sr_orders VALUES (1, 'n', 2024), (2, 's', 2024), (3, 'n', 2024);
        INSERT INTO sr_animals VALUES (1, 'n'), (2, 's');
        INSERT INTO sr_cats VALUES (3, 's', 9), (4, 'n', 7);
        INSERT INTO sr_people VALUES ('ann', 'n');
        INSERT INTO "SR_Orders" VALUES (7, 's');
        REFRESH MATERIALIZED VIEW sr_copied""",
    "mysql": """
        CREATE TABLE sr_one (id INT, region VARCHAR(9)) ENGINE=MyISAM;
        CREATE TABLE sr_two (id INT, region VARCHAR(9)) ENGINE=MyISAM;
        CREATE TABLE sr_all (id INT, region VARCHAR(9)) ENGINE=MERGE UNION=(sr_one, sr_two);
        CREATE TABLE sr_parts (id INT, region VARCHAR(9)) PARTITION BY HASH(id) PARTITIONS 2;
        INSERT INTO sr_one VALUES (1, 'n'), (2, 's');
        INSERT INTO sr_two VALUES (3, 'n'), (4, 's');
        INSERT INTO sr_parts VALUES (1, 'n'), (2, 's')""",
}
DROP = {
    "postgres": (
        "DROP MATERIALIZED VIEW IF EXISTS sr_copied",
        'DROP TABLE IF EXISTS sr_orders, sr_cats, sr_animals, sr_people, "SR_Orders" CASCADE',
    ),
    "mysql": ("DROP TABLE IF EXISTS sr_all, sr_one, sr_two, sr_parts",),
}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=getattr(pytest.mark, name)) for name in SERVERS])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, Database, Catalog]]:
    """A server with tables that share rows."""
    name = request.param
    with prepared(SERVERS[name], MAKE[name].split(";"), DROP[name]):
        database = Database(SERVERS[name])
        yield name, database, reflect(database, schemas=["public"] if name == "postgres" else None)
        database.engine.dispose()


def ask(sql: str, database: Database, catalog: Catalog, **rules: str) -> list[list[Any]]:
    access = RowAccess(RowRules(rules, catalog.dialect, catalog), {"region": "n"})
    return execute(sql, database, catalog, Limits(10, 100), access=access)["rows"]


@pytest.mark.parametrize("server", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
class TestPostgres:
    """Partitions, inheritance, materialised views and quoted names."""

    RULE = "region = :region"

    @pytest.mark.parametrize(
        "rule",
        [RULE, "EXISTS (SELECT 1 FROM sr_people WHERE sr_people.region = sr_orders.region)", "LOWER(region) = :region"],
    )
    @pytest.mark.parametrize(
        ("table", "ids"), [("sr_orders", "1, 3"), ("sr_orders_2024", "1, 3"), ("sr_orders_2024_s", "")]
    )
    def test_a_partition_has_the_rule_of_its_parent(self, server: Any, rule: str, table: str, ids: str) -> None:
        _, database, catalog = server
        found = ask(f"SELECT id FROM {table} WHERE id + 0 > 0 ORDER BY id", database, catalog, sr_orders=rule)

        assert ", ".join(str(row[0]) for row in found) == ids

    def test_a_child_that_inherits_has_the_rule_of_its_parent(self, server: Any) -> None:
        _, database, catalog = server
        assert ask("SELECT id FROM sr_cats", database, catalog, sr_animals=self.RULE) == [[4]]
        assert ask("SELECT COUNT(*) FROM sr_animals", database, catalog, sr_animals=self.RULE) == [[2]]

    def test_the_rule_of_its_own_wins(self, server: Any) -> None:
        _, database, catalog = server
        rules = {"sr_animals": self.RULE, "sr_cats": "lives > 8"}
        assert ask("SELECT id FROM sr_cats", database, catalog, **rules) == [[3]]
        assert ask("SELECT id FROM sr_cats ORDER BY id", database, catalog, sr_animals="deny", sr_cats="true") == [
            [3],
            [4],
        ]

    @pytest.mark.parametrize(
        ("table", "rules"),
        [
            pytest.param("sr_animals", {"sr_cats": RULE}, id="parent of a table with a rule"),
            pytest.param("sr_orders", {"sr_orders_2024_s": "deny"}, id="parent of a closed partition"),
            pytest.param("sr_orders_2024_n", {"sr_orders": "deny"}, id="partition of a closed parent"),
            pytest.param("sr_copied", {"sr_orders": RULE}, id="materialised view"),
        ],
    )
    def test_what_shows_rows_of_another_rule_is_closed(self, server: Any, table: str, rules: dict[str, str]) -> None:
        _, database, catalog = server
        with pytest.raises(NotPermitted):
            ask(f"SELECT COUNT(*) FROM {table}", database, catalog, **rules)

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT COUNT(*) FROM ONLY sr_animals",
            "TABLE sr_cats",
            "SELECT id FROM sr_animals *",
            "SELECT (a).id FROM sr_animals AS a",
            "SELECT a.* FROM sr_animals AS a",
            "SELECT a FROM sr_animals AS a",
            "SELECT x FROM sr_animals AS a (x, y)",
            "SELECT b.id FROM sr_people AS p, LATERAL (SELECT id FROM sr_animals WHERE region <> 'x') AS b",
            "SELECT id FROM sr_animals TABLESAMPLE SYSTEM (100)",
            "SELECT id FROM (sr_animals CROSS JOIN sr_people)",
        ],
    )
    def test_no_way_to_read_a_table_shows_hidden_rows(self, server: Any, sql: str) -> None:
        _, database, catalog = server
        try:
            found = ask(sql, database, catalog, sr_animals=self.RULE)
        except (StatementError, RowRuleNotApplied):
            found = []

        assert set(re.findall(r"\d+", str(found))) <= {"1", "4", "7"}

    @pytest.mark.parametrize(
        ("rules", "sql", "ids"),
        [
            ({"sr_animals": "deny"}, 'SELECT id FROM "SR_Orders"', [[7]]),
            ({"SR_Orders": "id > 7"}, 'SELECT id FROM "SR_Orders"', []),
            ({"SR_Orders": "id > 7"}, "SELECT COUNT(*) FROM SR_ORDERS", [[3]]),
            ({"sr_orders": "id < 3"}, 'SELECT id FROM "SR_Orders"', [[7]]),
            ({"sr_orders": "id < 3"}, "SELECT COUNT(*) FROM Sr_Orders", [[2]]),
        ],
    )
    def test_names_that_differ_in_case_have_their_own_rules(
        self, server: Any, rules: dict[str, str], sql: str, ids: list[Any]
    ) -> None:
        _, database, catalog = server
        assert ask(sql, database, catalog, **rules) == ids

    def test_a_rule_names_its_table_as_it_is_spelt(self, server: Any) -> None:
        _, _, catalog = server
        with pytest.raises(ConfigurationError, match="sr_animals"):
            RowRules({"SR_ANIMALS": "deny"}, "postgres", catalog)


@pytest.mark.parametrize("server", [pytest.param("mysql", marks=pytest.mark.mysql)], indirect=True)
class TestMySql:
    """Merge tables and partitions."""

    def test_a_merge_table_is_closed(self, server: Any) -> None:
        _, database, catalog = server
        with pytest.raises(NotPermitted):
            ask("SELECT COUNT(*) FROM sr_all", database, catalog, sr_one="region = :region")
        assert ask("SELECT COUNT(*) FROM sr_all", database, catalog, sr_one="region = :region", sr_all="true") == [[4]]

    @pytest.mark.parametrize("period", ["ALL", "AS OF NOW()", "BETWEEN '2020-01-01' AND NOW()"])
    def test_no_older_version_of_a_table_is_read(self, server: Any, period: str) -> None:
        _, database, catalog = server
        with pytest.raises((StatementError, RowRuleNotApplied)):
            ask(f"SELECT id FROM sr_parts FOR SYSTEM_TIME {period}", database, catalog, sr_parts="region = :region")

    def test_a_partition_cannot_be_picked(self, server: Any) -> None:
        _, database, catalog = server
        with pytest.raises(StatementRefused):
            ask("SELECT COUNT(*) FROM sr_parts PARTITION (p0)", database, catalog, sr_parts="region = :region")
        assert ask("SELECT COUNT(*) FROM sr_parts", database, catalog, sr_parts="region = :region") == [[1]]


def test_virtual_tables_and_what_they_store_are_closed(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as connection:
        connection.executescript("""
            CREATE TABLE docs (id INTEGER PRIMARY KEY, region TEXT, body TEXT);
            CREATE VIRTUAL TABLE docs_fts USING fts5(body, content='docs', content_rowid='id');
            CREATE VIRTUAL TABLE own USING fts5(body);
            CREATE VIEW shown AS SELECT * FROM docs;
            INSERT INTO docs VALUES (1, 'n', 'open'), (2, 's', 'hidden');
            INSERT INTO own VALUES ('hidden');
        """)
    database = Database(f"sqlite:///{tmp_path}/a.sqlite")
    catalog = reflect(database)

    assert ask("SELECT body FROM docs", database, catalog, docs="region = :region") == [["open"]]
    assert {"docs_fts", "own", "own_content", "shown"} <= set(catalog.tables)
    for table in set(catalog.tables) - {"docs"}:
        with pytest.raises(NotPermitted):
            ask(f"SELECT COUNT(*) FROM {table}", database, catalog, docs="region = :region")


@over(["clickhouse"])
def test_what_shows_rows_of_other_tables_is_closed_on_clickhouse(engine: EngineUnderTest) -> None:
    for statement in (
        "CREATE VIEW seen AS SELECT * FROM sphinx_orders",
        "CREATE TABLE merged AS sphinx_orders ENGINE = Merge(default, 'sphinx_orders')",
        "CREATE TABLE buffered AS sphinx_orders ENGINE = Buffer(default, sphinx_orders, 1, 1, 1, 1, 1, 1, 1)",
        "CREATE TABLE copied (id Int64) ENGINE = MergeTree ORDER BY id",
        "CREATE MATERIALIZED VIEW copying TO default.copied AS SELECT id FROM sphinx_orders",
    ):
        engine.admin(statement)
    with closing(open_url(engine.url, Limits(30, 100), row_rules={"sphinx_orders": "id = 1"})) as source:
        assert {"seen", "merged", "buffered", "copied", "copying"} <= set(source.catalog.tables)
        for table in ("seen", "merged", "buffered", "copied", "copying"):
            with pytest.raises(NotPermitted):
                source.execute(f"SELECT COUNT(*) FROM {table}")
        assert source.execute("SELECT COUNT(*) FROM sphinx_orders")["rows"] == [[1]]
        assert source.execute("SELECT COUNT(*) FROM sphinx_numbers")["rows"] == [[4000]]


def one_of(dialect: str, *names: str) -> Catalog:
    return Catalog(dialect, {name: Table(name, (Column("id", "INTEGER"),)) for name in names}, "main")


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "clickhouse"])
def test_case_matters_where_the_engine_tells_cases_apart(dialect: str) -> None:
    catalog = one_of(dialect, "orders", "Orders")
    quote = "`" if dialect == "mysql" else '"'
    rules = RowRules({"Orders": "deny", "orders": "id > 1"}, dialect, catalog)

    assert restrict("SELECT id + 1 FROM orders", rules, {})[0].count("id > 1") == 1
    with pytest.raises(NotPermitted):
        restrict(f"SELECT id FROM {quote}Orders{quote}", rules, {})
    assert "WHERE" not in restrict("SELECT id FROM orders", RowRules({"Orders": "deny"}, dialect, catalog), {})[0]


def test_a_name_that_fits_two_tables_is_refused_unless_neither_has_a_rule() -> None:
    catalog = one_of("mysql", "orders", "Orders", "people")

    with pytest.raises(RowRuleNotApplied):
        restrict("SELECT id FROM ORDERS", RowRules({"orders": "id > 1"}, "mysql", catalog), {})
    assert restrict("SELECT id FROM ORDERS", RowRules({"people": "id > 1"}, "mysql", catalog), {})[0]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_case_does_not_matter_where_the_engine_ignores_it(dialect: str) -> None:
    rules = RowRules({"ORDERS": "deny"}, dialect, one_of(dialect, "orders"))
    with pytest.raises(NotPermitted):
        restrict('SELECT id FROM "Orders"', rules, {})


@pytest.mark.parametrize(
    "names", [("orders", "main.orders"), ("orders", "ORDERS")], ids=["with and without schema", "in two cases"]
)
def test_two_rules_on_one_table_are_a_wrong_setting(names: tuple[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="two row rules"):
        RowRules(dict.fromkeys(names, "deny"), "sqlite", one_of("sqlite", "orders"))


def test_a_name_with_a_dot_is_not_another_schema() -> None:
    tables = {
        "orders": Table("orders", (Column("id", "INT"),)),
        "main.orders": Table("main.orders", (Column("id", "INT"),)),
    }
    rules = RowRules({"orders": "deny"}, "sqlite", Catalog("sqlite", tables, "main"))

    with pytest.raises(NotPermitted):
        restrict("SELECT id FROM main.orders", rules, {})
    assert "WHERE" not in restrict('SELECT id FROM "main.orders"', rules, {})[0]


def test_a_stored_catalog_keeps_what_shares_rows() -> None:
    plain = Table("t", (Column("a", "INT"),))
    changed = [replace(plain, parents=("p",)), replace(plain, shares_rows=True)]

    for table in changed:
        assert decode_table(json.loads(json.dumps(encode_table(table)))) == table
    assert len({fingerprint(Catalog("sqlite", {"t": each})) for each in (plain, *changed)}) == 3
