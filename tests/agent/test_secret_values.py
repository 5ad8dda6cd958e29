"""Values of secret columns reach the user who asks for them, and neither a model nor the record nor the log."""

import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, SourceSettings, load_settings
from tests.conftest import NO_AMBIGUITY, VALID

pytestmark = pytest.mark.integration

ROWS = 30
MARK = "zq7"
"""Stands in every secret value and nowhere else."""
EMAIL = f"{MARK}13@example.org"


@pytest.fixture
def staff(tmp_path: Path) -> str:
    """The URL of a DuckDB file with names, secret e-mail addresses and secret salaries."""
    path = tmp_path / "staff.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE staff (id INTEGER PRIMARY KEY, name VARCHAR, email VARCHAR, salary INTEGER)")
        connection.executemany(
            "INSERT INTO staff VALUES (?, ?, ?, ?)",
            [(number, f"Person {number}", f"{MARK}{number}@example.org", 7_654_000 + number) for number in range(ROWS)],
        )
    return f"duckdb:///{path}"


class Run:
    """Questions of one of the graphs on the staff, and everything that a model or the record got."""

    def __init__(self, settings: Settings, answers: dict[str, Any], graph: Callable[..., Any]) -> None:
        self.settings = settings
        self.model = ScriptedModel(answers)
        self.services = Services(settings, model=self.model)
        self.graph = graph(self.services, InMemorySaver())
        self.config = {"configurable": {"thread_id": "t"}}

    def ask(self, question: str, **given: Any) -> dict[str, Any]:
        output: dict[str, Any] = self.graph.invoke({"question": question, "source": "staff", **given}, self.config)
        return output

    @property
    def seen(self) -> str:
        """The prompts and the record as one text."""
        record = [event.as_json() for event in open_store(self.settings).scan()]
        return json.dumps([[call.prompt for call in self.model.calls], record], ensure_ascii=False)


Make = Callable[..., Run]


@pytest.fixture
def make(staff: str, cache_dir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Make:
    caplog.set_level(logging.DEBUG)

    def run(*statements: str, graph: Callable[..., Any] = build_graph, **answers: Any) -> Run:
        source = SourceSettings(url=staff, secret_columns=("staff.email", "staff.salary"))
        settings = load_settings(cache_dir=cache_dir, data_dir=tmp_path / "data", sources={"staff": source})
        generated = [{"sql": sql} for sql in statements]
        known = {"AmbiguityReview": [NO_AMBIGUITY] * 9, "SQLValidation": [VALID] * 9, "GeneratedSQL": generated}
        return Run(settings, {**known, **answers}, graph)

    return run


def is_hidden(text: str) -> bool:
    """Return whether no e-mail address and no salary, as it is or grouped, stands in `text`."""
    return MARK not in text and not re.search(r"(?<![0-9a-f])7,?654,?0\d\d(?![0-9a-f])", text)


def test_a_result_is_described_without_them(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    run = make(
        "SELECT name, email, salary FROM staff ORDER BY id",
        NarratedAnswer=[{"answer": "They are listed from {1.name} on.", "output_type": "dataframe"}],
    )
    output = run.ask("List the email and salary of all staff", output_type="string")
    assert output["answer"] == "They are listed from Person 0 on."
    (table,) = output["tables"]
    assert (table["rows"][13], table["secret"]) == (["Person 13", EMAIL, 7_654_013], [1, 2])
    assert "Person 13" in run.seen and "***" in run.seen
    assert is_hidden(run.seen) and is_hidden(caplog.text)


def test_the_rows_are_the_answer_where_the_narration_is_rejected(make: Make) -> None:
    wrong = {"answer": "Person 99 has 4711.", "output_type": "dataframe"}
    run = make("SELECT name, email AS contact FROM staff", NarratedAnswer=[wrong, wrong])
    output = run.ask("List the email of all staff", output_type="string")
    assert EMAIL in output["answer"] or f"{MARK}0" in output["answer"]
    assert is_hidden(run.seen)
    assert run.graph.get_state(run.config).values["turns"][-1]["answer"] != output["answer"]


def test_a_rejected_narration_is_written_again_without_them(make: Make) -> None:
    answers = [
        {"answer": "Person 1 earns 7,654,001.", "output_type": "dataframe"},
        {"answer": "They are listed from {1.name} on.", "output_type": "dataframe"},
    ]
    run = make("SELECT name, salary FROM staff ORDER BY salary", NarratedAnswer=answers)
    assert (
        run.ask("List the salary of all staff", output_type="string")["answer"] == "They are listed from Person 0 on."
    )
    prompts = [call.prompt for call in run.model.calls if call.schema_name == "NarratedAnswer"]
    assert len(prompts) == 2 and is_hidden(prompts[0])
    # What the model made up, even if it is right, is the only figure there.
    assert is_hidden(prompts[1].replace("7,654,001", ""))


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        ("SELECT email FROM staff WHERE id = 13", EMAIL),
        ("SELECT salary FROM staff WHERE id = 13", "7,654,013"),
        ("SELECT name, LOWER(email) AS contact FROM staff WHERE id = 13", EMAIL),
        ("WITH s AS (SELECT * FROM staff) SELECT * FROM s WHERE id = 13", EMAIL),
        ("SELECT MAX(salary) - 1 AS best FROM staff", "7,654,028"),
    ],
)
def test_a_short_result_is_shown_to_the_user_alone(make: Make, sql: str, shown: str) -> None:
    run = make(sql)
    output = run.ask("What is the email and the salary of Person 13 of the staff?")
    assert shown in output["answer"]
    assert is_hidden(run.seen)


def test_a_count_is_no_secret(make: Make) -> None:
    run = make("SELECT COUNT(DISTINCT email) AS addresses FROM staff")
    output = run.ask("How many email addresses do the staff have?")
    assert output["value"] == ROWS
    assert "secret" not in output["tables"][0]
    assert f"Addresses: {ROWS}" in run.seen


def test_hashes_on_the_record_are_of_masked_rows(make: Make) -> None:
    first, second = make("SELECT email FROM staff WHERE id = 1"), make("SELECT email FROM staff WHERE id = 2")
    for run in (first, second):
        run.ask("What is the email of this one of the staff?")
    hashes = [
        event.content["tables"][0]["result_hash"]
        for event in open_store(first.settings).scan()
        if event.kind == "output"
    ]
    assert len(hashes) == 2 and len(set(hashes)) == 1


@pytest.mark.parametrize("how", ["CAST(email AS INTEGER)", "email::DATE", "salary + email"])
def test_an_error_of_the_database_does_not_show_them(make: Make, how: str, caplog: pytest.LogCaptureFixture) -> None:
    run = make(*[f"SELECT name FROM staff WHERE {how} IS NOT NULL AND id > {at}" for at in range(9)])
    output = run.ask("Which names of the staff are there?")
    assert output["error"]["code"] == "sql_not_generated"
    assert is_hidden(run.seen) and is_hidden(caplog.text) and is_hidden(json.dumps(output))


def test_the_model_is_told_the_class_of_an_error_of_open_columns(make: Make) -> None:
    run = make("SELECT CAST(name AS INTEGER) AS n FROM staff", "SELECT COUNT(*) AS n FROM staff")
    assert run.ask("How many names of staff are there?")["value"] == ROWS
    assert "a value could not be converted" in run.seen and "Could not convert" not in run.seen


def test_a_question_back_does_not_show_them(make: Make) -> None:
    options = [
        {"label": at, "reading": at, "sql": f"SELECT {what} AS best FROM staff ORDER BY salary {order} LIMIT 1"}
        for at, what, order in (("the richest", "email", "DESC"), ("the poorest", "email", "ASC"), ("any", "name", ""))
    ]
    review = {
        "summary": "The best are wanted.",
        "no_ambiguity": False,
        "ambiguity_type": "AmbQuestion",
        "question": "Which ones are the best?",
        "options": options,
    }
    run = make(AmbiguityReview=[review])
    output = run.ask("Who is the best of the staff?", clarify="always")
    previews = [each["preview"] for each in output["clarification"]["options"]]
    assert [each["rows"] for each in previews] == [1] * len(previews) and len(previews) > 1
    assert is_hidden(run.seen) and is_hidden(str(output))


def test_the_next_question_of_the_conversation(make: Make) -> None:
    run = make(
        "SELECT name, email FROM staff WHERE id < 5 ORDER BY id",
        "SELECT name FROM staff WHERE id = 1",
    )
    run.ask("List the email of the first staff")
    run.ask("And what about the name of the first of them?")
    assert is_hidden(run.seen)


def test_the_run_can_be_replayed(make: Make) -> None:
    run = make("SELECT name, email FROM staff WHERE id < 3")
    trace_id = run.ask("List the email of the first staff")["audit"]["trace_id"]
    assert replay(open_store(run.settings), trace_id, run.settings).differences == []


STEPS = [
    {
        "tool": "run_query",
        "arguments": {
            "dataset_id": "staff",
            "query": {"group_by": ["name", "email", "salary"], "sort": [{"by": "name"}]},
        },
    },
    {
        "tool": "run_query",
        "arguments": {
            "dataset_id": "staff",
            "query": {"aggregations": [{"as": "most", "agg": "max", "col": "salary"}]},
        },
    },
    {"tool": "finish", "arguments": {"answer": "Here they are, from {1.name} on.", "result_ids": ["r1", "r2"]}},
]


def test_the_analyst(make: Make) -> None:
    run = make(graph=build_analyst, AnalystStep=STEPS)
    output = run.ask("List the staff with email and salary")
    assert output["answer"].startswith("Here they are, from ")
    assert output["tables"][0]["rows"][0][1:] == [f"{MARK}0@example.org", 7_654_000]
    assert [table["secret"] for table in output["tables"]] == [[1, 2], [0]]
    assert "Person 13" in run.seen
    assert is_hidden(run.seen)
