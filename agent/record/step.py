"""Model calls and statements of one node of the graph, and the limits per question."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NotRequired

from typing_extensions import TypedDict

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.result_cache import ResultCache
from datasphinx.agent.errors import BudgetExceeded
from datasphinx.agent.messages import Message
from datasphinx.agent.record.events import Kind
from datasphinx.agent.record.recorder import Recorder
from datasphinx.agent.settings import Settings

_REPORT_QUESTIONS = 10
"""How many times the limits of one question a report may use in all."""


class ModelCall(TypedDict):
    """A model call. `cost_usd` is None if the price is unknown."""

    schema: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    latency_ms: float
    cost_usd: float | None
    logprob: NotRequired[float]
    """The natural logarithm of the probability of the text, if the endpoint returns it."""


class StatementRun(TypedDict):
    """A statement sent to a database; `error` is the reason if it returned no rows."""

    sql: str
    rows: int
    latency_ms: float
    error: str | None
    reused: NotRequired[bool]
    """True if the rows are those of an earlier execution of the same statement."""


class ToolRun(TypedDict):
    """A tool call; `error` is the reason if it returned nothing."""

    tool: str
    arguments: dict[str, Any]
    rows: int
    result_id: str | None
    error: str | None


class StepRecord(TypedDict):
    """The duration and calls of one node; a node that called a tool also has the fields of `ToolRun`."""

    node: str
    latency_ms: float
    calls: list[ModelCall]
    statements: list[StatementRun]
    tool: NotRequired[str]
    arguments: NotRequired[dict[str, Any]]
    rows: NotRequired[int]
    result_id: NotRequired[str | None]
    error: NotRequired[str | None]


class Audit(TypedDict):
    """All steps of one question and their totals.

    `recorded` is True if the whole question is on the record; `llm_cost_usd` is None if a price is unknown;
    `assumptions` lists those that the answer makes about the question.
    """

    trace_id: str
    recorded: bool
    steps: list[StepRecord]
    llm_calls: int
    prompt_tokens: int
    completion_tokens: int
    llm_cost_usd: float | None
    latency_ms: float
    assumptions: list[str]
    notes: list[str]


@dataclass
class Step:
    """The running node. Services record into the current step."""

    node: str
    previous_audit: Audit
    started: float = field(default_factory=time.perf_counter)
    calls: list[ModelCall] = field(default_factory=list)
    statements: list[StatementRun] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """Notes for the record alone."""
    tool: ToolRun | None = None
    recorder: Recorder | None = None
    cancellation: Cancellation | None = None
    """Cancels the run that the node belongs to."""
    results: Callable[[], ResultCache] | None = None
    """Returns the results of the statements of the run."""
    part_of: Step | None = None
    """The step of a report that waits for this run: its limits apply as well, and it counts the calls of this one."""
    is_report: bool = False
    """Whether the limits are those of a report."""

    def event(self, kind: Kind, body: Mapping[str, Any]) -> None:
        """Record an event of this node, if there is a recorder."""
        if self.recorder:
            self.recorder.add(self.previous_audit["trace_id"], kind, {"node": self.node, **body})

    def seconds(self) -> float:
        """Return the seconds that the nodes of the question have taken so far."""
        return self.previous_audit["latency_ms"] / 1000 + time.perf_counter() - self.started

    def check_budget(self, settings: Settings) -> None:
        """Check the limits per question and cancellation before another model call.

        Raises:
            BudgetExceeded: the question has used up its calls, tokens, cost or time.
        """
        if self.cancellation:
            self.cancellation.check()
        if self.part_of:
            self.part_of.check_budget(settings)
        calls = [*(call for step in self.previous_audit["steps"] for call in step["calls"]), *self.calls]
        tokens = sum(call["prompt_tokens"] + call["completion_tokens"] for call in calls)
        cost = sum(call["cost_usd"] or 0 for call in calls)
        limits: list[tuple[float, str, str]] = [
            (len(calls), "max_llm_calls", "limit_model_calls"),
            (tokens, "max_llm_tokens", "limit_tokens"),
            (cost, "max_cost_usd", "limit_dollars"),
            (self.seconds(), "max_question_s", "limit_seconds"),
        ]
        for usage, setting, unit in limits:
            limit = getattr(settings, setting) * (_REPORT_QUESTIONS if self.is_report else 1)
            if usage >= limit:
                raise BudgetExceeded(Message(unit, count=f"{limit:g}"), f"DATASPHINX_{setting.upper()}")

    def record(self) -> Audit:
        """Return this step as an audit of its own, to be merged into that of the question."""
        if self.part_of:
            self.part_of.calls.extend(self.calls)
            self.part_of.statements.extend(self.statements)
        latency_ms = round((time.perf_counter() - self.started) * 1000, 1)
        step = StepRecord(node=self.node, latency_ms=latency_ms, calls=self.calls, statements=self.statements)
        if self.tool:
            step = {**step, **self.tool}
        return Audit(
            trace_id=self.previous_audit["trace_id"],
            recorded=False,
            steps=[step],
            llm_calls=len(self.calls),
            prompt_tokens=sum(call["prompt_tokens"] for call in self.calls),
            completion_tokens=sum(call["completion_tokens"] for call in self.calls),
            llm_cost_usd=add_costs(call["cost_usd"] for call in self.calls),
            latency_ms=latency_ms,
            assumptions=self.assumptions,
            notes=self.notes,
        )


current_step: ContextVar[Step | None] = ContextVar("current_step", default=None)
"""The step being recorded in this context; None outside of a node."""


@contextmanager
def recorded_on(step: Step | None) -> Iterator[None]:
    """Calls and statements in the `with` block belong to `step`."""
    token = current_step.set(step)
    try:
        yield
    finally:
        current_step.reset(token)


def not_recorded() -> AbstractContextManager[None]:
    """Calls and statements in the `with` block belong to no question: they are neither recorded nor limited."""
    return recorded_on(None)


def note(text: str) -> None:
    """Add `text` to the notes of the current step, if there is one."""
    step = current_step.get()
    if step:
        step.notes.append(text)


def remark(text: str) -> None:
    """Add `text` to the record of the current step, if there is one, and not to the notes of the answer."""
    step = current_step.get()
    if step:
        step.remarks.append(text)


def assume(text: str) -> None:
    """Add `text` to the assumptions of the current step, if there is one."""
    step = current_step.get()
    if step:
        step.assumptions.append(text)


def record_event(kind: Kind, body: Mapping[str, Any]) -> None:
    """Record an event of the current step, if there is one."""
    step = current_step.get()
    if step:
        step.event(kind, body)


def add_costs(costs: Any) -> float | None:
    """Return the sum of `costs` in US dollars; None if one of them is None."""
    amounts = list(costs)
    return None if None in amounts else round(sum(amounts), 8)


def new_audit(trace_id: str) -> Audit:
    """Return the empty audit of a new question."""
    return Audit(
        trace_id=trace_id,
        recorded=False,
        steps=[],
        llm_calls=0,
        prompt_tokens=0,
        completion_tokens=0,
        llm_cost_usd=0.0,
        latency_ms=0.0,
        assumptions=[],
        notes=[],
    )


def merge_audit(previous: Audit | None, update: Audit) -> Audit:
    """Return `before` extended by `update`, or `update` alone if its trace is new. Reducer of `State.audit`."""
    if not previous or previous["trace_id"] != update["trace_id"]:
        return update
    return Audit(
        trace_id=previous["trace_id"],
        recorded=update["recorded"],
        steps=[*previous["steps"], *update["steps"]],
        llm_calls=previous["llm_calls"] + update["llm_calls"],
        prompt_tokens=previous["prompt_tokens"] + update["prompt_tokens"],
        completion_tokens=previous["completion_tokens"] + update["completion_tokens"],
        llm_cost_usd=add_costs((previous["llm_cost_usd"], update["llm_cost_usd"])),
        latency_ms=round(previous["latency_ms"] + update["latency_ms"], 1),
        assumptions=[*previous["assumptions"], *update["assumptions"]],
        notes=[*previous["notes"], *update["notes"]],
    )
