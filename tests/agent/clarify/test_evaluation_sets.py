"""Clarifying questions on the evaluation sets, with recorded answers of the generation call."""

from pathlib import Path

import pytest

from benchmarks.clarification import figures_of, replay
from benchmarks.common import read_lines
from benchmarks.spider import DEV

FIXTURES = Path(__file__).parents[2] / "fixtures" / "clarification"

pytestmark = [
    pytest.mark.benchdata,
    pytest.mark.heavy,
    pytest.mark.skipif(not DEV.is_dir(), reason="the databases of Spider's dev split are not beside the project"),
]


def test_only_ambiguous_questions_are_asked_about() -> None:
    questions = read_lines(FIXTURES / "evaluation_ambiguous.jsonl", FIXTURES / "evaluation_clear.jsonl")
    answers = {line["id"]: line["answer"] for line in read_lines(FIXTURES / "evaluation_answers.jsonl")}

    figures = figures_of(list(replay(questions, DEV / "databases", answers)))

    assert (figures["differing"], figures["clear"], figures["errors"]) == (60, 60, {})
    assert figures["over_asking"] == 0 and figures["precision"] == 1
    assert (figures["asked_of_ambiguous"], figures["offered_of_ambiguous"]) == (32, 33)
