from pathlib import Path

import pytest

from tests.agent.walk import COUNT, HOW_MANY, calls, prompts
from tests.conftest import MakeAgent
from tests.support.databases import make_table, url

pytestmark = pytest.mark.integration

PLAIN = [
    (HOW_MANY, COUNT["sql"]),
    ("Which 5 products are the most expensive?", "SELECT name, price FROM products ORDER BY price DESC LIMIT 5"),
]


@pytest.mark.parametrize(("question", "sql"), PLAIN, ids=["count", "ranking"])
@pytest.mark.parametrize(("validation", "expected"), [(True, 2), (False, 1)], ids=["validated", "not validated"])
def test_plain_question_costs(scripted: MakeAgent, question: str, sql: str, validation: bool, expected: int) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": sql}]}, enable_sql_validation=validation)
    output = agent.ask(question)

    assert output["error"] is None
    assert output["audit"]["llm_calls"] == len(agent.model.calls) == expected
    assert sum(calls(agent).values()) == expected


@pytest.mark.parametrize("rows", [1, 21])
def test_a_table_is_not_narrated(scripted: MakeAgent, rows: int) -> None:
    sql = f"SELECT order_id, total_amount FROM orders LIMIT {rows}"
    agent = scripted({"GeneratedSQL": [{"sql": sql}]})

    assert len(agent.ask("List orders with their amounts")["tables"][0]["rows"]) == rows
    assert "NarratedAnswer" not in calls(agent)


def test_reading_a_new_source_costs_no_call(scripted: MakeAgent, tmp_path: Path) -> None:
    path = make_table(tmp_path, "word TEXT, n INTEGER", [("a", 1)])
    agent = scripted({"GeneratedSQL": [{"sql": "SELECT SUM(n) AS n FROM things"}]}, enable_sql_validation=False)

    assert agent.ask("Sum of n over things", source=url(path))["audit"]["llm_calls"] == 1


BY_STATUS = {"sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status"}
STATUSES = "Status, Orders\ncancelled, 527\ndelivered, 9,488\npending, 32\nshipped, 80"


@pytest.mark.parametrize("sql", [COUNT["sql"], "SELECT status FROM orders WHERE total_amount < 0"])
def test_a_single_value_and_no_rows_are_never_narrated(scripted: MakeAgent, sql: str) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": sql}]})
    agent.ask("Describe the orders", output_type="string")

    assert "NarratedAnswer" not in calls(agent)


def test_a_string_has_the_plain_form_where_the_model_fails(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [BY_STATUS], "NarratedAnswer": ["", ""]})
    output = agent.ask("How many orders are there in each status?", output_type="string")

    assert output["value"] == output["answer"] == STATUSES


def test_the_prompt_of_a_narration_has_the_filters(scripted: MakeAgent) -> None:
    sql = "SELECT order_id FROM orders WHERE status = 'shipped' AND ordered_on LIKE '2025%' LIMIT 30"
    agent = scripted({"GeneratedSQL": [{"sql": sql}], "NarratedAnswer": ["", ""]})
    agent.ask("List shipped orders of 2025", output_type="string")

    (prompt, *_) = prompts(agent, "NarratedAnswer")
    assert "status = shipped; ordered on = 2025" in prompt
