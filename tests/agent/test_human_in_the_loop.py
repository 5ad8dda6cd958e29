"""What people do with a run between two nodes, through the public graph: stop it, edit it, repeat it, fork it."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.graph import Graph, build_graph
from tests.agent.walk import COUNT, HOW_MANY, NODES, calls
from tests.conftest import MakeAgent, ScriptedAgent

pytestmark = pytest.mark.integration

CUSTOMERS = "SELECT COUNT(*) AS customers FROM customers"
THREAD: Any = {"configurable": {"thread_id": "one"}}
BEFORE_EXECUTION = ["check_stop_words", "validate_sql", "execute_sql"]
"""The nodes after generation, before which a person may edit the statement."""


def graph_of(agent: ScriptedAgent) -> Graph:
    return build_graph(agent.services, InMemorySaver())


def stop(graph: Graph, node: str, question: str = HOW_MANY) -> None:
    """Run a question until `node` is next."""
    graph.invoke({"question": question}, THREAD, interrupt_before=[node])
    assert graph.get_state(THREAD).next == (node,)


def go_on(graph: Graph, config: Any = THREAD) -> dict[str, Any]:
    return graph.invoke(None, config)


def steps_of(output: dict[str, Any]) -> list[str]:
    return [step["node"] for step in output["audit"]["steps"]]


def executed(output: dict[str, Any]) -> list[str]:
    """The statements that a database executed, not those that the guard refused."""
    runs = [run for step in output["audit"]["steps"] for run in step["statements"]]
    return [run["sql"] for run in runs if run["error"] is None]


# Stopping


@pytest.mark.parametrize("node", NODES)
def test_a_run_that_was_edited_goes_on_from_every_node(scripted: MakeAgent, node: str) -> None:
    agent = scripted({"GeneratedSQL": [COUNT]})
    graph = graph_of(agent)
    stop(graph, node)
    graph.update_state(THREAD, {"proposed_output_type": "number"})
    output = go_on(graph)

    assert (output["error"], output["sql"]) == (None, COUNT["sql"])
    assert steps_of(output) == NODES
    assert calls(agent) == {"GeneratedSQL": 1, "SQLValidation": 1}


def test_a_run_stops_before_each_node_and_goes_on(scripted: MakeAgent) -> None:
    graph, seen = graph_of(scripted({"GeneratedSQL": [COUNT]})), []
    given: Any = {"question": HOW_MANY}
    while given is not None or graph.get_state(THREAD).next:
        graph.invoke(given, THREAD, interrupt_before="*")
        seen, given = [*seen, *graph.get_state(THREAD).next], None

    assert seen == NODES
    assert graph.get_state(THREAD).values["sql"] == COUNT["sql"]


def test_a_new_question_replaces_a_run_that_was_stopped(scripted: MakeAgent) -> None:
    graph = graph_of(scripted({"GeneratedSQL": [COUNT, {"sql": CUSTOMERS}]}))
    graph.invoke({"question": HOW_MANY, "output_type": "string"}, THREAD, interrupt_before=["execute_sql"])
    output = graph.invoke({"question": "How many customers are there?"}, THREAD)

    assert (output["sql"], output["output_type"]) == (CUSTOMERS, "number")
    assert steps_of(output) == NODES


@pytest.mark.parametrize("node", NODES)
def test_a_run_that_follows_another_one_goes_on(scripted: MakeAgent, node: str) -> None:
    graph = graph_of(scripted({"GeneratedSQL": [COUNT, {"sql": CUSTOMERS}]}))
    graph.invoke({"question": HOW_MANY}, THREAD)
    stop(graph, node, "How many customers are there?")
    graph.update_state(THREAD, {"proposed_output_type": "number"})
    output = go_on(graph)

    assert (output["error"], output["sql"]) == (None, CUSTOMERS)
    assert steps_of(output) == NODES


# Editing


def test_the_question_is_edited_before_the_first_node(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT]})
    graph = graph_of(agent)
    graph.invoke({"question": "How meny?", "output_type": "string"}, THREAD, interrupt_before=["retrieve_tables"])
    graph.update_state(THREAD, {"question": HOW_MANY})
    output = go_on(graph)

    assert (output["sql"], output["output_type"]) == (COUNT["sql"], "string")
    assert f"Question: {HOW_MANY}" in agent.model.calls[0].prompt


@pytest.mark.parametrize("node", BEFORE_EXECUTION)
def test_an_edited_statement_is_executed(scripted: MakeAgent, node: str) -> None:
    graph = graph_of(scripted({"GeneratedSQL": [COUNT]}))
    stop(graph, node)
    graph.update_state(THREAD, {"sql_request": CUSTOMERS})
    output = go_on(graph)

    assert (output["error"], output["sql"], executed(output)) == (None, CUSTOMERS, [CUSTOMERS])


CHECKED = {"stop_words": False, "used_stop_words": [], "validation": None, "sql_request_is_valid": False}
"""What the nodes write about a statement that they found to be in order."""


@pytest.mark.parametrize("node", BEFORE_EXECUTION)
@pytest.mark.parametrize(
    "sql",
    ["DROP TABLE orders", "DELETE FROM orders", "SELECT 1; DROP TABLE orders", "SELECT name FROM sqlite_master"],
)
@pytest.mark.parametrize("said", [{}, CHECKED], ids=["edited", "said to be checked"])
def test_an_edited_statement_is_guarded(scripted: MakeAgent, node: str, sql: str, said: dict[str, Any]) -> None:
    graph = graph_of(scripted({"GeneratedSQL": [COUNT, COUNT]}))
    stop(graph, node)
    graph.update_state(THREAD, {"sql_request": sql, **said})
    output = go_on(graph)

    assert [each for each in executed(output) if each != COUNT["sql"]] == []
    assert output["sql"] == COUNT["sql"] or output["error"]


@pytest.mark.parametrize("node", [*BEFORE_EXECUTION, "answer"])
def test_nothing_is_said_of_an_edited_statement_that_was_known_of_another(scripted: MakeAgent, node: str) -> None:
    written = {**COUNT, "answer": "There are {value} orders.", "assumptions": ["cancelled ones count"]}
    graph = graph_of(scripted({"GeneratedSQL": [written]}))
    stop(graph, node)
    graph.update_state(THREAD, {"sql_request": CUSTOMERS})
    assert graph.get_state(THREAD).next == ("check_stop_words",)
    output = go_on(graph)

    assert (output["sql"], output["value"], output["checked"], output["verified"]) == (CUSTOMERS, 1184, False, None)
    assert "orders" not in output["answer"] and "cancelled" not in output["answer"]
    assert graph.get_state(THREAD).values["attempts"][-1]["origin"] == "user"


# Time travel


def history(graph: Graph) -> dict[str, Any]:
    """Return the snapshots of the thread by the node that is next; "" at the end."""
    return {"".join(snapshot.next): snapshot for snapshot in reversed([*graph.get_state_history(THREAD)])}


def test_a_fork_takes_another_way_and_leaves_the_run_as_it_was(scripted: MakeAgent) -> None:
    graph = graph_of(scripted({"GeneratedSQL": [COUNT]}))
    graph.invoke({"question": HOW_MANY}, THREAD, durability="async")
    before = history(graph)["check_stop_words"]
    fork = graph.update_state(before.config, {"sql_request": CUSTOMERS}, as_node="generate_sql")
    output = go_on(graph, fork)

    assert output["sql"] == CUSTOMERS
    answers = {snapshot.values["sql"] for snapshot in graph.get_state_history(THREAD) if not snapshot.next}
    assert answers == {COUNT["sql"], CUSTOMERS}


def test_a_question_is_asked_anew_from_its_start(scripted: MakeAgent) -> None:
    graph = graph_of(scripted({"GeneratedSQL": [COUNT, {"sql": CUSTOMERS}]}))
    first = graph.invoke({"question": HOW_MANY}, THREAD, durability="async")
    fork = graph.update_state(
        history(graph)["__start__"].config, {"question": "How many customers are there?"}, as_node="__start__"
    )
    output = go_on(graph, fork)

    assert output["sql"] == CUSTOMERS
    assert output["audit"]["trace_id"] != first["audit"]["trace_id"]
