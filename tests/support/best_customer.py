"""A question with two readings, and the thread on which it is asked."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from datasphinx.agent.graph import build_graph
from tests.agent.walk import COUNT
from tests.conftest import ScriptedAgent

BEST = "Which customers are the best?"
BY_ORDERS = "SELECT customer_id FROM orders GROUP BY customer_id ORDER BY COUNT(*) DESC, customer_id LIMIT 3"
BY_AMOUNT = "SELECT customer_id FROM orders GROUP BY customer_id ORDER BY SUM(total_amount) DESC LIMIT 3"
ORDERS = {"label": "by orders", "reading": "those with the most orders", "sql": BY_ORDERS}
AMOUNT = {"label": "by amount", "reading": "those who spent the most", "sql": BY_AMOUNT}
QUESTION = {"ambiguity_type": "AmbQuestion", "question": "What makes a customer the best?"}
ASKS = {"sql": "", **QUESTION, "alternatives": [ORDERS, AMOUNT]}
SIZES = [{"label": "three", "reading": "the first three"}, {"label": "ten", "reading": "the first ten"}]
TWICE = {"sql": "", "ambiguity_type": "AmbOutput", "question": "How many of them?", "alternatives": SIZES}


def review_of(asks: dict[str, Any]) -> dict[str, Any]:
    """Return the review that asks the same as an answer with alternatives."""
    return {"summary": "The best are wanted.", "no_ambiguity": False, **asks, "options": asks["alternatives"]}


def asks_about_best(messages: list[BaseMessage]) -> dict[str, Any]:
    """Return alternatives for the question `BEST`, and for any other question the number of orders."""
    return ASKS if BEST in str(messages) else COUNT


class Talk:
    """A thread of a graph over a scripted model."""

    def __init__(self, agent: ScriptedAgent, thread: str = "one") -> None:
        self.agent, self.thread = agent, {"configurable": {"thread_id": thread}}
        self.graph = build_graph(agent.services, InMemorySaver())

    def ask(self, question: str | None = None, **given: Any) -> dict[str, Any]:
        return self.graph.invoke({**({"question": question} if question else {}), **given}, self.thread)

    def resume(self, answer: Any) -> dict[str, Any]:
        return self.graph.invoke(Command(resume=answer), self.thread)

    def state(self) -> dict[str, Any]:
        return self.graph.get_state(self.thread).values

    def prompts(self, schema: str) -> list[str]:
        return [call.prompt for call in self.agent.model.calls if call.schema_name == schema]


Talking = Callable[..., Talk]
"""The fixture `talking`."""
