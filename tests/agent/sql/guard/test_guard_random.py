"""Random queries on a catalog pass in every dialect; with a write or a forbidden call they are rejected."""

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from sqlglot import exp

from datasphinx.agent.sql.guard import check, sanitize
from tests.support.characters import ANY
from tests.support.heavy import sample

pytestmark = pytest.mark.integration

DIALECTS = st.sampled_from(["sqlite", "postgres", "mysql", "duckdb"])
COLUMNS = {"customers": ["id", "name", "country"], "orders": ["id", "customer_id", "amount", "status"]}
FORBIDDEN = {
    "sqlite": "load_extension('x')",
    "postgres": "pg_sleep(1)",
    "mysql": "SLEEP(1)",
    "duckdb": "getenv('HOME')",
}
WRITES = [
    "DELETE FROM orders",
    "UPDATE orders SET amount = 0",
    "INSERT INTO orders (id) VALUES (1)",
    "DROP TABLE orders",
]


def columns(table: str, alias: str) -> SearchStrategy[str]:
    return st.sampled_from([f"{alias}.{name}" for name in COLUMNS[table]])


def values(column: SearchStrategy[str]) -> SearchStrategy[str]:
    """Generate a value expression: a column, literal, call, CASE or arithmetic."""
    simple = st.one_of(column, st.integers(0, 999).map(str), st.sampled_from(["'x'", "'drop table orders'", "NULL"]))
    return st.recursive(
        simple,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda parts: f"({' '.join(parts)})"),
            inner.map("COALESCE({}, 0)".format),
            inner.map("UPPER({})".format),
            st.tuples(inner, inner).map(lambda pair: f"CASE WHEN {pair[0]} > {pair[1]} THEN {pair[0]} ELSE 1 END"),
            inner.map("CAST({} AS CHAR(20))".format),
            inner.map("NULLIF({}, 1)".format),
        ),
        max_leaves=4,
    )


@st.composite
def selects(draw: st.DrawFn, depth: int = 2) -> str:
    """Generate a SELECT with joins, conditions, groups, windows, subqueries and ordering."""
    table = draw(st.sampled_from(sorted(COLUMNS)))
    column = columns(table, "a")
    source = f"{table} AS a"
    if draw(st.booleans()):
        kind = draw(st.sampled_from(["JOIN", "LEFT JOIN", "CROSS JOIN"]))
        source += f" {kind} orders AS b" + ("" if kind == "CROSS JOIN" else " ON b.id = a.id")
        column = st.one_of(column, columns("orders", "b"))
    value = values(column)
    conditions = draw(st.lists(st.tuples(value, st.sampled_from(["=", "<", ">=", "<>", "LIKE"]), value), max_size=2))
    where = [" ".join(condition) for condition in conditions]
    if depth and draw(st.booleans()):
        where.append(f"a.id IN (SELECT id FROM ({draw(selects(depth=depth - 1))}) AS s)")
    text = f"SELECT a.id AS id, {draw(value)} AS v FROM {source}"
    if draw(st.booleans()):
        text = f"SELECT a.id AS id, ROW_NUMBER() OVER (PARTITION BY {draw(column)} ORDER BY a.id) AS v FROM {source}"
    if where:
        text += " WHERE " + f" {draw(st.sampled_from(['AND', 'OR']))} ".join(where)
    if draw(st.booleans()):
        text = (
            f"SELECT MIN(a.id) AS id, {draw(column)} AS v, COUNT(*) AS n FROM {source} GROUP BY 2 HAVING COUNT(*) > 0"
        )
    return text


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Generate a SELECT, alone or in a WITH, set operation or subquery."""
    text = draw(selects())
    form = draw(st.sampled_from(["{0}", "WITH w AS ({0}) SELECT * FROM w", 
                                 "SELECT id FROM ({0}) AS x ORDER BY id LIMIT 5",
                                 "SELECT id FROM ({0}) AS x UNION ALL SELECT id FROM orders"]))  # fmt: skip
    return form.format(text)


@settings(deadline=None, max_examples=sample(150, 15))
@given(queries(), DIALECTS)
def test_no_random_query_is_refused(query: str, dialect: str) -> None:
    assert check(query, dialect, set(COLUMNS)) == ()


@settings(deadline=None, max_examples=sample(150, 15))
@given(queries(), DIALECTS, st.data())
def test_a_forbidden_call_anywhere_is_refused(query: str, dialect: str, data: st.DataObject) -> None:
    """The call replaces any column or literal of the tree."""
    tree = sqlglot.parse_one(query, dialect=dialect)
    leaves = [node for node in tree.find_all(exp.Column, exp.Literal) if not isinstance(node.parent, exp.DataTypeParam)]
    leaves = [node for node in leaves if not isinstance(node.parent, exp.Limit)]
    data.draw(st.sampled_from(leaves)).replace(sqlglot.parse_one(FORBIDDEN[dialect], dialect=dialect))
    changed = tree.sql(dialect=dialect)

    assert "harmless_functions" in {finding.rule for finding in check(changed, dialect, set(COLUMNS))}


@settings(deadline=None, max_examples=sample(150, 15))
@given(queries(), DIALECTS, st.sampled_from(WRITES), st.data())
def test_a_write_anywhere_is_refused(query: str, dialect: str, write: str, data: st.DataObject) -> None:
    """The write is a subquery replacing a column, a WITH, a second statement, or surrounds the query."""
    tree = sqlglot.parse_one(query, dialect=dialect)
    leaf = data.draw(st.sampled_from(list(tree.find_all(exp.Column))))
    leaf.replace(exp.Subquery(this=sqlglot.parse_one(write, dialect=dialect)))
    places = [tree.sql(dialect=dialect), f"WITH gone AS ({write}) {query}", f"{query}; {write}", f"{write}; {query}"]
    places += [f"INSERT INTO orders {query}", f"CREATE TABLE copy AS {query}", f"EXPLAIN ANALYZE {write}"]

    assert [place for place in places if not check(place, dialect, set(COLUMNS))] == []


@settings(deadline=None, max_examples=sample(150, 15))
@given(queries(), DIALECTS, st.data())
def test_a_table_outside_the_catalog_is_refused_anywhere(query: str, dialect: str, data: st.DataObject) -> None:
    tree = sqlglot.parse_one(query, dialect=dialect)
    tables = [table for table in tree.find_all(exp.Table) if table.name in COLUMNS]
    data.draw(st.sampled_from(tables)).set("this", exp.to_identifier("secrets"))

    assert "catalog_tables" in {finding.rule for finding in check(tree.sql(dialect=dialect), dialect, set(COLUMNS))}


@settings(deadline=None, max_examples=sample(100, 25))
@given(st.text(ANY, max_size=80), DIALECTS)
def test_any_text_gets_a_verdict(text: str, dialect: str) -> None:
    approved, findings = sanitize(text, dialect, set(COLUMNS))

    assert bool(approved) != bool(findings)
