"""The questions of the domains that the embedded model is measured on."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from benchmarks.embedded import CREATE
from datasphinx.agent.sample.shop import build_shop

pytestmark = pytest.mark.integration

FIXTURES = Path(__file__).parents[2] / "fixtures"
CREATED = {"shop": build_shop, **CREATE}


def questions(domain: str) -> list[dict[str, str]]:
    lines = (FIXTURES / f"{domain}_questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [{"db_id": domain, **json.loads(line)} for line in lines]


@pytest.fixture(scope="module")
def connections(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, sqlite3.Connection]]:
    folder = tmp_path_factory.mktemp("domains")
    with ExitStack() as opened:
        for name, create in CREATED.items():
            create(folder / name)
        yield {name: opened.enter_context(closing(sqlite3.connect(folder / name))) for name in CREATED}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("domain", "count"), [("shop", 60), ("clinic", 60), ("freight_library", 60), ("schools_museum_insurer", 100)]
)
def test_different_questions_whose_gold_statements_give_answers(
    connections: dict[str, sqlite3.Connection], domain: str, count: int
) -> None:
    asked = questions(domain)
    required = {"db_id", "id", "question", "sql"}
    assert all(required <= set(question) <= required | {"note"} for question in asked)
    for key in ("id", "question", "sql"):
        assert len({question[key] for question in asked}) == count, key

    rows = {each["id"]: connections[each["db_id"]].execute(each["sql"]).fetchall() for each in asked}
    assert [name for name, found in rows.items() if all(value is None for row in found for value in row)] == []
