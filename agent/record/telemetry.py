"""OpenTelemetry: spans and metrics of runs, nodes, model calls, tool calls and statements.

Names follow the semantic conventions for generative AI and databases. Without the setting `otel`, and outside of a run,
every function does nothing, and OpenTelemetry is not imported. Spans contain no values of the data: neither texts of
questions, prompts, answers and statements, which `otel_text` adds, nor messages of errors.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from langgraph.errors import GraphBubbleUp

from datasphinx.agent.core.redact import without_secrets
from datasphinx.agent.core.version import package_version
from datasphinx.agent.errors import ConfigurationError, DatasphinxError, DriverMissing
from datasphinx.agent.record.credentials import secrets_of
from datasphinx.agent.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, MeterProvider
    from opentelemetry.trace import Span, SpanKind, Tracer, TracerProvider

_SCOPE = "datasphinx"
_UNCONFIGURED = {"ProxyTracerProvider", "_ProxyMeterProvider"}
"""Classes of the providers that OpenTelemetry has until one is set."""

_GEN_AI_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
_DB_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
_HISTOGRAMS: dict[str, tuple[str, str, Sequence[float]]] = {
    "gen_ai.client.operation.duration": ("s", "Duration of a run, model call or tool call.", _GEN_AI_SECONDS),
    "gen_ai.client.token.usage": ("{token}", "Tokens of a model call.", _TOKENS),
    "db.client.operation.duration": ("s", "Duration of a statement.", _DB_SECONDS),
    "datasphinx.node.duration": ("s", "Duration of a node of the graph.", _GEN_AI_SECONDS),
}
"""Metrics with their unit, description and bucket boundaries, which the conventions prescribe."""

_Attributes = Mapping[str, str | int | float | None]

_set_up_lock = threading.Lock()


class Run:
    """A run with a span, in which the spans of its nodes, calls and statements are nested."""

    def __init__(self, name: str, settings: Settings, tenant: str) -> None:
        """Start the span of the run of a graph, or of another agent, named `name`."""
        self._tracer, self._histograms = set_up()
        self.secrets = secrets_of(settings) if settings.otel_text else None
        """The secrets to redact from texts; None if texts are left out."""
        self._measured = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        self._span = self._start(
            f"invoke_agent {name}", {**self._measured, "datasphinx.tenant": tenant or None}, time.time_ns()
        )
        self._started = time.perf_counter()
        from opentelemetry import trace

        self._context = trace.set_span_in_context(self._span)
        self._error = ""

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make this the current run during the block, which must not contain a `yield`."""
        from opentelemetry import context

        token, own = context.attach(self._context), _current.set(self)
        try:
            yield
        finally:
            _current.reset(own)
            context.detach(token)

    def begin(self, trace_id: str, question: object) -> dict[str, Any]:
        """Link the span with the run `trace_id` of the event log; return the link to the span for that log."""
        self._span.set_attribute("datasphinx.trace_id", trace_id)
        if self.secrets is not None and isinstance(question, str):
            self._span.set_attribute("gen_ai.input.messages", self.messages([("user", question)]))
        span = self._span.get_span_context()
        if not span.is_valid:
            return {}
        return {"otel": {"trace_id": f"{span.trace_id:032x}", "span_id": f"{span.span_id:016x}"}}

    def answered(self, answer: object, error: str) -> None:
        """Set the text of the answer, and the code of its error or an empty string."""
        self._error = error
        if self.secrets is not None and isinstance(answer, str):
            self._span.set_attribute("gen_ai.output.messages", self.messages([("assistant", answer)]))

    def end(self, error: BaseException | None) -> None:
        """End the span; `error` ended the run."""
        self._finish(self._span, _error_type(error) or self._error, time.time_ns())
        self.measure("gen_ai.client.operation.duration", time.perf_counter() - self._started, self._measured)

    @contextmanager
    def span(self, name: str, attributes: _Attributes, histogram: str) -> Iterator["Operation"]:
        """Yield an operation, whose span is the current one during the block."""
        from opentelemetry import trace

        operation, started = Operation(), time.perf_counter()
        span = self._start(name, attributes, time.time_ns())
        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                yield operation
        except BaseException as error:
            operation.error = _error_type(error)
            raise
        finally:
            self._finish(span, operation.error, time.time_ns())
            self.measure(histogram, time.perf_counter() - started, attributes, operation.error)

    def record(
        self, name: str, attributes: _Attributes, started: float, error: str, histogram: str, measured: Sequence[str]
    ) -> None:
        """Record a request to another system that began at `started`, by `time.perf_counter`, and has ended.

        The metric has the attributes `measured`.
        """
        from opentelemetry.trace import SpanKind

        seconds, ended = time.perf_counter() - started, time.time_ns()
        span = self._start(name, attributes, ended - int(seconds * 1e9), SpanKind.CLIENT)
        self._finish(span, error, ended)
        self.measure(histogram, seconds, {each: attributes.get(each) for each in measured}, error)

    def measure(self, histogram: str, value: float, attributes: _Attributes, error: str = "") -> None:
        """Record `value` in a histogram."""
        self._histograms[histogram].record(value, _known({**attributes, "error.type": error or None}))

    def text(self, text: str) -> str | None:
        """Return `text` without secrets; None if texts are left out."""
        return None if self.secrets is None else without_secrets(text, self.secrets)

    def messages(self, messages: Sequence[tuple[str, str]]) -> str:
        """Return pairs of a role and a text in the format of `gen_ai.input.messages`."""
        bodies = [
            {"role": role, "parts": [{"type": "text", "content": self.text(content)}]} for role, content in messages
        ]
        return json.dumps(bodies, ensure_ascii=False)

    def _start(self, name: str, attributes: _Attributes, started_ns: int, kind: "SpanKind | None" = None) -> "Span":
        from opentelemetry.trace import SpanKind

        return self._tracer.start_span(
            name, kind=kind or SpanKind.INTERNAL, attributes=_known(attributes), start_time=started_ns
        )

    def _finish(self, span: "Span", error: str, ended_ns: int) -> None:
        from opentelemetry.trace import StatusCode

        if error:
            span.set_attribute("error.type", error)
            span.set_status(StatusCode.ERROR)
        span.end(ended_ns)


class Operation:
    """A node or a tool call; `error` is the code of its error, or empty."""

    error = ""


_current: ContextVar[Run | None] = ContextVar("otel_run", default=None)


def current_run() -> Run | None:
    """Return the run that is traced in this context; None if there is none."""
    return _current.get()


@contextmanager
def traced_run(name: str, settings: Settings, tenant: str = "") -> Iterator[Run | None]:
    """Yield the span of a run, which ends with the block; None without the setting `otel`.

    None also if OpenTelemetry cannot be used; `check_installed` raises that error.
    """
    run = None
    if settings.otel:
        try:
            run = Run(name, settings, tenant)
        except DatasphinxError:
            run = None
    if run is None:
        yield None
        return
    ending: BaseException | None = None
    try:
        yield run
    except BaseException as error:
        ending = error
        raise
    finally:
        run.end(ending)


def check_installed(settings: Settings) -> None:
    """Set up OpenTelemetry if the setting `otel` is on."""
    if settings.otel:
        set_up()


@contextmanager
def node(name: str) -> Iterator[Operation]:
    """Trace a node of the graph."""
    run = _current.get()
    if run is None:
        yield Operation()
        return
    with run.span(f"node {name}", {"datasphinx.node": name}, "datasphinx.node.duration") as operation:
        yield operation


@contextmanager
def tool(name: str, arguments: Callable[[], str]) -> Iterator[None]:
    """Trace a call of a tool; `arguments` returns them as JSON."""
    run = _current.get()
    if run is None:
        yield
        return
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function"}
    with run.span(f"execute_tool {name}", attributes, "gen_ai.client.operation.duration"):
        if run.secrets is not None:
            from opentelemetry import trace

            trace.get_current_span().set_attribute("gen_ai.tool.call.arguments", run.text(arguments()) or "")
        yield


def record_model_call(
    model: str,
    started: float,
    *,
    provider: str,
    url: str | None,
    usage: tuple[int, int, int] | None,
    error: Exception | None,
    request: _Attributes,
    messages: Sequence[tuple[str, str]] = (),
    answer: str = "",
) -> None:
    """Record a call that began at `started`, by `time.perf_counter`.

    `usage` has the prompt, completion and cached tokens, `request` further attributes. `messages` are pairs of a role
    and a text.
    """
    run = _current.get()
    if run is None:
        return
    address = urlsplit(url or "")
    common: dict[str, str | int | float | None] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "server.address": address.hostname,
        "server.port": address.port,
    }
    attributes = {**common, **request}
    if usage:
        names = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens")
        attributes |= dict(zip(names, usage, strict=True))
        for kind, tokens in zip(("input", "output"), usage, strict=False):
            run.measure("gen_ai.client.token.usage", tokens, {**common, "gen_ai.token.type": kind})
    if run.secrets is not None and messages:
        attributes["gen_ai.input.messages"] = run.messages(messages)
        attributes["gen_ai.output.messages"] = run.messages([("assistant", answer)])
    name, metric = f"chat {model}", "gen_ai.client.operation.duration"
    run.record(name, attributes, started, _error_type(error), metric, tuple(common))


def record_statement(
    sql: str,
    started: float,
    *,
    system: str,
    namespace: str | None,
    host: str | None,
    port: int | None,
    tables: Sequence[str],
    rows: int | None,
    is_reused: bool,
    error: DatasphinxError | None,
) -> None:
    """Record a query that began at `started`, by `time.perf_counter`.

    `system` is the engine in the conventions, `tables` are tables that exist, and `rows` is the number of rows read,
    None after an error.
    """
    run = _current.get()
    if run is None:
        return
    summary = " ".join(["SELECT", *tables])[:255]
    attributes: dict[str, str | int | float | None] = {
        "db.system.name": system,
        "db.namespace": namespace,
        "db.operation.name": "SELECT",
        "db.query.summary": summary,
        "db.query.text": run.text(sql),
        "db.response.returned_rows": rows,
        "datasphinx.statement.reused": is_reused or None,
        "server.address": host,
        "server.port": port,
    }
    measured = ("db.system.name", "db.namespace", "db.operation.name", "server.address", "server.port")
    run.record(summary, attributes, started, _error_type(error), "db.client.operation.duration", measured)


@contextmanager
def remote_parent(carrier: Mapping[str, str]) -> Iterator[None]:
    """Make the span that `traceparent` in `carrier` names the parent of the runs in the block.

    A span of this process that is current stays the parent, and a remote one does not.
    """
    from opentelemetry import context, propagate, trace

    current = trace.get_current_span()
    is_local = current.get_span_context().is_valid and not current.get_span_context().is_remote
    # The names of headers are in lower case.
    token = context.attach(context.get_current() if is_local else propagate.extract(carrier, context.Context()))
    try:
        yield
    finally:
        context.detach(token)


def set_up() -> "tuple[Tracer, dict[str, Histogram]]":
    """Return the tracer and the histograms, of the providers of this process.

    If the process has set no provider, the spans and metrics are exported with OTLP over HTTP, as OpenTelemetry's
    variables `OTEL_...` say.

    Raises:
        DriverMissing: the extra `otel` is not installed.
        ConfigurationError: a variable of OpenTelemetry has an invalid value.
    """
    try:
        from opentelemetry import metrics, trace
    except ImportError as error:
        raise DriverMissing("opentelemetry-api", "otel") from error
    with _set_up_lock:
        try:
            if type(trace.get_tracer_provider()).__name__ in _UNCONFIGURED:
                trace.set_tracer_provider(_otlp_tracer_provider())
            if type(metrics.get_meter_provider()).__name__ in _UNCONFIGURED:
                metrics.set_meter_provider(_otlp_meter_provider())
        except ImportError as error:
            raise DriverMissing("opentelemetry-exporter-otlp-proto-http", "otel") from error
        except ValueError as error:
            raise ConfigurationError("OTEL_*", str(error)) from error
        return _instruments(trace.get_tracer_provider(), metrics.get_meter_provider())


@lru_cache(maxsize=4)
def _instruments(
    tracer_provider: "TracerProvider", meter_provider: "MeterProvider"
) -> "tuple[Tracer, dict[str, Histogram]]":
    tracer = tracer_provider.get_tracer(_SCOPE, package_version())
    meter = meter_provider.get_meter(_SCOPE, package_version())
    return tracer, {
        name: meter.create_histogram(name, unit, text, explicit_bucket_boundaries_advisory=boundaries)
        for name, (unit, text, boundaries) in _HISTOGRAMS.items()
    }


def _otlp_tracer_provider() -> "TracerProvider":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=_resource())
    if _is_exported("TRACES"):
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _otlp_meter_provider() -> "MeterProvider":
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    readers = [PeriodicExportingMetricReader(OTLPMetricExporter())] if _is_exported("METRICS") else []
    return MeterProvider(readers, resource=_resource())


def _is_exported(signal: str) -> bool:
    """Return whether "TRACES" or "METRICS" are exported. Raise ValueError for another exporter than OTLP."""
    variable = f"OTEL_{signal}_EXPORTER"
    exporter = os.environ.get(variable, "").strip() or "otlp"
    if exporter not in ("otlp", "none"):
        raise ValueError(f"{variable} is {exporter!r}, expected 'otlp' or 'none'")
    return exporter == "otlp"


def _resource() -> Any:
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource

    # The variables of the environment come first.
    resource = Resource({SERVICE_VERSION: package_version()}).merge(Resource.create())
    # Without a name in the environment, OpenTelemetry uses that of the interpreter.
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: _SCOPE}))
    return resource


def _known(attributes: _Attributes) -> dict[str, str | int | float]:
    return {name: value for name, value in attributes.items() if value is not None}


def _error_type(error: BaseException | None) -> str:
    """Return the code of an error, or the name of its class; empty for None and for the pause of a run."""
    if error is None or isinstance(error, GraphBubbleUp):
        return ""
    if isinstance(error, DatasphinxError):
        return error.code
    return "cancelled" if isinstance(error, GeneratorExit) else type(error).__qualname__
