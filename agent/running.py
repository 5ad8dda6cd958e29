"""Runs the nodes: counts what they do, and turns what they raise into the state's `failure`."""

import logging
import uuid
from collections.abc import Callable
from typing import Any, Protocol, cast

from langgraph.errors import GraphBubbleUp

from agent.answers.failed import answer_failure
from agent.audit.step import Step, current_step, new_audit
from agent.errors import DatasphinxError, InternalError
from agent.failure import failure_of
from agent.services import Services
from agent.state import State, new_run

logger = logging.getLogger("datasphinx")

Node = Callable[[State, Services], dict[str, Any]]
"""A node: it takes the state and returns what changes."""


class GraphNode(Protocol):
    """A node as LangGraph calls it."""

    __name__: str

    def __call__(self, state: State) -> dict[str, Any]:
        """Return what changes in `state`."""


def run_as_node(node: Node, services: Services) -> GraphNode:
    """Return `node` as the graph calls it: with `services`, with its step on the audit, and raising nothing.

    The first node of a question finds no counter in the state; it gets a new trace id and a clean working state, and
    keeps what the question came with for the nodes after it.
    """

    def run(state: State) -> dict[str, Any]:
        begins = "table_counter" not in state
        begun = {**new_run(), "given": {**state}} if begins else {}
        state = cast(State, {**state.get("given", {}), **state})
        spent = new_audit(uuid.uuid4().hex) if begins else state["audit"]
        step = Step(node.__name__, spent)
        token = current_step.set(step)
        try:
            update = node(state, services)
        except GraphBubbleUp:
            raise
        except DatasphinxError as error:
            update = _failed(node, state, error)
        except Exception as error:
            logger.exception("[%s] failed trace_id=%s", node.__name__, spent["trace_id"])
            update = _failed(node, state, InternalError(f"{type(error).__name__}: {error}", spent["trace_id"]))
        finally:
            current_step.reset(token)
        audit = step.record()
        logger.debug("[%s] %s ms trace_id=%s", node.__name__, audit["latency_ms"], spent["trace_id"])
        return {**begun, **update, "audit": audit}

    run.__name__ = node.__name__
    run.__doc__ = node.__doc__
    return run


def _failed(node: Node, state: State, error: DatasphinxError) -> dict[str, Any]:
    failure = failure_of(error)
    if node.__name__ == "answer":
        return answer_failure(failure, state)
    return {"failure": failure}
