"""Row rules apply at every reference of a table; their parameters are bound, never inserted into the text."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, text

from datasphinx.agent.errors import ConfigurationError, NotPermitted, RowRuleNotApplied, RowRuleParameterMissing
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.sql.row_rules import RowRules, restrict
from tests.fixtures import Pair, read_pairs
from tests.support.servers import FOUR_ENGINES, URLS, prepared

pytestmark = pytest.mark.integration

SCHEMAS = {"sqlite": "main", "duckdb": "main", "postgres": "public", "mysql": "test"}
COLUMNS = {"rr_orders": ("id", "region", "customer", "note"), "rr_people": ("name", "region"), "rr_closed": ("v",)}
ROWS = [(1, "n", "ann", "a:b"), (2, "s", "bo", "50%"), (3, "n", "bo", ":region"), (4, "s", "ann", "x")]
PAIRS = read_pairs("row_rules.sql")
RULES = {"rr_orders": "region = :region", "rr_closed": "deny"}


def catalog(dialect: str) -> Catalog:
    tables = {key: Table(key, tuple(Column(name, "text") for name in names)) for key, names in COLUMNS.items()}
    return Catalog(dialect, tables, SCHEMAS[dialect])


def rules(dialect: str = "sqlite", **changed: str) -> RowRules:
    return RowRules({**RULES, **changed}, dialect, catalog(dialect))


@pytest.fixture(scope="module", params=FOUR_ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[str, Engine]]:
    """The four engines, each with three tables."""
    name = request.param
    create = [
        f"CREATE TABLE {key} ({', '.join(each + (' INT' if each == 'id' else ' VARCHAR(20)') for each in columns)})"
        for key, columns in COLUMNS.items()
    ]
    insert = [f"INSERT INTO rr_orders VALUES {row}" for row in ROWS]
    insert += ["INSERT INTO rr_people VALUES ('ann', 'n'), ('bo', 's')"]
    with prepared(URLS[name], [*create, *insert], [f"DROP TABLE IF EXISTS {key}" for key in COLUMNS]) as made:
        yield name, made


def rows(engine: Engine, sql: str, parameters: dict[str, Any]) -> list[list[Any]]:
    with engine.connect() as connection:
        return [list(row) for row in connection.execute(text(sql), parameters)]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.sql[:70])
def test_every_reference_is_filtered(engine: tuple[str, Engine], pair: Pair) -> None:
    dialect, made = engine
    sql = pair.sql.replace("SCHEMA", SCHEMAS[dialect])
    restricted, parameters = restrict(sql, rules(dialect), {"region": "n", "other": 1})

    assert sorted(map(str, rows(made, restricted, parameters)[0])) == sorted(pair.expected.split(", "))
    assert set(parameters) <= {"region"}


@pytest.mark.parametrize("value", ["n' OR '1' = '1", "n'; DROP TABLE rr_orders; --", ":region", "%s", "\\"])
def test_a_value_is_bound_and_never_pasted(engine: tuple[str, Engine], value: str) -> None:
    restricted, parameters = restrict("SELECT COUNT(*) FROM rr_orders", rules(engine[0]), {"region": value})

    assert value not in restricted or value == ":region"
    assert rows(engine[1], restricted, parameters) == [[0]]


def test_colons_and_per_cent_signs_come_through_as_they_are(engine: tuple[str, Engine]) -> None:
    sql = "SELECT COUNT(*), 'a:b', ':region', '50%', '%s', '%(x)s', '::', 'x:' FROM rr_orders WHERE note LIKE '%:%'"
    restricted, parameters = restrict(sql, rules(engine[0]), {"region": "n"})

    assert rows(engine[1], restricted, parameters) == [[2, "a:b", ":region", "50%", "%s", "%(x)s", "::", "x:"]]


def test_a_rule_may_look_into_other_tables(engine: tuple[str, Engine]) -> None:
    rule = "customer IN (SELECT name FROM rr_people WHERE rr_people.region = :region)"
    by_people = rules(engine[0], rr_orders=rule)
    sql = "WITH rr_people AS (SELECT 'ann' AS name, 's' AS region) SELECT COUNT(*) FROM rr_orders"
    restricted, parameters = restrict(sql, by_people, {"region": "s"})

    assert rows(engine[1], restricted, parameters) == [[2]]


def test_a_closed_table_is_told_apart_from_one_without_rows(engine: tuple[str, Engine]) -> None:
    with pytest.raises(NotPermitted) as caught:
        restrict("SELECT COUNT(*) FROM rr_people p JOIN rr_closed c ON c.v = p.name", rules(engine[0]), {})
    assert caught.value.table == "rr_closed"
    restricted, parameters = restrict("SELECT * FROM rr_orders", rules(engine[0]), {"region": "nowhere"})
    assert rows(engine[1], restricted, parameters) == []


@pytest.mark.parametrize("word", ["deny", "DENY", " false "])
def test_both_words_close_a_table(word: str) -> None:
    with pytest.raises(NotPermitted):
        restrict("SELECT 1 FROM rr_orders", rules(rr_orders=word), {})


def test_a_name_of_a_with_is_no_closed_table() -> None:
    restricted, _ = restrict("WITH rr_closed AS (SELECT 1 AS v) SELECT v FROM rr_closed", rules(), {})
    assert "WHERE" not in restricted


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(RowRuleParameterMissing) as caught:
        restrict("SELECT * FROM rr_orders", rules(), {"other": 1})
    assert (caught.value.table, caught.value.parameter) == ("rr_orders", "region")


def test_parameters_of_rules_that_are_not_needed_are_not_asked_for() -> None:
    assert restrict("SELECT name FROM rr_people", rules(), {}) == ("SELECT name FROM rr_people", {})


@pytest.mark.parametrize(
    "rule",
    [
        "region = 'n') OR (1 = 1",
        "region = 'n'; DROP TABLE rr_orders",
        "region = 'n' ORDER BY 1",
        "price > 1",
        "rr_people.region = 'n'",
        "COUNT(*) > 1",
        "region = ?",
        "region =",
        "",
        "id IN (SELECT v FROM secrets)",
        "load_extension('x') = 1",
        "1 + 1",
    ],
)
def test_a_predicate_that_is_none_is_a_wrong_setting(rule: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        rules(rr_orders=rule)
    assert "rr_orders" in caught.value.reason


def test_a_table_that_is_not_there_is_a_wrong_setting() -> None:
    with pytest.raises(ConfigurationError, match="elsewhere"):
        RowRules({"elsewhere": "deny"}, "sqlite", catalog("sqlite"))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM rr_orders",
        "SELECT * FROM (SELECT * FROM rr_orders WHERE (region = :region) OR 1 = 1) AS rr_orders",
        "SELECT * FROM (SELECT * FROM rr_orders WHERE (region = :region) LIMIT 1) AS rr_orders",
        "SELECT * FROM (SELECT * FROM rr_orders, rr_people WHERE (region = :region)) AS rr_orders",
        "SELECT * FROM (SELECT id FROM rr_people WHERE (id IN (SELECT id FROM rr_orders))) AS x",
    ],
)
def test_a_reference_without_its_rule_is_found(sql: str) -> None:
    with pytest.raises(RowRuleNotApplied):
        rules().verify(parse(sql, "sqlite")[0])


def test_a_reference_that_cannot_be_filtered_is_refused() -> None:
    with pytest.raises(RowRuleNotApplied, match="only"):
        restrict("SELECT * FROM ONLY rr_orders", rules("postgres"), {"region": "n"})


def test_the_statement_given_stays_as_it_was() -> None:
    (tree,) = parse("SELECT * FROM rr_orders", "sqlite")
    before = tree.sql()
    rules().apply(tree)
    assert tree.sql() == before


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("SELECT (SELECT MAX(id) + 0 FROM rr_orders)", "(SELECT MAX(id) + 0 FROM rr_orders)"),
        ("SELECT * FROM (SELECT (SELECT MAX(id) + 0 FROM rr_orders)) AS d", "(SELECT MAX(id) + 0 FROM rr_orders)"),
        (
            "WITH d AS (SELECT 1 + (SELECT MAX(id) FROM rr_orders)) SELECT * FROM d",
            "1 + (SELECT MAX(id) FROM rr_orders)",
        ),
        ("SELECT (SELECT MAX(id) FROM rr_orders) UNION ALL SELECT 3", "(SELECT MAX(id) FROM rr_orders)"),
        ("SELECT EXISTS(SELECT 1 FROM rr_orders)", "EXISTS(SELECT 1 FROM rr_orders)"),
        ("SELECT (SELECT MAX(id) FROM rr_orders WHERE note <> 'x:y%s`\"')", None),
        (f"SELECT (SELECT MAX(id) FROM rr_orders WHERE note <> '{'я' * 300}')", None),
        ("SELECT (SELECT MAX(id) FROM rr_orders WHERE note <> '\N{GRINNING FACE}')", None),
        ("SELECT (SELECT MAX(id) FROM rr_orders) AS top", "top"),
        ("SELECT d.* FROM (SELECT id FROM rr_orders) AS d", "id"),
    ],
)
def test_no_column_header_shows_a_rule(engine: tuple[str, Engine], sql: str, shown: str | None) -> None:
    dialect, made = engine
    restricted, parameters = restrict(sql, rules(dialect, rr_orders="region = :region AND id < 100"), {"region": "n"})
    with made.connect() as connection:
        (header,) = connection.execute(text(restricted), parameters).keys()

    assert "region" not in header and "100" not in header and "LIMIT" not in header
    assert dialect == "postgres" or shown is None or header == shown[:64]


def test_two_long_outputs_of_a_derived_table_stay_two(engine: tuple[str, Engine]) -> None:
    query = f"(SELECT MAX(id) FROM rr_orders WHERE note <> '{'x' * 80}"
    sql = f"SELECT * FROM (SELECT {query}'), {query}y')) AS d"
    if engine[0] == "postgres":
        sql = sql.replace("')", "') AS a", 1)
    restricted, parameters = restrict(sql, rules(engine[0]), {"region": "n"})

    assert rows(engine[1], restricted, parameters) == [[3, 3]]
