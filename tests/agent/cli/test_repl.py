"""`datasphinx` without a command: a conversation on a terminal."""

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import DummyInput
from prompt_toolkit.output import DummyOutput

from datasphinx.agent import errors
from tests.support.best_customer import ASKS, BEST
from tests.support.commands import Run
from tests.support.eventually import eventually
from tests.support.fake_openai import FakeOpenAI, Reply
from tests.support.terminal import Terminal

COUNT = {"sql": "SELECT COUNT(*) AS orders FROM orders", "assumptions": [], "off_topic": False}
REGIONS = {**COUNT, "sql": "SELECT name FROM regions ORDER BY name"}


@pytest.fixture
def terminal(model: FakeOpenAI) -> Iterator[Terminal]:
    terminal = Terminal()
    terminal.until("› ")
    yield terminal
    terminal.close()


def enter(terminal: Terminal, line: str) -> str:
    """Enter a line, and return what is shown until the next prompt."""
    terminal.type(f"{line}\r")
    return terminal.until("› ", after=line)


@pytest.mark.heavy
def test_questions_and_commands(terminal: Terminal, model: FakeOpenAI, tmp_path: Path) -> None:
    model.answers = [REGIONS]
    assert "/sql prints the statement" in " ".join(terminal.shown.split())
    assert "Asia Pacific" in enter(terminal, "Which regions are there?")
    assert "FROM regions" in enter(terminal, "/sql")
    assert "output: regions.csv" in enter(terminal, "/save regions.csv")
    assert "Asia Pacific" in (tmp_path / "regions.csv").read_text()
    assert "orders: " in enter(terminal, "/schema")
    assert "total_amount" in enter(terminal, "/schema orders")
    assert "* sample" in enter(terminal, "/sources sample")
    assert "There is no command /tables" in enter(terminal, "/tables")
    terminal.type("/exit\r")
    assert terminal.end() == errors.ANSWERED
    assert "+Which regions are there?" in (tmp_path / "data" / "history").read_text()


@pytest.mark.heavy
def test_a_clarifying_question_is_answered_by_the_next_line(terminal: Terminal, model: FakeOpenAI) -> None:
    model.answers = [ASKS]
    assert "1. by orders" in enter(terminal, BEST)
    assert "54" in enter(terminal, "2")
    assert "SUM(total_amount)" in enter(terminal, "/sql")


@pytest.mark.heavy
@pytest.mark.parametrize("end", ["\r", ""])
def test_what_was_pasted_before_a_clarifying_question_is_no_answer_to_it(
    terminal: Terminal, model: FakeOpenAI, end: str
) -> None:
    model.answers = [ASKS]
    terminal.type(f"{BEST}\r1{end}")
    assert "1. by orders" in terminal.until("› ", after="2. by amount")
    assert "54" in enter(terminal, "2")
    assert "SUM(total_amount)" in enter(terminal, "/sql")


@pytest.mark.heavy
def test_a_clarifying_question_is_open_again_after_an_error(terminal: Terminal, model: FakeOpenAI) -> None:
    model.answers = [ASKS]
    enter(terminal, BEST)
    model.answers = [{"sql": "SELECT nothing_such FROM orders"}] * 9
    shown = enter(terminal, "by fame")
    assert "Could not generate an SQL query" in shown and "1. by orders" in shown
    assert "nothing_such" not in shown
    assert "54" in enter(terminal, "2")


@pytest.mark.heavy
def test_an_answer_is_followed_by_questions_to_ask_next(terminal: Terminal, model: FakeOpenAI) -> None:
    first = "How many orders are there by status?"
    model.answers = [{**COUNT, "follow_ups": [first]}]
    assert first in enter(terminal, "How many orders are there?")
    model.answers = [{**COUNT, "follow_ups": [first]}]
    shown = enter(terminal, "1")
    assert first in shown.partition("10,127")[0]
    assert first not in shown.partition("10,127")[2]


@pytest.mark.heavy
def test_a_new_conversation_offers_no_question_of_the_old_one(terminal: Terminal, model: FakeOpenAI) -> None:
    offered = "How many orders are there by status?"
    model.answers = [{**COUNT, "follow_ups": [offered]}, COUNT]
    enter(terminal, "How many orders are there?")
    enter(terminal, "/new")
    assert offered not in enter(terminal, "1")


@pytest.mark.heavy
def test_the_chart_of_an_answer_is_written(terminal: Terminal, model: FakeOpenAI, tmp_path: Path) -> None:
    assert "after an answer" in enter(terminal, "/chart orders.json")
    counts = "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY orders DESC"
    model.answers = [{**COUNT, "sql": counts}, COUNT]
    assert "█" in enter(terminal, "How many orders are there by status?")
    assert "chart: status.json" in enter(terminal, "/chart status.json")
    assert json.loads((tmp_path / "status.json").read_text())["series"][0]["type"] == "bar"
    assert "a chart is saved as .png, .html or .json" in enter(terminal, "/chart status.txt")
    enter(terminal, "How many orders are there?")
    assert "The rows allow no chart." in enter(terminal, "/chart count.json")
    assert not (tmp_path / "count.json").exists()


@pytest.mark.heavy
def test_an_error_does_not_end_the_conversation(terminal: Terminal, model: FakeOpenAI) -> None:
    model.answers = [{"sql": "DROP TABLE orders"}] * 9
    assert "DROP" in enter(terminal, "Remove the orders of today")
    model.answers = [COUNT]
    assert "10,127" in enter(terminal, "How many orders are there?")


@pytest.mark.heavy
def test_ctrl_c_cancels_the_question_only(terminal: Terminal, model: FakeOpenAI) -> None:
    release = threading.Event()
    model.answers = [Reply(hang=release), COUNT]
    terminal.type("How many regions are there?\r")
    eventually(lambda: len(model.requests) == 1)
    try:
        terminal.type("\x03")
        assert "cancelled" in terminal.until("› ")
    finally:
        release.set()
    assert "10,127" in enter(terminal, "How many orders are there?")


@pytest.mark.heavy
def test_ctrl_d_leaves(terminal: Terminal) -> None:
    assert terminal.leave_by("\x04") == errors.ANSWERED


Conversation = Callable[..., tuple[str, str]]
"""Takes lines or exceptions; gives standard output and standard error of the conversation with them."""


@pytest.fixture
def conversation(run: Run, model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Iterator[Conversation]:
    """Enters lines or keys in this process. A pseudo-terminal takes another process and seconds."""

    def enter_all(*entered: str | type[BaseException]) -> tuple[str, str]:
        coming = iter(entered)

        def prompt(*_: object) -> str:
            line = next(coming, EOFError)
            if isinstance(line, str):
                return line
            raise line

        monkeypatch.setattr(PromptSession, "prompt", prompt)
        for stream in (sys.stdin, sys.stdout):
            monkeypatch.setattr(stream, "isatty", lambda: True)
        code, out, err = run()
        assert code == errors.ANSWERED
        return out, err

    with create_app_session(input=DummyInput(), output=DummyOutput()):
        yield enter_all


def follow(shown: str, *texts: str) -> bool:
    """Return whether `texts` are shown in this order."""
    return re.search(".*".join(map(re.escape, texts)), shown, re.DOTALL) is not None


def test_each_command_says_what_it_found(conversation: Conversation) -> None:
    found = {
        "/help": "/schema TABLE lists its columns",
        "/sources": "  sample",
        "/sources sample": "* sample",
        "/schema": "orders: 8 columns",
        "/schema orders": "total_amount  ",
        "/sql": "The last answer has no statement.",
    }
    refused = {
        "/sources nowhere": "There is no source nowhere. Sources: sample.",
        "/schema nothing": "There is no table nothing; /schema lists them.",
        "/save": "Give a file name, after an answer.",
        "/save a.csv": "Give a file name, after an answer.",
        "/tables": "There is no command /tables; /help lists them.",
    }
    out, err = conversation(KeyboardInterrupt, "", *found, *refused, "/exit", "/beyond")
    assert follow(out, *found.values()) and follow(err, *refused.values())
    assert "/beyond" not in err


def test_an_answer_is_kept_until_the_next_conversation(
    conversation: Conversation, model: FakeOpenAI, tmp_path: Path
) -> None:
    first = "How many orders are there by status?"
    counts = "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY orders DESC"
    model.answers = [{**COUNT, "follow_ups": [first]}, {**COUNT, "sql": counts}]
    saved = ["/save rows.csv", "/save rows.txt", "/chart status.json", "/chart status.txt"]
    out, err = conversation("/sources sample", "How many orders are there?", "1", "/sql", *saved, "/new", "/sql")
    assert follow(out, "10,127", f"1 {first}", first, "ORDER BY", "The last answer has no statement.")
    assert follow(err, "output: rows.csv", "rows.txt: rows are saved as", "chart: status.json", "status.txt: a chart")
    assert "delivered,9488" in (tmp_path / "rows.csv").read_text()
    assert json.loads((tmp_path / "status.json").read_text())["series"][0]["type"] == "bar"
    assert sorted(file.suffix for file in tmp_path.glob("*.*")) == [".csv", ".json"]


def test_the_next_line_answers_a_clarifying_question(conversation: Conversation, model: FakeOpenAI) -> None:
    model.answers = [ASKS]
    out, _ = conversation(BEST, "2", "/sql")
    assert "1. by orders" in out and "54" in out and "SUM(total_amount)" in out


def test_errors_do_not_end_it(conversation: Conversation, model: FakeOpenAI) -> None:
    model.answers = [{"sql": "DROP TABLE orders"}] * 9
    out, err = conversation("Remove the orders of today", "/help")
    assert follow(out, "DROP is not allowed", "/exit  ") and "sql_not_generated" in err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("/s", ["/sources", "/schema", "/sql", "/save"]), ("how many ord", ["orders", "order_items"]), ("/schema z", [])],
)
def test_commands_and_names_are_completed(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch, typed: str, offered: list[str]
) -> None:
    sessions: list[PromptSession[str]] = []
    make = PromptSession.__init__

    def keep(session: PromptSession[str], **given: object) -> None:
        make(session, **given)
        sessions.append(session)

    monkeypatch.setattr(PromptSession, "__init__", keep)
    conversation()
    completions = sessions[0].completer.get_completions(Document(typed), CompleteEvent())
    assert set(offered) <= {each.text for each in completions} and (offered or not list(completions))


def test_without_a_terminal_the_help_is_printed(run: Run) -> None:
    code, out, _ = run()

    assert code == errors.USAGE and "datasphinx [OPTIONS] COMMAND" in out
