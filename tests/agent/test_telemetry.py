"""Spans and metrics of OpenTelemetry: their tree, their names, what they contain, and how they are linked."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import (
    db_attributes,
    error_attributes,
    gen_ai_attributes,
    server_attributes,
)
from opentelemetry.semconv._incubating.metrics import db_metrics, gen_ai_metrics
from opentelemetry.trace import SpanKind, StatusCode

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.core.version import package_version
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.store import Store
from datasphinx.agent.replay import replay
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.analysis.conftest import TOTAL, step
from tests.agent.server.mcp.clients import MODES, content, talk
from tests.agent.server.serving import ASKED, COUNT, Served, serving
from tests.agent.tools.conftest import RETURNS
from tests.conftest import MakeAgent, ScriptedAgent
from tests.support.collector import Collector
from tests.support.databases import make_table, url
from tests.support.fake_openai import FakeOpenAI

pytestmark = pytest.mark.integration

QUESTION = "How much is the marmalade?"
SQL = "SELECT SUM(price) AS total FROM goods WHERE thing = 'marmalade'"
PRICE = {"sql": SQL, "assumptions": [], "off_topic": False}
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
Ask = Callable[..., dict[str, Any]]


class Telemetry:
    """What the process has exported since the test began."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._spans))
        trace.set_tracer_provider(provider)
        self._metrics = InMemoryMetricReader({Histogram: AggregationTemporality.DELTA})
        metrics.set_meter_provider(MeterProvider([self._metrics]))

    def clear(self) -> None:
        self._spans.clear()
        self._metrics.get_metrics_data()

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._spans.get_finished_spans())

    def named(self, prefix: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name.startswith(prefix)]

    def one(self, prefix: str) -> ReadableSpan:
        (span,) = self.named(prefix)
        return span

    def points(self) -> list[tuple[str, str | None, dict[str, Any], int, float]]:
        """Return name, unit, attributes, count and sum of each histogram."""
        data = self._metrics.get_metrics_data()
        return [
            (metric.name, metric.unit, dict(point.attributes), point.count, point.sum)
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
        ]


@pytest.fixture(scope="module")
def providers() -> Telemetry:
    """The providers that the program sets; OpenTelemetry accepts them once per process."""
    return Telemetry()


@pytest.fixture
def telemetry(providers: Telemetry) -> Telemetry:
    providers.clear()
    return providers


@pytest.fixture
def goods(tmp_path: Path) -> str:
    return url(make_table(tmp_path, "thing TEXT, price INTEGER", [("marmalade", 31), ("honey", 57)], table="goods"))


@pytest.fixture
def agent(goods: str, cache_dir: Path, telemetry: Telemetry) -> MakeAgent:
    """A maker of agents about goods: answers to `GeneratedSQL`, and settings. Schema and codes are read before."""

    def make(*answers: Any, **settings: Any) -> ScriptedAgent:
        model = ScriptedModel({"GeneratedSQL": answers or (PRICE,)})
        options: Any = {"otel": True, "clarify": "never", "effort": "low", **settings}
        services = Services(load_settings(cache_dir=cache_dir, source=goods, **options), model=model)
        source = services.source()
        source.code_meanings(source.catalog.selection())
        telemetry.clear()
        return ScriptedAgent(build_graph(services), model, services)

    return make


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def parent_id(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def test_a_question_is_a_tree_of_run_nodes_calls_and_statements(agent: MakeAgent, telemetry: Telemetry) -> None:
    output = agent().ask(QUESTION)
    assert (output["error"], output["value"]) == (None, 31)

    run = telemetry.one("invoke_agent agent")
    assert attributes(run) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "agent",
        "datasphinx.trace_id": output["audit"]["trace_id"],
    }
    nodes = telemetry.named("node ")
    assert [span.name for span in nodes] == [f"node {each['node']}" for each in output["audit"]["steps"]]
    assert {parent_id(span) for span in nodes} == {run.context.span_id} and run.parent is None
    assert len({span.context.trace_id for span in telemetry.spans}) == 1

    call = telemetry.one("chat scripted")
    tokens = output["audit"]["steps"][[span.name for span in nodes].index("node generate_sql")]["calls"][0]
    assert parent_id(call) == telemetry.one("node generate_sql").context.span_id
    assert call.kind is SpanKind.CLIENT and attributes(call) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "scripted",
        "gen_ai.output.type": "json",
        "gen_ai.usage.input_tokens": tokens["prompt_tokens"],
        "gen_ai.usage.output_tokens": tokens["completion_tokens"],
        "gen_ai.usage.cache_read.input_tokens": 0,
        "datasphinx.schema": "GeneratedSQL",
    }
    statement = telemetry.one("SELECT goods")
    assert parent_id(statement) == telemetry.one("node execute_sql").context.span_id
    assert statement.kind is SpanKind.CLIENT and attributes(statement) == {
        "db.system.name": "sqlite",
        "db.namespace": "odd.sqlite",
        "db.operation.name": "SELECT",
        "db.query.summary": "SELECT goods",
        "db.response.returned_rows": 1,
    }
    for inner, outer in ((call, telemetry.one("node generate_sql")), (statement, telemetry.one("node execute_sql"))):
        assert outer.start_time <= inner.start_time <= inner.end_time <= outer.end_time  # type: ignore[operator]


def test_spans_and_metrics_have_no_text_and_no_values(agent: MakeAgent, telemetry: Telemetry) -> None:
    broken = {**PRICE, "sql": "SELECT nonsense_of_model FROM goods WHERE thing = 'marmalade'"}
    output = agent(broken, PRICE).ask(QUESTION)
    assert output["value"] == 31
    points = telemetry.points()
    given = [attributes(span) for span in telemetry.spans] + [each for _, _, each, _, _ in points]
    texts = [str(value) for each in given for value in each.values()] + [span.name for span in telemetry.spans]
    assert len(texts) > 30
    for text in ("marmalade", "How much", "nonsense", "WHERE", "total"):
        assert not [each for each in texts if text in each], text
    assert "31" not in texts and not any(span.events for span in telemetry.spans)


def test_texts_are_exported_if_the_setting_allows_it_without_secrets(agent: MakeAgent, telemetry: Telemetry) -> None:
    question = f"{QUESTION} key-of-the-model"
    output = agent(otel_text=True, llm_api_key="key-of-the-model", llm_base_url="http://127.0.0.1:9/v1").ask(question)
    run, call = attributes(telemetry.one("invoke_agent")), attributes(telemetry.one("chat"))
    asked = {"role": "user", "parts": [{"type": "text", "content": f"{QUESTION} ***"}]}
    assert json.loads(run["gen_ai.input.messages"]) == [asked]
    assert json.loads(run["gen_ai.output.messages"])[0]["parts"][0]["content"] == output["answer"]
    prompt = json.loads(call["gen_ai.input.messages"])
    assert [each["role"] for each in prompt] == ["system", "user"] and QUESTION in prompt[1]["parts"][0]["content"]
    assert SQL in json.loads(json.loads(call["gen_ai.output.messages"])[0]["parts"][0]["content"])["sql"]
    assert attributes(telemetry.one("SELECT goods"))["db.query.text"] == SQL
    assert "key-of-the-model" not in "".join(span.to_json() for span in telemetry.spans)


def test_errors_are_their_codes(agent: MakeAgent, telemetry: Telemetry) -> None:
    failing = {**PRICE, "sql": "SELECT abs(-9223372036854775807 - 1) AS marmalade FROM goods"}
    output = agent(failing, max_sql_generations=0).ask(QUESTION)
    code = output["error"]["code"]
    statement, run = telemetry.one("SELECT goods"), telemetry.one("invoke_agent")
    for span, expected in ((statement, "statement_failed"), (run, code)):
        assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None), span.name
        assert attributes(span)["error.type"] == expected
    points = {(name, given.get("error.type")) for name, _, given, _, _ in telemetry.points()}
    assert {
        ("db.client.operation.duration", "statement_failed"),
        ("gen_ai.client.operation.duration", None),
    } <= points


def test_names_are_those_of_the_conventions(agent: MakeAgent, telemetry: Telemetry) -> None:
    agent(RuntimeError("no"), otel_text=True).ask(QUESTION)
    agent(otel_text=True).ask(QUESTION)
    modules = (db_attributes, error_attributes, gen_ai_attributes, server_attributes, db_metrics, gen_ai_metrics)
    known = {value for module in modules for value in vars(module).values() if isinstance(value, str)}
    points = telemetry.points()
    used = {name for span in telemetry.spans for name in attributes(span)}
    used |= {name for _, _, given, _, _ in points for name in given} | {name for name, *_ in points}
    assert {name for name in used if not name.startswith("datasphinx.")} <= known
    assert len(used) > 15


def test_metrics_match_the_spans(agent: MakeAgent, telemetry: Telemetry) -> None:
    output = agent().ask(QUESTION)
    counted = {
        (name, unit, given.get("gen_ai.operation.name") or given.get("datasphinx.node") or given.get("db.system.name")):
        (count, total) for name, unit, given, count, total in telemetry.points() if "gen_ai.token.type" not in given
    }  # fmt: skip
    expected = {
        ("gen_ai.client.operation.duration", "s", "invoke_agent"),
        ("gen_ai.client.operation.duration", "s", "chat"),
        ("db.client.operation.duration", "s", "sqlite"),
        *(("datasphinx.node.duration", "s", each["node"]) for each in output["audit"]["steps"]),
    }
    assert set(counted) == expected and {count for count, _ in counted.values()} == {1}
    run = telemetry.one("invoke_agent")
    seconds = (run.end_time - run.start_time) / 1e9  # type: ignore[operator]
    assert counted["gen_ai.client.operation.duration", "s", "invoke_agent"][1] == pytest.approx(seconds, abs=0.05)


def test_tokens_are_measured_by_type(agent: MakeAgent, telemetry: Telemetry) -> None:
    audit = agent().ask(QUESTION)["audit"]
    tokens = {
        given["gen_ai.token.type"]: total
        for name, unit, given, _, total in telemetry.points()
        if (name, unit) == ("gen_ai.client.token.usage", "{token}")
    }
    assert tokens == {"input": audit["prompt_tokens"], "output": audit["completion_tokens"]}


def test_trace_and_event_log_are_linked_in_both_directions(agent: MakeAgent, telemetry: Telemetry) -> None:
    made = agent()
    output = made.ask(QUESTION)
    run = telemetry.one("invoke_agent")
    store = made.services.store
    assert isinstance(store, Store)
    begun = store.run(attributes(run)["datasphinx.trace_id"])[0]
    assert begun.trace_id == output["audit"]["trace_id"] and begun.kind == "run"
    span = {"trace_id": f"{run.context.trace_id:032x}", "span_id": f"{run.context.span_id:016x}"}
    assert begun.content["otel"] == span


def test_a_replay_is_not_traced_and_finds_no_difference(agent: MakeAgent, telemetry: Telemetry) -> None:
    made = agent()
    trace_id = made.ask(QUESTION)["audit"]["trace_id"]
    telemetry.clear()
    assert made.services.store
    assert replay(made.services.store, trace_id, made.services.settings).differences == []
    assert telemetry.spans == [] and telemetry.points() == []


def test_nothing_is_traced_without_the_setting(agent: MakeAgent, telemetry: Telemetry) -> None:
    made = agent(otel=False)
    output = made.ask(QUESTION)
    assert telemetry.spans == [] and telemetry.points() == []
    assert made.services.store
    assert "otel" not in made.services.store.run(output["audit"]["trace_id"])[0].content


def test_tool_calls_are_spans(tmp_path: Path, cache_dir: Path, telemetry: Telemetry) -> None:
    path = tmp_path / "returns.csv"
    path.write_text(RETURNS, encoding="utf-8")
    unknown = step("run_query", dataset_id="ds_marmalade", query=TOTAL)
    steps = [unknown, step("finish", answer="No.")]
    settings = load_settings(cache_dir=cache_dir, otel=True)
    services = Services(settings, model=ScriptedModel({"AnalystStep": steps}))
    output = build_analyst(services).invoke({"question": "How many returns?", "files": [str(path)]})
    called = [each["tool"] for each in output["audit"]["steps"] if "tool" in each]
    spans = telemetry.named("execute_tool ")
    assert [span.name for span in spans] == [f"execute_tool {tool}" for tool in called] and "run_query" in called
    assert {parent_id(span) for span in spans} <= {span.context.span_id for span in telemetry.named("node run_tool")}
    for span in spans:
        given = attributes(span)
        assert (given["gen_ai.operation.name"], given["gen_ai.tool.type"]) == ("execute_tool", "function")
        assert span.name == f"execute_tool {given['gen_ai.tool.name']}"
    assert attributes(spans[called.index("run_query")])["error.type"] == "tool_call_invalid"
    assert attributes(telemetry.one("invoke_agent analyst"))["gen_ai.agent.name"] == "analyst"
    assert "marmalade" not in "".join(span.to_json() for span in telemetry.spans)


def test_an_enclosing_span_is_the_parent_and_does_not_change(agent: MakeAgent, telemetry: Telemetry) -> None:
    with trace.get_tracer("program").start_as_current_span("program") as outer:
        for _ in agent().graph.stream({"question": QUESTION}):
            assert trace.get_current_span() is outer
    assert parent_id(telemetry.one("invoke_agent")) == outer.get_span_context().span_id


def test_an_asynchronous_run_is_the_same_tree(agent: MakeAgent, telemetry: Telemetry) -> None:
    made = agent()

    async def ask() -> None:
        async with aclosing(made.graph.astream({"question": QUESTION})) as chunks:
            async for _ in chunks:
                assert not trace.get_current_span().get_span_context().is_valid

    asyncio.run(ask())
    run = telemetry.one("invoke_agent")
    assert {parent_id(span) for span in telemetry.named("node ")} == {run.context.span_id}
    assert parent_id(telemetry.one("SELECT goods")) == telemetry.one("node execute_sql").context.span_id


def test_a_run_that_is_abandoned_ends_as_cancelled(agent: MakeAgent, telemetry: Telemetry) -> None:
    chunks = agent().graph.stream({"question": QUESTION})
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    assert attributes(telemetry.one("invoke_agent"))["error.type"] == "cancelled"


def test_a_missing_package_is_named(agent: MakeAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    made = agent()
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    error = made.ask(QUESTION)["error"]
    assert error["code"] == "driver_missing" and "datasphinx[otel]" in error["message"]


@pytest.fixture(scope="module")
def server(providers: Telemetry, cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with serving(cache_dir, data_dir=folder, otel=True, run_sql=True) as served:
        yield served


@pytest.mark.server
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/agent/invoke", {"input": ASKED}),
        ("/agent/stream", {"input": ASKED}),
        ("/agent/events", ASKED),
        ("/v1/chat/completions", {"model": "datasphinx", "messages": [{"role": "user", "content": ASKED["question"]}]}),
    ],
)
def test_traceparent_of_a_request_is_the_parent(
    server: Served, telemetry: Telemetry, path: str, body: dict[str, Any]
) -> None:
    response = server.http.post(path, json=body, headers={"traceparent": TRACEPARENT})
    assert response.status_code == 200, response.text
    run = telemetry.one("invoke_agent agent")
    assert (f"{run.context.trace_id:032x}", f"{parent_id(run):016x}") == (TRACE, PARENT)
    assert parent_id(telemetry.named("node ")[0]) == run.context.span_id


@pytest.mark.server
def test_requests_without_traceparent_or_with_an_invalid_one_are_traces_of_their_own(
    server: Served, telemetry: Telemetry
) -> None:
    for headers in ({}, {"traceparent": "00-marmalade"}):
        assert server.http.post("/agent/invoke", json={"input": ASKED}, headers=headers).status_code == 200
    runs = telemetry.named("invoke_agent")
    assert [run.parent for run in runs] == [None, None] and len({run.context.trace_id for run in runs}) == 2
    assert {span.instrumentation_scope.name for span in telemetry.spans if span.instrumentation_scope} == {"datasphinx"}


@pytest.mark.server
def test_traceparent_of_each_mcp_request_is_the_parent(
    server: Served, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The client of this process would send the trace of a span of its own.
    monkeypatch.setattr("mcp.shared.jsonrpc_dispatcher.inject_trace_context", lambda meta: None)

    async def script(client: Any) -> list[dict[str, Any]]:
        answers = [
            await client.call_tool("datasphinx_ask", dict(ASKED)),
            await client.call_tool("datasphinx_run_sql", {"sql": COUNT["sql"]}),
        ]
        return [content(answer) for answer in answers]

    for mode in MODES:
        telemetry.clear()
        answers = talk(server, script, headers={"traceparent": TRACEPARENT}, mode=mode)
        runs = telemetry.named("invoke_agent")
        assert [attributes(run)["datasphinx.trace_id"] for run in runs] == [each["trace_id"] for each in answers]
        assert [run.name for run in runs] == ["invoke_agent agent", "invoke_agent run_sql"]
        assert {f"{run.context.trace_id:032x}" for run in runs} == {TRACE}, mode
        assert {parent_id(run) for run in runs} == {int(PARENT, 16)}, mode
        assert len([span for span in telemetry.named("SELECT") if parent_id(span) == runs[1].context.span_id]) == 1


@pytest.mark.server
def test_the_span_of_an_mcp_client_is_the_parent_of_its_call_alone(server: Served, telemetry: Telemetry) -> None:
    async def script(client: Any) -> None:
        for _ in range(2):
            content(await client.call_tool("datasphinx_ask", dict(ASKED)))

    for mode in MODES:
        telemetry.clear()
        talk(server, script, mode=mode)
        runs, calls = telemetry.named("invoke_agent"), telemetry.named("MCP send tools/call")
        assert [parent_id(run) for run in runs] == [call.context.span_id for call in calls] and len(runs) == 2, mode
        # The server has no spans of its own for messages, which could have texts of errors.
        kinds = {span.kind for span in telemetry.spans}
        assert kinds == {SpanKind.CLIENT, SpanKind.INTERNAL}


@pytest.mark.process
@pytest.mark.heavy
def test_the_command_line_exports_as_the_variables_of_opentelemetry_say(cache_dir: Path, tmp_path: Path) -> None:
    with FakeOpenAI([COUNT]) as model, Collector() as collector:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("OTEL_")},
            **model.variables(cache_dir, otel="true"),
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer abc",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
        }
        command = [sys.executable, "-m", "datasphinx", "ask", "--effort", "low", ASKED["question"]]
        run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    names = [span.name for span in collector.spans]
    assert names.count("invoke_agent agent") == 1 and "chat fake" in names and "node answer" in names
    chat = next(span for span in collector.spans if span.name == "chat fake")
    port = next(each.value.int_value for each in chat.attributes if each.key == "server.port")
    assert str(port) in model.base_url
    assert collector.resource["service.name"] == "datasphinx"
    assert collector.resource["service.version"] == package_version()
    assert collector.resource["deployment.environment.name"] == "test"
    assert "gen_ai.client.token.usage" in collector.metrics
    assert set(collector.paths) == {"/v1/traces", "/v1/metrics"}
    assert {headers["authorization"] for headers in collector.headers} == {"Bearer abc"}
    # Requests to models do not carry the trace.
    assert not any("traceparent" in {name.lower() for name in headers} for headers in model.headers)


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.parametrize(
    ("variable", "value", "part"), [("OTEL_TRACES_EXPORTER", "zipkin", "zipkin"), ("OTEL_BSP_SCHEDULE_DELAY", "-1", "")]
)
def test_an_invalid_variable_is_a_wrong_setting(
    cache_dir: Path, tmp_path: Path, variable: str, value: str, part: str
) -> None:
    environment = {
        **os.environ,
        "DATASPHINX_OTEL": "true",
        "DATASPHINX_CACHE_DIR": str(cache_dir),
        "DATASPHINX_LLM_BASE_URL": "http://127.0.0.1:9/v1",
        "DATASPHINX_LLM_MODEL": "fake",
        variable: value,
    }
    command = [sys.executable, "-m", "datasphinx", "ask", ASKED["question"]]
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert "OTEL_" in run.stdout + run.stderr and part in run.stdout + run.stderr
    assert "Traceback" not in run.stderr and run.returncode == 2, run.stderr
