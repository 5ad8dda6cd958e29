import json
import re
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.llm.scripted import ScriptedModel
from tests.agent.walk import COUNT, HOW_MANY, calls, prompts
from tests.conftest import VALID, MakeAgent, ScriptedAgent
from tests.support.databases import make_table, url

pytestmark = pytest.mark.integration

ONE_NUMBER = COUNT["sql"]
ONE_TEXT = "SELECT name FROM regions ORDER BY name LIMIT 1"
NO_VALUE = "SELECT MAX(salary) AS salary FROM employees WHERE salary < 0"
ONE_ROW = "SELECT name, salary FROM employees LIMIT 1"
BY_STATUS = "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY status"
TEXTS = "SELECT name FROM regions ORDER BY name"
NO_ROW = "SELECT name, salary FROM employees WHERE salary < 0"


def ask(scripted: MakeAgent, sql: str, question: str = HOW_MANY, **given: Any) -> dict[str, Any]:
    return scripted({"GeneratedSQL": [{"sql": sql}]}).ask(question, **given)


# The form of an answer


@pytest.mark.parametrize(
    ("sql", "form"),
    [
        (ONE_NUMBER, "number"),
        (ONE_TEXT, "string"),
        (NO_VALUE, "string"),
        (ONE_ROW, "dataframe"),
        (BY_STATUS, "dataframe"),
        (TEXTS, "dataframe"),
        (NO_ROW, "dataframe"),
    ],
    ids=["number", "text", "NULL", "one row", "table", "texts", "no row"],
)
def test_form_follows_from_the_result(scripted: MakeAgent, sql: str, form: str) -> None:
    output = ask(scripted, sql)

    assert output["output_type"] == form
    assert output["charts"] == []


def test_a_chart_that_the_model_asks_for_has_the_rows(scripted: MakeAgent) -> None:
    output = scripted({"GeneratedSQL": [{"sql": BY_STATUS, "output_type": "plot"}]}).ask("Plot the orders by status")

    assert output["output_type"] == "plot"
    assert output["charts"] == [output["value"]]
    assert output["value"]["type"] == "bar"
    assert output["tables"][0]["rows"] == [
        list(pair)
        for pair in zip(
            output["value"]["option"]["xAxis"]["data"], output["value"]["option"]["series"][0]["data"], strict=True
        )
    ]


def test_the_form_that_the_model_returns_is_used_where_the_rows_allow_it(scripted: MakeAgent) -> None:
    cases = [
        ("Orders by status", BY_STATUS, "plot", "plot"),
        ("Orders by status", BY_STATUS, "chart", "plot"),
        ("Plot the orders by status", BY_STATUS, "dataframe", "dataframe"),
        ("Plot the orders by status", BY_STATUS, None, "dataframe"),
        ("Plot the orders by status", BY_STATUS, "picture", "dataframe"),
        ("Orders by status", BY_STATUS, "number", "dataframe"),
        ("How many?", ONE_NUMBER, "plot", "number"),
        ("How many?", ONE_NUMBER, "number", "number"),
    ]
    for question, sql, returned, form in cases:
        output = scripted({"GeneratedSQL": [{"sql": sql, "output_type": returned}]}).ask(question)
        assert output["output_type"] == form, (question, returned)
        assert bool(output["charts"]) is (form == "plot")


@pytest.mark.parametrize(
    ("sql", "form"),
    [
        (ONE_TEXT, "number"),
        (ONE_ROW, "number"),
        (BY_STATUS, "number"),
        (NO_ROW, "number"),
        (ONE_NUMBER, "plot"),
        (TEXTS, "plot"),
        (NO_ROW, "plot"),
    ],
)
def test_form_that_is_impossible_is_a_typed_error(scripted: MakeAgent, sql: str, form: str) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": sql}] * 2})
    output = agent.ask(HOW_MANY, output_type=form)

    assert output["error"]["code"] == "invalid_output_type"
    assert form in output["answer"]
    assert (output["output_type"], output["value"], output["charts"]) == (None, None, [])
    assert output["sql"] == sql
    assert output["tables"][0]["columns"]
    assert calls(agent)["GeneratedSQL"] == 2


def test_number_of_no_rows_is_empty_after_one_statement(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": NO_VALUE}] * 2})
    output = agent.ask(HOW_MANY, output_type="number")

    assert (output["error"], output["output_type"], output["value"]) == (None, "number", None)
    assert output["answer"]
    assert calls(agent)["GeneratedSQL"] == 1


@pytest.mark.parametrize("name", ["output_type", "effort", "clarify"])
def test_value_that_an_input_does_not_have_is_refused_before_the_first_call(scripted: MakeAgent, name: str) -> None:
    agent = scripted()
    output = agent.ask(HOW_MANY, **{name: "pie"})

    assert output["error"]["code"] == "input_invalid"
    assert name in output["answer"]
    assert not agent.model.calls


@pytest.mark.parametrize(
    ("sql", "better", "form", "told"),
    [
        (
            BY_STATUS,
            ONE_NUMBER,
            "number",
            "one number: one row with one column of numbers, and the result is 4 x [status",
        ),
        (ONE_NUMBER, BY_STATUS, "plot", "the answer has to be a chart: two rows at least"),
    ],
)
def test_form_that_the_rows_cannot_have_is_corrected_once(
    scripted: MakeAgent, sql: str, better: str, form: str, told: str
) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": sql}, {"sql": better}]})
    output = agent.ask(HOW_MANY, output_type=form)

    assert (output["error"], output["output_type"], output["sql"]) == (None, form, better)
    assert told in prompts(agent, "GeneratedSQL")[1]
    assert any("asked for another statement" in note for note in output["audit"]["notes"])


@pytest.mark.parametrize(
    ("sql", "form", "told"),
    [(ONE_NUMBER, "number", "has to be one number"), (BY_STATUS, "plot", "will be a chart")],
)
def test_wanted_form_is_told_to_generation(scripted: MakeAgent, sql: str, form: str, told: str) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": sql}] * 2})
    agent.ask(HOW_MANY, output_type=form), agent.ask(HOW_MANY)

    wanted, free = prompts(agent, "GeneratedSQL")
    assert told in wanted
    assert told not in free


def test_output_is_json(scripted: MakeAgent) -> None:
    for sql in (ONE_NUMBER, NO_VALUE, BY_STATUS, NO_ROW, "DROP TABLE orders"):
        output = ask(scripted, sql)
        assert json.loads(json.dumps(output, allow_nan=False)) == output


# Text


def numbers(folder: Path, *values: float | None) -> str:
    return url(make_table(folder, "n REAL", [(value,) for value in values]))


@pytest.mark.parametrize(
    ("value", "en", "ru", "zh"),
    [
        (1234567.5, "1,234,567.5", "1\u00a0234\u00a0567,5", "1,234,567.5"),
        (0.123456, "0.1235", "0,1235", "0.1235"),
        (0.00001, "0.00001", "0,00001", "0.00001"),
        (-1000.0, "-1,000", "-1\u00a0000", "-1,000"),
        (0.0, "0", "0", "0"),
        (None, "no value", "нет значения", "无值"),
    ],
)
def test_figures_are_written_as_the_language_does(
    scripted: MakeAgent, tmp_path: Path, value: float | None, en: str, ru: str, zh: str
) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": "SELECT MAX(n) AS top_n FROM things"}] * 3})
    source = numbers(tmp_path, value)

    questions = ("Show the top n", "Покажи самое большое n", "显示最大的n")
    answers = [agent.ask(question, source=source)["answer"] for question in questions]
    assert answers == [f"Top n: {en}", f"Top n: {ru}", f"Top n：{zh}"]


def test_column_without_a_name_of_its_own_is_not_told(scripted: MakeAgent) -> None:
    output = ask(scripted, "SELECT SUM(quantity) FROM order_items", "Units")

    assert output["answer"] == f"{output['value']:,}"


def test_short_result_is_a_markdown_table(scripted: MakeAgent) -> None:
    output = ask(scripted, "SELECT 'Europe' AS name, 2024 AS orders, 0.5 AS share, NULL AS missing")

    assert output["answer"] == "| Name | Orders | Share | Missing |\n|---|---|---|---|\n| Europe | 2,024 | 0.5 | – |"


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("List all order ids", "Rows: 20 of 1,000"),
        ("Покажи все заказы", "Строк: 20 из 1\u00a0000"),
        ("列出所有订单", "行数：1,000，显示前 20 行"),
    ],
    ids=["en", "ru", "zh"],
)
def test_long_result_that_is_not_narrated_shows_its_first_rows(scripted: MakeAgent, question: str, count: str) -> None:
    output = ask(scripted, "SELECT order_id FROM orders ORDER BY order_id LIMIT 1000", question)

    lines = output["answer"].splitlines()
    assert len([line for line in lines if line.startswith("| ")]) == 21
    assert lines[-1] == count
    assert len(output["tables"][0]["rows"]) == 1000


def cells(line: str) -> list[str]:
    """Return the cells of a row as Markdown reads it: a backslash takes the meaning from the sign after it."""
    parts = re.findall(r"(?:\\.|[^|\\])+", line.strip().strip("|"))
    return [re.sub(r"\\(.)", r"\1", part).strip() for part in parts]


@pytest.mark.parametrize(
    "hostile",
    ["a|b", "a\\|b", "a\\", "|", "\\|\\|", "line\nbreak", "tab\tand\x00nul", "\u2028separator", "x" * 10_000, "", " "],
    ids=[
        "pipe",
        "escaped pipe",
        "backslash",
        "only a pipe",
        "pipes",
        "newline",
        "control",
        "U+2028",
        "long",
        "empty",
        "space",
    ],
)
def test_hostile_cells_stay_in_their_cell(scripted: MakeAgent, tmp_path: Path, hostile: str) -> None:
    source = url(make_table(tmp_path, "word TEXT, n INTEGER", [(hostile, 1), ("plain", 2)]))
    output = scripted({"GeneratedSQL": [{"sql": "SELECT word, n FROM things ORDER BY n"}]}).ask(
        "List word and n", source=source
    )

    lines = output["answer"].split("\n")
    assert len(lines) == 4
    assert len(output["answer"]) < 400
    shown = cells(lines[2])
    assert len(shown) == 2 or not hostile.strip()
    assert shown[-1] == "1"
    if len(hostile) < 80 and hostile.isprintable() and hostile.strip():
        assert shown[0] == hostile
    assert output["tables"][0]["rows"][0] == [hostile, 1]


@pytest.mark.parametrize("name", ["a|b", "two\nlines", "x" * 500])
def test_hostile_column_names_stay_in_their_cell(scripted: MakeAgent, tmp_path: Path, name: str) -> None:
    source = url(make_table(tmp_path, f'"{name}" TEXT, n INTEGER', [("here", 1), ("there", 2)]))
    agent = scripted({"GeneratedSQL": [{"sql": f'SELECT "{name}", n FROM things'}]})
    output = agent.ask("List n of things", source=source)

    lines = output["answer"].split("\n")
    assert len(lines) == 4
    assert len(cells(lines[0])) == 2
    assert len(lines[0]) < 100


def test_two_columns_of_one_name_both_stand_in_the_answer(scripted: MakeAgent) -> None:
    output = ask(scripted, "SELECT 1 AS n, 2 AS n")

    (table,) = output["tables"]
    assert (table["columns"], table["rows"]) == (["n", "n_2"], [[1, 2]])
    assert cells(output["answer"].splitlines()[-1]) == ["1", "2"]


# Narration

PLAIN_LONG = "Order id, Total amount\n1, "
LONG = {"sql": "SELECT order_id, total_amount FROM orders ORDER BY order_id LIMIT 30"}


def narrating(scripted: MakeAgent, *answers: Any, **settings: Any) -> ScriptedAgent:
    return scripted({"GeneratedSQL": [LONG] * 3, "NarratedAnswer": answers}, **settings)


def listed(agent: ScriptedAgent) -> dict[str, Any]:
    return agent.ask("List orders with their amounts", output_type="string")


def narrated(text: str) -> dict[str, str]:
    return {"answer": text}


def test_rows_that_are_to_be_a_text_are_narrated(scripted: MakeAgent) -> None:
    agent = narrating(scripted, narrated("They are ordered from {1.order_id} to {30.order_id}."))
    output = listed(agent)

    assert output["answer"] == "They are ordered from 1 to 30."
    assert len(output["tables"][0]["rows"]) == 30
    (prompt,) = prompts(agent, "NarratedAnswer")
    assert "List orders with their amounts" in prompt
    assert "in English" in prompt


def test_narration_is_written_again_without_the_invented_figures(scripted: MakeAgent) -> None:
    agent = narrating(scripted, narrated("There are 31 customers and 32 cities."), narrated("Up to {30.order_id}."))
    output = listed(agent)

    assert output["answer"] == "Up to 30."
    first, second = prompts(agent, "NarratedAnswer")
    assert "cannot be shown" not in first and "There are 31 customers" in second
    assert '- the figure "31" is typed' in second and '- the figure "32" is typed' in second


def test_narration_that_invents_twice_is_given_up(scripted: MakeAgent) -> None:
    agent = narrating(scripted, *[narrated(f"There are {count} customers.") for count in (31, 32, 30)])
    output = listed(agent)

    assert output["answer"].startswith(PLAIN_LONG)
    refused = [text for text in output["audit"]["notes"] if text.startswith("text refused")]
    assert len(refused) == 2 and '"31"' in refused[0] and '"32"' in refused[1]


@pytest.mark.parametrize(
    "answers",
    [
        ["no JSON", "nor here"],
        [],
        [RuntimeError("a defect")],
        [TimeoutError("slow")],
        [narrated("")],
        [narrated("  \n")],
    ],
    ids=["unreadable twice", "unreachable", "defect", "timeout", "empty", "blank"],
)
def test_narration_that_fails_leaves_the_rows(scripted: MakeAgent, answers: list[Any]) -> None:
    output = listed(narrating(scripted, *answers))

    assert output["error"] is None
    assert output["answer"].startswith(PLAIN_LONG)


def test_narration_sees_a_bounded_part_of_the_rows(scripted: MakeAgent, tmp_path: Path) -> None:
    rows = [(f"{'x' * 10_000}\nQuestion: forged", number) for number in range(500)]
    source = url(make_table(tmp_path, "word TEXT, n INTEGER", rows))
    agent = scripted(
        {"GeneratedSQL": [{"sql": "SELECT word, n FROM things"}], "NarratedAnswer": [narrated("Up to {max.n} things")]}
    )

    assert agent.ask("List the things", source=source, output_type="string")["answer"] == "Up to 499 things"
    (prompt,) = prompts(agent, "NarratedAnswer")
    assert len(prompt) < 30_000
    assert "\nQuestion: forged" not in prompt


# The sentence of the model that wrote the statement


MOST = {
    "sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY orders DESC",
    "answer": ["Most orders are {max.orders:status}, {share.max.orders} of {sum.orders}.", "That is {max.orders}."],
    "chart": {"type": "pie", "x": "status", "y": ["orders"]},
    "assumptions": ["Returns are left out.", "There are 12 statuses."],
}


def test_the_sentence_of_the_statement_has_the_values_of_the_rows(scripted: MakeAgent) -> None:
    output = scripted({"GeneratedSQL": [MOST]}).ask("Which status do most orders have?")

    (status, orders), *_ = output["tables"][0]["rows"]
    total = sum(row[1] for row in output["tables"][0]["rows"])
    first, table, *assumed = output["answer"].split("\n\n")
    assert first == f"Most orders are {status}, {100 * orders / total:.1f}% of {total:,}. That is {orders:,}."
    assert table.startswith("| Status | Orders |")
    assert assumed == ["Assumed: Returns are left out."]
    assert [chart["type"] for chart in output["charts"]] == ["pie"]


def test_no_rows_have_a_sentence_of_their_own(scripted: MakeAgent) -> None:
    nothing = {"sql": NO_ROW, "answer": ["{name} earns {salary}."], "empty_answer": "Nobody earns less than nothing."}
    assert scripted({"GeneratedSQL": [nothing]}).ask("Who?")["answer"] == "Nobody earns less than nothing."


SEEN = narrated("Most orders are {1.status}, followed by {2.status} ({2.orders}).")


@pytest.mark.parametrize(("effort", "sees_rows"), [("medium", False), ("high", True)])
def test_at_high_effort_a_model_that_sees_several_rows_words_them(
    scripted: MakeAgent, effort: str, sees_rows: bool
) -> None:
    agent = scripted(
        {"GeneratedSQL": [MOST] * 3, "NarratedAnswer": [SEEN], "CheckedText": [{"unsupported": []}]}, effort=effort
    )
    output = agent.ask("Which status do most orders have?")

    (first, _), (second, orders), *_ = output["tables"][0]["rows"]
    sentence, table, *_ = output["answer"].split("\n\n")
    assert (sentence == f"Most orders are {first}, followed by {second} ({orders:,}).") is sees_rows
    assert table.startswith("| Status | Orders |")


def test_at_high_effort_one_value_and_a_refused_text_keep_the_sentence_of_the_statement(scripted: MakeAgent) -> None:
    one = {"sql": "SELECT COUNT(*) AS n FROM orders", "answer": ["There are {n#order|orders}."]}
    single = scripted({"GeneratedSQL": [one] * 3}, effort="high")
    invented = scripted({"GeneratedSQL": [MOST] * 3, "NarratedAnswer": [narrated("12 of them.")] * 2}, effort="high")

    assert single.ask(HOW_MANY)["answer"].startswith("There are 10,127 orders.")
    assert not prompts(single, "NarratedAnswer")
    assert invented.ask("Which status do most orders have?")["answer"].startswith("Most orders are ")


@pytest.mark.parametrize(
    ("sql", "question", "column"),
    [
        ('SELECT COUNT(*) AS "98765 orders of David Kim" FROM orders', HOW_MANY, "COUNT(*)"),
        ("SELECT COUNT(*) AS orders_９８７６５ FROM orders", HOW_MANY, "orders"),
        (
            'SELECT "98765 of David Kim" FROM (SELECT COUNT(*) AS "98765 of David Kim" FROM orders) t',
            HOW_MANY,
            "COUNT(*)",
        ),
        ("SELECT * FROM (SELECT name AS area1 FROM regions) AS t", "Regions?", "area1"),
        ("SELECT n FROM (SELECT COUNT(*) AS n FROM orders WHERE total_amount > 98765) AS t", HOW_MANY, "n"),
        ("SELECT name, 'x' AS \"Asia Pacific first\" FROM regions", "Regions?", "'x'"),
        ("SELECT COUNT(*) AS orders_2024 FROM orders WHERE ordered_on >= '2024-01-01'", HOW_MANY, "orders_2024"),
        ("SELECT COUNT(*) AS q1 FROM orders WHERE ordered_on < '2024-04-01'", "Orders in Q1 2024?", "q1"),
    ],
)
def test_a_column_name_says_only_what_was_said(scripted: MakeAgent, sql: str, question: str, column: str) -> None:
    output = scripted({"GeneratedSQL": [{"sql": sql}]}).ask(question)

    assert output["tables"][0]["columns"][-1] == column
    assert "98765" not in output["answer"] and "Asia Pacific first" not in output["answer"]


def test_sentence_and_chart_refer_to_columns_by_the_names_that_the_model_gave_them(scripted: MakeAgent) -> None:
    reply = {
        "sql": "SELECT status, COUNT(*) AS orders_31 FROM orders GROUP BY status ORDER BY orders_31 DESC",
        "answer": ["Most orders are {max.orders_31:status}, {max.orders_31}."],
        "chart": {"type": "pie", "x": "status", "y": ["orders_31"]},
    }
    output = scripted({"GeneratedSQL": [reply]}).ask("Which status do most orders have?")

    (table,) = output["tables"]
    assert table["columns"] == ["status", "orders"]
    assert output["answer"].startswith(f"Most orders are {table['rows'][0][0]}, ")
    assert [chart["type"] for chart in output["charts"]] == ["pie"]


# Audit


def test_audit_counts_calls_and_tokens_by_node(scripted: MakeAgent) -> None:
    agent = narrating(scripted, narrated("Up to {30.order_id}"))
    audit = listed(agent)["audit"]

    by_node = {step["node"]: step["calls"] for step in audit["steps"]}
    assert {node: [call["schema"] for call in made] for node, made in by_node.items() if made} == {
        "generate_sql": ["GeneratedSQL"],
        "validate_sql": ["SQLValidation"],
        "answer": ["NarratedAnswer"],
    }
    made = [call for step in audit["steps"] for call in step["calls"]]
    assert audit["llm_calls"] == len(made) == len(agent.model.calls) == 3
    assert audit["prompt_tokens"] == sum(call["prompt_tokens"] for call in made) > 0
    assert audit["completion_tokens"] == sum(call["completion_tokens"] for call in made) > 0
    assert all(call["model"] == "scripted" for call in made)
    assert audit["latency_ms"] == pytest.approx(sum(step["latency_ms"] for step in audit["steps"]), abs=0.1)


def test_audit_has_each_step_in_order_and_each_statement(scripted: MakeAgent) -> None:
    audit = scripted({"GeneratedSQL": [{"sql": "SELECT abs(-9223372036854775808) FROM orders"}, COUNT]}).ask(HOW_MANY)[
        "audit"
    ]

    once = ["generate_sql", "check_stop_words", "validate_sql", "execute_sql"]
    assert [step["node"] for step in audit["steps"]] == [
        "retrieve_tables", "select_columns", "ask_clarification", *once, *once, "answer",
    ]  # fmt: skip
    failed, ran = (step["statements"][0] for step in audit["steps"] if step["node"] == "execute_sql")
    assert "integer overflow" in failed["error"]
    assert (ran["sql"], ran["rows"], ran["error"]) == (COUNT["sql"], 1, None)


def test_assumptions_are_on_the_audit(scripted: MakeAgent) -> None:
    answer = {**COUNT, "assumptions": ["cancelled orders count"]}

    output = scripted({"GeneratedSQL": [answer]}).ask(HOW_MANY)
    assert output["audit"]["assumptions"] == ["cancelled orders count"]
    assert output["answer"].endswith("\n\nAssumed: cancelled orders count")


def test_price_of_an_unlisted_model_is_unknown_and_of_no_call_nothing(scripted: MakeAgent) -> None:
    assert scripted({"GeneratedSQL": [COUNT]}).ask(HOW_MANY)["audit"]["llm_cost_usd"] is None
    assert scripted().ask("")["audit"]["llm_cost_usd"] == 0


# Budgets


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        ({"max_llm_calls": 1}, "1 model calls"),
        ({"max_llm_tokens": 10}, "10 tokens"),
        ({"max_question_s": 1e-9}, "1e-09 seconds"),
    ],
    ids=["calls", "tokens", "seconds"],
)
def test_budget_ends_a_question_that_needs_more(scripted: MakeAgent, limits: dict[str, Any], limit: str) -> None:
    (setting,) = limits
    agent = scripted({"GeneratedSQL": [{"sql": "SELECT nothing_like_it FROM orders"}, COUNT]}, **limits)
    output = agent.ask(HOW_MANY)

    assert output["error"]["code"] == "budget_exceeded"
    assert limit in output["answer"]
    assert f"DATASPHINX_{setting.upper()}" in output["answer"]
    assert calls(agent).get("GeneratedSQL", 0) <= 1


def test_budget_in_money_ends_a_question_that_needs_more(scripted: MakeAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedModel, "_llm_type", "gpt-4o")
    agent = scripted({"GeneratedSQL": [{"sql": "SELECT nothing_like_it FROM orders"}, COUNT]}, max_cost_usd=1e-6)
    output = agent.ask(HOW_MANY)

    assert output["error"]["code"] == "budget_exceeded"
    assert "1e-06 US dollars" in output["answer"]
    assert calls(agent) == {"GeneratedSQL": 1}


@pytest.mark.parametrize("limit", [1, 2])
def test_budget_that_is_used_up_after_the_statement_leaves_the_answer(scripted: MakeAgent, limit: int) -> None:
    """Neither the check nor the narration may take away rows that are there."""
    output = listed(narrating(scripted, narrated("30 orders"), max_llm_calls=limit))

    assert output["error"] is None
    assert output["answer"].startswith(PLAIN_LONG)
    assert output["audit"]["llm_calls"] == limit


def test_budget_is_per_question(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT] * 4, "SQLValidation": [VALID] * 4}, max_llm_calls=2)

    assert [agent.ask(HOW_MANY)["error"] for _ in range(4)] == [None] * 4
