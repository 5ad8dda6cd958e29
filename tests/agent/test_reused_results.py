"""A statement that was executed for a comparison is not executed again for the answer."""

from collections import Counter
from typing import Any

import pytest

from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from tests.agent.walk import COUNT, HOW_MANY
from tests.conftest import MakeAgent, ScriptedAgent

pytestmark = [pytest.mark.integration, pytest.mark.stored_record]

DELIVERED = {"sql": "SELECT COUNT(*) AS orders FROM orders WHERE status = 'delivered'"}
CUSTOMERS = "SELECT customer_id FROM customers"


def executed(output: dict[str, Any]) -> dict[str, int]:
    """How often each statement was executed."""
    runs = [run for step in output["audit"]["steps"] for run in step["statements"]]
    assert all(run["error"] is None for run in runs)
    return Counter(run["sql"] for run in runs if not run.get("reused"))


def reused(output: dict[str, Any]) -> list[tuple[str, int]]:
    """The statements that were answered from an earlier execution, with their numbers of rows."""
    runs = [run for step in output["audit"]["steps"] for run in step["statements"]]
    return [(run["sql"], run["rows"]) for run in runs if run.get("reused")]


def is_replayed(agent: ScriptedAgent, output: dict[str, Any]) -> bool:
    settings = agent.services.settings
    done = replay(open_store(settings), output["audit"]["trace_id"], settings)
    return not done.differences and executed(done.output) == executed(output)


def test_statements_that_were_compared(scripted: MakeAgent) -> None:
    verdict = {"is_valid": True, "reason": ""}
    agent = scripted({"GeneratedSQL": [COUNT, DELIVERED, COUNT], "SQLValidation": [verdict]}, effort="high")
    output = agent.ask(HOW_MANY)

    assert output["error"] is None
    assert executed(output) == {COUNT["sql"]: 1, DELIVERED["sql"]: 1}
    assert reused(output) == [(COUNT["sql"], 1)]
    assert is_replayed(agent, output)


def test_readings_with_equal_results(scripted: MakeAgent) -> None:
    options = [
        {"label": "all", "reading": "all orders", "sql": COUNT["sql"]},
        {"label": "by id", "reading": "all orders by id", "sql": "SELECT COUNT(order_id) AS orders FROM orders"},
    ]
    agent = scripted({"GeneratedSQL": [{"sql": "", "question": "Which orders?", "alternatives": options}]})
    output = agent.ask(HOW_MANY, clarify="auto")

    assert output["clarification"] is None and output["sql"] == COUNT["sql"]
    assert executed(output) == {options[0]["sql"]: 1, options[1]["sql"]: 1}
    assert reused(output) == [(COUNT["sql"], 1)]
    assert is_replayed(agent, output)


def test_readings_that_were_cut_off_are_executed_again(scripted: MakeAgent) -> None:
    """Readings are compared by their first 200 rows; the answer has all of them."""
    pairs = "SELECT orders.order_id, customers.customer_id FROM orders CROSS JOIN customers"
    options = [{"label": "all", "reading": "all pairs", "sql": pairs}]
    agent = scripted({"GeneratedSQL": [{"sql": "", "question": "Which pairs?", "alternatives": options}]})
    output = agent.ask("List all pairs of orders and customers", clarify="auto")

    assert executed(output) == {pairs: 2} and reused(output) == []
    assert len(output["tables"][0]["rows"]) > 200


def test_statements_before_and_after_a_correction(scripted: MakeAgent) -> None:
    """The correction returns nothing, so the statement before it is executed as well, and then answered from."""
    empty = "SELECT customer_id FROM customers WHERE customer_id < 0"
    verdicts = [
        {"is_valid": False, "reason": "too many", "corrected_sql": empty},
        {"is_valid": False, "reason": "it returns nothing"},
    ]
    agent = scripted({"GeneratedSQL": [{"sql": CUSTOMERS}], "SQLValidation": verdicts}, enable_sql_validation=True)
    output = agent.ask("List the customers")

    assert output["sql"] == CUSTOMERS
    assert executed(output) == {CUSTOMERS: 1, empty: 1}
    assert is_replayed(agent, output)


def test_another_question_executes_its_statement_again(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT, COUNT]})

    assert [executed(agent.ask(HOW_MANY)) for _ in range(2)] == [{COUNT["sql"]: 1}] * 2


def test_a_limit_that_no_row_exceeds_costs_no_further_query(scripted: MakeAgent) -> None:
    """Whether it cuts rows is told by the statement's own rows, which the answer shows."""
    sql = "SELECT customer_id FROM customers LIMIT 100000"
    agent = scripted({"GeneratedSQL": [{"sql": sql}], "SQLValidation": [{"is_valid": True, "reason": ""}]})
    output = agent.ask("List the customers")

    assert executed(output) == {sql: 1}
    assert is_replayed(agent, output)
