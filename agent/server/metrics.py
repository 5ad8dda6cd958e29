"""Metrics on questions and their route, in Prometheus' format. Each process has its own metrics."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from datasphinx.agent.conversation.reply import Reply
from datasphinx.agent.server.errors import new_router

_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_ABORTED = "broken_off"
"""The status of a question without output: the client disconnected, or the request timed out."""


class RunningQuestion:
    """A question in progress; `output` is set when it is answered."""

    output: Reply | None = None


class Metrics:
    """Counts questions, their costs and their outcomes. Thread-safe."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._questions = Counter(
            "datasphinx_questions", "Questions by graph and status.", ("graph", "status"), registry=registry
        )
        self._seconds = Histogram(
            "datasphinx_question_seconds", "Seconds per question.", ("graph",), buckets=_SECONDS, registry=registry
        )
        self._running = Gauge("datasphinx_running", "Questions in progress.", ("graph",), registry=registry)
        self._errors = Counter("datasphinx_errors", "Questions with an error, by code.", ("code",), registry=registry)
        self._problems = Counter(
            "datasphinx_problems", "Requests that ended in a problem, by code.", ("code",), registry=registry
        )
        self._calls = Counter("datasphinx_llm_calls", "Calls of the model.", ("graph",), registry=registry)
        self._tokens = Counter("datasphinx_llm_tokens", "Tokens.", ("graph", "kind"), registry=registry)
        self._cost = Counter(
            "datasphinx_llm_cost_usd", "US dollars, if the price is known.", ("graph",), registry=registry
        )

    @contextmanager
    def question(self, graph: str) -> Iterator[RunningQuestion]:
        """Count a question to `graph` as running during the block, and its output at the end of the block."""
        question, started = RunningQuestion(), time.perf_counter()
        self._running.labels(graph).inc()
        try:
            yield question
        finally:
            self._running.labels(graph).dec()
            self._seconds.labels(graph).observe(time.perf_counter() - started)
            self._questions.labels(graph, question.output["status"] if question.output else _ABORTED).inc()
            if question.output:
                self._count(graph, question.output)

    def problem(self, code: str) -> None:
        """Count a request that ended in a problem with this code."""
        self._problems.labels(code).inc()

    def _count(self, graph: str, output: Reply) -> None:
        audit, error = output["audit"], output.get("error")
        if error:
            self._errors.labels(error["code"]).inc()
        self._calls.labels(graph).inc(audit["llm_calls"])
        self._tokens.labels(graph, "prompt").inc(audit["prompt_tokens"])
        self._tokens.labels(graph, "completion").inc(audit["completion_tokens"])
        self._cost.labels(graph).inc(audit["llm_cost_usd"] or 0)


def metrics_routes(metrics: Metrics) -> APIRouter:
    """Return the route of `metrics`."""
    router = new_router(tags=["server"])

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def show() -> Response:
        """Metrics on the questions to this process, in Prometheus' text format."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return router
