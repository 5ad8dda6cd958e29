"""Values of the Python API have the types of the database, exactly."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import pytest

from datasphinx import Agent
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.settings import load_settings
from tests.agent.sql.engines import CREATE, DROP, EngineUnderTest, duckdb, postgres, sqlite

Ask = Callable[[str], Any]


@pytest.fixture(
    params=[sqlite, duckdb, pytest.param(postgres, marks=pytest.mark.postgres)], ids=lambda each: each.__name__
)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EngineUnderTest]:
    opened: AbstractContextManager[EngineUnderTest] = request.param(tmp_path)
    with opened as under_test:
        for statement in (*DROP, *CREATE):
            under_test.admin(statement)
        yield under_test
        for statement in DROP if under_test.name == "postgres" else ():
            under_test.admin(statement)


@pytest.fixture
def ask(engine: EngineUnderTest, cache_dir: Path) -> Iterator[Ask]:
    """Return the value of the answer whose statement is given."""
    settings = load_settings(cache_dir=cache_dir, allow_writable_account=True, enable_sql_validation=False)
    agents: list[Agent] = []

    def value(sql: str) -> Any:
        agents.append(Agent(engine.url, settings=settings, model=ScriptedModel({"GeneratedSQL": [{"sql": sql}]})))
        return agents[-1].chat("What are the orders?").value

    yield value
    for agent in agents:
        agent.close()


def test_a_frame_has_dates_decimals_and_exact_integers(ask: Ask, engine: EngineUnderTest) -> None:
    frame = ask("SELECT id + 9007199254740992 AS number, amount, created FROM sphinx_orders ORDER BY id")
    # SQLite has no decimals.
    number = float if engine.name == "sqlite" else Decimal

    assert list(frame["number"]) == [9007199254740993, 9007199254740994, 9007199254740995]
    assert [type(amount) for amount in frame["amount"][:2]] == [number, number if number is Decimal else float]
    assert list(frame["amount"][:2]) == [number("2.50"), 3] and pandas.isna(frame["amount"][2])
    assert list(frame["created"]) == [date(2024, 2, 29), None, None]


def test_an_integer_beside_a_missing_one_is_exact(ask: Ask) -> None:
    frame = ask("SELECT CASE WHEN id < 3 THEN id + 9007199254740992 END AS number FROM sphinx_orders ORDER BY id")
    assert list(frame["number"][:2]) == [9007199254740993, 9007199254740994]


def test_single_values_have_their_types(ask: Ask, engine: EngineUnderTest) -> None:
    amount = ask("SELECT SUM(amount) AS total FROM sphinx_orders")

    assert (amount, type(amount)) == (5.5, float if engine.name == "sqlite" else Decimal)
    assert ask("SELECT MAX(created) AS last FROM sphinx_orders") == date(2024, 2, 29)
    assert ask("SELECT MAX(id) + 9007199254740990 AS number FROM sphinx_orders") == 9007199254740993
