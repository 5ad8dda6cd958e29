"""Bound parameters: never in the text of a statement, checked like literals, and combined with those of row rules."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import NotPermitted, StatementRefused
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.guard import sanitize
from datasphinx.agent.sql.parameters import insert_markers
from datasphinx.agent.types import Limits
from tests.agent.sql.engines import EngineUnderTest, over
from tests.support.databases import open_url
from tests.support.steps import recorded

pytestmark = pytest.mark.integration

SERVED = over(["sqlite", "duckdb", "postgres", "mysql"])
BY_STATUS = "SELECT id FROM sphinx_orders WHERE status = :status ORDER BY id"


@pytest.fixture(scope="module")
def ruled(engine: EngineUnderTest) -> Iterator[Source]:
    """The shop, restricted to rows whose id is at most a row-rule parameter with the name of a statement parameter."""
    rules = {"sphinx_orders": "id <= :status", "sphinx_numbers": "deny"}
    with closing(open_url(engine.url, Limits(30, 100), row_rules=rules, row_parameters={"status": 1})) as opened:
        yield opened


def rows(source: Source, sql: str, **values: Any) -> list[list[Any]]:
    return source.execute(sql, parameters=values)["rows"]


@SERVED
def test_values_reach_their_places(source: Source) -> None:
    sql = (
        "SELECT id, ':status %s ? %(status)s' AS text FROM sphinx_orders"
        " WHERE (status = :status OR status = :other OR id IN (:id, :id)) AND id < CAST(:top AS INTEGER) ORDER BY id"
    )
    if source.catalog.dialect == "mysql":
        sql = sql.replace("INTEGER", "SIGNED")

    assert rows(source, sql, status="open", other="%", id=3, top="4") == [
        [1, ":status %s ? %(status)s"],
        [3, ":status %s ? %(status)s"],
    ]
    assert rows(source, "SELECT id FROM sphinx_orders WHERE amount > :low", low=2.75) == [[2]]
    assert rows(source, "SELECT id FROM sphinx_orders WHERE amount > :low", low=None) == []


@SERVED
@pytest.mark.parametrize("value", ["open' OR '1' = '1", "'; DROP TABLE sphinx_orders; --", ":status", "%s", "\\'", "?"])
def test_a_value_is_a_value(source: Source, value: str) -> None:
    assert rows(source, BY_STATUS, status=value) == []
    assert rows(source, BY_STATUS, status="open") == [[1]]


@SERVED
def test_row_rules_hold_beside_bound_values(ruled: Source) -> None:
    assert rows(ruled, BY_STATUS, status="open") == [[1]]
    assert rows(ruled, BY_STATUS, status="paid") == []
    assert rows(ruled, "SELECT COUNT(*) FROM sphinx_orders WHERE id < :id", id=100) == [[1]]
    with pytest.raises(NotPermitted):
        rows(ruled, "SELECT n FROM sphinx_numbers WHERE n = :n", n=1)


@SERVED
def test_no_header_shows_a_bound_value(ruled: Source) -> None:
    sql = "SELECT (SELECT MAX(id) FROM sphinx_orders WHERE status = :kind AND id < :top) AS one, {} FROM sphinx_orders"
    unnamed = "(SELECT MAX(id) + 0 FROM sphinx_orders WHERE status = :kind)"
    result = ruled.execute(sql.format(unnamed), parameters={"kind": "open", "top": 77})

    assert result["rows"] == [[1, 1]]
    if ruled.catalog.dialect != "postgres":
        assert result["columns"] == ["one", "(SELECT MAX(id) + 0 FROM sphinx_orders WHERE status = ?)"]


@SERVED
def test_a_statement_does_not_see_the_values_of_row_rules(ruled: Source) -> None:
    with pytest.raises(StatementRefused, match="PLACEHOLDER"):
        ruled.execute("SELECT id FROM sphinx_orders WHERE id = :status")


@SERVED
@pytest.mark.parametrize("place", [":missing", "?", "CAST(:missing AS CHAR)"])
def test_a_place_without_a_value_is_refused(source: Source, place: str) -> None:
    with pytest.raises(StatementRefused, match="PLACEHOLDER"):
        rows(source, f"SELECT id FROM sphinx_orders WHERE status = {place}", status="open")


@SERVED
def test_a_value_without_a_place_changes_nothing(source: Source) -> None:
    assert rows(source, "SELECT COUNT(*), 'a:b' FROM sphinx_orders", status="open") == [[3, "a:b"]]


@pytest.mark.parametrize(
    ("dialect", "sql", "values", "rule"),
    [
        ("duckdb", "SELECT COUNT(*) FROM range(:n)", {"n": 10**12}, "bounded_rows"),
        ("postgres", "SELECT COUNT(*) FROM GENERATE_SERIES(1, :n)", {"n": 10**12}, "bounded_rows"),
        ("mysql", "SELECT REPEAT('x', :n)", {"n": 10**8}, "bounded_widths"),
        ("sqlite", "SELECT PRINTF(:form, 1)", {"form": "%1000000000d"}, "bounded_widths"),
        ("postgres", "SELECT PG_SLEEP(:n)", {"n": 1}, "harmless_functions"),
        ("duckdb", "DELETE FROM t WHERE a = :n", {"n": 1}, "query_only"),
        ("clickhouse", "SELECT a FROM t WHERE a = {n: String}", {"n": "x"}, "known_syntax"),
        ("postgres", "SELECT a FROM t WHERE a = $1", {"1": "x"}, "known_syntax"),
    ],
)
def test_no_wall_is_lower_for_a_value(dialect: str, sql: str, values: dict[str, Any], rule: str) -> None:
    text, findings = sanitize(sql, dialect, {"t"}, values)

    assert text == ""
    assert rule in {finding.rule for finding in findings}


def test_a_small_value_passes_where_a_large_one_does_not() -> None:
    text, findings = sanitize("SELECT COUNT(*) FROM range(:n)", "duckdb", None, {"n": 10})

    assert (text, findings) == ("SELECT COUNT(*) FROM range(:n)", ())


@pytest.mark.parametrize("value", [[1], {"a": 1}, b"x", object()])
def test_what_cannot_be_bound_is_refused(value: Any) -> None:
    text, findings = sanitize("SELECT a FROM t WHERE a = :n", "sqlite", {"t"}, {"n": value})

    assert text == "" and findings


def test_markers_cannot_be_guessed() -> None:
    import sqlglot

    sql = "SELECT a FROM t WHERE a = :n"
    first, second = (insert_markers(sql, sqlglot.parse_one(sql), "sqlite", {"n": 1})[0] for _ in range(2))

    assert first != second


def test_the_record_has_the_statement_without_its_values(tmp_path: Path) -> None:
    import sqlite3

    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as connection:
        connection.execute("CREATE TABLE t (a TEXT)")
    with closing(open_url(f"sqlite:///{tmp_path / 'a.sqlite'}")) as source, recorded() as (step, _):
        rows(source, "SELECT a FROM t WHERE a = :n", n="secret")

    assert [statement["sql"] for statement in step.statements] == ["SELECT a FROM t WHERE a = :n"]
