"""The Model Context Protocol over HTTP with the official client: tools, clarifying questions."""

import json
import re
import shlex
import threading
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import ElicitResult

from datasphinx.agent.settings import Settings
from tests.agent.server.mcp.clients import MODES, User, call, code_of, content, talk
from tests.agent.server.serving import ASKED, COUNT, Served, serving
from tests.agent.sql.engines import ENDLESS
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT, BY_ORDERS, asks_about_best
from tests.support.commands import Run
from tests.support.databases import make_database, url
from tests.support.generated_docs import ROOT

TOOLS = [f"datasphinx_{name}" for name in ("ask", "report", "sources", "schema", "check_sql", "explain_answer")]


def test_tools_are_read_only_and_have_schemas(served: Served) -> None:
    for mode in MODES:
        tools = talk(served, lambda client: client.list_tools(), mode=mode).tools
        assert [tool.name for tool in tools] == TOOLS
        for tool in tools:
            assert tool.annotations and tool.annotations.read_only_hint and tool.description, tool.name
            assert tool.input_schema["additionalProperties"] is False and tool.output_schema, tool.name


def test_a_question_has_an_answer_with_its_proof(served: Served) -> None:
    progress: list[tuple[float, str | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        progress.append((done, message))

    for mode in MODES:
        progress.clear()
        result = talk(
            served, lambda client: client.call_tool("datasphinx_ask", dict(ASKED), progress_callback=note), mode=mode
        )
        answer = content(result)
        over_http = served.invoke(**ASKED)
        table = over_http["tables"][0]
        assert (answer["status"], answer["answer"], answer["sql"]) == ("ok", over_http["answer"], over_http["sql"])
        assert (answer["columns"], answer["rows"], answer["row_count"]) == (table["columns"], table["rows"], 1)
        assert answer["confidence"] == over_http["confidence"] and not answer["more_rows"]
        assert json.loads(result.content[0].text) == answer  # type: ignore[union-attr]
        assert [done for done, _ in progress] == sorted(done for done, _ in progress) and len(progress) > 3
        assert any(message and "execute_sql" in message for _, message in progress)


def test_progress_goes_on_while_the_model_is_called(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.server.mcp.answering.PROGRESS_S", 0.01)
    progress: list[float] = []
    several = threading.Event()

    async def note(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)
        if len(progress) == 30:
            several.set()

    def answer(messages: Any) -> dict[str, Any]:
        assert several.wait(10)
        return COUNT

    with serving(cache_dir, {"GeneratedSQL": [answer]}) as server:
        for mode in MODES:
            progress.clear()
            several.clear()
            ask = lambda client: client.call_tool("datasphinx_ask", dict(ASKED), progress_callback=note)  # noqa: E731
            assert content(talk(server, ask, mode=mode))["status"] == "ok"
            assert len(progress) > 30 and progress == sorted(set(progress))


@pytest.mark.heavy
def test_a_call_that_takes_longer_ends_with_an_id_to_fetch_the_answer(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering = "datasphinx.agent.server.mcp.answering.ANSWER_WITHIN_S"
    released = threading.Event()

    def answer(_: Any) -> dict[str, Any]:
        assert released.wait(20)
        return COUNT

    with serving(cache_dir, {"GeneratedSQL": [answer]}) as server:
        for mode in MODES:
            released.clear()
            with monkeypatch.context() as patched:
                patched.setattr(answering, 0)
                first = content(call(server, "ask", mode=mode, **ASKED))
                again = content(call(server, "ask", mode=mode, run=first["run"]))
                report = content(call(server, "report", mode=mode, request="An overview", questions=["How many?"]))
            assert first["status"] == again["status"] == report["status"] == "running" and again["run"] == first["run"]
            released.set()
            for _ in range(2):
                fetched = content(call(server, "ask", mode=mode, run=first["run"]))
                assert (fetched["status"], fetched["sql"], fetched["run"]) == ("ok", COUNT["sql"], None)
            assert "10,127" in content(call(server, "report", mode=mode, run=report["run"]))["report"]
            assert code_of(call(server, "ask", mode=mode, run=report["run"])) == "run_elsewhere"


def test_a_follow_up_continues_the_thread_of_any_interface(served: Served) -> None:
    async def script(client: Client) -> list[dict[str, Any]]:
        first = content(await client.call_tool("datasphinx_ask", dict(ASKED)))
        return [
            first,
            content(await client.call_tool("datasphinx_ask", {"question": "as a table", "thread": first["thread"]})),
        ]

    first, second = talk(served, script)
    assert second["thread"] == first["thread"]
    turns = served.http.get(f"/threads/{first['thread']}/history").json()["runs"]
    assert [run["trace_id"] for run in turns] == [second["trace_id"], first["trace_id"]]


def test_an_answer_is_explained_by_its_record(served: Served) -> None:
    answer = content(call(served, "ask", **ASKED))
    explanation = content(call(served, "explain_answer", trace_id=answer["trace_id"]))
    assert (explanation["question"], explanation["answer"]) == (ASKED["question"], answer["answer"])
    assert (explanation["sql"], explanation["error"]) == (answer["sql"], None)
    statements = [statement for step in explanation["steps"] for statement in step["statements"]]
    assert [(each["sql"], each["rows"]) for each in statements] == [(answer["sql"], 1)]
    assert explanation["llm_calls"] >= 1 and explanation["tokens"] > 0


def test_the_schema_is_listed_searched_and_described(served: Served) -> None:
    assert content(call(served, "sources")) == {"sources": [{"name": "sample", "dialect": "sqlite", "description": ""}]}
    everything = content(call(served, "schema"))
    assert everything["dialect"] == "sqlite" and everything["table_count"] == len(everything["tables"]) > 3
    found = content(call(served, "schema", search="customers and their names", source="sample"))
    assert found["tables"][0] == "customers" and "customers(" in found["description"]
    described = content(call(served, "schema", tables=["ORDERS"]))
    assert described["tables"] == ["orders"] and "order_id INTEGER" in described["description"]
    assert code_of(call(served, "schema", tables=["orders", "nothing"])) == "input_invalid"
    assert code_of(call(served, "schema", source="elsewhere")) == "source_not_found"
    assert not served.model.calls


def test_a_statement_is_checked_without_running_it(served: Served) -> None:
    allowed = content(call(served, "check_sql", sql="select count(*) from orders"))
    assert allowed == {"allowed": True, "sql": "SELECT count(*) FROM orders", "error": None, "warnings": []}
    cross = content(call(served, "check_sql", sql="SELECT COUNT(*) FROM orders, customers"))
    assert cross["allowed"] and cross["warnings"]
    absent = content(call(served, "check_sql", sql="SELECT COUNT(*) FROM orders WHERE status = 'deliverd'"))
    assert absent["allowed"] and "'delivered'" in absent["warnings"][0]
    for sql, code in (
        ("DELETE FROM orders", "statement_refused"),
        ("SELECT 1; DROP TABLE orders", "statement_refused"),
        ("SELECT * FROM sqlite_master", "statement_refused"),
        ("SELECT colour FROM orders", "names_unknown"),
        ("SELECT FROM WHERE", "statement_refused"),
    ):
        refused = content(call(served, "check_sql", sql=sql))
        assert (refused["allowed"], refused["sql"], refused["error"]["code"]) == (False, None, code), sql


def test_statements_run_only_if_the_settings_allow_it(
    served: Served, cache_dir: Path, tmp_path: Path, run: Run
) -> None:
    with pytest.raises(MCPError, match="datasphinx_ask, datasphinx_report"):
        call(served, "run_sql", sql="SELECT 1")
    with serving(cache_dir, run_sql=True, data_dir=tmp_path / "data") as server:
        result = content(call(server, "run_sql", sql="SELECT order_id FROM orders ORDER BY order_id"))
        refused = call(server, "run_sql", sql="UPDATE orders SET status = 'x'")
        explanation = content(call(server, "explain_answer", trace_id=result["trace_id"]))
        replayed = server.http.post(f"/traces/{result['trace_id']}/replay")
        recorded = [event.content for event in server.services.store.scan()]  # type: ignore[union-attr]
    assert (result["columns"], result["rows"][0]) == (["order_id"], [1])
    assert len(result["rows"]) == 200 < result["row_count"] and result["more_rows"]
    assert code_of(refused) == "statement_refused"
    assert [statement["rows"] for step in explanation["steps"] for statement in step["statements"]] == [
        result["row_count"]
    ]
    assert (replayed.status_code, replayed.json()["code"]) == (404, "trace_unknown")
    listed = json.loads(run("trace", "list", "--json")[1])["runs"]
    assert [each["question"] for each in listed] == [
        "UPDATE orders SET status = 'x'",
        "SELECT order_id FROM orders ORDER BY order_id",
    ]
    assert listed[0]["status"] == "statement_refused"
    outputs = [body for body in recorded if "tables" in body]
    assert [output["error"] and output["error"]["code"] for output in outputs] == [None, "statement_refused"]
    assert not server.model.calls


@pytest.mark.heavy
def test_a_clarifying_question_is_put_to_the_user(cache_dir: Path) -> None:
    labels = ["by orders", "by amount"]
    replies: tuple[tuple[ElicitResult, str | None], ...] = (
        (ElicitResult(action="accept", content={"option": "by amount"}), BY_AMOUNT),
        (ElicitResult(action="accept", content={"option": "by orders", "own_words": " 2 "}), BY_AMOUNT),
        (ElicitResult(action="accept", content={"option": "by amount", "own_words": ""}), BY_AMOUNT),
        (ElicitResult(action="decline"), None),
        (ElicitResult(action="accept", content={"option": " "}), None),
    )
    with serving(cache_dir, {"GeneratedSQL": [asks_about_best]}) as server:
        for mode in MODES:
            for reply, sql in replies:
                user = User(reply)
                answer = content(call(server, "ask", mode=mode, user=user, question=BEST))
                (form,) = user.forms
                fields = form.requested_schema["properties"]
                assert fields["option"]["enum"] == labels
                # Clients such as fastmcp send null for a field that has no default, and refuse the form as invalid.
                assert (fields["option"]["default"], fields["own_words"]["default"]) == (labels[0], "")
                assert ASKS["question"] in form.message and "2. by amount" in form.message
                if sql:
                    assert (answer["status"], answer["sql"]) == ("ok", sql)
                else:
                    # The question stays open, and a later call can answer it.
                    assert (answer["status"], answer["clarification"]["options"]) == ("clarification", labels)
                    later = call(server, "ask", thread=answer["thread"], clarification_answer="1")
                    assert content(later)["sql"] == BY_ORDERS


@pytest.mark.heavy
def test_a_client_without_forms_answers_on_the_thread(cache_dir: Path) -> None:
    with serving(cache_dir, {"GeneratedSQL": [asks_about_best]}) as server:
        for mode in MODES:
            first = content(call(server, "ask", mode=mode, question=BEST))
            assert (first["status"], first["clarification"]["question"]) == ("clarification", ASKS["question"])
            again = content(call(server, "ask", thread=first["thread"], clarification_answer="by amount"))
            assert (again["status"], again["sql"], again["thread"]) == ("ok", BY_AMOUNT, first["thread"])
        assert content(call(server, "ask", question=BEST, clarify="never"))["rows"]


def test_errors_have_no_content_that_the_output_schema_forbids(served: Served) -> None:
    for mode in MODES:
        schemas = {tool.name: tool.output_schema for tool in talk(served, lambda c: c.list_tools(), mode=mode).tools}
        for tool, given, code in (
            ("ask", {"question": "How many?", "source": "elsewhere"}, "source_not_found"),
            ("ask", {"question": "How many?", "thread": "0" * 32}, "thread_unknown"),
            ("schema", {"tables": ["nothing"]}, "input_invalid"),
            ("explain_answer", {"trace_id": "0" * 32}, "trace_unknown"),
        ):
            result = call(served, tool, mode=mode, **given)
            assert code_of(result) == code and result.content
            schema = schemas[f"datasphinx_{tool}"] or {}
            assert result.structured_content is None or set(result.structured_content) == set(schema["required"]), tool


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "question, clarification_answer"),
        ({"question": "How many?", "clarification_answer": "1"}, "question, clarification_answer"),
        ({"clarification_answer": "1"}, "needs thread"),
        ({"clarification_answer": "1", "thread": "0" * 32, "source": "sample"}, "source comes with a question"),
        ({"question": "How many?", "thread": "unknown"}, "`thread`"),
    ],
)
def test_errors_name_the_arguments_of_the_tool(served: Served, given: dict[str, str], told: str) -> None:
    result = call(served, "ask", **given)
    text = result.content[0].text  # type: ignore[union-attr]
    assert code_of(result) == "input_invalid" and told in text
    assert not any(name in text for name in ("thread_id", "feedback", "datasets"))


def test_errors_are_those_of_the_project(served: Served) -> None:
    unknown = call(served, "ask", question="How many?", thread="0" * 32)
    assert code_of(unknown) == "thread_unknown"
    assert unknown.content[0].type == "text" and "0" * 32 in unknown.content[0].text
    trace = talk(
        served,
        lambda client: client.call_tool("datasphinx_explain_answer", {"trace_id": "0" * 32}),
        headers={"Accept-Language": "ru"},
    )
    assert code_of(trace) == "trace_unknown" and "запуска" in trace.content[0].text  # type: ignore[union-attr]
    problems = served.http.get("/metrics").text
    assert 'datasphinx_problems_total{code="trace_unknown"}' in problems


@pytest.mark.heavy
def test_a_question_ends_in_time(cache_dir: Path) -> None:
    endless = {"GeneratedSQL": [{**COUNT, "sql": ENDLESS}]}
    with serving(cache_dir, endless, max_question_s=1, run_sql=True, enable_sql_validation=False) as server:
        for mode in MODES:
            assert code_of(call(server, "ask", mode=mode, **ASKED)) == "request_timeout"
        assert code_of(call(server, "run_sql", sql=ENDLESS)) == "request_timeout"


def test_the_schema_comes_with_the_knowledge_about_the_visible_tables(cache_dir: Path, tmp_path: Path) -> None:
    shop = make_database(tmp_path, "CREATE TABLE shoes (kind TEXT, price REAL)", "CREATE TABLE staff (name TEXT)")
    folder = tmp_path / "knowledge"
    folder.mkdir()
    (folder / "shop.yml").write_text(
        "metrics:\n  turnover: {expression: SUM(shoes.price), unit: EUR}\n"
        "terms:\n  crew: {definition: All staff., condition: staff.name IS NOT NULL}\n"
        "calendar: {fiscal_year_start: 4}\ninstructions: [Prices include tax.]\n"
    )
    source = {"url": url(shop), "knowledge": str(folder), "row_rules": {"staff": "deny"}}

    with serving(cache_dir, sources={"my shop": source}) as server:
        schema = content(call(server, "schema"))
        described = content(call(server, "schema", tables=["shoes"]))
    assert schema["description"] == "shoes(kind, price)" and "table shoes" in described["description"]
    for knowledge in (schema["knowledge"], described["knowledge"]):
        assert "metric 'turnover': SUM(shoes.price)" in knowledge and "April" in knowledge
        assert "Prices include tax." in knowledge
        assert "crew" not in knowledge and "staff" not in knowledge


def test_a_server_without_the_package_says_so(served: Served, monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> None:
    monkeypatch.setattr("datasphinx.agent.server.routes.mcp.find_spec", lambda name: None)
    with serving(cache_dir) as server:
        response = server.post("/mcp", jsonrpc="2.0", id=1, method="tools/list")
    assert (response.status_code, response.json()["code"]) == (501, "driver_missing")
    assert served.http.get("/mcp").status_code == 405
    for headers in ({"Host": "data.example"}, {"Origin": "https://elsewhere.example"}):
        assert served.http.post("/mcp", json={}, headers=headers).status_code == 403


def test_the_call_of_the_documentation_answers(served: Served) -> None:
    (command,) = re.findall(r"^curl .*/mcp .*$", (ROOT / "docs/mcp.md").read_text(encoding="utf-8"), re.MULTILINE)
    words = shlex.split(command)
    headers = dict(words[at + 1].split(": ") for at, word in enumerate(words) if word == "-H")
    response = served.http.post("/mcp", content=words[words.index("-d") + 1], headers=headers)
    assert response.status_code == 200
    assert response.json()["result"]["structuredContent"]["rows"] == [[10127]]


def test_the_configurations_of_the_documentation_name_settings_and_the_command(served: Served) -> None:
    page = (ROOT / "docs/mcp.md").read_text(encoding="utf-8")
    blocks = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    entries = [
        entry for block in blocks for entry in {**block.get("mcpServers", {}), **block.get("servers", {})}.values()
    ]
    commands = [entry for entry in entries if "command" in entry]
    assert (len(blocks), len(commands)) == (3, 2)
    for entry in commands:
        assert entry["args"] == ["mcp"]
        given = {name.removeprefix("DATASPHINX_").lower(): value for name, value in entry["env"].items()}
        assert set(given) <= set(Settings.model_fields), entry
    tools = talk(served, lambda client: client.list_tools()).tools
    shown = {
        row[0]: set(re.findall(r"`(\w+)`", row[1]))
        for row in re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.MULTILINE)
    }
    assert {tool.name: set(tool.input_schema.get("properties", {})) for tool in tools} == {
        name: arguments for name, arguments in shown.items() if name != "datasphinx_run_sql"
    }


def test_a_failed_start_of_sessions_fails_its_requests_and_is_tried_again(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[None] = []
    start = StreamableHTTPSessionManager.run

    def failing_at_first(manager: StreamableHTTPSessionManager) -> Any:
        starts.append(None)
        if len(starts) == 1:
            raise OSError("no more files")
        return start(manager)

    monkeypatch.setattr(StreamableHTTPSessionManager, "run", failing_at_first)
    with serving(cache_dir, {"GeneratedSQL": [COUNT]}) as server:
        assert server.http.post("/mcp", json={}).status_code == 500
        tools = talk(server, lambda client: client.list_tools()).tools
    assert [tool.name for tool in tools] == TOOLS
