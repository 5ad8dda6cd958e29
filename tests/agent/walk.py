"""What the graph does on the way, which the output does not show."""

from collections import Counter
from typing import Any

from langchain_core.messages import BaseMessage

from tests.conftest import ScriptedAgent

NODES = [
    "retrieve_tables",
    "select_columns",
    "ask_clarification",
    "generate_sql",
    "check_stop_words",
    "validate_sql",
    "execute_sql",
    "answer",
]
"""The nodes of the graph, in the order of a question that meets no obstacle."""

Steps = list[tuple[str, dict[str, Any]]]
"""Nodes in the order in which they ran, each with its update of the state."""

COUNT = {"sql": "SELECT COUNT(*) AS orders FROM orders"}
"""An answer to "How many orders are there?" on the sample shop."""

HOW_MANY = "How many orders are there?"

OFF_TOPIC = {"sql": "", "off_topic": True}
"""The model's answer to a question that the tables cannot answer."""

JOKE = "Tell me a joke about penguins"
"""A question that no word of the sample shop meets."""


def walk(agent: ScriptedAgent, question: str = HOW_MANY, **given: Any) -> Steps:
    """Run one question; return its steps."""
    stream = agent.graph.stream({"question": question, **given}, stream_mode="updates")
    return [(node, update) for chunk in stream for node, update in chunk.items()]


def nodes(steps: Steps) -> list[str]:
    """The nodes that ran."""
    return [node for node, _ in steps]


def updates_of(steps: Steps, node: str) -> list[dict[str, Any]]:
    """The updates of one node, in order."""
    return [update for name, update in steps if name == node]


def final(steps: Steps) -> dict[str, Any]:
    """The last update: the answer."""
    assert steps[-1][0] == "answer"
    return steps[-1][1]


def calls(agent: ScriptedAgent) -> dict[str, int]:
    """Calls of the model by schema."""
    return dict(Counter(call.schema_name for call in agent.model.calls))


def prompts(agent: ScriptedAgent, schema: str) -> list[str]:
    """The prompts that asked for `schema`, in order."""
    return [call.prompt for call in agent.model.calls if call.schema_name == schema]


def no_call(messages: list[BaseMessage]) -> Any:
    """An answer for a call that must not happen."""
    raise AssertionError("the model was asked")


DELIVERED = {"sql": "SELECT COUNT(*) AS orders FROM orders WHERE status = 'delivered'"}
SHIPPED = {"sql": "SELECT COUNT(*) AS orders FROM orders WHERE status = 'shipped'"}
SAME = {"sql": "SELECT COUNT(order_id) AS n FROM orders"}


def correction(sql: str, reason: str = "it does not answer the question", **given: Any) -> dict[str, Any]:
    return {"is_valid": False, "reason": reason, "issues": [reason], "corrected_sql": sql, **given}
