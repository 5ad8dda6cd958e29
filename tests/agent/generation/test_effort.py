"""The effort of a question: which calls it costs, and when a statement is validated."""

from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.sql.layout import in_lines
from tests.agent.walk import COUNT, DELIVERED, HOW_MANY, SAME, calls, correction, nodes, prompts, walk
from tests.conftest import VALID, MakeAgent, ScriptedAgent
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT, BY_ORDERS, ORDERS
from tests.support.databases import make_database, url

pytestmark = pytest.mark.integration

NO_ROWS = {"sql": "SELECT order_id FROM orders WHERE total_amount < 0"}
NONE_COUNTED = {"sql": "SELECT COUNT(*) FROM orders WHERE total_amount < 0"}
OBJECTION = {**VALID, "is_valid": False, "reason": "counts too many", "corrected_sql": None}
ALL_ORDERS = {"sql": "SELECT order_id, total_amount FROM orders LIMIT 100"}


@pytest.fixture
def asking(scripted: MakeAgent) -> MakeAgent:
    """A maker of agents whose effort decides about validation."""

    def make(*statements: Any, verdicts: Any = (VALID,), **overrides: Any) -> ScriptedAgent:
        answers = {"GeneratedSQL": list(statements), "SQLValidation": list(verdicts)}
        return scripted(answers, **{"enable_sql_validation": None, **overrides})

    return make


@pytest.mark.parametrize("effort", ["low", "medium"])
def test_a_statement_without_doubt_costs_one_call(asking: MakeAgent, effort: str) -> None:
    agent = asking(COUNT)

    assert agent.ask(HOW_MANY, effort=effort)["error"] is None
    assert calls(agent) == {"GeneratedSQL": 1}


@pytest.mark.parametrize("statement", [NO_ROWS, NONE_COUNTED], ids=["no rows", "zero"])
def test_an_empty_result_is_validated_once_and_not_run_again(asking: MakeAgent, statement: dict[str, Any]) -> None:
    agent = asking(statement)
    steps = walk(agent, "Which orders have a negative amount?")

    assert calls(agent) == {"GeneratedSQL": 1, "SQLValidation": 1}
    assert nodes(steps)[-5:] == ["check_stop_words", "validate_sql", "execute_sql", "validate_sql", "answer"]
    assert "- this query returns " in prompts(agent, "SQLValidation")[0]


def test_an_empty_value_is_told_with_the_end_of_the_dates_that_were_read(asking: MakeAgent) -> None:
    agent = asking(
        {"sql": "SELECT SUM(total_amount) FROM orders WHERE ordered_on >= '2030-01-01' AND total_amount < 0"}
    )
    output = agent.ask("What were total negative sales from 2030 on?")

    assert "The data end earlier: the last date of “Ordered on” is December 31, 2025." in output["answer"]
    prompt = prompts(agent, "SQLValidation")[0]
    assert "- this query returns one empty value; orders.ordered_on ends on 2025-12-31" in prompt


@pytest.mark.parametrize(
    ("condition", "is_told"),
    [
        ("ordered_on >= '2019-01-01' AND ordered_on < '2020-01-01'", True),
        ("ordered_on BETWEEN '2019-01-01' AND '2019-12-31'", True),
        ("strftime('%Y', ordered_on) = '2019'", True),
        ("ordered_on > '2019-01-01' AND total_amount < 0", False),
        ("strftime('%Y', ordered_on) = '2024' AND total_amount < 0", False),
        ("strftime('%m', ordered_on) = '10' AND total_amount < 0", False),
    ],
)
def test_a_period_before_the_data_says_where_they_begin(asking: MakeAgent, condition: str, is_told: bool) -> None:
    agent = asking({"sql": f"SELECT COUNT(*) AS n FROM orders WHERE {condition}"})
    answer = agent.ask("How many such orders in 2019?")["answer"]

    assert ("The data begin later: the first date of “Ordered on” is January" in answer) == is_told
    assert ("SQLValidation" not in calls(agent)) or not is_told


def test_the_end_of_dates_is_not_told_for_conditions_that_all_dates_meet(asking: MakeAgent) -> None:
    agent = asking({"sql": "SELECT SUM(total_amount) FROM orders WHERE ordered_on < '2030-01-01' AND total_amount < 0"})

    assert "data end" not in agent.ask("What were total negative sales before 2030?")["answer"]


EMPTY = {
    "conditions that hold for some rows each": (
        "Which orders are there?",
        "SELECT COUNT(*) FROM orders WHERE status = 'shipped' AND shipped_on IS NULL",
        False,
    ),
    "the end of the data, which is told": (
        "Which orders are there from 2030 on?",
        "SELECT * FROM orders WHERE ordered_on >= '2030-01-01'",
        False,
    ),
    "an exclusion": (
        "Which orders are there?",
        "SELECT * FROM orders o WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.customer_id = o.customer_id)",
        False,
    ),
    "two values of one column": (
        "Which orders are there?",
        "SELECT * FROM orders WHERE status = 'shipped' AND status = 'delivered'",
        True,
    ),
    "a condition without a column": ("Which orders are there?", "SELECT * FROM orders WHERE 1 = 0", True),
    "a pattern that no row has": (
        "Which customers are named Zzyzx?",
        "SELECT * FROM customers WHERE name LIKE '%Zzyzx%'",
        True,
    ),
    "a condition of a subquery on a table outside": (
        "Which customers named Zzyzx have shipped orders?",
        "SELECT name FROM customers c WHERE customer_id IN "
        "(SELECT o.customer_id FROM orders o WHERE o.status = 'shipped' AND c.name LIKE 'Zzyzx%')",
        True,
    ),
    "a condition of an aggregate": (
        "How many shipped orders are negative?",
        "SELECT SUM(CASE WHEN total_amount < 0 THEN 1 ELSE 0 END) FROM orders WHERE status = 'shipped'",
        True,
    ),
    "a condition on groups": (
        "Which customers have a negative order?",
        "SELECT customer_id FROM orders GROUP BY customer_id HAVING MIN(total_amount) < 0",
        True,
    ),
    "a join beside the keys": (
        "Which customers and products are there?",
        "SELECT * FROM customers c JOIN products p ON p.name = c.name",
        True,
    ),
}


@pytest.mark.parametrize(("question", "sql", "is_doubted"), EMPTY.values(), ids=EMPTY.keys())
def test_an_empty_result_is_doubted_if_a_condition_or_join_never_holds(
    asking: MakeAgent, question: str, sql: str, is_doubted: bool
) -> None:
    agent = asking({"sql": sql})
    agent.ask(question)

    assert any("- this query returns " in prompt for prompt in prompts(agent, "SQLValidation")) == is_doubted


def test_a_correction_after_an_empty_result_is_run(asking: MakeAgent) -> None:
    agent = asking(NO_ROWS, verdicts=[correction(ALL_ORDERS["sql"]), VALID])
    output = agent.ask("Which orders have a negative amount?")

    assert (output["sql"], len(output["tables"][0]["rows"])) == (ALL_ORDERS["sql"], 100)


def test_an_objection_after_an_empty_result_goes_back_to_generation(asking: MakeAgent) -> None:
    agent = asking(NO_ROWS, COUNT, verdicts=[OBJECTION, VALID])

    assert agent.ask("Which orders have a negative amount?")["sql"] == COUNT["sql"]
    assert "It failed: counts too many" in prompts(agent, "GeneratedSQL")[1]


def test_a_warning_is_a_doubt(asking: MakeAgent) -> None:
    agent = asking({"sql": "SELECT COUNT(*) FROM orders, products"})
    agent.ask(HOW_MANY)

    assert calls(agent)["SQLValidation"] == 1
    assert "every row is paired with every row" in prompts(agent, "SQLValidation")[0]


def test_a_statement_repaired_without_the_model_is_a_doubt(asking: MakeAgent) -> None:
    agent = asking({"sql": "SELECT COUNT(*) AS orders FROM order"})
    output = agent.ask(HOW_MANY)

    assert "repaired" in str(output["audit"]["notes"]) and calls(agent)["SQLValidation"] == 1


def test_a_join_on_an_inferred_key_is_no_doubt(asking: MakeAgent, tmp_path: Path) -> None:
    database = make_database(
        tmp_path,
        "CREATE TABLE clients (client_id INTEGER PRIMARY KEY, name TEXT)",
        "CREATE TABLE invoices (invoice_id INTEGER PRIMARY KEY, client_id INTEGER)",
        "INSERT INTO clients VALUES (1, 'Ann'), (2, 'Bob')",
        "INSERT INTO invoices VALUES (1, 1), (2, 1), (3, 2)",
    )
    agent = asking(
        {
            "sql": "SELECT c.name, COUNT(*) FROM clients AS c JOIN invoices AS i ON i.client_id = c.client_id "
            "GROUP BY c.name"
        }
    )
    output = agent.ask("How many invoices does each client have?", source=url(database))

    assert (calls(agent), output["status"]) == ({"GeneratedSQL": 1}, "ok")


def test_readings_with_equal_results_are_no_doubt(asking: MakeAgent) -> None:
    agent = asking({**ASKS, "alternatives": [ORDERS, {**ORDERS, "label": "the same"}]})

    assert agent.ask(BEST)["sql"] == BY_ORDERS
    assert calls(agent) == {"GeneratedSQL": 1}


@pytest.mark.parametrize("effort", ["low", "medium", "high"])
@pytest.mark.parametrize(("is_enabled", "validations"), [(True, 1), (False, 0)])
def test_an_explicit_setting_decides_alone(asking: MakeAgent, effort: str, is_enabled: bool, validations: int) -> None:
    for agent, given in (
        (asking(COUNT, COUNT, COUNT, effort=effort, enable_sql_validation=is_enabled), {}),
        (asking(COUNT, COUNT, COUNT), {"effort": effort, "enable_sql_validation": is_enabled}),
    ):
        agent.ask(HOW_MANY, **given)

        assert calls(agent).get("SQLValidation", 0) == validations


# High effort


def test_three_statements_that_agree_are_not_validated(asking: MakeAgent) -> None:
    agent = asking(COUNT, SAME, COUNT)
    output = agent.ask(HOW_MANY, effort="high")

    assert output["sql"] == COUNT["sql"]
    assert calls(agent) == {"GeneratedSQL": 3}
    assert len(set(prompts(agent, "GeneratedSQL"))) == 3


def test_statements_that_agree_on_another_year_are_validated(asking: MakeAgent) -> None:
    wrong, right = ({"sql": f"SELECT COUNT(*) AS n FROM orders WHERE ordered_on LIKE '{y}%'"} for y in (2023, 2024))
    agent = asking(wrong, wrong, wrong, verdicts=[correction(right["sql"]), VALID])
    output = agent.ask("How many orders were placed in 2024?", effort="high")

    assert (output["sql"], output["status"]) == (right["sql"], "ok")
    assert "the query does not use “2024” of the question" in prompts(agent, "SQLValidation")[0]


def test_three_statements_that_differ_are_judged_with_their_results(asking: MakeAgent) -> None:
    agent = asking(DELIVERED, COUNT, SAME, verdicts=[VALID])
    output = agent.ask(HOW_MANY, effort="high")

    assert output["sql"] == COUNT["sql"]
    (prompt,) = prompts(agent, "SQLValidation")
    count, delivered = (scripted_value(agent, each) for each in (COUNT, DELIVERED))
    assert f"this query returns 1 rows, the first: [{count}]" in prompt
    assert f"another query returns 1 rows, the first: [{delivered}]: {DELIVERED['sql']}" in prompt


def test_results_of_statements_are_told_without_personal_values(asking: MakeAgent) -> None:
    emails = {"sql": "SELECT email, city FROM customers ORDER BY customer_id"}
    agent = asking(emails, {"sql": "SELECT email, city FROM customers WHERE customer_id > 1"}, emails, verdicts=[VALID])
    agent.ask("emails and cities of customers", effort="high")

    (prompt,) = prompts(agent, "SQLValidation")
    assert "the first: ['***', '" in prompt
    assert "@" not in prompt.partition("Findings")[2]


def scripted_value(agent: ScriptedAgent, statement: dict[str, Any]) -> Any:
    return agent.services.source("sample").execute(statement["sql"])["rows"][0][0]


def test_the_validator_may_choose_the_statement_of_the_minority(asking: MakeAgent) -> None:
    agent = asking(DELIVERED, COUNT, COUNT, verdicts=[correction(DELIVERED["sql"]), VALID])

    assert agent.ask(HOW_MANY, effort="high")["sql"] == DELIVERED["sql"]


def test_a_failed_call_or_statement_leaves_the_others(asking: MakeAgent) -> None:
    agent = asking(COUNT, ConnectionError("gone"), {"sql": "SELECT nothing FROM orders"})
    output = agent.ask(HOW_MANY, effort="high")

    assert (output["error"], output["sql"]) == (None, COUNT["sql"])
    assert any("was not written" in note for note in output["audit"]["notes"])


# Low effort, and wrong values


def test_a_long_result_is_not_narrated_at_low_effort(asking: MakeAgent) -> None:
    agent = asking(ALL_ORDERS)
    output = agent.ask("What are the amounts of 100 orders?", effort="low")

    assert output["error"] is None and calls(agent) == {"GeneratedSQL": 1}


def test_the_chosen_reading_is_not_validated_at_medium_effort(asking: MakeAgent) -> None:
    agent = asking(ASKS)
    asked = agent.ask(BEST)["clarification"]
    again = asking({"sql": BY_AMOUNT})
    output = again.ask(BEST, clarification=asked, clarification_answer="2")

    assert output["sql"] == BY_AMOUNT and calls(again) == {"GeneratedSQL": 1}


def test_a_draft_has_the_statements_with_other_results_as_alternatives(asking: MakeAgent) -> None:
    total = {"sql": f"SELECT SUM(total_amount) AS revenue FROM orders WHERE status NOT IN ('x', '{'y' * 50}')"}
    repeated = "SELECT SUM(o.total_amount) AS revenue FROM orders AS o JOIN order_items AS i ON i.order_id = o.order_id"
    agent = asking(total, verdicts=[correction(repeated)], enable_sql_validation=True)
    output = agent.ask("What is the revenue?")

    assert output["status"] == "unsure" and "JOIN order_items" in output["sql"]
    (other,) = output["alternatives"]
    assert other["sql"] == in_lines(total["sql"], "sqlite") != total["sql"] and other["label"]
    assert other["preview"]["first"] == agent.services.source(None).execute(total["sql"])["rows"][0][0]


@pytest.mark.parametrize("verdicts", [[OBJECTION], [correction(DELIVERED["sql"]), OBJECTION]])
def test_a_draft_with_an_open_objection_has_the_other_statements(
    asking: MakeAgent, verdicts: list[dict[str, Any]]
) -> None:
    agent = asking(*[COUNT, DELIVERED, COUNT] * 3, verdicts=[*verdicts, OBJECTION], sql_validation_max_retries=1)
    output = agent.ask(HOW_MANY, effort="high")

    (other,) = output["alternatives"]
    assert output["status"] == "unsure"
    assert {output["sql"], other["sql"]} == {COUNT["sql"], DELIVERED["sql"]}


def test_an_answer_without_doubt_has_no_alternatives(asking: MakeAgent) -> None:
    agent = asking(COUNT, verdicts=[correction(DELIVERED["sql"]), VALID], enable_sql_validation=True)
    output = agent.ask(HOW_MANY)

    assert (output["status"], output["alternatives"]) == ("ok", [])
