"""Rounding that a question asks for."""

from dataclasses import replace

import pytest

from datasphinx.agent.embedded.expand import expand
from datasphinx.agent.embedded.outputs import requested_decimals, without_rounding
from tests.agent.embedded.schemas import CATALOG


@pytest.mark.parametrize(
    ("question", "decimals"),
    [
        ("Average age by team, rounded to cents", 2),
        ("What percentage of matches was won at home, to one decimal?", 1),
        ("Give it with 3 decimal places", 3),
        ("mean goals, as whole numbers", 0),
        ("Средний возраст, округли до двух знаков", 2),
        ("доля побед с округлением до целых", 0),
        ("平均年龄，保留一位小数", 1),
        ("Average age by team", None),
        ("How many cents does it cost?", None),
        ("One match of two", None),
    ],
)
def test_a_question_says_to_how_many_decimals(question: str, decimals: int | None) -> None:
    assert requested_decimals(question) == decimals


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("Average age by team, rounded to cents?", "Average age by team?"),
        ("Share of each team, by name, to one decimal?", "Share of each team, by name?"),
        ("Average age, rounded to 2 decimal places.", "Average age."),
        ("Средний возраст, округли до двух знаков", "Средний возраст"),
        ("平均年龄，保留一位小数", "平均年龄"),
        ("Which team has one decimation?", "Which team has one decimation?"),
        ("How many teams are there?", "How many teams are there?"),
    ],
)
def test_what_is_said_of_rounding_is_left_out_for_the_model(question: str, left: str) -> None:
    assert without_rounding(question) == left


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM matches SELECT AVG(goals)", "SELECT ROUND(AVG(goals), 1) AS average_goals FROM matches"),
        (
            "FROM matches SELECT home_id, 100.0 * COUNT(*) / (FROM matches SELECT COUNT(*)) GROUP BY home_id",
            "SELECT home_id, ROUND(100.0 * COUNT(*) / (SELECT COUNT(*) FROM matches), 1) AS percent FROM matches "
            "GROUP BY home_id ORDER BY home_id",
        ),
        ("FROM matches SELECT COUNT(*)", "SELECT COUNT(*) AS number_of_matches FROM matches"),
        ("FROM matches SELECT ROUND(AVG(goals), 3)", "SELECT ROUND(AVG(goals), 3) AS average_goals FROM matches"),
        (
            "FROM matches SELECT (strftime('%m', played_on) + 2) / 3",
            "SELECT (STRFTIME('%m', played_on) + 2) / 3 FROM matches",
        ),
    ],
)
def test_what_is_computed_is_rounded(text: str, expected: str) -> None:
    assert expand(text, CATALOG, "to one decimal by name") == expected


def test_postgres_rounds_decimals_only() -> None:
    sql = expand("FROM matches SELECT AVG(goals)", replace(CATALOG, dialect="postgres"), "to one decimal")
    assert "CAST(AVG(goals) AS DECIMAL" in sql
