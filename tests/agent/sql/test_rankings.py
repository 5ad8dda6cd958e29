"""Rankings end with the rows that have no value, on every engine and whoever wrote the statement."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.rankings import ending_with_nulls
from datasphinx.agent.sql.validation import warnings_of
from tests.agent.sql.engines import QUICK, over
from tests.support.heavy import sample

ENGINES = [name for name in QUICK if name not in {"redshift", "snowflake"}]
STAFF = Table(
    "staff",
    (
        Column("id", "INTEGER", nullable=False),
        Column("name", "TEXT"),
        Column("team", "TEXT"),
        Column("salary", "NUMERIC"),
        Column("hired", "DATE"),
    ),
    primary_key=("id",),
)
TEAMS = Table("teams", (Column("name", "TEXT", nullable=False), Column("boss", "TEXT")), primary_key=("name",))


def catalog(dialect: str) -> Catalog:
    return Catalog(dialect, {"staff": STAFF, "teams": TEAMS})


RANKED = "(SELECT id, {function} OVER ({window}ORDER BY amount{down}) AS place FROM sphinx_orders) AS ranked"
FORMS = [
    "SELECT id FROM sphinx_orders ORDER BY amount{down} LIMIT 1",
    "SELECT id, amount AS id_ FROM sphinx_orders ORDER BY 2{down} LIMIT 1",
    "SELECT id, amount + 1 AS figure FROM sphinx_orders ORDER BY figure{down}, id LIMIT 1",
    "SELECT MAX(id) AS best, SUM(amount) AS total FROM sphinx_orders GROUP BY id ORDER BY SUM(amount){down} LIMIT 1",
    "WITH totals AS (SELECT id, MIN(amount) AS total FROM sphinx_orders GROUP BY id) "
    "SELECT id FROM totals ORDER BY total{down} LIMIT 1",
    f"SELECT id FROM {RANKED.format(function='ROW_NUMBER()', window='', down='{down}')} WHERE place = 1",
    f"SELECT id FROM {RANKED.format(function='RANK()', window='', down='{down}')} WHERE place = 1",
    "SELECT FIRST_VALUE(id) OVER (ORDER BY amount{down}) AS id FROM sphinx_orders LIMIT 1",
    "SELECT id FROM sphinx_orders WHERE id = (SELECT id FROM sphinx_orders ORDER BY amount{down} LIMIT 1)",
]


@over(ENGINES)
def test_the_first_row_of_a_ranking_has_a_value(source: Source) -> None:
    for down, first in (("", 1), (" DESC", 2)):
        for form in FORMS:
            sql = form.format(down=down)
            assert source.execute(sql)["rows"][0][0] == first, sql
    dates = source.execute("SELECT id FROM sphinx_orders ORDER BY created DESC, id LIMIT 1")
    assert dates["rows"] == [[1]]


@over(["sqlite", "duckdb", "postgres", "mysql"])
def test_the_first_row_of_a_ranked_union_has_a_value(source: Source) -> None:
    parts = (
        "SELECT id, amount FROM sphinx_orders WHERE id {} UNION ALL SELECT id, amount FROM sphinx_orders WHERE id {}"
    )
    for term, first in (("amount", 1), ("amount DESC", 2), ("2", 1)):
        sql = f"{parts.format('= 3', '< 3')} ORDER BY {term} LIMIT 1"
        assert source.execute(sql)["rows"][0][0] == first, sql


@over(["postgres", "duckdb"])
def test_the_first_row_of_each_group_has_a_value(source: Source) -> None:
    by_group = "SELECT DISTINCT ON (id > 0) id FROM sphinx_orders ORDER BY id > 0, amount DESC"
    assert source.execute(by_group)["rows"] == [[2]]
    assert source.execute("SELECT (ARRAY_AGG(id ORDER BY amount DESC))[1] AS id FROM sphinx_orders")["rows"] == [[2]]


@over(["mysql"])
def test_the_first_element_of_a_list_has_a_value(source: Source) -> None:
    listed = "SELECT SUBSTRING_INDEX(GROUP_CONCAT(id ORDER BY amount), ',', 1) AS id FROM sphinx_orders"
    assert source.execute(listed)["rows"] == [["1"]]


NUMBERS = {"clickhouse": "Nullable(Decimal(9, 2))"}


@over(ENGINES)
def test_any_ranking_begins_with_its_best_rows(source: Source) -> None:
    kind = NUMBERS.get(source.catalog.dialect, "DECIMAL(9, 2)")

    @settings(
        max_examples=sample(60, 15),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=True,
    )
    @given(
        st.lists(st.one_of(st.none(), st.integers(-20, 20)), min_size=1, max_size=6),
        st.booleans(),
        st.integers(1, 4),
        st.sampled_from(["{v}", "-{v}", "{v} * 2", "ABS({v})", "NULLIF({v}, 3)"]),
    )
    def check(values: list[int | None], is_descending: bool, count: int, term: str) -> None:
        rows = " UNION ALL ".join(
            f"SELECT {at} AS id, CAST({'NULL' if value is None else value} AS {kind}) AS v"
            for at, value in enumerate(values)
        )
        measure, down = term.format(v="v"), " DESC" if is_descending else ""
        ranking = f"SELECT {measure} AS m FROM ({rows}) AS t ORDER BY {measure}{down} LIMIT {count}"
        window = (
            f"SELECT m FROM (SELECT {measure} AS m, ROW_NUMBER() OVER (ORDER BY {measure}{down}) AS place "
            f"FROM ({rows}) AS t) AS ranked WHERE place <= {count} ORDER BY place"
        )
        measured = [_measured(value, term) for value in values]
        present = sorted((value for value in measured if value is not None), reverse=is_descending)
        expected = [*present, *[None] * measured.count(None)][:count]
        for sql in (ranking, window):
            assert [row[0] for row in source.execute(sql)["rows"]] == expected, sql

    check()


def _measured(value: int | None, term: str) -> int | None:
    return None if value is None else MEASURES[term](value)


MEASURES: dict[str, Callable[[int], int | None]] = {
    "{v}": lambda value: value,
    "-{v}": lambda value: -value,
    "{v} * 2": lambda value: value * 2,
    "ABS({v})": abs,
    "NULLIF({v}, 3)": lambda value: None if value == 3 else value,
}


UNCHANGED = [
    ("sqlite", "SELECT name FROM staff ORDER BY salary"),
    ("sqlite", "SELECT name FROM staff ORDER BY salary NULLS FIRST LIMIT 1"),
    ("sqlite", "SELECT name FROM staff ORDER BY salary DESC LIMIT 1"),
    ("sqlite", "SELECT name FROM staff ORDER BY id LIMIT 1"),
    ("sqlite", "SELECT name FROM staff ORDER BY RANDOM() LIMIT 1"),
    ("sqlite", "SELECT name FROM staff WHERE salary IS NOT NULL ORDER BY salary LIMIT 1"),
    ("sqlite", "SELECT name FROM staff WHERE salary > 0 AND id > 1 ORDER BY salary * 2 LIMIT 1"),
    ("sqlite", "SELECT name, COALESCE(salary, 0) AS pay FROM staff ORDER BY pay LIMIT 1"),
    ("sqlite", "SELECT SUM(salary) OVER (ORDER BY hired) FROM staff"),
    ("postgres", "SELECT name FROM staff ORDER BY salary LIMIT 1"),
    ("postgres", "SELECT name FROM staff ORDER BY salary DESC NULLS FIRST LIMIT 1"),
    ("postgres", "SELECT team, COUNT(*) AS n FROM staff GROUP BY team ORDER BY n DESC LIMIT 1"),
    ("postgres", "SELECT team, MAX(id) AS n FROM staff GROUP BY team ORDER BY n DESC LIMIT 1"),
    ("duckdb", "SELECT name FROM staff ORDER BY salary DESC LIMIT 1"),
    ("mysql", "SELECT name FROM staff ORDER BY salary DESC LIMIT 1"),
    ("mysql", "SELECT name FROM staff ORDER BY salary IS NULL, salary LIMIT 1"),
    ("tsql", "SELECT DISTINCT TOP 1 salary FROM staff ORDER BY salary"),
]


@pytest.mark.parametrize("dialect, sql", UNCHANGED)
def test_an_order_without_the_risk_of_null_is_left_unchanged(dialect: str, sql: str) -> None:
    assert ending_with_nulls(sql, catalog(dialect)) == sql


def test_the_outer_side_of_a_join_may_be_null() -> None:
    sql = "SELECT s.name FROM staff AS s LEFT JOIN teams AS t ON t.name = s.team ORDER BY t.name LIMIT 1"
    assert ending_with_nulls(sql, catalog("sqlite")) == sql.replace("ORDER BY t.name", "ORDER BY t.name NULLS LAST")


@pytest.mark.parametrize(
    "dialect, sql",
    [
        ("duckdb", "SELECT name FROM staff ORDER BY salary NULLS FIRST LIMIT 1"),
        ("postgres", "SELECT name FROM staff ORDER BY salary DESC NULLS FIRST LIMIT 1"),
        ("tsql", "SELECT DISTINCT TOP 1 salary FROM staff ORDER BY salary"),
    ],
)
def test_a_ranking_that_begins_with_null_is_reported(dialect: str, sql: str) -> None:
    (warning,) = warnings_of(sql, catalog(dialect))
    assert "salary begins with rows in which it has no value" in warning


@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "duckdb", "mysql"])
def test_a_ranking_that_ends_with_null_is_not_reported(dialect: str) -> None:
    for down in ("", " DESC"):
        assert warnings_of(f"SELECT name FROM staff ORDER BY salary{down} LIMIT 1", catalog(dialect)) == ()


@pytest.mark.parametrize("dialect", ["sqlite", "mysql"])
@pytest.mark.parametrize(
    "start", ["SELECT DISTINCT team, salary FROM staff", "SELECT name FROM staff UNION SELECT boss FROM teams"]
)
def test_a_statement_whose_ties_cannot_be_printed_is_left_as_it_is(dialect: str, start: str) -> None:
    sql = f"{start} ORDER BY 1 FETCH FIRST 1 ROW WITH TIES"
    assert ending_with_nulls(sql, catalog(dialect)) == sql
