"""The questions of the domains that the embedded model is measured on."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cases import all_cases
from tests.clinic import create_clinic
from tests.freight_and_library import create_freight, create_library

FIXTURES = Path(__file__).parents[2] / "fixtures"


def questions(domain: str) -> list[dict[str, str]]:
    lines = (FIXTURES / f"{domain}_questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("clinic") / "clinic.sqlite"
    create_clinic(path)
    with closing(sqlite3.connect(path)) as opened:
        yield opened


@pytest.fixture(scope="module")
def freight_and_library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, sqlite3.Connection]]:
    folder = tmp_path_factory.mktemp("freight_and_library")
    create_freight(folder / "freight.sqlite")
    create_library(folder / "library.sqlite")
    with (
        closing(sqlite3.connect(folder / "freight.sqlite")) as freight,
        closing(sqlite3.connect(folder / "library.sqlite")) as library,
    ):
        yield {"freight": freight, "library": library}


@pytest.mark.parametrize("domain", ["shop", "clinic", "freight_library"])
def test_the_questions_are_sixty_different_ones(domain: str) -> None:
    asked = questions(domain)
    required = {"id", "question", "sql"} | ({"db_id"} if domain == "freight_library" else set())
    assert all(required <= set(question) <= required | {"note"} for question in asked)
    for key in ("id", "question", "sql"):
        assert len({question[key] for question in asked}) == 60, key


@all_cases("question", questions("shop"), ids=lambda question: question["id"])
def test_the_gold_statement_gives_an_answer(connection: sqlite3.Connection, question: dict[str, str]) -> None:
    rows = connection.execute(question["sql"]).fetchall()
    assert any(value is not None for row in rows for value in row)


@all_cases("question", questions("clinic"), ids=lambda question: question["id"])
def test_the_gold_statement_on_the_clinic_gives_an_answer(clinic: sqlite3.Connection, question: dict[str, str]) -> None:
    rows = clinic.execute(question["sql"]).fetchall()
    assert any(value is not None for row in rows for value in row)


@all_cases("question", questions("freight_library"), ids=lambda question: question["id"])
def test_the_gold_statement_on_freight_and_library_gives_an_answer(
    freight_and_library: dict[str, sqlite3.Connection], question: dict[str, str]
) -> None:
    rows = freight_and_library[question["db_id"]].execute(question["sql"]).fetchall()
    assert any(value is not None for row in rows for value in row)
