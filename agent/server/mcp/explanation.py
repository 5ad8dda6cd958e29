"""The tool `explain_answer`: what a recorded run did."""

from pydantic import BaseModel, ConfigDict, Field

from datasphinx.agent.errors import NotFound
from datasphinx.agent.messages import Message
from datasphinx.agent.record.events import StoredEvent
from datasphinx.agent.server.background import run_in_thread
from datasphinx.agent.server.mcp.call import Call
from datasphinx.agent.server.routes.traces import open_run, without_directories_in
from datasphinx.agent.server.tenants import current_tenant
from datasphinx.agent.types import ErrorInfo


class Trace(BaseModel):
    """A recorded run."""

    model_config = ConfigDict(extra="forbid")

    trace_id: str = Field(pattern=r"^[0-9a-f]{32}$", description="The `trace_id` of an answer.")


class ExecutedStatement(BaseModel):
    """A statement that was sent to a database."""

    sql: str
    rows: int
    error: str | None
    reused: bool = Field(description="Whether its rows are those of an earlier execution in the run.")


class RecordedStep(BaseModel):
    """A step of the run with the statements that it executed."""

    node: str
    latency_ms: float
    notes: list[str]
    statements: list[ExecutedStatement]


class Explanation(BaseModel):
    """How an answer came about: the steps, the statements and the cost, without row values."""

    question: str | None
    time: str
    answer: str | None = Field(description="The answer; `***` replaces secret values.")
    sql: str | None
    assumptions: list[str]
    steps: list[RecordedStep]
    llm_calls: int
    tokens: int
    llm_cost_usd: float | None
    latency_ms: float
    error: ErrorInfo | None


async def explain_answer(arguments: Trace, call: Call) -> Explanation:
    """Return the recorded steps of a run. Raise NotFound if the tenant has no such run, or it has not ended."""
    tenant = current_tenant()
    _, events = await run_in_thread(lambda: open_run(tenant, arguments.trace_id))
    explanation = _explanation(arguments.trace_id, events)
    shown = without_directories_in(explanation.model_dump(), tenant.services.settings)
    return Explanation.model_validate(shown)


def _explanation(trace_id: str, events: list[StoredEvent]) -> Explanation:
    start, end = events[0], events[-1]
    if start.kind != "run" or end.kind != "output":
        raise NotFound("trace_unknown", trace_id=trace_id, reason=Message("run_not_ended"))
    inputs, output = start.content["input"], end.content
    return Explanation(
        question=inputs.get("question"),
        time=start.time,
        answer=output.get("answer"),
        sql=output.get("sql"),
        assumptions=output.get("assumptions") or [],
        steps=_steps(events),
        llm_calls=output["llm_calls"],
        tokens=output["prompt_tokens"] + output["completion_tokens"],
        # Older records have the cost under `cost_usd`.
        llm_cost_usd=output.get("llm_cost_usd", output.get("cost_usd")),
        latency_ms=output["latency_ms"],
        error=output.get("error"),
    )


def _steps(events: list[StoredEvent]) -> list[RecordedStep]:
    steps, statements = list[RecordedStep](), list[ExecutedStatement]()
    for event in events:
        content = event.content
        if event.kind == "statement":
            error = content.get("error")
            statements.append(
                ExecutedStatement(
                    sql=content["sql"],
                    rows=content["rows"],
                    error=error["code"] if error else None,
                    reused=bool(content.get("reused")),
                )
            )
        elif event.kind == "step":
            steps.append(
                RecordedStep(
                    node=content["node"],
                    latency_ms=content["latency_ms"],
                    notes=content["notes"],
                    statements=statements,
                )
            )
            statements = []
    return steps
