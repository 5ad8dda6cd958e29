"""The guard rejects everything but one harmless query on catalog tables, and names the offending word."""

import json
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from sqlglot.parser import Parser

from datasphinx.agent.errors import PackageConflict
from datasphinx.agent.sql.dialects import exact_dialect
from datasphinx.agent.sql.guard import check, parse, sanitize, stop_words
from datasphinx.agent.sql.guard.lint import DIALECTS
from tests.fixtures import Pair, read_pairs
from tests.support.characters import ANY

TABLES = {"customers", "orders", "order items", "main.customers", "main.orders"}
GUARD_DATA = Path(__file__).resolve().parents[5] / "shared/guard"
PAIRS = read_pairs("guard.sql")


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.sql[:60])
def test_pairs(pair: Pair) -> None:
    findings = check(pair.sql, "sqlite", TABLES)
    if pair.expected == "allowed":
        assert not findings
    else:
        rule, _, word = pair.expected.partition(" ")
        assert rule in {finding.rule for finding in findings}
        assert not word or word in stop_words(findings)


def test_a_stop_word_is_reported_once_and_in_order() -> None:
    findings = check("DELETE FROM orders; DROP TABLE orders; DELETE FROM customers", "sqlite", TABLES)
    assert stop_words(findings) == ["DELETE", "DROP"]


def test_a_compiled_sqlglot_is_an_error_that_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parsers have no subclasses, so it would refuse every statement for no visible reason."""
    monkeypatch.setattr("sqlglot.parser.__file__", "sqlglot/parser.cpython-311-x86_64-linux-gnu.so")
    exact_dialect.cache_clear()
    with pytest.raises(PackageConflict, match="pip uninstall sqlglotc"):
        check("SELECT 1 AS compiled", "sqlite", TABLES)


def test_nesting_too_deep_for_the_parser_is_refused_and_no_crash() -> None:
    (finding,) = check(f"SELECT {'NOT ' * 2000}1", "sqlite", TABLES)
    assert finding.rule == "parsable"


@given(st.text(ANY, max_size=200))
def test_any_text_is_judged_and_never_raises(text: str) -> None:
    check(text, "sqlite", TABLES)


@given(st.sampled_from([pair.sql for pair in PAIRS if pair.expected == "allowed"]))
def test_a_query_turned_into_a_write_is_refused(query: str) -> None:
    query = query.partition(";")[0]
    for write in (f"INSERT INTO orders {query}", f"CREATE TABLE x AS {query}", f"{query}; DELETE FROM orders"):
        assert check(write, "sqlite", TABLES), write


@pytest.mark.benchdata
@pytest.mark.skipif(not GUARD_DATA.is_dir(), reason="the guard corpus is not beside the project")
@pytest.mark.parametrize("corpus, schema", [("corpus", "schema"), ("corpus2", "schema2")])
def test_corpus(corpus: str, schema: str) -> None:
    """Only statements that merely consume resources may pass; `test_read_only_sessions` runs them under limits."""
    allowed = json.loads((GUARD_DATA / f"{schema}.json").read_text(encoding="utf-8"))["allowed_tables"]
    tables = {*allowed, *(f"{schema}.{table}" for schema in ("main", "public") for table in allowed)}
    wrong = []
    for line in (GUARD_DATA / f"{corpus}.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        refused = bool(check(case["sql"], case["dialect"].replace("mariadb", "mysql"), tables))
        if refused != (case["verdict"] == "block") and not case["why"].startswith("runtime"):
            wrong.append((case["verdict"], case["sql"], case["why"]))
    assert wrong == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "+".join(["1"] * 5_000),
        "SELECT id FROM orders WHERE id IN (" + ", ".join(map(str, range(5_000))) + ")",
        "SELECT " + "(" * 60 + "1" + ")" * 60,
        "SELECT " + "CASE WHEN 1 = 1 THEN " * 60 + "1" + " END" * 60,
        "SELECT " + "ABS(" * 60 + "1" + ")" * 60,
    ],
    ids=["sum", "list", "parentheses", "case", "calls"],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_statement_too_large_or_too_deep_is_refused_unparsed(
    sql: str, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasphinx.agent.sql.guard._parse", lambda *_: pytest.fail("it was parsed"))

    assert [finding.rule for finding in check(sql, dialect, TABLES)] == ["length"]


def test_a_statement_within_the_limits_passes() -> None:
    assert check("SELECT " + "+".join(["1"] * 2_400), "sqlite", TABLES) == ()


def test_rules_stop_at_their_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.sql.guard._MAX_SECONDS", -1.0)

    (finding,) = check("SELECT id FROM orders WHERE id = 4711", "sqlite", TABLES)

    assert finding.rule == "length" and "CPU time" in finding.explanation


def test_a_clock_that_leaps_once_rejects_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([inf])
    monkeypatch.setattr("datasphinx.agent.sql.guard.finding.thread_time", lambda: next(times, 0.0))

    assert check("SELECT id FROM orders WHERE id = 4714", "sqlite", TABLES) == ()


def test_a_statement_is_parsed_once_as_written_and_once_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    real = Parser.parse
    monkeypatch.setattr(Parser, "parse", lambda self, tokens, sql: parsed.append(sql) or real(self, tokens, sql))

    assert check("select  id from orders where id = 4712", "sqlite", TABLES) == ()
    assert parsed == ["select  id from orders where id = 4712", "SELECT id FROM orders WHERE id = 4712"]


@pytest.mark.parametrize(
    "dialect, sql",
    [
        (
            "postgres",
            "SELECT DATE_BIN('1 day', day, 'DATE ''2020-01-01''), (SELECT MAX(email) FROM customers') FROM orders",
        ),
        ("duckdb", "SELECT TIME_BUCKET(INTERVAL '1 day', day, 'x, (SELECT 1 FROM customers') FROM orders"),
    ],
)
def test_the_text_of_a_string_stays_a_string(dialect: str, sql: str) -> None:
    """sqlglot prints the origin of these functions without quotes."""
    text, findings = sanitize(sql, dialect, TABLES)

    assert findings == ()
    assert not any(table.name == "customers" for tree in parse(text, dialect) for table in tree.find_all(exp.Table))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "sql", ["SELECT", "SELECT FROM t", "SELECT a FROM t UNION ALL SELECT", "SELECT * FROM (SELECT FROM t) AS x"]
)
def test_a_select_without_columns_is_refused(dialect: str, sql: str) -> None:
    assert "a SELECT has to name the columns of its result" in {
        finding.explanation for finding in check(sql, dialect, {"t"})
    }


def test_exists_of_postgres_needs_no_columns() -> None:
    sql = "SELECT a FROM t WHERE EXISTS (SELECT FROM u WHERE u.a = t.a)"
    assert check(sql, "postgres", {"t", "u"}) == ()
    assert check(sql, "duckdb", {"t", "u"}) != ()
