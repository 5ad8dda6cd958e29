"""The demo asks live and compares; it has no canned answers."""

import io
import re

import pytest
from rich.console import Console

from agent.demo import QUESTIONS, run_demo
from tests.conftest import ScriptedAgent


def demo(answers: list[str], scripted: type[ScriptedAgent]) -> tuple[int, str]:
    agent = scripted({"GeneratedSQL": [{"sql": sql} for sql in answers], "SQLValidation": ["no JSON"] * 20})
    console = Console(file=io.StringIO(), record=True, width=200)
    right = run_demo(agent.services, console)
    return right, console.export_text()


def test_right_answers_are_shown_with_sql_rows_and_cost(scripted: type[ScriptedAgent]) -> None:
    right, text = demo([asked.sql for asked in QUESTIONS], scripted)
    assert right == 5
    for asked in QUESTIONS:
        assert asked.question in text
    assert text.count("✓ the same rows as the reference statement gives") == 5
    assert len(re.findall(r"model calls? · \d+ \+ \d+ tokens", text)) == 5


def test_a_wrong_answer_says_what_was_asked_and_what_came(scripted: type[ScriptedAgent]) -> None:
    right, text = demo(["SELECT COUNT(*) FROM customers", *(asked.sql for asked in QUESTIONS[1:])], scripted)
    assert right == 4
    assert f"✗ not what was asked. Asked: {QUESTIONS[0].question} Got: SELECT COUNT(*) FROM customers" in text
    assert "4093" in text


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.kind)
def test_the_reference_statements_give_rows(scripted: type[ScriptedAgent], asked: object) -> None:
    assert scripted().services.source("sample").execute(asked.sql)["rows"]  # type: ignore[attr-defined]
