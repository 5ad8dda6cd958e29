"""The evaluation set for clarification: the file is complete, and each statement gives the stated result."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from benchmarks.experiments.match import execution_match
from benchmarks.experiments.options import MatchRule
from datasphinx.agent.evals.datasets import read_questions
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.support.databases import open_url, url

FILE = Path(__file__).resolve().parents[2] / "fixtures" / "clarification" / "questions.jsonl"
FOLDER = Path(__file__).resolve().parents[3].parent / "shared/benchmarks/spider_dev"
QUESTIONS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
AMBIGUOUS = [question for question in QUESTIONS if question["type"]]
CLEAR = [question for question in QUESTIONS if not question["type"]]
TYPES = ("AmbQuestion", "AmbTableColumn", "AmbOutput", "AmbValue")

needs_databases = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="shared/benchmarks/spider_dev is not beside the project"
)


def format_clarification(question: dict[str, Any]) -> str:
    return question["id"]


def statements(question: dict[str, Any]) -> list[str]:
    return [question["sql"]] if "sql" in question else [reading["sql"] for reading in question["readings"]]


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


@pytest.fixture(scope="module")
def sources() -> Iterator[dict[str, Source]]:
    """Each database that is asked, opened once."""
    opened = {
        db_id: open_url(url(FOLDER / "databases" / f"{db_id}.sqlite"), Limits(timeout_s=30, row_limit=100_000))
        for db_id in {question["db_id"] for question in QUESTIONS}
    }
    yield opened
    for source in opened.values():
        source.close()


def test_there_are_fifteen_questions_of_each_type_and_sixty_clear_ones() -> None:
    assert Counter(question["type"] for question in AMBIGUOUS) == dict.fromkeys(TYPES, 15)
    assert len(CLEAR) == 60
    assert len({question["db_id"] for question in AMBIGUOUS}) == 10


def test_about_a_quarter_of_each_type_has_readings_with_equal_results() -> None:
    equal = Counter(question["type"] for question in AMBIGUOUS if not question["differs"])

    assert equal == dict.fromkeys(TYPES, 4)


def test_no_question_and_no_id_comes_twice() -> None:
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)
    assert len({plain(question["question"]) for question in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("question", AMBIGUOUS, ids=format_clarification)
def test_readings_are_two_or_three_and_say_in_words_what_sets_them_apart(question: dict[str, Any]) -> None:
    words = [reading["reading"] for reading in question["readings"]]

    assert 2 <= len(set(words)) == len(words) <= 3
    assert len(set(statements(question))) == len(words)
    assert not any(re.search(r"\b(SELECT|FROM|WHERE|JOIN|GROUP BY|DISTINCT)\b", each) for each in words)


@pytest.mark.heavy
@pytest.mark.benchdata
@needs_databases
@pytest.mark.parametrize("question", QUESTIONS, ids=format_clarification)
def test_every_statement_runs_and_a_clear_question_has_an_answer(
    question: dict[str, Any], sources: dict[str, Source]
) -> None:
    results = [sources[question["db_id"]].execute(sql) for sql in statements(question)]

    assert not any(result["truncated"] for result in results)
    assert question["type"] or results[0]["rows"]


@pytest.mark.heavy
@pytest.mark.benchdata
@needs_databases
@pytest.mark.parametrize("question", AMBIGUOUS, ids=format_clarification)
def test_readings_differ_where_the_file_says_so(question: dict[str, Any], sources: dict[str, Source]) -> None:
    source = sources[question["db_id"]]
    equal = [
        execution_match(source, first, second, MatchRule.PROJECT)
        for first, second in permutations(statements(question), 2)
    ]

    assert question["differs"] is not all(equal)


@pytest.mark.benchdata
@needs_databases
def test_nothing_is_copied_from_spider() -> None:
    theirs = read_questions(FOLDER / "questions.jsonl")
    asked, answered = {plain(each.question) for each in theirs}, {plain(each.sql) for each in theirs}

    assert not asked & {plain(question["question"]) for question in QUESTIONS}
    assert not answered & {plain(sql) for question in QUESTIONS for sql in statements(question)}
