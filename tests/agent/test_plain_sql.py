"""The plain profile: fenced SQL instead of JSON, for small models."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import ScriptedAgent

Make = Callable[..., ScriptedAgent]
COUNT = "How many customers are there?"
START = "```sql\nSELECT"


@pytest.fixture
def plain(scripted: Make) -> Callable[..., ScriptedAgent]:
    """A maker of agents with the profile plain, whose model answers with these texts."""

    def make(*texts: Any, **overrides: Any) -> ScriptedAgent:
        return scripted({"text": texts}, **{"llm_profile": "plain", **overrides})

    return make


def rows(output: dict[str, Any]) -> list[list[Any]]:
    assert output["error"] is None, output["error"]
    return output["tables"][0]["rows"]


@pytest.mark.parametrize(
    "text",
    [
        " COUNT(*) FROM customers;\n",
        "COUNT(*) FROM customers;\n```\nThis counts the customers.",
        "```sql\nSELECT COUNT(*) FROM customers;\n```",
        "```sql\nSELECT COUNT(*) FROM customers",
        "select count(*) from customers",
        "Here it is:\n```sql\nSELECT COUNT(*) FROM customers\n```\nIt counts the customers.",
        "WITH c AS (SELECT customer_id FROM customers) SELECT COUNT(*) FROM c",
        "<think>SELECT 7?</think>COUNT(*) FROM customers",
    ],
)
def test_one_call_answers_whether_the_model_continues_or_begins_again(plain: Make, text: str) -> None:
    agent = plain(text)
    output = agent.ask(COUNT)
    assert rows(output) == [[1184]]
    assert output["audit"]["llm_calls"] == len(agent.model.calls) == 1


def test_a_subquery_of_the_continuation_is_not_taken_for_the_statement(plain: Make) -> None:
    output = plain(" COUNT(*) FROM customers WHERE region_id IN (SELECT region_id FROM regions)").ask(COUNT)
    assert rows(output) == [[1184]]
