"""`datasphinx guard` adds a verdict to each object in JSON lines."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from datasphinx.agent.cli import app
from datasphinx.agent.errors import DatasetInvalid
from datasphinx.agent.sql.guard.lint import lint, read_tables


def verdicts(*cases: dict[str, object], tables: frozenset[str] | None = None) -> list[dict[str, object]]:
    lines = io.BytesIO("\n".join(map(json.dumps, cases)).encode())
    return list(lint(lines, "here", tables))


def test_what_came_in_stays_and_the_verdict_is_added() -> None:
    sql = "SELECT 1\n, pg_sleep(1)"
    (case,) = verdicts({"id": 7, "dialect": "postgres", "sql": sql, "verdict": "allow"})

    assert (case["id"], case["expected"], case["verdict"], case["rule"]) == (7, "allow", "block", "harmless_functions")
    assert case["position"] == {"line": 2, "column": 3}
    assert case["token"] == "pg_sleep"


def test_a_second_pass_keeps_what_was_expected_at_first() -> None:
    first = verdicts({"dialect": "sqlite", "sql": "DROP TABLE x", "verdict": "allow"})
    assert verdicts(*first) == first


@pytest.mark.parametrize("name", ["mariadb", "mysql", "MySQL", "postgresql", "postgres", "duckdb", "spark", "trino"])
def test_names_of_dialects(name: str) -> None:
    assert verdicts({"dialect": name, "sql": "SELECT 1"})[0]["verdict"] == "allow"


def test_tables_are_checked_only_with_a_schema() -> None:
    case = {"dialect": "sqlite", "sql": "SELECT v FROM secrets"}

    assert verdicts(case)[0]["verdict"] == "allow"
    assert verdicts(case, tables=frozenset({"orders"}))[0]["rule"] == "catalog_tables"
    assert verdicts({**case, "sql": "SELECT 1 FROM sqlite_master"})[0]["rule"] == "catalog_tables"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"sql": "SELECT 1"}', "'dialect'"),
        (b'{"dialect": "sqlite", "sql": 1}', "'sql'"),
        (b'{"dialect": "oracle", "sql": "SELECT 1"}', "'oracle' is not one of sqlite"),
        (b'{"dialect": "../nodes", "sql": "SELECT 1"}', "not one of"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_line_is_named(line: bytes, reason: str) -> None:
    good = b'{"dialect": "sqlite", "sql": "SELECT 1"}\n'
    with pytest.raises(DatasetInvalid) as caught:
        list(lint([good, b"\n", line], "cases.jsonl", None))

    assert caught.value.path == "cases.jsonl, line 3"
    assert reason in caught.value.reason


@given(st.text(st.characters(), max_size=60))
def test_any_statement_gets_a_verdict(sql: str) -> None:
    assert verdicts({"dialect": "mysql", "sql": sql})[0]["verdict"] in {"allow", "block"}


@pytest.mark.parametrize("content", ["{}", "[]", '{"allowed_tables": [1]}', "x"])
def test_a_schema_without_tables_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "schema.json").write_text(content, encoding="utf-8")
    with pytest.raises(DatasetInvalid, match="schema.json"):
        read_tables(tmp_path / "schema.json")


def test_exit_codes_and_standard_input() -> None:
    allowed = '{"dialect": "sqlite", "sql": "SELECT \'\\ud800\'"}\n'
    blocked = '{"dialect": "sqlite", "sql": "DROP TABLE x"}\n'

    assert CliRunner().invoke(app, ["guard", "-"], input=allowed).exit_code == 0
    result = CliRunner().invoke(app, ["guard", "-"], input=allowed + blocked)
    assert result.exit_code == 3
    assert [json.loads(line)["verdict"] for line in result.stdout.splitlines()] == ["allow", "block"]
