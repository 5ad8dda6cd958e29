"""Node: start a run of the analyst with its input and the parts of the thread that it continues."""

from typing import Any

from datasphinx.agent.conversation.inputs import asked_about, inputs_of, previous_inputs
from datasphinx.agent.services import Services
from datasphinx.agent.state import AnalystInput, AnalystState

_INPUTS = ("output_type", "clarify")
"""Inputs that stay in effect until a question is answered."""
_SOURCES = ("files", "datasets", "source")
_CONVERSATION = ("turns", "clarifications", "clarification", "earlier_results")


def begin(state: AnalystState, services: Services) -> dict[str, Any]:
    """Return the inputs of the run, and the keys that it takes over from the thread.

    The data of the previous question stay in effect until the input names other data. An answer to a clarifying
    question continues with the question that it refers to.
    """
    inputs = inputs_of(state, AnalystInput.__annotations__)
    if not any(inputs.get(name) for name in _SOURCES):
        inputs |= _previous_data(state)
    if "clarification_answer" in inputs:
        conversation = {name: value for name, value in state.items() if name in _CONVERSATION and value}
        payload = {**previous_inputs(state, _INPUTS), **inputs, **conversation}
        return {**payload, "question": asked_about(state) or inputs.get("question")}
    is_same_source = inputs.get("source") == (state.get("given") or {}).get("source")
    earlier = state.get("earlier_results") if is_same_source else None
    return {**inputs, "clarification": None, "turns": state.get("turns") or [], "earlier_results": earlier or {}}


def _previous_data(state: AnalystState) -> dict[str, Any]:
    """Return the files, with their options, the datasets or the source of the previous question."""
    given = state.get("given") or {}
    inputs = {name: value for name, value in given.items() if name in (*_SOURCES, "load") and value}
    if "source" in inputs:
        return {"source": inputs["source"]}
    registered_ids = {"files": state.get("file_ids"), "datasets": state.get("dataset_ids")}
    # A run that failed early has registered nothing.
    registered = {name: ids for name, ids in registered_ids.items() if ids}
    return {**registered, **({"load": inputs["load"]} if "load" in inputs else {})} if registered else inputs
