"""Runs the nodes: counts what they do, and turns what they raise into the state's `failure`."""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from langgraph.errors import GraphBubbleUp

from agent.answers.failed import answer_failure
from agent.audit.step import Step, current_step, new_audit
from agent.errors import DatasphinxError, InternalError
from agent.failure import failure_of
from agent.services import Services
from agent.state import new_run

logger = logging.getLogger("datasphinx")

Node = Callable[[Any, Services], dict[str, Any]]
"""A node: it takes the state and returns what changes."""


@dataclass(frozen=True)
class Flow:
    """What the runs of a graph have in common."""

    new_run: Callable[[], dict[str, Any]]
    """Gives the working state as a question finds it."""
    last: str
    """The node that writes the answer."""
    failed: Callable[[dict[str, Any], Any], dict[str, Any]]
    """Gives the output for a failure of that node, and the state."""


SQL_AGENT = Flow(new_run, "answer", answer_failure)


class GraphNode(Protocol):
    """A node as LangGraph calls it."""

    __name__: str

    def __call__(self, state: Any) -> dict[str, Any]:
        """Return what changes in `state`."""


def run_as_node(node: Node, services: Services, flow: Flow = SQL_AGENT) -> GraphNode:
    """Return `node` as the graph calls it: with `services`, with its step on the audit, and raising nothing.

    The first node of a question finds nothing but its input; it gets a new trace id and a clean working state, and
    keeps what the question came with for the nodes after it.
    """

    def run(state: Any) -> dict[str, Any]:
        begins = "given" not in state
        begun = {**flow.new_run(), "given": {**state}} if begins else {}
        state = {**state.get("given", {}), **state}
        spent = new_audit(uuid.uuid4().hex) if begins else state["audit"]
        step = Step(node.__name__, spent)
        token = current_step.set(step)
        try:
            update = node(state, services)
        except GraphBubbleUp:
            raise
        except DatasphinxError as error:
            update = _failed(node, flow, state, error)
        except Exception as error:
            logger.exception("[%s] failed trace_id=%s", node.__name__, spent["trace_id"])
            internal = InternalError(f"{type(error).__name__}: {error}", spent["trace_id"])
            update = _failed(node, flow, state, internal)
        finally:
            current_step.reset(token)
        audit = step.record()
        logger.debug("[%s] %s ms trace_id=%s", node.__name__, audit["latency_ms"], spent["trace_id"])
        return {**begun, **update, "audit": audit}

    run.__name__ = node.__name__
    run.__doc__ = node.__doc__
    return run


def _failed(node: Node, flow: Flow, state: Any, error: DatasphinxError) -> dict[str, Any]:
    failure = failure_of(error)
    return flow.failed(failure, state) if node.__name__ == flow.last else {"failure": failure}
