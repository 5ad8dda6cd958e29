import json
import sqlite3
from pathlib import Path

from tests.cases import all_cases

QUESTIONS = Path(__file__).parents[2] / "fixtures" / "shop_questions.jsonl"


def questions() -> list[dict[str, str]]:
    return [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


def test_the_questions_are_sixty_different_ones() -> None:
    assert all(set(question) == {"id", "question", "sql"} for question in questions())
    for key in ("id", "question", "sql"):
        assert len({question[key] for question in questions()}) == 60, key


@all_cases("question", questions(), ids=lambda question: question["id"])
def test_the_gold_statement_gives_an_answer(connection: sqlite3.Connection, question: dict[str, str]) -> None:
    rows = connection.execute(question["sql"]).fetchall()
    assert any(value is not None for row in rows for value in row)
