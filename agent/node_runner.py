"""Wrappers of the nodes: context, logging, audit, conversion of exceptions into `failure`, edges to the next node."""

import logging
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, get_args

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphBubbleUp
from langgraph.graph import START, StateGraph
from langgraph.runtime import get_runtime

from datasphinx.agent.conversation.conversations import CANCELLATION, PART_OF
from datasphinx.agent.core.failure import (
    client_failure,
    failure_of,
    server_directories,
    shows_paths,
    without_server_paths,
)
from datasphinx.agent.core.redact import without_paths
from datasphinx.agent.core.text import valid_json
from datasphinx.agent.errors import DatasphinxError, InputInvalid, InternalError
from datasphinx.agent.messages import Message
from datasphinx.agent.record.step import Audit, Step, merge_audit, new_audit, recorded_on
from datasphinx.agent.record.telemetry import check_installed, current_run
from datasphinx.agent.record.telemetry import node as trace_node
from datasphinx.agent.record.waiting import report_start
from datasphinx.agent.routes import Router, statements_left, unless_failed
from datasphinx.agent.run_events import LOGGED_ANSWER, chart_bodies, output_body, run_body, step_body
from datasphinx.agent.services import Services
from datasphinx.agent.sql.layout import in_lines
from datasphinx.agent.state import Context, State, new_run
from datasphinx.agent.types import Clarify, Effort, OutputType

_CHOICES = {"output_type": get_args(OutputType), "clarify": get_args(Clarify), "effort": get_args(Effort)}
"""The values of inputs with few of them."""


@dataclass(frozen=True)
class RunContext:
    """The context of a run."""

    services: Services
    """Services with the model of the context."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """The inputs that the context sets by default."""
    error: DatasphinxError | None = None
    """The error of a context that is not valid, or of the settings; the run ends with it."""


def run_context(services: Services, names: Mapping[str, Any]) -> RunContext:
    """Return the context of the current run, with the keys `names`; empty outside of a run."""
    runtime = get_runtime() if var_child_runnable_config.get() else None
    given = runtime.context if runtime else None
    if not given:
        return RunContext(services)
    try:
        values = _checked(given, names)
        model = values.pop("model", None)
        return RunContext(services.with_model(model) if model else services, values)
    except DatasphinxError as error:
        return RunContext(services, error=error)


def _checked(given: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a context that are set; an empty text, as forms send it, counts as not set.

    Raises:
        InputInvalid: a key or a value is not valid.
    """
    if not isinstance(given, Mapping):
        raise InputInvalid("context", Message("value_invalid"))
    for name, value in given.items():
        choices = _CHOICES.get(name)
        if name not in names:
            raise InputInvalid(f"context.{name}"[:200], Message("one_of", choices=", ".join(names)))
        if value in (None, ""):
            continue
        if not isinstance(value, str):
            raise InputInvalid(f"context.{name}", Message("not_text"))
        if choices and value not in choices:
            raise InputInvalid(f"context.{name}", Message("one_of", choices=", ".join(choices)))
    return {name: value for name, value in given.items() if value not in (None, "")}


logger = logging.getLogger("datasphinx")

Node = Callable[[Any, Services], dict[str, Any]]
"""A node: returns the changes of the state."""

Steps = tuple[tuple[Node, Router | str, dict[str, str]], ...]
"""The nodes, how the next one is chosen, and the labels of the edges by the next node."""


@dataclass(frozen=True)
class Flow:
    """Properties of all runs of one graph."""

    name: str
    """The name of the graph in the event log."""
    state: type
    """The type of the working state."""
    answer_node: str
    """The node that writes the answer, also the text of a failure, even of its own."""
    context: Mapping[str, Any] = field(default_factory=lambda: Context.__annotations__)
    """The keys of the context of a run."""
    data: tuple[str, ...] = ("source",)
    """The inputs that name the data of a question. A default source is used if none of them is given."""
    is_report: bool = False
    """Whether a run may cost as much as a report, rather than one question."""


SQL_AGENT = Flow("agent", State, "answer")

_FAILED = "error"
"""The label of an edge that is taken after a failure only."""
_UNDECODED_INPUTS = ("files", "source")
"""Inputs that may be paths. Bytes of a path that are not UTF-8 are lone surrogates in Python and must be kept."""


class GraphNode(Protocol):
    """A node in the form that LangGraph calls."""

    __name__: str

    def __call__(self, state: Any) -> dict[str, Any]:
        """Return the changes of `state`."""


def add_nodes(builder: StateGraph[Any, Any, Any, Any], flow: Flow, steps: Steps, services: Services) -> None:
    """Add the nodes of `steps` and their edges to `builder`; a failure leads to the node that writes the answer.

    Pictures show the labels of the edges, and the first line of a node's docstring as its description.
    """
    builder.add_edge(START, "begin")
    for node, router, labels in steps:
        name = node.__name__
        if name == "begin":
            run: Any = partial(_start_run, node, services, flow)
        elif name == "await_clarification":
            run = partial(_unrecorded, node, services)
        else:
            run = run_as_node(node, services, flow)
        builder.add_node(name, run, metadata={"description": (node.__doc__ or "").partition("\n")[0]})
        if name not in (flow.answer_node, "await_clarification"):
            router, labels = unless_failed(router, flow.answer_node), {flow.answer_node: _FAILED, **labels}
        builder.add_conditional_edges(name, _Edge(router, labels), {label: target for target, label in labels.items()})


def _unrecorded(node: Node, services: Services, state: Any) -> dict[str, Any]:
    return node(state, services)


class _Edge(Runnable[Any, str]):
    """Returns the label of the edge to the next node. LangGraph would make a function a run of its own."""

    name = "edge"

    def __init__(self, router: Router | str, labels: Mapping[str, str]) -> None:
        self._router, self._labels = router, labels

    def invoke(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> str:
        return self._labels[self._router if isinstance(self._router, str) else self._router(input)]


def _start_run(node: Node, shared: Services, flow: Flow, state: Any) -> dict[str, Any]:
    """Return a new working state with a trace id for the inputs that `node` returns, and log the start of the run.

    The inputs are kept under `given`. If the start cannot be logged, the run fails.
    """
    context, trace_id = run_context(shared, flow.context), uuid.uuid4().hex
    inputs = _with_defaults(node(state, context.services), context, flow)
    # Rows of earlier answers are keys of the working state.
    given = {name: value for name, value in inputs.items() if name not in ("result", "parts")}
    question, audit = inputs.get("question"), new_audit(trace_id)
    working_state = {**new_run(flow.state, inputs), "question": question, "given": given, "audit": audit}

    def begin() -> dict[str, Any]:
        _begin_run(trace_id, inputs, context, flow)
        return {}

    failure = _or_failure(begin, node, flow, working_state, context.services)
    return _without_paths({**working_state, **failure}, context.services)


def run_as_node(node: Node, shared: Services, flow: Flow = SQL_AGENT) -> GraphNode:
    """Return `node` as a function of the state alone, which logs its step, adds to the audit, and raises nothing.

    `shared` are the services of all runs; the context of a run may choose another model.

    An error becomes the state's `failure`. The node that writes the answer also ends the log of the run.
    """

    def run_step(state: Any) -> dict[str, Any]:
        services = run_context(shared, flow.context).services
        state = {**state["given"], **state}
        trace_id = state["audit"]["trace_id"]
        config = var_child_runnable_config.get() or {}
        configurable = config.get("configurable", {})
        step = Step(
            node.__name__,
            state["audit"],
            cancellation=configurable.get(CANCELLATION),
            part_of=configurable.get(PART_OF),
            is_report=flow.is_report,
        )

        def recorded() -> dict[str, Any]:
            step.recorder = services.recorder
            step.results = partial(services.results.of, trace_id)
            return node(state, services)

        attempt = 1 + sum(each["node"] == node.__name__ for each in state["audit"]["steps"])
        left = statements_left(state["attempts"], services.settings) if node.__name__ == "generate_sql" else None
        report_start(node.__name__, attempt, None if left is None else attempt + left)
        try:
            with recorded_on(step):
                update = _or_failure(recorded, node, flow, state, services)
        except GraphBubbleUp:
            # The run is suspended, perhaps for long or for ever.
            services.recorder.flush(trace_id)
            raise
        if "answer" in update:
            services.results.forget(trace_id)
            if flow is SQL_AGENT and update.get("sql") and not update.get("verified"):
                # A failure to open the source again is none of the answer.
                with suppress(DatasphinxError):
                    update["sql"] = in_lines(update["sql"], services.source(state.get("source")).catalog.dialect)
        audit = _record_result(step, update)
        logged_answer = update.pop(LOGGED_ANSWER, update.get("answer"))
        if "answer" in update:
            _report_answer(state, update, logged_answer)
        return _without_paths({**update, "audit": audit}, services)

    def run(state: Any) -> dict[str, Any]:
        with trace_node(node.__name__) as operation:
            update = run_step(state)
            operation.error = (update.get("failure") or {}).get("code", "")
        return update

    run.__name__ = node.__name__
    run.__doc__ = node.__doc__
    return run


def _or_failure(
    call: Callable[[], dict[str, Any]], node: Node, flow: Flow, state: Any, services: Services
) -> dict[str, Any]:
    """Return the result of `call`, or the update for its error: a failure, or the output of the last node."""
    try:
        return call()
    except GraphBubbleUp:
        raise
    except DatasphinxError as error:
        problem = error
    except Exception as error:
        trace_id = state["audit"]["trace_id"]
        logger.exception("[%s] failed trace_id=%s", node.__name__, trace_id)
        # The text of an unexpected error may contain anything; a client of a server gets only its type.
        reason = f"{type(error).__name__}: {error}" if _is_trusted(services) else type(error).__name__
        problem = InternalError(reason, trace_id)
    failure = failure_of(problem) if _is_trusted(services) else client_failure(problem, services.settings)
    update = {"failure": failure}
    return node({**state, **update}, services) if node.__name__ == flow.answer_node else update


def _with_defaults(state: Any, context: RunContext, flow: Flow) -> dict[str, Any]:
    """Return the input `state` as valid JSON, with the defaults of the context for what it leaves open."""
    has_data = any(state.get(name) for name in flow.data)
    unset = {name: value for name, value in context.defaults.items() if state.get(name) is None}
    state = {**state, **{name: value for name, value in unset.items() if name != "source" or not has_data}}
    return {name: value if name in _UNDECODED_INPUTS else valid_json(value) for name, value in state.items()}


def _begin_run(trace_id: str, state: Any, context: RunContext, flow: Flow) -> None:
    """Log the start of a run, with the ids of its span if it is traced.

    Raises:
        DatasphinxError: the start cannot be logged, the run cannot be traced, or the context or an input is wrong.
    """
    services = context.services
    body = run_body(
        flow.name,
        state,
        services.settings,
        services.models.embedded,
        services.today(),
        services.knowledge_hashes(state.get("source")) if flow is SQL_AGENT or state.get("source") else {},
    )
    span = current_run()
    link = span.begin(trace_id, state.get("question")) if span else {}
    services.recorder.begin(trace_id, {**body, **link})
    check_installed(services.settings)
    if context.error:
        raise context.error
    for name, choices in _CHOICES.items():
        if state.get(name) and state[name] not in choices:
            raise InputInvalid(name, Message("one_of", choices=", ".join(choices)))


def _report_answer(state: Any, update: dict[str, Any], logged_answer: str) -> None:
    """Add the answer to the span of the run, and to the messages if the input had some."""
    span = current_run()
    if span:
        span.answered(logged_answer, (update.get("error") or {}).get("code", ""))
    if state.get("messages"):
        update["messages"] = [AIMessage(update["answer"])]


def _is_trusted(services: Services) -> bool:
    """Return whether errors may contain local paths: only callers that may query any path see them."""
    try:
        return services.any_source
    except DatasphinxError:
        # The settings are invalid; that error contains no path.
        return True


def _without_paths(update: dict[str, Any], services: Services) -> dict[str, Any]:
    """Return `update` without local paths in its errors and notes, for clients of a server."""
    audit: Audit = update["audit"]
    errors: list[Any] = [item for step in audit["steps"] for item in (step, *step["statements"]) if item.get("error")]
    failure = update.get("failure")
    if _is_trusted(services) or shows_paths(services.settings) or not (failure or errors or audit["notes"]):
        return update
    directories = server_directories(services.settings)
    for item in errors:
        item["error"] = without_paths(str(item["error"]), directories)
    audit["notes"] = [without_paths(note, directories) for note in audit["notes"]]
    return {**update, "failure": without_server_paths(failure, services.settings)} if failure else update


def _record_result(step: Step, update: dict[str, Any]) -> Audit:
    """Return the audit of `step`, which ended with `update`, after logging its end."""
    audit = step.record()
    if step.tool:
        step.event("tool", step.tool)
    step.event("step", step_body(audit["latency_ms"], update, [*step.notes, *step.remarks]))
    if "answer" not in update or step.recorder is None:
        return audit
    for body in chart_bodies(update):
        step.event("chart", body)
    step.event("output", output_body(update, merge_audit(step.previous_audit, audit)))
    error = step.recorder.end(step.previous_audit["trace_id"])
    if error:
        step.notes.append(f"not all of this run is on the record: {error}")
    return {**audit, "recorded": error is None and step.recorder.is_on, "notes": step.notes}
