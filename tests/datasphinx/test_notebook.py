"""The magic `%%ask`, the buttons for clarifying questions, and the HTML of a response in a notebook."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from ipywidgets import HTML, Button, HBox, Text, VBox
from traitlets.config import Config

from datasphinx.agent.errors import InvalidQuestion, Refused
from datasphinx.agent.responses import Response, response_of
from datasphinx.agent.types import ClarifyingQuestion, Option
from datasphinx.notebook import clarification_widget
from tests.agent.charts.results import HOSTILE
from tests.support.analyst import FRAME, Analyst

QUESTION = ClarifyingQuestion(
    about="best?",
    question=f"What is meant? {HOSTILE}",
    options=[Option(label=label, reading=HOSTILE, preview=None) for label in ("by orders", HOSTILE)],
)  # type: ignore[typeddict-item]


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A shell with the extension."""
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    made.run_line_magic("load_ext", "datasphinx")
    yield made
    InteractiveShell.clear_instance()


def asking(replies: list[Any]) -> tuple[Response, list[str]]:
    """Return a clarifying question that is answered with `replies`, and the list of the given answers."""
    answers: list[str] = []

    def reply(text: str) -> Response:
        answers.append(text)
        result = replies.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    text = f"{QUESTION['question']}\n1. by orders\n2. {HOSTILE}"
    output = {"answer": text, "output_type": None, "audit": {}, "clarification": QUESTION}
    return response_of(output, reply), answers


def number(value: int) -> Response:
    return response_of({"answer": f"There are {value}.", "output_type": "number", "value": value, "audit": {}})


def test_a_cell_is_a_question_about_variables(shell: InteractiveShell, analyst: Analyst) -> None:
    shell.user_ns["sales"] = FRAME
    first = shell.run_cell_magic("ask", "sales --output-type number --to rows", "How many rows?\n")
    second = shell.run_cell_magic("ask", "--follow-up", "How many columns are there?")

    assert first.value == 2 and shell.user_ns["rows"] is first and second.value == 2
    assert [asked["question"] for asked in analyst.asked] == ["How many rows?", "How many columns are there?"]
    assert analyst.asked[0]["output_type"] == "number"
    assert analyst.asked[0]["datasets"] == analyst.asked[1]["datasets"]


@pytest.mark.parametrize("line", ["--output-type chart", "sales --follow-up", "--unknown", "'", "--to"])
def test_a_line_that_is_invalid(shell: InteractiveShell, line: str) -> None:
    with pytest.raises(UsageError):
        shell.run_cell_magic("ask", line, "How many rows?")


def test_an_error_is_shown_without_frames_of_the_library(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%ask --follow-up\nand by month?")

    (line,) = capsys.readouterr().out.strip().splitlines()
    assert line.startswith("InvalidQuestion: ")


def test_a_follow_up_without_a_conversation(shell: InteractiveShell) -> None:
    with pytest.raises(InvalidQuestion):
        shell.run_cell_magic("ask", "--follow-up", "and by month?")


def test_a_button_answers_the_clarifying_question() -> None:
    again, _ = asking([])
    response, answers = asking([Refused("option_unknown", given="9", options=2), again])
    box = clarification_widget(response)
    heading, first, second, line = box.children
    words, send = line.children

    assert isinstance(box, VBox) and isinstance(line, HBox) and isinstance(words, Text)
    assert [type(each) for each in (heading, first, second)] == [HTML, Button, Button]
    assert HOSTILE not in heading.value and first.description == "1. by orders"
    words.value = "9"
    send.click()
    assert len(box.children) == 5 and not first.disabled
    second.click()
    assert answers == ["9", "2"] and first.disabled and words.disabled
    assert isinstance(box.children[-1], VBox)


def test_the_answer_is_shown_below_the_buttons() -> None:
    response, answers = asking([number(3)])
    box = clarification_widget(response)
    box.children[1].click()
    assert answers == ["1"] and "There are 3." in box.children[-1].value
    with pytest.raises(ValueError, match="clarifying"):
        clarification_widget(number(3))


def test_the_shell_displays_buttons_and_keeps_the_options_for_readers_without_widgets(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    response, _ = asking([])
    assert shell.display_formatter.format(response) == ({}, {})
    assert "application/vnd.jupyter.widget-view+json" in shown[0] and "by orders" in shown[0]["text/html"]


def test_without_ipywidgets_the_options_are_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    made.run_line_magic("load_ext", "datasphinx")
    response, _ = asking([])
    page = made.display_formatter.format(response)[0]["text/html"]
    InteractiveShell.clear_instance()
    assert page.count("by orders") == 1 and page.count("What is meant?") == 1 and HOSTILE not in page
