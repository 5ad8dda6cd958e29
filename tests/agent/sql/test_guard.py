"""The guard refuses what is not one harmless query over catalog tables, and says which word it found."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sql.guard import check, stop_words
from tests.fixtures import Pair, read_pairs

TABLES = {"customers", "orders", "order items", "main.customers", "main.orders"}
GUARD_DATA = Path(__file__).resolve().parents[4] / "shared/guard"
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


def test_nesting_too_deep_for_the_parser_is_refused_and_no_crash() -> None:
    (finding,) = check(f"SELECT {'(' * 5000}1{')' * 5000}", "sqlite", TABLES)
    assert finding.rule == "parsable"


@given(st.text(max_size=200))
def test_any_text_is_judged_and_never_raises(text: str) -> None:
    check(text, "sqlite", TABLES)


@given(st.sampled_from([pair.sql for pair in PAIRS if pair.expected == "allowed"]))
def test_a_query_turned_into_a_write_is_refused(query: str) -> None:
    query = query.partition(";")[0]
    for write in (f"INSERT INTO orders {query}", f"CREATE TABLE x AS {query}", f"{query}; DELETE FROM orders"):
        assert check(write, "sqlite", TABLES), write


BEYOND_STATIC_CHECKS = ("runtime", "resource", "info", "session", "side effect", "catalog: regclass")
"""What limits, function lists and engine catalogs have to stop; the rules here look at structure and tables."""


@pytest.mark.benchdata
@pytest.mark.skipif(not GUARD_DATA.is_dir(), reason="the guard corpus is not beside the project")
def test_corpus() -> None:
    allowed = json.loads((GUARD_DATA / "schema.json").read_text(encoding="utf-8"))["allowed_tables"]
    tables = {*allowed, *(f"{schema}.{table}" for schema in ("main", "public") for table in allowed)}
    wrong = []
    for line in (GUARD_DATA / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        refused = bool(check(case["sql"], case["dialect"].replace("mariadb", "mysql"), tables))
        excused = case["why"].startswith(BEYOND_STATIC_CHECKS)
        if refused != (case["verdict"] == "block") and not excused:
            wrong.append((case["verdict"], case["sql"], case["why"]))
    assert wrong == []
