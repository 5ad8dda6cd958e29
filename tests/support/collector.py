"""Servers on loopback that keep what is sent to them: a collector of OpenTelemetry, and a LangSmith."""

import gzip
from typing import Any

from tests.support.loopback import Handler, LoopbackServer


class KeepingServer(LoopbackServer):
    """A server that keeps all requests and accepts each. Use it in a `with` block."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        super().__init__(self._handler())

    def _handler(keeper) -> type[Handler]:  # noqa: N805
        class Keeping(Handler):
            def do_POST(self) -> None:
                body = self.body()
                keeper.bodies.append(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
                keeper.paths.append(self.path)
                keeper.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.do_GET()

            def do_GET(self) -> None:
                self.reply(b"" if self.path.startswith("/v1/") else b"{}")

            do_PATCH = do_POST

        return Keeping


class Collector(KeepingServer):
    """A collector that takes OTLP over HTTP."""

    @property
    def spans(self) -> list[Any]:
        """The spans of all requests."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        requests = [ExportTraceServiceRequest.FromString(body) for body in self._bodies("/v1/traces")]
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def resource(self) -> dict[str, str]:
        """The attributes of the resource of the first request with spans."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        request = ExportTraceServiceRequest.FromString(self._bodies("/v1/traces")[0])
        return {each.key: each.value.string_value for each in request.resource_spans[0].resource.attributes}

    @property
    def metrics(self) -> set[str]:
        """The names of all metrics."""
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

        requests = [ExportMetricsServiceRequest.FromString(body) for body in self._bodies("/v1/metrics")]
        return {
            metric.name
            for request in requests
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def _bodies(self, path: str) -> list[bytes]:
        return [body for sent, body in zip(self.paths, self.bodies, strict=True) if sent == path]
