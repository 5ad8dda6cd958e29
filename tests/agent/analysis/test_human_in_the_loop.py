"""What people do with an analysis between two nodes: stop it, edit its state, repeat it."""

import json
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from tests.agent.analysis.conftest import BY_ACCOUNT, QUESTION, TOTAL, MakeAnalyst, ScriptedAnalyst, step, tools

THREAD: Any = {"configurable": {"thread_id": "one"}}
DONE = step("finish", answer="{max.returns}")


@pytest.fixture
def agent(analyst: MakeAnalyst, dataset: str) -> ScriptedAnalyst:
    """An analyst on a thread, whose model makes one query."""
    return analyst([step("run_query", dataset_id=dataset, query=BY_ACCOUNT), DONE], checkpointer=InMemorySaver())


@pytest.mark.parametrize("node", ["plan", "run_tool", "narrate"])
@pytest.mark.parametrize("is_edited", [False, True])
def test_an_analysis_goes_on_from_every_node(agent: ScriptedAnalyst, dataset: str, node: str, is_edited: bool) -> None:
    agent.graph.invoke({"question": QUESTION, "datasets": [dataset]}, THREAD, interrupt_before=[node])
    assert agent.graph.get_state(THREAD).next == (node,)
    if is_edited:
        agent.graph.update_state(THREAD, {"clarification_count": 0})
    output = agent.graph.invoke(None, THREAD)

    assert (output["error"], output["answer"]) == (None, "70")
    assert tools(output) == ["get_schema", "run_query"]


def test_an_edited_call_is_made_and_checked(analyst: MakeAnalyst, dataset: str) -> None:
    query = step("run_query", dataset_id=dataset, query=BY_ACCOUNT)
    agent = analyst([query, query, DONE], checkpointer=InMemorySaver())
    given = {"question": QUESTION, "datasets": [dataset]}
    agent.graph.invoke(given, THREAD, interrupt_before=["run_tool"])
    agent.graph.invoke(None, THREAD, interrupt_before=["run_tool"])
    call = {"tool": "run_query", "arguments": json.dumps({"dataset_id": "other", "query": TOTAL}), "is_given": False}
    agent.graph.update_state(THREAD, {"call": call})
    output = agent.graph.invoke(None, THREAD)

    errors = [each["error"] for each in output["audit"]["steps"] if each.get("tool") == "run_query"]
    assert "there is no such dataset" in errors[0] and errors[1:] == [None]
    assert output["error"] is None


def test_an_analysis_is_repeated_from_its_checkpoints(agent: ScriptedAnalyst, dataset: str) -> None:
    given = {"question": QUESTION, "datasets": [dataset]}
    first = agent.graph.invoke(given, THREAD, durability="async")
    before_answer = next(each for each in agent.graph.get_state_history(THREAD) if each.next == ("narrate",))

    assert agent.graph.invoke(None, before_answer.config)["answer"] == first["answer"]
    assert len(agent.model.calls) == 2
