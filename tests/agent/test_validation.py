import logging
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.graph import build_graph
from datasphinx.agent.messages import Language, Message, render
from datasphinx.agent.responses import response_of
from datasphinx.agent.sql.layout import in_lines
from tests.agent.walk import COUNT, HOW_MANY, calls, correction, final, no_call, nodes, prompts, updates_of, walk
from tests.conftest import VALID, MakeAgent
from tests.support.databases import make_database, url

pytestmark = pytest.mark.integration

IDS = "SELECT product_id FROM order_items GROUP BY product_id ORDER BY SUM(quantity) DESC LIMIT 5"
NAMES = (
    "SELECT p.name FROM order_items AS i JOIN products AS p ON p.product_id = i.product_id "
    "GROUP BY p.product_id, p.name ORDER BY SUM(i.quantity) DESC LIMIT 5"
)
NAME_ONLY = "SELECT name FROM employees ORDER BY salary DESC LIMIT 3"
NAME_AND_SALARY = "SELECT name, salary FROM employees ORDER BY salary DESC LIMIT 3"
YEAR_2023 = "SELECT COUNT(*) AS orders FROM orders WHERE strftime('%Y', ordered_on) = '2023'"
YEAR_2024 = "SELECT COUNT(*) AS orders FROM orders WHERE strftime('%Y', ordered_on) = '2024'"


# The four scenarios


def test_right_statement_passes_unchanged(scripted: MakeAgent) -> None:
    steps = walk(scripted({"GeneratedSQL": [COUNT], "SQLValidation": [VALID]}))

    assert final(steps)["sql"] == COUNT["sql"]
    assert updates_of(steps, "validate_sql") == [
        {
            "validation": VALID,
            "sql_validation_count": 1,
            "attempts": [
                {
                    "sql": COUNT["sql"],
                    "origin": "model",
                    "outcome": None,
                    "is_validated": True,
                    "evidence": {"is_confirmed": True},
                }
            ],
            "audit": steps[5][1]["audit"],
        }
    ]


def test_a_name_that_no_row_has_is_not_checked(scripted: MakeAgent) -> None:
    sql = "SELECT COUNT(*) AS n FROM customers WHERE country = '{}'"
    for place, checks in (("Iceland", 0), ("Germny", 1)):
        answers = {"GeneratedSQL": [{"sql": sql.format(place)}] * 2, "SQLValidation": [VALID]}
        agent = scripted(answers, enable_sql_validation=None)
        output = final(walk(agent, f"Do we have customers in {place}?"))

        assert (output["value"], output["status"]) == (0, "ok")
        assert calls(agent).get("SQLValidation", 0) == checks


@pytest.mark.parametrize(
    ("question", "generated", "corrected", "columns"),
    [
        ("Which 5 products sold the most? Give their names.", IDS, NAMES, ["name"]),
        ("Name and salary of the three best paid employees", NAME_ONLY, NAME_AND_SALARY, ["name", "salary"]),
        ("How many orders were placed in 2024?", YEAR_2023, YEAR_2024, ["orders"]),
    ],
    ids=["ids for names", "missing field", "wrong year"],
)
def test_statement_that_does_not_answer_is_corrected(
    scripted: MakeAgent, question: str, generated: str, corrected: str, columns: list[str]
) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": generated}], "SQLValidation": [correction(corrected), VALID]})
    output = agent.ask(question)

    assert output["error"] is None
    assert output["sql"] == in_lines(corrected, "sqlite")
    assert output["tables"][0]["columns"] == columns
    assert output["tables"] == scripted({"GeneratedSQL": [{"sql": corrected}]}).ask(question)["tables"]
    first, second = prompts(agent, "SQLValidation")
    assert generated in first
    assert corrected in second
    assert all(question in prompt for prompt in (first, second))


@pytest.mark.parametrize("fence", ["```sql\n{}\n```", "{};", "Here it is:\n{}"])
def test_correction_is_freed_of_what_is_around_it(scripted: MakeAgent, fence: str) -> None:
    verdicts = [correction(fence.format(YEAR_2024)), VALID]
    agent = scripted({"GeneratedSQL": [{"sql": YEAR_2023}], "SQLValidation": verdicts})

    assert agent.ask("How many orders were placed in 2024?")["sql"] == YEAR_2024


def test_correction_that_changes_nothing_counts_as_none(scripted: MakeAgent) -> None:
    """The objection goes to generation; it does not go in a circle."""
    agent = scripted({"GeneratedSQL": [COUNT, {"sql": YEAR_2024}], "SQLValidation": [correction(COUNT["sql"]), VALID]})

    assert agent.ask(HOW_MANY)["sql"] == YEAR_2024
    assert calls(agent) == {"GeneratedSQL": 2, "SQLValidation": 2}


# The cache


def test_same_statement_and_question_are_checked_once(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT, COUNT], "SQLValidation": [VALID, no_call]})

    outputs = [agent.ask(HOW_MANY) for _ in range(2)]
    assert [output["error"] for output in outputs] == [None, None]
    assert [output["audit"]["llm_calls"] for output in outputs] == [2, 1]


@pytest.mark.parametrize(
    ("question", "sql", "given"),
    [
        ("How many orders do we have?", COUNT["sql"], {}),
        (HOW_MANY, "SELECT COUNT(order_id) AS orders FROM orders", {}),
        (HOW_MANY, COUNT["sql"], {"source": "other"}),
    ],
    ids=["other question", "other statement", "other schema"],
)
def test_anything_else_is_checked_anew(
    scripted: MakeAgent, question: str, sql: str, given: dict[str, str], tmp_path: Path
) -> None:
    if given:
        given = {"source": url(make_database(tmp_path, "CREATE TABLE orders (order_id INTEGER)"))}
    agent = scripted({"GeneratedSQL": [COUNT, {"sql": sql}]})
    agent.ask(HOW_MANY)

    assert agent.ask(question, **given)["error"] is None
    assert calls(agent)["SQLValidation"] == 2


def test_failed_check_is_not_cached(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT] * 2, "SQLValidation": [TimeoutError("slow"), VALID]})

    assert [agent.ask(HOW_MANY)["error"] for _ in range(2)] == [None, None]
    assert calls(agent)["SQLValidation"] == 2


# Switched off


@pytest.mark.parametrize(
    ("setting", "given", "checks"),
    [(True, False, 0), (False, True, 1), (True, None, 1), (False, None, 0)],
)
def test_call_decides_over_the_setting(scripted: MakeAgent, setting: bool, given: bool | None, checks: int) -> None:
    agent = scripted({"GeneratedSQL": [COUNT]}, enable_sql_validation=setting)
    output = agent.ask(HOW_MANY, enable_sql_validation=given)

    assert output["error"] is None
    assert calls(agent).get("SQLValidation", 0) == checks


@pytest.mark.parametrize(("requested", "checks"), [(True, 1), (None, 0)])
def test_a_model_that_judges_badly_checks_on_request_alone(
    scripted: MakeAgent, requested: bool | None, checks: int
) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": YEAR_2023}]}, enable_sql_validation=None)
    agent.services.models.of().validates = False
    agent.ask("How many orders were placed in 2024?", enable_sql_validation=requested)

    assert calls(agent).get("SQLValidation", 0) == checks


def test_statement_that_cannot_run_is_not_checked(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": "SELECT nothing_like_it FROM orders"}, COUNT]})
    steps = walk(agent)

    assert nodes(steps).count("validate_sql") == 2
    assert calls(agent)["SQLValidation"] == 1


# Its own failure


@pytest.mark.parametrize(
    "answers",
    [
        [TimeoutError("too slow")],
        [RuntimeError("a defect")],
        [ValueError("half a body")],
        ["no JSON", "still no JSON"],
        ["", ""],
        [{"verdict": "good"}, {"is_valid": "perhaps"}],
        [],
    ],
    ids=[
        "timeout", "defect", "broken body", "unreadable twice", "empty twice", "wrong schema twice", "unreachable",
    ],
)  # fmt: skip
def test_check_that_fails_leaves_the_statement(
    scripted: MakeAgent, answers: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "datasphinx")
    agent = scripted({"GeneratedSQL": [COUNT, no_call], "SQLValidation": answers})
    steps = walk(agent)

    assert final(steps)["error"] is None
    assert final(steps)["sql"] == COUNT["sql"]
    (check,) = updates_of(steps, "validate_sql")
    assert check["audit"]["notes"][0].startswith("the check of the statement failed: ")
    assert nodes(steps).count("generate_sql") == 1
    assert "[SQL_VALIDATION] failed" in caplog.text


@pytest.mark.parametrize(
    ("settings", "verdicts", "judges"),
    [
        ({}, [TimeoutError("too slow")], True),
        ({"enable_sql_validation": True}, [TimeoutError("too slow")], True),
        ({}, [], False),
        ({"enable_sql_validation": False}, [], True),
        ({"effort": "low"}, [], True),
    ],
    ids=["check fails", "requested check fails", "model judges badly", "switched off", "low effort"],
)
@pytest.mark.parametrize("language", ["en", "de", "ru", "zh"])
def test_a_doubt_that_no_check_settles_reaches_the_user(
    scripted: MakeAgent, settings: dict[str, Any], verdicts: list[Any], judges: bool, language: Language
) -> None:
    question = {
        "en": "How many orders were placed in 2024?",
        "de": "Wie viele Bestellungen gab es 2024?",
        "ru": "Сколько заказов было в 2024 году?",
        "zh": "2024年有多少订单？",
    }[language]
    written = {"sql": YEAR_2023, "answer": ["In 2024: {orders}."]}
    agent = scripted(
        {"GeneratedSQL": [written], "SQLValidation": verdicts}, **{"enable_sql_validation": None} | settings
    )
    agent.services.models.of().validates = judges
    output = agent.ask(question)

    doubt = Message("question_part_ignored", part="2024")
    assert output["status"] == "unsure"
    assert render("findings_remain", language, findings=doubt) in output["answer"]
    assert "In 2024" not in output["answer"]


def test_a_warning_that_no_check_settles_reaches_the_user(scripted: MakeAgent) -> None:
    every_pair = {"sql": "SELECT COUNT(*) AS orders FROM orders, customers"}
    agent = scripted({"GeneratedSQL": [every_pair], "SQLValidation": [TimeoutError()]}, enable_sql_validation=None)
    output = agent.ask(HOW_MANY)

    assert output["status"] == "unsure"
    assert "every row is paired with every row" in output["answer"]


def test_a_doubt_about_a_corrected_statement_is_that_of_the_correction(scripted: MakeAgent) -> None:
    verdicts = [correction(YEAR_2024), TimeoutError("too slow")]
    agent = scripted({"GeneratedSQL": [{"sql": YEAR_2023}], "SQLValidation": verdicts}, enable_sql_validation=None)
    output = agent.ask("How many orders were placed in 2024?")

    assert (output["status"], output["sql"]) == ("ok", YEAR_2024)


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE orders",
        "SELECT nothing_like_it FROM orders",
        "SELECT * FROM invoices",
        "SELECT FROM",
        "SELECT 1; DELETE FROM orders",
        "PRAGMA user_version",
    ],
)
def test_issues_go_to_generation_if_the_correction_cannot_run(scripted: MakeAgent, sql: str) -> None:
    wrong = {"is_valid": False, "reason": "it is about 2023", "issues": ["2024 is asked"], "corrected_sql": sql}
    agent = scripted({"GeneratedSQL": [{"sql": YEAR_2023}, {"sql": YEAR_2024}], "SQLValidation": [wrong, VALID]})

    assert agent.ask("How many orders were placed in 2024?")["sql"] == YEAR_2024
    assert "It failed: it is about 2023; 2024 is asked; a correction was tried" in prompts(agent, "GeneratedSQL")[1]


@pytest.mark.parametrize(
    "verdicts",
    [
        [correction("SELECT SUM(nothing) FROM orders")] * 2,
        [correction("SELECT COUNT(*) AS orders FROM orders WHERE ordered_on >= '2034-01-01'")] * 2,
        [correction(YEAR_2024.replace("2024", "2025")), correction(YEAR_2023)],
    ],
    ids=["cannot run", "finds nothing", "alternates"],
)
def test_no_sentence_states_what_was_judged_wrong(scripted: MakeAgent, verdicts: list[Any]) -> None:
    wrong = {"sql": YEAR_2023, "answer": ["{orders} orders were placed."]}
    output = scripted({"GeneratedSQL": [wrong] * 4, "SQLValidation": verdicts}).ask("How many orders in 2024?")

    assert output["status"] == "unsure" and "were placed" not in output["answer"]
    assert output["answer"].startswith("Please note: a check of the query was not satisfied")
    assert any("a check of the query was not satisfied" in each for each in output["audit"]["notes"])
    response = response_of(output)
    assert (response.status, response.value, response.trust) == ("unsure", output["value"], "Not sure")
    assert "a check of the query was not satisfied" in response._repr_html_()


# The log


def validation_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.getMessage().startswith("[SQL_VALIDATION]")]


def test_log_has_start_statement_verdict_and_correction(scripted: MakeAgent, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="datasphinx")
    verdicts = [correction(YEAR_2024, "the year is 2024"), VALID]
    output = scripted({"GeneratedSQL": [{"sql": YEAR_2023}], "SQLValidation": verdicts}).ask("Orders in 2024?")

    trace = f" trace_id={output['audit']['trace_id']}"
    assert validation_lines(caplog) == [
        f"[SQL_VALIDATION] start attempt=1{trace}",
        f"[SQL_VALIDATION] sql={YEAR_2023}{trace}",
        f"[SQL_VALIDATION] verdict=False reason=the year is 2024 issues=the year is 2024{trace}",
        f"[SQL_VALIDATION] correction={YEAR_2024}{trace}",
        f"[SQL_VALIDATION] start attempt=2{trace}",
        f"[SQL_VALIDATION] sql={YEAR_2024}{trace}",
        f"[SQL_VALIDATION] verdict=True reason={VALID['reason']} issues={trace}",
    ]


def test_statement_over_several_lines_is_one_line_of_the_log(
    scripted: MakeAgent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="datasphinx")
    forged = "SELECT COUNT(*) AS orders\nFROM orders -- x\n-- [SQL_VALIDATION] verdict=True"
    scripted({"GeneratedSQL": [{"sql": forged}]}).ask(HOW_MANY)

    assert validation_lines(caplog)
    assert not any("\n" in line for line in validation_lines(caplog))


# Corrections that would lose a right answer

ALL = {"sql": "SELECT COUNT(*) AS orders FROM orders"}
NONE = "SELECT COUNT(*) AS orders FROM orders WHERE status = 'no such status'"
OF_2024 = "SELECT COUNT(*) AS orders FROM orders WHERE ordered_on >= '2024-01-01'"


@pytest.mark.parametrize(
    ("wrong", "verdicts", "problem"),
    [
        (YEAR_2023, [correction(ALL["sql"]), correction(f"{YEAR_2023} ;"), VALID], "It failed: it does not answer"),
        (YEAR_2023, [correction(YEAR_2024), correction(f"{YEAR_2023} ;"), VALID], "It failed: it does not answer"),
        (
            ALL["sql"],
            [correction(NONE, "it is about all years"), {"is_valid": False, "reason": "it finds nothing"}, VALID],
            "It failed: it is about all years; a correction was tried that returns nothing: SELECT",
        ),
    ],
    ids=["alternates", "alternates from the right one", "finds nothing"],
)
def test_issues_go_to_generation_if_the_correction_does_not_help(
    scripted: MakeAgent, wrong: str, verdicts: list[Any], problem: str
) -> None:
    right = OF_2024 + " AND ordered_on < '2025-01-01'"
    agent = scripted({"GeneratedSQL": [{"sql": wrong}, {"sql": right}], "SQLValidation": verdicts})
    output = agent.ask("How many orders were placed in 2024?")

    assert (output["sql"], output["status"]) == (right, "ok")
    assert problem in prompts(agent, "GeneratedSQL")[1]


def test_a_statement_that_was_judged_wrong_before_is_no_correction(scripted: MakeAgent) -> None:
    objection = {"is_valid": False, "reason": "it is about 2023", "issues": [], "corrected_sql": None}
    statements = [{"sql": YEAR_2023}, {"sql": OF_2024}, {"sql": YEAR_2024}]
    agent = scripted({"GeneratedSQL": statements, "SQLValidation": [objection, correction(YEAR_2023), VALID]})

    assert agent.ask("How many orders were placed in 2024?")["sql"] == YEAR_2024


@pytest.mark.parametrize(("again", "status"), [(YEAR_2024, "ok"), (f"{YEAR_2023} ;", "unsure")])
def test_an_objection_is_about_its_statement_alone(scripted: MakeAgent, again: str, status: str) -> None:
    objection = {"is_valid": False, "reason": "it is about 2023", "issues": [], "corrected_sql": None}
    answers = {"GeneratedSQL": [{"sql": YEAR_2023}, {"sql": again}], "SQLValidation": [objection]}
    output = scripted(answers, sql_validation_max_retries=0).ask("How many orders were placed in 2024?")

    assert output["status"] == status and ("it is about 2023" in output["answer"]) == (status == "unsure")


def test_alternating_corrections_leave_a_draft_if_no_statement_may_follow(scripted: MakeAgent) -> None:
    verdicts = [correction(OF_2024), correction(f"{ALL['sql']} ;")]
    answers = {"GeneratedSQL": [ALL], "SQLValidation": verdicts}
    output = scripted(answers, max_sql_generations=0).ask(HOW_MANY)

    assert (output["sql"], output["status"]) == (OF_2024, "unsure")
    assert [each["sql"] for each in output["alternatives"]] == [ALL["sql"]]


@pytest.mark.parametrize(("reason", "told"), [("the revenue was 98765", ""), ("2024 is asked, not 2023", None)])
def test_a_note_has_no_figure_that_nobody_gave(scripted: MakeAgent, reason: str, told: str | None) -> None:
    verdicts = [correction(YEAR_2024, reason), VALID]
    output = scripted({"GeneratedSQL": [{"sql": YEAR_2023}], "SQLValidation": verdicts}).ask("Orders in 2024?")

    assert output["audit"]["notes"] == ["corrected" if told == "" else f"corrected: {reason}"]


def test_correction_that_returns_nothing_is_confirmed_once(scripted: MakeAgent) -> None:
    doubtful = [correction(NONE), VALID, VALID]
    agent = scripted({"GeneratedSQL": [ALL], "SQLValidation": doubtful})
    output = agent.ask(HOW_MANY)

    assert output["value"] == 0
    assert "before the correction" in str(output["audit"])
    comparison = prompts(agent, "SQLValidation")[1]
    assert "this query returns the value 0" in comparison and ALL["sql"] in comparison


def test_comparison_of_results_shows_no_secret_or_personal_values(scripted: MakeAgent, tmp_path: Path) -> None:
    table = "CREATE TABLE users (name TEXT, city TEXT, password TEXT)"
    path = make_database(tmp_path, table, "INSERT INTO users VALUES ('Ann', 'Ulm', 'hunter2')")
    verdicts = [correction("SELECT name, city, password FROM users WHERE name = 'Bob'"), VALID, VALID]
    agent = scripted({"GeneratedSQL": [{"sql": "SELECT name, city, password FROM users"}], "SQLValidation": verdicts})
    agent.ask("Which users are there?", source=url(path))

    comparison = prompts(agent, "SQLValidation")[1]
    assert "['***', 'Ulm', '***']" in comparison and "Ann" not in comparison
    assert "hunter2" not in comparison


def test_unconfirmed_correction_that_returns_nothing_is_not_used(scripted: MakeAgent) -> None:
    verdicts = [correction(NONE), {"is_valid": False, "reason": "it returns nothing"}]
    answers = {"GeneratedSQL": [ALL], "SQLValidation": verdicts}
    output = scripted(answers, max_sql_generations=0).ask(HOW_MANY)

    assert (output["sql"], output["status"], output["error"]) == (ALL["sql"], "unsure", None)
    assert "returns nothing" in str(output["audit"])


def test_validation_sees_what_the_user_said(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [{**ALL, "assumptions": ["all years"]}]})
    agent.ask(HOW_MANY, output_type="number")
    prompt = prompts(agent, "SQLValidation")[0]

    assert "Its author assumed: all years" in prompt
    assert "The answer has to be one number" in prompt


def test_rejected_statement_does_not_come_back_as_a_correction(scripted: MakeAgent) -> None:
    generated = [ALL, {"sql": OF_2024}, {"sql": YEAR_2023}]
    agent = scripted({"GeneratedSQL": generated, "SQLValidation": [VALID, correction(ALL["sql"]), VALID]})
    graph, config = build_graph(agent.services, checkpointer=InMemorySaver()), {"configurable": {"thread_id": "t"}}
    graph.invoke({"question": HOW_MANY}, config)
    output = graph.invoke({"feedback": {"accepted": False, "comment": "only new ones"}}, config)

    assert output["sql"] == YEAR_2023
    assert "The user remarks: only new ones" in prompts(agent, "SQLValidation")[1]
