"""MCP clients with keys of tenants, and clients that send what no honest one sends."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult, ElicitResult, InputRequiredResult

from datasphinx.agent.server.keys import hash_of
from tests.agent.server.keys import ACME, BETA, KEYS
from tests.agent.server.mcp.clients import HEADERS, HELLO, MODES, User, call, code_of, content, talk
from tests.agent.server.serving import COUNT, Served, serving
from tests.support.best_customer import BEST, BY_AMOUNT, asks_about_best
from tests.support.databases import make_database, make_table, url

MARK = "zq7"
"""Part of each secret value."""
PEOPLE = (
    "CREATE TABLE shoes (region TEXT, pairs INTEGER)",
    "INSERT INTO shoes VALUES ('north', 3), ('south', 4)",
    "CREATE TABLE staff (name TEXT, email TEXT)",
    f"INSERT INTO staff VALUES ('Ann', '{MARK}a@example.org'), ('Ben', '{MARK}b@example.org')",
    "CREATE TABLE payroll (person TEXT, wage_band TEXT)",
    f"INSERT INTO payroll VALUES ('Ann', '{MARK}wage')",
)


def write_sql(messages: list[Any]) -> dict[str, Any]:
    """Return the statement that a question quotes, or alternatives for the question `BEST`."""
    quoted = re.findall(r"Run `([^`]+)`", str(messages[-1].content))
    return {**COUNT, "sql": quoted[-1]} if quoted else asks_about_best(messages)


@pytest.fixture(scope="module")
def shared_server(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with two tenants; one of them may only use a source with row rules and a secret column."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "other").mkdir()
    shop = {
        "url": url(make_database(folder, *PEOPLE)),
        "description": "Shoes by region",
        "row_rules": {"shoes": "region = :region", "payroll": "deny"},
        "secret_columns": ["staff.email"],
    }
    other = url(make_table(folder / "other", "thing TEXT", [[f"{MARK}thing"]], table="things"))
    settings = {
        "sources": {"shop": shop, "other": other},
        "api_keys": KEYS,
        "tenants": {
            "acme": {"sources": ["shop"], "row_parameters": {"region": "north"}},
            "beta": {"sources": ["shop", "other"], "row_parameters": {"region": "south"}},
        },
        "run_sql": True,
        "data_dir": folder / "served",
        # Both tenants have the same record.
        "record_url": f"sqlite:///{folder}/record.sqlite",
    }
    with serving(cache_dir, {"GeneratedSQL": [write_sql]}, **settings) as server:
        yield server


def test_without_a_key_nothing_is_served(served: Served) -> None:
    for headers in ({}, {"Authorization": "Bearer dsk_wrong"}):
        response = served.http.post("/mcp", json=HELLO, headers={**HEADERS, **headers})
        assert (response.status_code, response.json()["code"]) == (401, "key_missing")
        assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.heavy
def test_a_tenant_has_its_own_sources_and_rows(served: Served) -> None:
    asked = {"question": "Run `SELECT region, pairs FROM shoes`", "clarify": "never", "source": "shop"}
    shop, other = ("shop", "Shoes by region"), ("other", "")
    for key, sources, region in ((ACME, [shop], "north"), (BETA, [shop, other], "south")):
        listed = content(call(served, "sources", key=key))["sources"]
        assert [(each["name"], each["description"]) for each in listed] == sources
        assert [row[0] for row in content(call(served, "ask", key=key, **asked))["rows"]] == [region]
        statement = {"sql": "SELECT region FROM shoes", "source": "shop"}
        assert content(call(served, "run_sql", key=key, **statement))["rows"] == [[region]]
    for tool, given in (("schema", {}), ("check_sql", {"sql": "SELECT 1"}), ("ask", {"question": "Which things?"})):
        refused = call(served, tool, key=ACME, source="other", **given)
        assert code_of(refused) == "source_not_found", tool


def test_secret_values_are_masked_because_a_model_reads_them(served: Served) -> None:
    sql = "SELECT name, email FROM staff ORDER BY name"
    asked = {"question": f"Run `{sql}`", "clarify": "never", "source": "shop"}
    results = [
        call(served, "ask", key=ACME, **asked),
        call(served, "run_sql", key=ACME, sql=sql, source="shop"),
        call(served, "schema", key=ACME, tables=["staff"]),
    ]
    rows = [["Ann", "***"], ["Ben", "***"]]
    assert [content(result)["rows"] for result in results[:2]] == [rows, rows]
    assert "Ann" in content(results[0])["answer"] and "***" in content(results[0])["answer"]
    assert MARK not in "".join(result.model_dump_json() for result in results)


def test_a_denied_table_is_not_described_in_errors(served: Served) -> None:
    for sql in ("SELECT wage_band FROM payroll", "SELECT wage_ban FROM payroll", "SELECT wage_ban FROM staff"):
        for tool in ("check_sql", "run_sql"):
            text = call(served, tool, key=ACME, sql=sql, source="shop").model_dump_json()
            assert "wage_band" not in text.replace(sql, "") and MARK not in text, (tool, sql)
            assert "statement_refused" in text or "names_unknown" in text
    assert "payroll" not in call(served, "schema", key=ACME).model_dump_json()
    assert code_of(call(served, "schema", key=ACME, tables=["payroll"])) == "input_invalid"


def test_threads_and_traces_of_other_tenants_are_unknown(served: Served) -> None:
    asked = {"question": "Run `SELECT COUNT(*) AS people FROM staff`", "clarify": "never", "source": "shop"}
    answer = content(call(served, "ask", key=ACME, **asked))
    ran = content(call(served, "run_sql", key=ACME, sql="SELECT 1 AS one", source="shop"))
    for trace_id in (answer["trace_id"], ran["trace_id"]):
        assert content(call(served, "explain_answer", key=ACME, trace_id=trace_id))["sql"]
        assert code_of(call(served, "explain_answer", key=BETA, trace_id=trace_id)) == "trace_unknown"
    for given in ({"question": "And now?"}, {"clarification_answer": "1"}):
        assert code_of(call(served, "ask", key=BETA, thread=answer["thread"], **given)) == "thread_unknown"


def test_a_session_belongs_to_the_tenant_that_opened_it(served: Served) -> None:
    acme, beta = ({**HEADERS, "Authorization": f"Bearer {key}"} for key in (ACME, BETA))
    opened = served.http.post("/mcp", json=HELLO, headers=acme)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert served.http.post("/mcp", json=ready, headers={**acme, **session}).status_code == 202
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert served.http.post("/mcp", json=listing, headers={**beta, **session}).status_code == 404
    assert served.http.delete("/mcp", headers={**beta, **session}).status_code == 404
    mine = served.http.post("/mcp", json=listing, headers={**acme, **session})
    assert mine.status_code == 200 and "explain_answer" in mine.text
    assert served.http.delete("/mcp", headers={**acme, **session}).status_code == 200
    assert served.http.post("/mcp", json=listing, headers={**acme, **session}).status_code == 404


def test_the_state_of_a_repeated_call_is_that_of_the_tenant_and_the_call(cache_dir: Path, tmp_path: Path) -> None:
    asked, form = {"question": BEST}, {"clarification": ElicitResult(action="accept", content={"option": "by amount"})}

    async def begin(client: Client) -> str:
        result = await client.session.call_tool("datasphinx_ask", asked, allow_input_required=True)
        assert isinstance(result, InputRequiredResult) and result.request_state
        return result.request_state

    with serving(cache_dir, {"GeneratedSQL": [asks_about_best]}, api_keys=KEYS, data_dir=tmp_path) as server:
        state = talk(server, begin, key=ACME, elicitation_callback=User())

        def repeat(key: str, given: dict[str, str]) -> CallToolResult:
            async def script(client: Client) -> CallToolResult:
                return await client.call_tool("datasphinx_ask", given, input_responses=form, request_state=state)

            return talk(server, script, key=key)

        for key, given in ((BETA, asked), (ACME, {"question": "How many?"})):
            with pytest.raises(MCPError, match="requestState"):
                repeat(key, given)
        assert content(repeat(ACME, asked))["sql"] == BY_AMOUNT


def test_questions_are_counted_as_over_http(cache_dir: Path, tmp_path: Path) -> None:
    settings = {
        "api_keys": {"acme": hash_of(ACME)},
        "tenants": {"acme": {"questions_per_minute": 2}},
        "run_sql": True,
        "data_dir": tmp_path,
    }
    with serving(cache_dir, **settings) as server:
        asked = {"question": "How many orders were placed?"}
        assert content(call(server, "ask", key=ACME, **asked))["rows"]
        assert content(call(server, "run_sql", key=ACME, sql="SELECT 1 AS one"))["rows"]
        for tool, given in (("ask", asked), ("run_sql", {"sql": "SELECT 1 AS one"})):
            assert code_of(call(server, tool, key=ACME, **given)) == "limit_reached"
        over_http = server.http.post(
            "/agent/invoke", json={"input": asked}, headers={"Authorization": f"Bearer {ACME}"}
        )
        assert over_http.status_code == 429
        assert content(call(server, "check_sql", key=ACME, sql="SELECT 1 AS one"))["allowed"]


def test_hostile_arguments_are_refused_by_name(served: Served) -> None:
    huge = "x" * 200_000
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("ask", {"question": huge}, "question"),
        ("ask", {"question": ["a"]}, "question"),
        ("ask", {"question": 7}, "question"),
        ("ask", {}, "exactly one"),
        ("ask", {"question": "x", "clarification_answer": "1"}, "exactly one"),
        ("ask", {"question": "x", "thread": "../../etc/passwd"}, "`thread`"),
        ("ask", {"question": "x", "thread": huge}, "`thread`"),
        ("ask", {"question": "x", "clarify": "perhaps"}, "clarify"),
        ("ask", {"question": "x", "load": {"files": ["/etc/passwd"]}}, "load"),
        ("ask", {"question": "x", huge: 1}, "xxx"),
        ("schema", {"tables": []}, "tables"),
        ("schema", {"tables": ["t"] * 1000}, "tables"),
        ("schema", {"search": huge}, "search"),
        ("check_sql", {"sql": huge}, "sql"),
        ("check_sql", {"sql": {"a": 1}}, "sql"),
        ("run_sql", {"sql": None}, "sql"),
        ("explain_answer", {"trace_id": "0"}, "trace_id"),
        ("explain_answer", {"trace_id": "%" * 32}, "trace_id"),
        ("sources", {"all": True}, "all"),
    )
    for tool, given, name in cases:
        given = given if tool in ("sources", "explain_answer") else {"source": "shop", **given}
        result = call(served, tool, key=BETA, **given)
        (part,) = result.content
        assert code_of(result) == "input_invalid", (tool, name)
        assert name in part.text and len(part.text) < 1000, (tool, name)  # type: ignore[union-attr]
    for source in ("sqlite:////etc/passwd", "../shop", huge, "sample", ""):
        assert code_of(call(served, "schema", key=BETA, source=source)) == "source_not_found"
    assert not served.model.calls


def test_statements_that_write_never_run(served: Served) -> None:
    for sql in (
        "DELETE FROM shoes",
        "SELECT 1; DELETE FROM shoes",
        "WITH gone AS (DELETE FROM shoes RETURNING *) SELECT * FROM gone",
        "ATTACH DATABASE '/tmp/x.db' AS x",
        "PRAGMA writable_schema = 1",
        "SELECT load_extension('x')",
        "SELECT * FROM sqlite_master",
        "SELECT writefile('/tmp/x', 'y')",
    ):
        assert not content(call(served, "check_sql", key=BETA, sql=sql, source="shop"))["allowed"], sql
        assert code_of(call(served, "run_sql", key=BETA, sql=sql, source="shop")) == "statement_refused", sql
    rows = content(call(served, "run_sql", key=BETA, sql="SELECT COUNT(*) AS n FROM shoes", source="shop"))["rows"]
    assert rows == [[1]]


def test_tables_and_sources_of_others_are_unknown(served: Served) -> None:
    for given in (
        {"source": "../other"},
        {"source": "sqlite:////etc/passwd"},
        {"source": "file:///etc/passwd"},
        {"source": "a" * 10_000},
        {"source": "shop", "tables": ["payroll"]},
        {"source": "shop", "tables": ["../../etc/passwd"]},
    ):
        refused = call(served, "schema", key=ACME, **given)
        assert refused.is_error and code_of(refused) in ("source_not_found", "input_invalid"), given
        assert len(refused.content[0].text) < 500 and MARK not in refused.content[0].text  # type: ignore[union-attr]


def test_a_request_that_is_too_large_is_refused(served: Served) -> None:
    headers = {**HEADERS, "Authorization": f"Bearer {ACME}"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {"question": ""}}}
    body["params"]["arguments"]["question"] = "x" * 2_000_000  # type: ignore[index]
    response = served.http.post("/mcp", json=body, headers=headers)
    assert (response.status_code, response.json()["code"]) == (413, "request_too_large")
    nested = b'{"jsonrpc":"2.0","id":1,"method":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    for content_sent in (nested, b"", b"{", b"[]", b"null", json.dumps([HELLO] * 100).encode(), b"\xff\xfe"):
        response = served.http.post(
            "/mcp", content=content_sent, headers={**headers, "Content-Type": "application/json"}
        )
        assert 400 <= response.status_code < 500, content_sent


@pytest.mark.heavy
def test_unpaired_surrogates_and_unusual_answers_to_forms(cache_dir: Path) -> None:
    with serving(cache_dir, {"GeneratedSQL": [asks_about_best]}) as server:
        headers = {**HEADERS, "Content-Type": "application/json", "MCP-Protocol-Version": "2025-06-18"}
        opened = server.http.post("/mcp", json=HELLO, headers=headers)
        session = {**headers, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
        text = (
            '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"check_sql","arguments":{"sql":"\\ud800"}}}'
        )
        response = server.http.post("/mcp", content=text.encode(), headers=session)
        assert response.status_code < 500
        for mode in MODES:
            odd = ElicitResult(action="accept", content={"option": "by amount", "more": ["x"] * 1000})
            assert content(call(server, "ask", mode=mode, user=User(odd), question=BEST))["sql"] == BY_AMOUNT
            long = ElicitResult(action="accept", content={"own_words": "x" * 5000})
            assert code_of(call(server, "ask", mode=mode, user=User(long), question=BEST)) == "input_invalid"
