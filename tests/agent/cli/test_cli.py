"""The command line as users run it: what stands on which stream, and the exit codes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent import errors
from tests.support.commands import Run
from tests.support.databases import make_table, url
from tests.support.fake_openai import FakeOpenAI

COUNT = {"sql": "SELECT COUNT(*) AS orders FROM orders", "assumptions": [], "off_topic": False}
VALID = {"is_valid": True, "reason": "fine", "issues": [], "corrected_sql": None}


def test_an_answer_with_its_steps_sql_and_cost(model: FakeOpenAI, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_ENABLE_SQL_VALIDATION", "true")
    model.answers = [COUNT, VALID]
    code, out, err = run("ask", "How many orders are there?")
    assert code == errors.ANSWERED
    assert COUNT["sql"] in out
    assert "Orders: 10,127" in out
    assert "2 model calls · 240 + 60 tokens · price unknown" in out
    assert [line.split()[1] for line in err.splitlines()][0] == "retrieve_tables"
    assert "✓ execute_sql" in err


def test_json_is_one_object_and_nothing_else(model: FakeOpenAI, run: Run) -> None:
    model.answers = [COUNT]
    code, out, err = run("ask", "How many orders are there?", "--json")
    output = json.loads(out)
    assert (code, err) == (errors.ANSWERED, "")
    assert output["value"] == 10127
    assert set(output) == {
        "answer", "output_type", "value", "sql", "tables", "charts", "definitions", "filters", "checked", "chosen",
        "metric", "verified", "follow_ups", "language", "title", "alternatives",
        "clarification", "error", "audit", "thread_id", "status", "confidence", "run_id",
    }  # fmt: skip


def test_a_described_result_has_its_cut_and_assumptions(
    model: FakeOpenAI, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATASPHINX_ROW_LIMIT", "30")
    statement = {"sql": "SELECT order_id FROM orders", "assumptions": ["cancelled orders count"], "off_topic": False}
    model.answers = [statement, {"answer": "They are many, the first {1.order_id}."}]
    _, out, _ = run("ask", "List all orders", "--output-type", "string")
    assert "They are many, the first " in out
    assert "Assumed: cancelled orders count" in out
    assert out.count("Only the first 30 rows were read.") == 1


def test_version(run: Run) -> None:
    assert run("--version") == (errors.ANSWERED, "0.1.0\n", "")


@pytest.mark.parametrize("command", ["doctor", "eval run", "guard", "key new", "threads prune", "trace verify"])
def test_a_command_for_operators_is_known_with_its_group_and_without_it(run: Run, command: str) -> None:
    grouped, plain = run("admin", *command.split(), "--help"), run(*command.split(), "--help")
    assert grouped[:2] == (errors.ANSWERED, plain[1].replace(f"datasphinx {command}", f"datasphinx admin {command}"))


def test_a_source_and_a_form_of_its_own(model: FakeOpenAI, run: Run, tmp_path: Path) -> None:
    path = make_table(tmp_path, "title TEXT, year INTEGER", [("Emma", 1815)], table="books")
    model.answers = [{**COUNT, "sql": "SELECT title FROM books"}]
    arguments = ("--source", url(path), "--output-type", "dataframe", "--json")
    code, out, _ = run("ask", "Which books are there?", *arguments)
    assert code == errors.ANSWERED
    value = json.loads(out)["value"]
    assert (value["columns"], value["rows"]) == (["title"], [["Emma"]])


def test_model_and_base_url_from_the_command(model: FakeOpenAI, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_LLM_BASE_URL", "http://127.0.0.1:1/v1")
    model.answers = [COUNT]
    code, _, _ = run("ask", "How many orders?", "--base-url", model.base_url, "--model", "other")
    assert code == errors.ANSWERED
    assert model.requests[0]["model"] == "other"


@pytest.mark.parametrize(
    ("arguments", "expected", "says"),
    [
        (("ask",), errors.USAGE, "Missing argument"),
        (("ask", "How many orders?", "--output-type", "poem"), errors.USAGE, "poem"),
        (("nonsense",), errors.USAGE, "nonsense"),
        (("ask", ""), errors.DOMAIN, "it is empty"),
        (("ask", "Какая сегодня погода в Москве?"), errors.DOMAIN, "Вопрос не по теме"),
        (("ask", "How many orders?", "--source", "sqlite:///none.db"), errors.USAGE, "the file does not exist"),
        (
            ("ask", "How many orders?", "--source", "postgresql://x@127.0.0.1:1/y"),
            errors.UNREACHABLE,
            "127.0.0.1:1",
        ),
    ],
)
def test_exit_codes(model: FakeOpenAI, run: Run, arguments: tuple[str, ...], expected: int, says: str) -> None:
    model.default = {"sql": "", "assumptions": [], "off_topic": True}
    code, out, err = run(*arguments)
    assert code == expected
    assert says in (out + err).replace("\n", " ")


def test_an_error_before_a_model_call_names_no_thread(model: FakeOpenAI, run: Run) -> None:
    code, out, _ = run("ask", "How many orders?", "--source", "nowhere")
    assert code == errors.USAGE
    assert "There is no source 'nowhere'" in out and "thread" not in out


def test_a_model_that_cannot_be_reached(model: FakeOpenAI, run: Run) -> None:
    code, out, _ = run("ask", "How many orders?", "--base-url", "http://127.0.0.1:1/v1", "--json")
    assert code == errors.UNREACHABLE
    assert json.loads(out)["error"]["code"] == "model_unreachable"


def test_a_wrong_setting_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_ROW_LIMIT", "many")
    code, out, err = run("ask", "How many orders?")
    assert (code, out) == (errors.USAGE, "")
    assert err.startswith("The setting DATASPHINX_ROW_LIMIT is wrong")


def test_replay_ends_in_one_json_object(run: Run, tmp_path: Path) -> None:
    make_table(tmp_path, "title TEXT", [("Emma",)], table="books").rename(tmp_path / "books.sqlite")
    question = {"id": "1", "db_id": "books", "question": "How many books?", "sql": "SELECT COUNT(*) FROM books"}
    (tmp_path / "q.jsonl").write_text(json.dumps(question), encoding="utf-8")
    (tmp_path / "p.jsonl").write_text(
        json.dumps({"id": "1", "sql": "SELECT COUNT(title) FROM books"}), encoding="utf-8"
    )
    files = ("--questions", f"{tmp_path}/q.jsonl", "--databases", str(tmp_path))
    code, out, _ = run("eval", "replay", *files, "--predictions", f"{tmp_path}/p.jsonl", "--json")
    report: dict[str, Any] = json.loads(out)
    assert code == errors.ANSWERED
    assert (report["n"], report["execution_match"], report["refused"], report["errors"]) == (1, 1.0, 0, 0)
    assert report["llm_calls"] == 1 and report["tokens"] > 0


@pytest.mark.heavy
@pytest.mark.process
def test_the_installed_command_answers(model: FakeOpenAI) -> None:
    model.answers = [COUNT]
    command = [str(Path(sys.executable).with_name("datasphinx")), "ask", "How many orders?", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (errors.ANSWERED, "")
    assert json.loads(done.stdout)["value"] == 10127


def test_the_rows_are_saved(model: FakeOpenAI, run: Run, tmp_path: Path) -> None:
    model.answers = [{**COUNT, "sql": "SELECT name FROM regions ORDER BY name"}]
    code, _, err = run("ask", "Which regions are there?", "-o", str(tmp_path / "regions.csv"))

    assert code == errors.ANSWERED and f"output: {tmp_path}/regions.csv" in err
    lines = (tmp_path / "regions.csv").read_text(encoding="utf-8-sig").splitlines()
    assert (lines[:2], len(lines)) == (["name", "Asia Pacific"], 6)


def test_rows_are_saved_in_known_formats_only(run: Run) -> None:
    code, _, err = run("ask", "How many orders?", "-o", "orders.doc")

    assert code == errors.USAGE and "does not end in .csv, .xlsx, .parquet" in " ".join(err.split())


def test_the_statement_alone(model: FakeOpenAI, run: Run) -> None:
    model.answers = [COUNT]
    code, out, _ = run("ask", "How many orders are there?", "--sql-only", "--json")

    output = json.loads(out)
    assert (code, output["sql"], output["tables"]) == (errors.ANSWERED, COUNT["sql"], [])


def test_files_have_no_statement_to_print(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    code, _, err = run("ask", "How many rows?", str(tmp_path / "a.csv"), "--sql-only")

    assert code == errors.USAGE and "not available for questions about files" in " ".join(err.split())


UNTESTED = "trino://reader@host.invalid:1/hive"


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("How many orders are there?", "experimental"),
        ("Сколько заказов?", "экспериментально"),
        ("有多少订单？", "实验性"),
    ],
)
def test_an_untested_engine_is_marked_as_experimental(
    model: FakeOpenAI, run: Run, monkeypatch: pytest.MonkeyPatch, question: str, word: str
) -> None:
    monkeypatch.setattr("datasphinx.agent.sql.database.find_spec", lambda package: None)
    _, out, err = run("ask", question, "--source", UNTESTED)
    lines = [line for line in err.splitlines() if word in line]
    assert len(lines) == 1 and "trino" in lines[0] and word not in out
