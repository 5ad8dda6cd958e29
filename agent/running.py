"""Runs the nodes: counts and records what they do, and turns what they raise into the state's `failure`."""

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphBubbleUp

from agent.answers.failed import answer_failure
from agent.audit.bodies import LOGGED_ANSWER, chart_bodies, output_body, run_body, step_body
from agent.audit.step import Audit, Step, current_step, merge_audit, new_audit
from agent.conversation.thread_run import CANCELLATION
from agent.errors import DatasphinxError, InternalError
from agent.failure import client_failure, failure_of, server_directories, without_server_paths
from agent.services import Services
from agent.sql.limits import Cancellation
from agent.sql.redact import without_paths
from agent.state import new_run
from agent.text import valid_json

logger = logging.getLogger("datasphinx")

Node = Callable[[Any, Services], dict[str, Any]]
"""A node: it takes the state and returns what changes."""


@dataclass(frozen=True)
class Flow:
    """What the runs of a graph have in common."""

    name: str
    """What the graph is called on the record."""
    new_run: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Gives the working state as a run finds it that begins with these inputs."""
    last: str
    """The node that writes the answer."""
    failed: Callable[[dict[str, Any], Any], dict[str, Any]]
    """Gives the output for a failure of that node, and the state."""


SQL_AGENT = Flow("agent", new_run, "answer", answer_failure)


_OPENED = ("files", "source")
"""Inputs that name what is opened: a path may hold bytes that are no text, which Python has as lone surrogates."""


class GraphNode(Protocol):
    """A node as LangGraph calls it."""

    __name__: str

    def __call__(self, state: Any) -> dict[str, Any]:
        """Return what changes in `state`."""


def run_as_node(node: Node, services: Services, flow: Flow = SQL_AGENT) -> GraphNode:
    """Return `node` as the graph calls it: with `services`, with its step on audit and record, and raising nothing.

    The first node of a question finds nothing but its input; it gets a new trace id and a clean working state, and
    keeps what the question came with for the nodes after it. A question whose beginning cannot be recorded ends there.
    The node that gives an answer is the last: with it the record of the run ends.
    """

    def run(state: Any) -> dict[str, Any]:
        begins = "given" not in state
        if begins:
            state = {name: value if name in _OPENED else valid_json(value) for name, value in state.items()}
        begun = {**flow.new_run(state), "given": {**state}} if begins else {}
        state = {**state.get("given", {}), **state}
        spent = new_audit(uuid.uuid4().hex) if begins else state["audit"]
        step = Step(node.__name__, spent, cancellation=_cancellation())
        token = current_step.set(step)
        try:
            step.recorder = services.recorder
            if begins:
                body = run_body(flow.name, state, services.settings, services.embedded, services.today())
                services.recorder.begin(spent["trace_id"], body)
            update = node(state, services)
        except GraphBubbleUp:
            raise
        except DatasphinxError as error:
            update = _failed(node, flow, state, error, services)
        except Exception as error:
            logger.exception("[%s] failed trace_id=%s", node.__name__, spent["trace_id"])
            # The text of an unexpected error may hold anything; a client of a server gets its type alone.
            reason = f"{type(error).__name__}: {error}" if _is_trusted(services) else type(error).__name__
            update = _failed(node, flow, state, InternalError(reason, spent["trace_id"]), services)
        finally:
            current_step.reset(token)
        audit = _recorded(step, update)
        update.pop(LOGGED_ANSWER, None)
        return _without_paths({**begun, **update, "audit": audit}, services)

    run.__name__ = node.__name__
    run.__doc__ = node.__doc__
    return run


def _cancellation() -> Cancellation | None:
    """Return what stops the run that goes on in this context; None where nothing does."""
    config = var_child_runnable_config.get() or {}
    found: Cancellation | None = config.get("configurable", {}).get(CANCELLATION)
    return found


def _failed(node: Node, flow: Flow, state: Any, error: DatasphinxError, services: Services) -> dict[str, Any]:
    failure = failure_of(error) if _is_trusted(services) else client_failure(error, services.settings)
    return flow.failed(failure, state) if node.__name__ == flow.last else {"failure": failure}


def _is_trusted(services: Services) -> bool:
    """Return whether errors may name paths of this machine: to callers that may name such paths themselves."""
    try:
        return services.any_source
    except DatasphinxError:
        # The settings cannot be read, and that error names no path.
        return True


def _without_paths(update: dict[str, Any], services: Services) -> dict[str, Any]:
    """Return `update` without the paths of this machine in its errors and notes, for clients of a server."""
    audit: Audit = update["audit"]
    wrong: list[Any] = [each for step in audit["steps"] for each in (step, *step["statements"]) if each.get("error")]
    failure = update.get("failure")
    if _is_trusted(services) or not (failure or wrong or audit["notes"]):
        return update
    directories = server_directories(services.settings)
    for each in wrong:
        each["error"] = without_paths(str(each["error"]), directories)
    audit["notes"] = [without_paths(note, directories) for note in audit["notes"]]
    return {**update, "failure": without_server_paths(failure, services.settings)} if failure else update


def _recorded(step: Step, update: dict[str, Any]) -> Audit:
    """Return the audit of `step`, which has ended with `update`, and put its end on the record."""
    audit = step.record()
    if step.tool:
        step.event("tool", step.tool)
    step.event("step", step_body(audit["latency_ms"], update, step.notes))
    if "answer" not in update or step.recorder is None:
        return audit
    for body in chart_bodies(update):
        step.event("chart", body)
    step.event("output", output_body(update, merge_audit(step.spent, audit)))
    lost = step.recorder.end(step.spent["trace_id"])
    if lost:
        step.notes.append(f"not all of this run is on the record: {lost}")
    return {**audit, "recorded": lost is None and step.recorder.is_on, "notes": step.notes}
