"""Questions over the sample shop with business knowledge, with a scripted model."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sql.layout import in_lines
from datasphinx.agent.types import EmbeddedOptions
from tests.agent.knowledge.conftest import Write
from tests.agent.walk import calls, no_call, prompts, updates_of, walk
from tests.conftest import MakeAgent, ScriptedAgent

pytestmark = pytest.mark.integration

TEXT = """\
metrics:
  revenue:
    synonyms: [выручка]
    definition: Order totals without cancelled orders
    expression: SUM(orders.total_amount)
    filters: [orders.status <> 'cancelled']
    date_column: orders.ordered_on
  gross sales: {expression: SUM(orders.total_amount), definition: All orders, synonyms: sales}
  net sales: {expression: SUM(order_items.line_total), definition: Without cancelled ones, synonyms: sales}
terms:
  active customer:
    definition: Ordered in 2025
    condition: customers.customer_id IN (SELECT customer_id FROM orders WHERE ordered_on >= '2025-01-01')
tables:
  orders:
    columns:
      channel: {labels: {P: phone}}
"""
REVENUE = "SELECT SUM(total_amount) AS revenue FROM orders WHERE status <> 'cancelled'"
GROSS = "SELECT SUM(total_amount) AS revenue FROM orders"


@pytest.fixture
def asked(scripted: MakeAgent, write: Write, cache_dir: Path) -> MakeAgent:
    """Make an agent whose sample shop has the knowledge of `TEXT`."""

    def make(answers: dict[str, Any], text: str = TEXT, **settings: Any) -> ScriptedAgent:
        source = {"url": shop_url(cache_dir), "knowledge": write(text)}
        return scripted(answers, sources={"shop": source}, **settings)

    return make


def test_prompt_has_the_definitions_that_the_question_names_only(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [{"sql": REVENUE}]})
    agent.ask("What was the revenue?")

    (prompt,) = prompts(agent, "GeneratedSQL")
    assert "- metric 'revenue': SUM(orders.total_amount); only rows with orders.status <> 'cancelled'" in prompt
    assert "active customer" not in prompt and "gross sales" not in prompt


def test_answer_lists_the_definitions_that_were_applied(asked: MakeAgent) -> None:
    sql = f"{REVENUE} AND channel = 'P'"
    output = asked({"GeneratedSQL": [{"sql": sql}]}).ask("What was the revenue of phone orders?")

    assert output["definitions"] == [
        {
            "name": "revenue",
            "kind": "metric",
            "definition": "Order totals without cancelled orders",
            "place": "knowledge/shop.yml:2",
        },
        {"name": "phone", "kind": "label", "definition": "orders.channel = 'P'", "place": "knowledge/shop.yml:17"},
    ]
    assert output["filters"] == []
    assert output["audit"]["assumptions"] == []


def test_filters_beside_those_of_definitions_are_listed(asked: MakeAgent) -> None:
    sql = f"{REVENUE} AND channel IN ('P', 'S') AND ordered_on >= '2024-01-01' AND ordered_on < '2025-01-01'"
    output = asked({"GeneratedSQL": [{"sql": sql}]}).ask("What was the revenue of phone orders?")

    assert output["filters"] == ["channel = phone or store", "2024"]


def test_stored_codes_are_shown_for_their_names(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [{"sql": "SELECT COUNT(*) FROM orders WHERE channel = 'P'"}]})
    agent.ask("How many phone orders are there?")

    assert "Stored values that the question mentions: orders.channel = 'P'" in prompts(agent, "GeneratedSQL")[0]


def test_statement_that_departs_from_a_metric_is_validated(asked: MakeAgent) -> None:
    correction = {"is_valid": False, "reason": "cancelled orders", "issues": [], "corrected_sql": REVENUE}
    agent = asked({"GeneratedSQL": [{"sql": GROSS}], "SQLValidation": [correction]}, enable_sql_validation=None)
    output = agent.ask("What was the revenue?")

    assert "the query does not have the condition orders.status <> 'cancelled'" in prompts(agent, "SQLValidation")[0]
    assert output["sql"] == REVENUE
    assert [applied["name"] for applied in output["definitions"]] == ["revenue"]


def test_wrong_grouping_and_addition_of_a_metric_are_validated(asked: MakeAgent) -> None:
    text = (
        "metrics:\n  average order value:\n    expression: AVG(orders.total_amount)\n    additivity: non-additive\n"
        "    dimensions: [orders.channel]\n"
    )
    right = "SELECT channel, AVG(total_amount) FROM orders GROUP BY channel"
    wrong = "WITH t AS (SELECT status, AVG(total_amount) AS a FROM orders GROUP BY status) SELECT SUM(a) FROM t"
    correction = {"is_valid": False, "reason": "not additive", "issues": [], "corrected_sql": right}
    agent = asked({"GeneratedSQL": [{"sql": wrong}], "SQLValidation": [correction]}, text, enable_sql_validation=None)
    output = agent.ask("What is the average order value?")

    prompt = prompts(agent, "SQLValidation")[0]
    assert "the query groups it by orders.status, which is not among its dimensions" in prompt
    assert "the query adds its values" in prompt
    assert output["sql"] == right


def test_statement_that_follows_a_metric_needs_no_validation(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [{"sql": REVENUE}]}, enable_sql_validation=None)
    agent.ask("What was the revenue?")

    assert calls(agent) == {"GeneratedSQL": 1}


def test_departure_that_remains_is_stated(asked: MakeAgent) -> None:
    output = asked({"GeneratedSQL": [{"sql": GROSS}]}, effort="low", enable_sql_validation=None).ask("The revenue?")

    assert output["definitions"] == []
    assert output["audit"]["assumptions"] == ["The definition of revenue was not followed exactly."]
    assert "The definition of revenue was not followed exactly." in output["answer"]


def test_departure_that_the_model_confirms_is_settled(asked: MakeAgent) -> None:
    output = asked({"GeneratedSQL": [{"sql": GROSS}]}, enable_sql_validation=None).ask("The revenue?")

    assert (output["checked"], output["status"], output["audit"]["assumptions"]) == (True, "ok", [])


def test_word_of_two_metrics_is_asked_with_their_definitions(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [no_call]})
    output = agent.ask("What were the sales?")

    question = output["clarification"]
    assert question["question"] == "Which one do you mean by “sales”?"
    assert [(option["label"], option["reading"]) for option in question["options"]] == [
        ("gross sales", "SUM(orders.total_amount); All orders"),
        ("net sales", "SUM(order_items.line_total); Without cancelled ones"),
    ]
    assert calls(agent) == {}


def test_answer_to_that_question_chooses_the_metric(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [{"sql": GROSS}]})
    question = agent.ask("What were the sales?")["clarification"]
    output = agent.ask("What were the sales?", clarification=question, clarification_answer="1")

    prompt = prompts(agent, "GeneratedSQL")[0]
    assert "metric 'gross sales'" in prompt and "metric 'net sales'" not in prompt
    assert [applied["name"] for applied in output["definitions"]] == ["gross sales"]


def test_word_of_two_metrics_is_not_asked_about_on_request(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [{"sql": GROSS}]}, clarify="never")
    output = agent.ask("What were the sales?")

    prompt = prompts(agent, "GeneratedSQL")[0]
    assert "metric 'gross sales' ('sales')" in prompt and "metric 'net sales' ('sales')" in prompt
    assert [applied["name"] for applied in output["definitions"]] == ["gross sales"]


def test_defined_term_is_not_asked_about(asked: MakeAgent) -> None:
    active = (
        "SELECT COUNT(*) FROM customers WHERE customer_id IN "
        "(SELECT customer_id FROM orders WHERE ordered_on >= '2025-01-01')"
    )
    alternatives = [
        {"label": "any order", "reading": "any", "sql": "SELECT COUNT(DISTINCT customer_id) FROM orders"},
        {"label": "as defined", "reading": "in 2025", "sql": active},
    ]
    answer = {"sql": "", "alternatives": alternatives, "question": "Which ones are active?"}
    agent = asked({"GeneratedSQL": [answer]})
    output = agent.ask("How many active customers are there?")

    assert output["clarification"] is None
    assert output["sql"] == in_lines(active, "sqlite")


def test_the_reference_date_is_the_current_date(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [{"sql": GROSS}]}, "calendar: {reference_date: 2025-06-30, fiscal_year_start: 4}")
    agent.ask("How much was ordered this year?")

    prompt = prompts(agent, "GeneratedSQL")[0]
    assert "2025-06-30" in prompt and "Calendar: the fiscal year begins in April." in prompt


def test_the_calendar_is_part_of_prompts_also_without_a_period_in_the_question(asked: MakeAgent) -> None:
    period = f"2025, for {'net sales and ' * 8}returns"
    calendar = f"calendar: {{fiscal_year_start: 4, fiscal_year_name: end, default_period: '{period}'}}"
    agent = asked({"GeneratedSQL": [{"sql": GROSS}]}, calendar)
    agent.ask("How much was ordered?")

    (prompt,) = prompts(agent, "GeneratedSQL")
    named = "the fiscal year begins in April and is named after the calendar year in which it ends"
    assert f"Calendar: {named}; a question that names no period means {period}." in prompt


def test_instructions_are_part_of_every_prompt(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [{"sql": GROSS}]}, "instructions: [Amounts are net of tax]", instructions="Be brief")
    agent.ask("How much was ordered?")

    assert all("Be brief\n\nAmounts are net of tax" in call.prompt for call in agent.model.calls)


def test_term_brings_its_tables(asked: MakeAgent) -> None:
    agent = asked(
        {"ColumnSelection": [{"tables": []}] * 2, "GeneratedSQL": [{"sql": REVENUE}]}, schema_token_budget=100
    )
    (update,) = updates_of(walk(agent, "выручка"), "retrieve_tables")

    assert next(iter(update["relevant_tables"])) == "orders"


def test_sql_of_a_definition_is_not_cut(asked: MakeAgent) -> None:
    condition = " OR ".join(f"orders.order_id = {number}" for number in range(100))
    agent = asked(
        {"GeneratedSQL": [{"sql": GROSS}]}, f"terms: {{old order: {{definition: {'d' * 900}, condition: {condition}}}}}"
    )
    agent.ask("How many old orders are there?")

    prompt = prompts(agent, "GeneratedSQL")[0]
    assert f"the condition {condition}; {'d' * 799}…" in prompt


def test_the_embedded_model_gets_stored_codes_for_their_names(write: Write, cache_dir: Path) -> None:
    model = ScriptedModel({"text": ["FROM orders SELECT COUNT(*) WHERE channel = 'P'"] * 4})
    source = {"url": shop_url(cache_dir), "knowledge": write(TEXT)}
    settings = load_settings(cache_dir=cache_dir, sources={"shop": source})
    graph = build_graph(Services(settings, model=model, embedded=EmbeddedOptions()))
    output = graph.invoke({"question": "How many phone orders are there?"})

    assert "values: orders.channel = 'P'" in model.calls[0].prompt.splitlines()
    assert [applied["name"] for applied in output["definitions"]] == ["phone"]


def test_analyst_reads_no_hidden_or_personal_column(scripted: MakeAgent, write: Write, cache_dir: Path) -> None:
    text = """\
        tables:
          employees: {hidden: true}
          customers:
            columns: {email: {hidden: true}, name: {personal: true}, signed_up_on: {personal: true}}
        """
    source = {"url": shop_url(cache_dir), "knowledge": write(text)}
    settings = load_settings(cache_dir=cache_dir, sources={"shop": source})
    sample = {"tool": "sample_rows", "arguments": {"dataset_id": "customers"}}
    named = {"tool": "sample_rows", "arguments": {"dataset_id": "customers", "columns": ["name"]}}
    model = ScriptedModel({"AnalystStep": [sample, named, {"tool": "cannot_answer", "arguments": {"reason": "no"}}]})
    output = build_analyst(Services(settings, model=model)).invoke({"question": "Who are customers?", "source": "shop"})

    prompt = model.calls[-1].prompt
    assert [step["tool"] for step in output["audit"]["steps"] if step.get("tool") == "sample_rows"] == [
        "sample_rows", "sample_rows",
    ]  # fmt: skip
    assert "employees" not in prompt and "email" not in prompt and "the values of name are secret" in prompt
    rows = Services(settings).source("shop").execute("SELECT name, signed_up_on FROM customers LIMIT 5")["rows"]
    assert not any(name in prompt for name, _ in rows)


def test_hidden_columns_are_in_no_prompt(asked: MakeAgent) -> None:
    agent = asked(
        {"GeneratedSQL": [{"sql": "SELECT COUNT(*) FROM customers"}]},
        "tables: {customers: {columns: {email: {hidden: true}}}, employees: {hidden: true}}",
    )
    agent.ask("How many customers are there?")

    assert all("email" not in call.prompt and "employees" not in call.prompt for call in agent.model.calls)


# Metrics that the model names


def test_named_metrics_become_a_statement_and_mark_the_answer(asked: MakeAgent) -> None:
    query = {"metrics": ["revenue"], "dimensions": ["channels.name"], "since": "2024-01-01", "before": "2025-01-01"}
    reply = {"sql": "", "metric": query, "answer": ["{max.revenue:name} sold most."]}
    agent = asked({"GeneratedSQL": [reply]}, enable_sql_validation=None)

    output = agent.ask("What was the revenue by channel in 2024?")

    reference = (
        "SELECT name, SUM(total_amount) FROM orders JOIN channels ON code = channel "
        "WHERE status <> 'cancelled' AND ordered_on LIKE '2024%' GROUP BY name"
    )
    assert output["tables"][0]["rows"] == agent.services.source("shop").execute(reference)["rows"]
    assert (output["metric"], output["verified"], output["error"]) == (True, None, None)
    assert output["answer"].startswith("web sold most.")
    assert [each["name"] for each in output["definitions"]] == ["revenue"]
    assert calls(agent) == {"GeneratedSQL": 1}


def test_a_question_without_a_metric_is_not_told_how_to_name_one(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [{"sql": REVENUE}, {"sql": "SELECT COUNT(*) FROM orders"}]})
    agent.ask("What was the revenue?")
    agent.ask("How many orders are there?")

    told = ["For exactly metrics above" in prompt for prompt in prompts(agent, "GeneratedSQL")]
    assert told == [True, False]


def test_metrics_that_cannot_be_computed_are_left_to_sql(asked: MakeAgent) -> None:
    query = {"metrics": ["revenue"], "dimensions": ["products.name"]}
    agent = asked({"GeneratedSQL": [{"sql": "", "metric": query}, {"sql": REVENUE}]})

    output = agent.ask("What was the revenue by product?")

    first, second = prompts(agent, "GeneratedSQL")
    assert "no foreign keys lead from `orders` to `products`" in second
    assert ("For exactly metrics above" in first, "For exactly metrics above" in second) == (True, False)
    assert (output["metric"], output["sql"], output["error"]) == (False, REVENUE, None)


def test_why_a_metric_changed_is_answered_by_the_parts_of_the_change(asked: MakeAgent) -> None:
    by_year = f"SELECT strftime('%Y', ordered_on) AS year, {REVENUE.removeprefix('SELECT ')} GROUP BY 1 ORDER BY 1"
    why = {
        "metrics": ["revenue"], "dimensions": ["orders.channel"], "since": "2024-01-01", "before": "2025-01-01",
        "compared_since": "2023-01-01", "compared_before": "2024-01-01",
    }  # fmt: skip
    agent = asked({"GeneratedSQL": [{"sql": by_year}, {"sql": "", "metric": why}]})
    graph, thread = build_graph(agent.services, InMemorySaver()), RunnableConfig(configurable={"thread_id": "one"})
    first = graph.invoke({"question": "What was the revenue by year?"}, thread)

    output = graph.invoke({"question": "Why did it rise in 2024, by channel?"}, thread)

    (table,), totals = output["tables"], dict(first["tables"][0]["rows"])
    assert (output["metric"], table["columns"]) == (True, ["channel", "2023", "2024", "Δ"])
    assert sum(row[3] for row in table["rows"]) == pytest.approx(totals["2024"] - totals["2023"])


def test_a_statement_beside_metrics_that_cannot_be_computed_is_used(asked: MakeAgent) -> None:
    agent = asked({"GeneratedSQL": [{"sql": REVENUE, "metric": {"metrics": ["revenue of Mars"]}}]})

    output = agent.ask("What was the revenue?")

    assert (output["metric"], output["sql"]) == (False, REVENUE)
