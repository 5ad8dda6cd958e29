import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core._api import LangChainBetaWarning
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.stream import CustomTransformer

from datasphinx.agent.graph import build_graph
from datasphinx.agent.types import EmbeddedOptions
from tests.agent.walk import COUNT, HOW_MANY, OFF_TOPIC, calls, final, nodes, prompts, updates_of, walk
from tests.conftest import VALID, MakeAgent

TO_GENERATION = ["retrieve_tables", "select_columns", "ask_clarification", "generate_sql"]
TO_THE_END = ["check_stop_words", "validate_sql", "execute_sql", "answer"]
DROP = {"sql": "DROP TABLE orders"}
UPDATE = {"sql": "WITH gone AS (SELECT 1) UPDATE orders SET status = 'cancelled'"}
DELETE = {"sql": "DELETE FROM orders"}
UNKNOWN_COLUMN = {"sql": "SELECT SUM(total_amunt) FROM orders"}
FAILS_IN_DATABASE = {"sql": "SELECT abs(-9223372036854775808) FROM orders"}
UNREADABLE = ["I would rather talk.", "Really."]


def unknown_column(number: int) -> dict[str, Any]:
    return {"sql": f"SELECT SUM(total_amunt) + {number} FROM orders"}


def test_plain_question_takes_each_step_once(scripted: MakeAgent) -> None:
    steps = walk(scripted({"GeneratedSQL": [COUNT]}))

    assert nodes(steps) == [*TO_GENERATION, *TO_THE_END]
    assert final(steps)["error"] is None
    assert final(steps)["value"] > 0
    assert final(steps)["sql"] == COUNT["sql"]


def test_custom_streams_carry_the_progress(scripted: MakeAgent) -> None:
    asked: Any = {"question": HOW_MANY}
    graph = scripted({"GeneratedSQL": [COUNT]}).graph
    started = [event["data"]["node"] for event in graph.stream(asked, stream_mode="custom") if "node" in event["data"]]
    assert started == [*TO_GENERATION, *TO_THE_END]
    graph = scripted({"GeneratedSQL": [COUNT]}).graph
    with pytest.warns(LangChainBetaWarning):
        run = graph.stream_events(asked, version="v3", transformers=[CustomTransformer])
    assert [event["data"]["node"] for event in run.custom if "node" in event["data"]] == started
    assert run.output["sql"] == COUNT["sql"]


def test_each_step_writes_what_the_contract_says(scripted: MakeAgent) -> None:
    steps = dict(walk(scripted({"GeneratedSQL": [{**COUNT, "assumptions": ["cancelled ones count"]}]})))

    assert steps["retrieve_tables"]["table_counter"] == 1
    assert steps["retrieve_tables"]["relevant_tables"]["regions"] == ["region_id", "name"]
    assert steps["select_columns"]["relevant_tables_with_rel_columns"]["regions"] == ["region_id", "name"]
    assert steps["ask_clarification"]["clarification"] is None
    assert steps["generate_sql"]["sql_request"] == COUNT["sql"]
    assert steps["generate_sql"]["sql_generate_count"] == 1
    assert steps["generate_sql"]["assumptions"] == ["cancelled ones count"]
    assert steps["check_stop_words"]["stop_words"] is False
    assert steps["check_stop_words"]["used_stop_words"] == []
    assert steps["validate_sql"]["validation"] == VALID
    assert steps["validate_sql"]["sql_validation_count"] == 1
    assert steps["execute_sql"]["sql_request_is_valid"] is True
    assert steps["execute_sql"]["sql_error_info"] is None
    assert steps["execute_sql"]["result"]["columns"] == ["orders"]
    assert steps["execute_sql"]["result"]["truncated"] is False


def test_output_holds_nothing_of_the_working_state(scripted: MakeAgent) -> None:
    output = scripted({"GeneratedSQL": [COUNT]}).ask(HOW_MANY)

    assert set(output) == {
        "answer", "language", "output_type", "value", "sql", "tables", "charts", "definitions", "filters", "checked",
        "metric", "chosen", "verified", "follow_ups", "title",
        "alternatives", "clarification", "error", "audit", "confidence", "status",
    }  # fmt: skip


# Tables


COLLOQUIAL = "Who are our buyers from California?"


def test_the_model_alone_decides_whether_a_question_is_off_topic(scripted: MakeAgent) -> None:
    """No word of the question is in the shop, and no letter of it asks for a figure."""
    agent = scripted({"GeneratedSQL": [{"sql": "SELECT name FROM customers ORDER BY name LIMIT 3"}]})
    steps = walk(agent, COLLOQUIAL)

    assert nodes(steps) == [*TO_GENERATION, *TO_THE_END]
    assert final(steps)["error"] is None


def test_off_topic_by_the_model_is_final_where_the_whole_schema_was_shown(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [{**OFF_TOPIC, "reason": "No table contains GDP."}]})
    steps = walk(agent, "What is the GDP of France?")

    assert nodes(steps) == [*TO_GENERATION, "answer"]
    error = final(steps)["error"]
    assert (error["code"], error["message"]) == ("off_topic", "The question is not about this data")
    assert error["tables"][:2] == ["categories", "channels"]
    assert final(steps)["answer"] == "No table contains GDP."
    assert calls(agent) == {"GeneratedSQL": 1}


@pytest.mark.parametrize("question", ["Hello!", "hi there", "Good morning", "Спасибо большое", "你好！"])
def test_a_greeting_costs_no_call_of_a_model_that_only_writes_statements(scripted: MakeAgent, question: str) -> None:
    agent = scripted(embedded=EmbeddedOptions())
    steps = walk(agent, question)

    assert nodes(steps) == ["retrieve_tables", "answer"]
    assert final(steps)["error"]["code"] == "off_topic"
    assert "orders" in final(steps)["answer"]
    assert agent.model.calls == []


# Stop words


def test_stop_words_go_back_to_generation_with_the_words_found(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [DROP, COUNT]})
    steps = walk(agent)

    assert nodes(steps) == [*TO_GENERATION, "check_stop_words", "generate_sql", *TO_THE_END]
    assert [update["used_stop_words"] for update in updates_of(steps, "check_stop_words")] == [["DROP"], []]
    first, second = prompts(agent, "GeneratedSQL")
    assert "DROP" not in first
    assert "refused for: DROP" in second
    assert "DROP TABLE orders" in second
    assert final(steps)["error"] is None


def test_stop_words_three_times_end_without_a_statement(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [DROP, UPDATE, DELETE]})
    steps = walk(agent)

    assert nodes(steps) == [*TO_GENERATION, *["check_stop_words", "generate_sql"] * 2, "check_stop_words", "answer"]
    assert final(steps)["error"]["code"] == "sql_not_generated"
    assert "DELETE" in final(steps)["answer"]
    assert [update["sql_generate_count"] for update in updates_of(steps, "generate_sql")] == [1, 2, 3]


def test_refused_statement_never_reaches_the_database(scripted: MakeAgent) -> None:
    output = scripted({"GeneratedSQL": [DROP] * 3}).ask(HOW_MANY)

    assert [step["statements"] for step in output["audit"]["steps"] if step["statements"]] == []


# Execution


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (UNKNOWN_COLUMN, ["total_amunt", "nearest: orders.total_amount"]),
        (FAILS_IN_DATABASE, ["integer overflow"]),
        ({"sql": "SELECT FROM WHERE"}, ["cannot be parsed"]),
        ({"sql": "SELECT * FROM invoices"}, ["invoices is not in the catalog"]),
        ({"sql": "SELECT 1; SELECT 2"}, ["exactly one statement"]),
    ],
    ids=["unknown column", "error of the database", "syntax", "unknown table", "two statements"],
)
def test_error_text_goes_back_to_generation(scripted: MakeAgent, bad: dict[str, Any], told: list[str]) -> None:
    agent = scripted({"GeneratedSQL": [bad, COUNT]})
    steps = walk(agent)

    assert nodes(steps).count("execute_sql") == 2
    first, second = prompts(agent, "GeneratedSQL")
    assert "It failed" not in first
    assert bad["sql"] in second
    assert all(text in second for text in told)
    assert final(steps)["error"] is None


def test_the_first_statement_and_three_more_may_fail(scripted: MakeAgent) -> None:
    statements = [unknown_column(number) for number in range(3)]
    steps = walk(scripted({"GeneratedSQL": [*statements, UNKNOWN_COLUMN]}))

    once = ["check_stop_words", "validate_sql", "execute_sql", "generate_sql"]
    assert nodes(steps) == [*TO_GENERATION, *once * 3, *once[:3], "answer"]
    assert final(steps)["error"]["code"] == "sql_not_generated"
    assert "total_amunt" in final(steps)["answer"]
    assert final(steps)["sql"] == UNKNOWN_COLUMN["sql"]


def test_refusals_and_errors_have_limits_of_their_own(scripted: MakeAgent) -> None:
    errors = [unknown_column(number) for number in range(3)]
    agent = scripted({"GeneratedSQL": [DROP, *errors, UPDATE, COUNT]})

    assert final(walk(agent))["error"] is None
    assert calls(agent)["GeneratedSQL"] == 6


@pytest.mark.parametrize("limit", [0, 1, 2, 4])
def test_generations_after_an_error_are_a_setting(scripted: MakeAgent, limit: int) -> None:
    statements = [unknown_column(number) for number in range(limit + 1)]
    agent = scripted({"GeneratedSQL": statements}, max_sql_generations=limit)

    assert final(walk(agent))["error"]["code"] == "sql_not_generated"
    assert calls(agent) == {"GeneratedSQL": limit + 1}


def test_statement_that_runs_too_long_is_told_to_generation(scripted: MakeAgent) -> None:
    endless = "SELECT COUNT(*) FROM orders AS a JOIN orders AS b ON a.order_id > 0 JOIN orders AS c ON b.order_id > 0"
    agent = scripted({"GeneratedSQL": [{"sql": endless}, COUNT]}, statement_timeout_s=0.1, enable_sql_validation=False)
    steps = walk(agent)

    assert "stopped after 0.1 s" in prompts(agent, "GeneratedSQL")[1]
    assert final(steps)["error"] is None


# Unreadable answers


def test_statement_unreadable_twice_counts_as_a_try(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [*UNREADABLE, COUNT]})
    steps = walk(agent)

    assert [update["sql_generate_count"] for update in updates_of(steps, "generate_sql")] == [1, 2]
    assert final(steps)["error"] is None
    assert calls(agent) == {"GeneratedSQL": 3, "SQLValidation": 1}


def test_model_that_does_not_answer_ends_the_question(scripted: MakeAgent) -> None:
    steps = walk(scripted({"GeneratedSQL": []}))

    assert nodes(steps) == [*TO_GENERATION, "answer"]
    assert final(steps)["error"]["code"] == "model_unreachable"


def test_defect_in_a_node_is_an_answer_with_a_trace_id(scripted: MakeAgent) -> None:
    output = scripted({"GeneratedSQL": [RuntimeError("broken on purpose")]}).ask(HOW_MANY)

    assert output["error"]["code"] == "internal_error"
    assert "broken on purpose" in output["answer"]
    assert output["audit"]["trace_id"] in output["answer"]


# Validation


def objection(corrected: str | None = None) -> dict[str, Any]:
    return {"is_valid": False, "reason": "not what was asked", "issues": ["wrong count"], "corrected_sql": corrected}


def counting(number: int) -> str:
    return f"SELECT COUNT(*) + {number} AS orders FROM orders"


@pytest.mark.parametrize("corrections", [2, 3])
def test_corrections_until_the_limit_run_without_a_call_that_changes_nothing(
    scripted: MakeAgent, corrections: int
) -> None:
    verdicts = [*(objection(counting(number)) for number in range(1, corrections + 1)), VALID]
    agent = scripted({"GeneratedSQL": [COUNT], "SQLValidation": verdicts})
    steps = walk(agent)

    assert final(steps)["error"] is None
    assert final(steps)["sql"] == counting(corrections)
    assert calls(agent) == {"GeneratedSQL": 1, "SQLValidation": 3}


def test_objection_without_a_correction_goes_back_to_generation(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT, {"sql": counting(1)}], "SQLValidation": [objection(), VALID]})
    steps = walk(agent)

    assert nodes(steps) == [*TO_GENERATION, "check_stop_words", "validate_sql", "generate_sql", *TO_THE_END]
    assert "not what was asked; wrong count" in prompts(agent, "GeneratedSQL")[1]
    assert final(steps)["sql"] == counting(1)


def test_objections_to_the_last_try_leave_its_statement(scripted: MakeAgent) -> None:
    statements = [{"sql": counting(number)} for number in range(3)]
    objections = {"SQLValidation": [objection()] * 3}
    steps = walk(scripted({"GeneratedSQL": statements, **objections}, max_sql_generations=2))

    assert nodes(steps).count("generate_sql") == 3
    assert final(steps)["error"] is None
    assert final(steps)["sql"] == counting(2)


def test_correction_that_fails_in_the_database_goes_back_to_generation(scripted: MakeAgent) -> None:
    answers: dict[str, Any] = {
        "GeneratedSQL": [COUNT, {"sql": counting(1)}],
        "SQLValidation": [objection(FAILS_IN_DATABASE["sql"]), VALID, VALID],
    }
    agent = scripted(answers)
    steps = walk(agent)

    assert FAILS_IN_DATABASE["sql"] in prompts(agent, "GeneratedSQL")[1]
    assert final(steps)["sql"] == counting(1)


def test_longest_way_through_ends_by_its_counters(scripted: MakeAgent) -> None:
    """Every limit but the recursion limit is what ends a question."""
    answers: dict[str, Any] = {
        "GeneratedSQL": [{"sql": FAILS_IN_DATABASE["sql"].replace("order_id", str(number))} for number in range(3)],
        "SQLValidation": [
            objection(f"SELECT abs(-9223372036854775808), {number} FROM orders") for number in range(10, 13)
        ],
    }
    steps = walk(scripted(answers))

    assert final(steps)["error"]["code"] == "sql_not_generated"
    assert len(steps) < 30


# Async, streams and threads


def test_async_gives_the_same(scripted: MakeAgent) -> None:
    graph = scripted({"GeneratedSQL": [DROP, COUNT]}).graph
    output = asyncio.run(graph.ainvoke({"question": HOW_MANY}))

    assert output["error"] is None
    assert output["audit"]["llm_calls"] == 3
    assert output["value"] == scripted({"GeneratedSQL": [COUNT]}).ask(HOW_MANY)["value"]


class TestThread:
    """Questions on one thread of a checkpointed graph."""

    LIST = {"sql": "SELECT name FROM regions ORDER BY name"}

    @pytest.fixture
    def ask(self, scripted: MakeAgent) -> Callable[..., dict[str, Any]]:
        agent = scripted({"GeneratedSQL": [DROP, COUNT, self.LIST]}, enable_sql_validation=False)
        self.agent = agent
        self.graph = build_graph(agent.services, checkpointer=InMemorySaver())

        def invoke(question: str, **given: Any) -> dict[str, Any]:
            return self.graph.invoke({"question": question, **given}, {"configurable": {"thread_id": "one"}})

        return invoke

    def test_second_question_starts_clean(self, ask: Callable[..., dict[str, Any]]) -> None:
        first, second = ask(HOW_MANY), ask("List the regions")

        assert second["value"]["columns"] == ["name"]
        assert first["audit"]["trace_id"] != second["audit"]["trace_id"]
        assert second["audit"]["llm_calls"] == 1
        third = prompts(self.agent, "GeneratedSQL")[2]
        assert "DROP" not in third
        assert "Your last query" not in third
        assert f"Question: {HOW_MANY}" not in third

    def test_counters_start_again(self, ask: Callable[..., dict[str, Any]]) -> None:
        ask(HOW_MANY), ask("List the regions")
        state = self.graph.get_state({"configurable": {"thread_id": "one"}}).values

        assert (state["table_counter"], state["sql_generate_count"]) == (1, 1)
        assert state["question"] == "List the regions"

    def test_source_of_the_first_question_does_not_bind_the_second(self, ask: Callable[..., dict[str, Any]]) -> None:
        assert ask(HOW_MANY, source="sqlite:///nowhere.sqlite")["error"]["code"] == "source_not_found"
        assert ask(HOW_MANY)["error"] is None

    def test_failure_of_the_first_question_is_gone(self, ask: Callable[..., dict[str, Any]]) -> None:
        self.agent.model._answers["GeneratedSQL"] = [OFF_TOPIC, COUNT]
        assert ask("What is the GDP of France?")["error"]["code"] == "off_topic"
        assert ask(HOW_MANY)["error"] is None
        assert "conversation" not in prompts(self.agent, "GeneratedSQL")[-1]

    def test_threads_know_nothing_of_each_other(self, ask: Callable[..., dict[str, Any]]) -> None:
        ask(HOW_MANY)

        assert self.graph.get_state({"configurable": {"thread_id": "two"}}).values == {}


def test_schemas_for_studio_and_servers_name_the_contract() -> None:
    graph = build_graph()

    assert list(graph.get_input_jsonschema()["properties"]) == [
        "question", "messages", "output_type", "source", "clarify", "clarification_answer", "clarification", "feedback",
        "enable_sql_validation", "effort", "sql_only",
    ]  # fmt: skip
    assert "audit" in graph.get_output_jsonschema()["properties"]


def test_the_attempts_say_what_became_of_each_statement(scripted: MakeAgent) -> None:
    written = [DELETE, {"sql": "SELECT COUNT(*) FROM ordrs"}, {"sql": "SELECT COUNT(*) FROM customers"}, COUNT]
    objection = {"is_valid": False, "reason": "it counts customers", "issues": []}
    steps = walk(scripted({"GeneratedSQL": written, "SQLValidation": [objection, VALID]}))
    *wrong, last = [update["attempts"] for _, update in steps if "attempts" in update][-1]

    assert [(each["outcome"], each["problem"].rpartition(": ")[2]) for each in wrong] == [
        ("refused", "DELETE"),
        ("unknown name", "orders, order_items, returns)."),
        ("objected", "it counts customers"),
    ]
    assert (last["sql"], last["origin"], last["outcome"]) == (COUNT["sql"], "model", None)
    assert last["evidence"] == {"is_confirmed": True}
