"""Recorded answers of a reader to questions that need business knowledge, with and without it."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.common import read_lines
from benchmarks.knowledge_questions import ANSWERS, FOLDER, Asker, figures_of, run
from benchmarks.spider import DEV

pytestmark = pytest.mark.integration

DATABASES = DEV / "databases"
QUESTIONS = read_lines(FOLDER / "questions.jsonl")
LEAST_GAIN, MAX_TOKENS = 0.4, 300


def gain(figures: dict[str, Any]) -> float:
    counts = figures["match"]["all"]
    return (counts["with"] - counts["without"]) / counts["n"]


@pytest.mark.heavy
def test_knowledge_leads_to_correct_answers(cache_dir: Path) -> None:
    lines = [line for line in QUESTIONS if line["database"] == "shop"][::3]
    figures = figures_of(lines, run(lines, DATABASES, cache_dir, read_lines(ANSWERS)))

    assert gain(figures) >= LEAST_GAIN
    assert figures["missed"] == {"shop-34": ["territory credit"]}, "its question does not name the term"
    assert figures["tokens"]["median"] <= MAX_TOKENS


@pytest.mark.heavy
def test_the_whole_evaluation_keeps_its_promises(cache_dir: Path) -> None:
    if not (DATABASES / "car_1.sqlite").is_file():
        pytest.skip("the database car_1 of Spider is not part of the project")
    figures = figures_of(QUESTIONS, run(QUESTIONS, DATABASES, cache_dir, read_lines(ANSWERS)))

    assert figures["match"]["all"]["n"] == 80
    assert gain(figures) >= LEAST_GAIN
    assert figures["complete"] >= 0.98
    assert figures["tokens"]["median"] <= MAX_TOKENS
    # The check of statements finds what departs from a definition, and seldom objects to a correct statement.
    assert figures["departing"]["naive_sql"] >= 0.85 * 80
    assert figures["departing"]["sql"] <= 0.15 * 80


def test_a_call_without_an_answer_is_pending(cache_dir: Path) -> None:
    line = QUESTIONS[0]
    ((outcome),) = run([line], DATABASES, cache_dir, [])

    assert [outcome[condition]["match"] for condition in ("with", "without")] == [False, False]
    call = outcome["with"]["pending"]
    assert (call["id"], call["schema"], call["call"]) == (line["id"], "GeneratedSQL", 0)
    answer = {**call, "answer": {"sql": line["sql"]}}
    ((answered),) = run([line], DATABASES, cache_dir, [answer])
    assert (answered["with"]["pending"], answered["with"]["match"], answered["without"]["match"]) == (None, True, False)


def test_the_knowledge_has_no_mistakes(cache_dir: Path) -> None:
    asker = Asker("with", DATABASES, cache_dir, [])
    names = ["shop", *(["car_1"] if (DATABASES / "car_1.sqlite").is_file() else [])]
    assert {name: asker.services.source(name).check_knowledge() for name in names} == {name: [] for name in names}
    asker.close()
