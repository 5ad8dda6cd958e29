"""`datasphinx ask` in conversations: questions back, on a terminal and without one, feedback and follow-ups."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from datasphinx.agent import errors
from tests.agent.analysis.conftest import BY_ACCOUNT
from tests.agent.cli.steps import DONE, step
from tests.agent.record.stores import fresh_url
from tests.agent.server.serving import serving
from tests.agent.tools.conftest import RETURNS
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT, BY_ORDERS, TWICE, review_of
from tests.support.commands import Run
from tests.support.databases import make_table
from tests.support.fake_openai import FakeOpenAI
from tests.support.terminal import Terminal

COUNT = {"sql": "SELECT COUNT(*) AS orders FROM orders", "assumptions": [], "off_topic": False}
QUESTION = "How many orders are there?"


@pytest.fixture
def model(model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> FakeOpenAI:
    monkeypatch.setenv("DATASPHINX_ENABLE_SQL_VALIDATION", "false")
    return model


def thread_in(out: str) -> str:
    (found,) = re.findall(r"^thread ([0-9a-f]{32})$", out, re.MULTILINE)
    return str(found)


def asked_back(run: Run, model: FakeOpenAI) -> str:
    """The thread of a question that has come back."""
    model.answers = [ASKS]
    code, out, _ = run("ask", BEST)
    assert code == errors.NEEDS_CLARIFICATION
    return thread_in(out)


# Without a terminal


def test_a_question_back_says_how_to_go_on(model: FakeOpenAI, run: Run) -> None:
    model.answers = [ASKS]
    code, out, err = run("ask", BEST)

    assert code == errors.NEEDS_CLARIFICATION
    assert "What makes a customer the best?\n1. by orders (rows: 3)\n" in out
    assert f"Answer with: datasphinx ask --thread {thread_in(out)} --answer 1" in err
    code, out, _ = run("ask", "--thread", thread_in(out), "--answer", "2")
    assert code == errors.ANSWERED
    assert "SUM(total_amount)" in out


def test_only_the_first_question_of_a_conversation_asks_for_a_title(model: FakeOpenAI, run: Run) -> None:
    model.answers = [{"sql": "SELEC", "title": "Number of orders"}, COUNT, COUNT]
    first = json.loads(run("ask", "How many orders are there?", "--json")[1])
    run("ask", "And today?", "--thread", first["thread_id"])
    asked = [str(request["response_format"]) for request in model.requests if "response_format" in request]
    assert ["up to five words" in each for each in asked] == [True, False, False]
    assert first["title"] == "Number of orders"


def test_json_has_the_thread_and_the_status(model: FakeOpenAI, run: Run) -> None:
    model.answers = [ASKS]
    code, out, err = run("ask", BEST, "--json")
    asked = json.loads(out)

    assert (code, asked["status"]) == (errors.NEEDS_CLARIFICATION, "clarification")
    assert f"--thread {asked['thread_id']}" in err
    code, out, err = run("ask", "--thread", asked["thread_id"], "--answer", "by orders", "--json")
    output = json.loads(out)
    assert (code, err, output["status"], output["sql"]) == (errors.ANSWERED, "", "ok", BY_ORDERS)
    assert output["thread_id"] == asked["thread_id"]


def test_an_answer_is_rejected_and_accepted(model: FakeOpenAI, run: Run) -> None:
    other = {**COUNT, "sql": "SELECT COUNT(DISTINCT order_id) AS orders FROM orders"}
    model.answers = [COUNT, other]
    _, out, _ = run("ask", QUESTION)
    thread = ("--thread", thread_in(out))
    code, rejected, _ = run("ask", *thread, "--reject", "each of them once", "--clarify", "never")
    assert code == errors.ANSWERED and "DISTINCT" in rejected
    assert "each of them once" in str(model.requests[-1]["messages"])
    code, accepted, _ = run("ask", *thread, "--accept")
    assert code == errors.ANSWERED and "Noted: the answer is right." in accepted


def test_files_are_asked_in_conversations_too(model: FakeOpenAI, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "returns.csv"
    path.write_text(RETURNS, encoding="utf-8")
    model.answers = [step("ask_user", question="Which month?", options=["January", "February"])]
    _, out, _ = run("ask", "How many returns has each account?", str(path))
    thread = ("--thread", thread_in(out))
    model.answers = [step("run_query", query=BY_ACCOUNT), step("finish", **DONE)]
    code, answered, _ = run("ask", *thread, "--answer", "February")

    assert code == errors.ANSWERED and "alpha (30) and beta (70)" in answered
    for wrong in (("--accept",), ("--reject",), (QUESTION, "--source", "sample"), (QUESTION, "--sql-only")):
        assert run("ask", *thread, *wrong)[0] == errors.USAGE, wrong


def test_a_thread_of_the_command_line_goes_on_over_http(model: FakeOpenAI, run: Run, cache_dir: Path) -> None:
    thread = asked_back(run, model)
    with serving(cache_dir) as server:
        output = server.invoke(thread_id=thread, clarification_answer="2")
    assert output["sql"] == BY_AMOUNT


def test_without_what_keeps_threads_a_question_is_answered_all_the_same(
    model: FakeOpenAI, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "langgraph.checkpoint.sqlite", None)
    model.answers = [ASKS]
    code, out, err = run("ask", BEST)
    assert (code, "thread " in out, "--clarify never" in err) == (errors.NEEDS_CLARIFICATION, False, True)
    code, _, err = run("ask", "--thread", "0" * 32, "--accept")
    assert code == errors.UNREACHABLE and "datasphinx[threads]" in err


# What goes wrong

SOME = "0" * 32


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--thread", SOME), "Missing argument 'QUESTION'"),
        (("--answer", "1"), "--answer needs --thread"),
        (("--reject",), "--reject needs --thread"),
        (("--accept",), "--accept needs --thread"),
        (("--thread", SOME, "--accept", "--reject"), "--reject and --accept exclude each other"),
        (("--thread", SOME, "--answer", "1", "--accept"), "--answer and --accept exclude each other"),
        ((QUESTION, "--thread", SOME, "--answer", "1"), "--answer takes the place of a question"),
        ((QUESTION, "--thread", SOME, "--accept"), "--accept takes the place of a question"),
        (("--thread", SOME, "--answer", "1"), f"There is no thread {SOME}"),
        ((QUESTION, "--thread", SOME), f"There is no thread {SOME}"),
        ((QUESTION, "--thread", "../threads"), "There is no thread ../threads"),
    ],
)
def test_what_cannot_be_is_a_usage_error(model: FakeOpenAI, run: Run, arguments: tuple[str, ...], says: str) -> None:
    code, out, err = run("ask", *arguments)

    assert (code, out) == (errors.USAGE, "")
    assert says in " ".join(err.replace("│", "").split())
    assert model.requests == []


def test_a_second_answer_and_files_on_the_thread_of_a_database(model: FakeOpenAI, run: Run, tmp_path: Path) -> None:
    thread = asked_back(run, model)
    run("ask", "--thread", thread, "--answer", "1")
    code, out, _ = run("ask", "--thread", thread, "--answer", "2")
    assert code == errors.USAGE and "There is no clarifying question" in " ".join(out.split())
    path = tmp_path / "returns.csv"
    path.write_text(RETURNS, encoding="utf-8")
    code, _, err = run("ask", QUESTION, str(path), "--thread", thread)
    assert code == errors.USAGE and "ask about files without it" in " ".join(err.replace("│", "").split())


@pytest.mark.heavy
def test_a_model_that_cannot_be_reached_leaves_the_question_open(model: FakeOpenAI, run: Run) -> None:
    thread = asked_back(run, model)
    answer = ("ask", "--thread", thread, "--answer", "the oldest")
    code, _, _ = run(*answer, "--base-url", "http://127.0.0.1:1/v1")
    assert code == errors.UNREACHABLE
    model.answers = [COUNT]
    assert run(*answer)[0] == errors.ANSWERED


def test_a_store_that_cannot_be_reached(model: FakeOpenAI, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_THREADS_URL", "postgresql://me:swordfish@127.0.0.1:1/x")
    model.answers = [COUNT]
    code, out, err = run("ask", QUESTION)
    assert code == errors.UNREACHABLE
    assert "me:***@127.0.0.1:1" in err and "swordfish" not in out + err


@pytest.mark.heavy
@pytest.mark.postgres
def test_a_password_is_not_kept_with_the_thread(
    model: FakeOpenAI, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATASPHINX_ALLOW_WRITABLE_ACCOUNT", "true")
    with fresh_url("postgres", tmp_path) as empty:
        url = make_url(empty).set(password="swordfish")
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE planets AS SELECT 'Mars' AS planet, 2 AS moons"))
        engine.dispose()
        source = ("--source", url.render_as_string(hide_password=False))
        moons = "SELECT moons FROM planets"
        model.answers = [{**COUNT, "sql": moons}, {**COUNT, "sql": f"{moons} WHERE planet = 'Mars'"}]
        code, out, _ = run("ask", "How many moons has the planet Mars?", *source)
        assert code == errors.ANSWERED
        reject = ("ask", "--thread", thread_in(out), "--reject", "--clarify", "never")
        code, refused, _ = run(*reject)
        assert code == errors.USAGE and "its password is not stored" in " ".join(refused.split())
        assert run(*reject, *source)[0] == errors.ANSWERED
    kept = [each.read_bytes() for each in (tmp_path / "data").rglob("*") if each.is_file()]
    assert kept and not any(b"swordfish" in each for each in kept)


def test_in_json_an_unknown_thread_is_an_output_too(model: FakeOpenAI, run: Run) -> None:
    code, out, err = run("ask", QUESTION, "--thread", SOME, "--json")
    output = json.loads(out)
    assert (code, err, output["status"]) == (errors.USAGE, "", "error")
    assert (output["error"]["code"], output["thread_id"]) == ("thread_unknown", SOME)


def test_the_server_reaches_no_database_that_only_the_thread_names(
    model: FakeOpenAI, run: Run, cache_dir: Path, tmp_path: Path
) -> None:
    path = make_table(tmp_path, "planet TEXT, moons INTEGER", [["Mars", 2]], table="planets")
    model.answers = [{**COUNT, "sql": "SELECT moons FROM planets"}]
    _, out, _ = run("ask", "How many moons has the planet Mars?", "--source", f"sqlite:///{path}")
    with serving(cache_dir) as server:
        output = server.invoke(thread_id=thread_in(out), feedback={"accepted": False}, clarify="never")
    assert output["error"]["code"] == "source_not_found"


# On a terminal


@pytest.fixture
def on_terminal() -> Iterator[Callable[..., Terminal]]:
    with ExitStack() as opened:

        def ask(*arguments: str) -> Terminal:
            terminal = Terminal("ask", *arguments)
            opened.callback(terminal.close)
            return terminal

        yield ask


OnTerminal = Callable[..., Terminal]


@pytest.mark.heavy
def test_on_a_terminal_the_question_back_is_a_menu(model: FakeOpenAI, on_terminal: OnTerminal) -> None:
    model.answers = [ASKS]
    terminal = on_terminal(BEST, "--verbose")
    menu = terminal.until("\n> ")
    assert re.search(r"1\. by orders \(rows: 3\)\n2\. by amount \(rows: 3\)\n", menu)
    terminal.type("\n")
    terminal.until("> ")
    terminal.type("3\n")
    assert "There is no option 3" in terminal.until("\n> ")
    terminal.type("2\n")
    assert terminal.end() == errors.ANSWERED
    assert "SUM(total_amount)" in terminal.shown
    assert len(set(re.findall(r"thread (\w+)", terminal.shown))) == 1
    assert len(model.requests) == 1


@pytest.mark.heavy
def test_on_a_terminal_it_is_asked_until_nothing_is_open(model: FakeOpenAI, on_terminal: OnTerminal) -> None:
    model.answers = [review_of(ASKS), review_of(TWICE)]
    terminal = on_terminal(BEST, "--clarify", "always")
    terminal.until("\n> ")
    terminal.type("those who signed up first\n")
    assert "How many of them?" in terminal.until("\n> ")
    model.answers = [{"summary": "clear", "no_ambiguity": True}, COUNT]
    terminal.type("ten of them\n")
    assert terminal.end() == errors.ANSWERED
    assert "ten of them" in str(model.requests[-1]["messages"])


@pytest.mark.heavy
@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["ctrl-c", "end"])
def test_who_leaves_the_menu_may_answer_later(model: FakeOpenAI, run: Run, on_terminal: OnTerminal, key: str) -> None:
    model.answers = [ASKS]
    terminal = on_terminal(BEST)
    terminal.until("\n> ")
    assert terminal.leave_by(key) == errors.NEEDS_CLARIFICATION
    assert "Traceback" not in terminal.shown
    ((thread, answer),) = re.findall(r"Answer with: datasphinx ask --thread (\w+) --answer (\d)", terminal.shown)
    assert run("ask", "--thread", thread, "--answer", answer)[0] == errors.ANSWERED


@pytest.mark.heavy
def test_json_asks_nobody_on_a_terminal(model: FakeOpenAI, on_terminal: OnTerminal) -> None:
    model.answers = [ASKS]
    assert on_terminal(BEST, "--json").end() == errors.NEEDS_CLARIFICATION
