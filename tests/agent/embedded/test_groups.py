"""Tests of the groups that a question names and its statement lacks."""

import pytest

from datasphinx.agent.embedded.expand import expand
from datasphinx.agent.embedded.shape import grouped_columns
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from tests.agent.embedded.schemas import CATALOG, MARCH

YEAR = "STRFTIME('%Y', born)"
COUNT = "COUNT(*) AS number_of_players FROM players"


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        (
            f"FROM players SELECT {YEAR}, COUNT(*) WHERE born > '1990-01-01' GROUP BY {YEAR} ORDER BY {YEAR}",
            "players by year and position",
            f"SELECT {YEAR} AS year, position, {COUNT} WHERE born > '1990-01-01' "
            f"GROUP BY {YEAR}, position ORDER BY {YEAR}",
        ),
        (
            f"FROM players SELECT {YEAR}, COUNT(*) GROUP BY position",
            "players by position and year",
            f"SELECT {YEAR} AS year, position, {COUNT} GROUP BY position, {YEAR} ORDER BY {YEAR}, position",
        ),
        (
            f"FROM players JOIN teams SELECT {YEAR}, COUNT(*) GROUP BY {YEAR}",
            "players by year and position",
            f"SELECT {YEAR} AS year, players.position, COUNT(*) AS number_of_rows FROM players JOIN teams "
            f"ON players.team_id = teams.team_id GROUP BY {YEAR}, players.position ORDER BY {YEAR}, players.position",
        ),
        (
            "FROM players SELECT COUNT(*)",
            "number of players per position",
            f"SELECT position, {COUNT} GROUP BY position ORDER BY COUNT(*) DESC",
        ),
        (
            "FROM players SELECT position, COUNT(*) ORDER BY COUNT(*) DESC LIMIT 3",
            "Which positions have the most players?",
            f"SELECT position, {COUNT} GROUP BY position ORDER BY COUNT(*) DESC LIMIT 3",
        ),
        (
            "FROM players SELECT name, MAX(born)",
            "Who is the youngest player?",
            "SELECT name, MAX(born) AS highest_born FROM players",
        ),
    ],
)
def test_groups_of_the_question_are_added(text: str, question: str, expected: str) -> None:
    assert expand(text, CATALOG, question) == expected


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("FROM players SELECT position, COUNT(*) GROUP BY position", "players per position"),
        ("FROM players SELECT position ORDER BY position", "players by position"),
        ("FROM players SELECT born, COUNT(*) GROUP BY born ORDER BY COUNT(*) DESC LIMIT 1", "most players by position"),
        ("FROM players JOIN teams SELECT teams.name, COUNT(*) GROUP BY teams.name", "players of each team by position"),
        ("FROM players SELECT COUNT(*)", "How many players are there, sorted by position?"),
    ],
)
def test_other_statements_stay(text: str, question: str) -> None:
    expected = expand(text, CATALOG)
    assert expand(text, CATALOG, question).partition(" ORDER BY ")[0] == expected.partition(" ORDER BY ")[0]


@pytest.mark.parametrize(
    ("outputs", "keys", "order"),
    [
        ("position, COUNT(*)", "position", "COUNT(*) DESC"),
        ("COUNT(*), MAX(born), position", "position", "COUNT(*) DESC"),
        ("team_id, COUNT(*)", "team_id", "team_id"),
        ("born, COUNT(*)", "born", "born"),
        (f"{YEAR}, COUNT(*)", YEAR, YEAR),
        ("team_id, position, COUNT(*)", "team_id, position", "team_id, position"),
    ],
)
def test_groups_without_an_order_are_sorted(outputs: str, keys: str, order: str) -> None:
    text = f"FROM players SELECT {outputs} GROUP BY {keys}"
    assert expand(text, CATALOG, "?").endswith(f" ORDER BY {order}")
    assert expand(f"{text} ORDER BY COUNT(*)", CATALOG, "?").endswith(" ORDER BY COUNT(*)")
    assert expand(f"{text} LIMIT 3", CATALOG, "?").endswith(" LIMIT 3")


def test_groups_without_a_figure_come_last() -> None:
    sql = expand(
        "FROM players SELECT position, SUM(team_id) GROUP BY position", Catalog("postgres", CATALOG.tables), "?"
    )
    assert sql.endswith(" ORDER BY SUM(team_id) DESC NULLS LAST")


ROWS = Table(
    "order",
    (Column("id", "int"), Column("group", "text", distinct=2, examples=("a", "b")), Column("End", "date")),
    primary_key=("id",),
)


@pytest.mark.parametrize(("dialect", "end"), [("sqlite", '"End"'), ("postgres", '"End"'), ("mysql", "`End`")])
def test_names_that_are_added_are_quoted(dialect: str, end: str) -> None:
    quote = end[0]
    sql = expand('FROM "order" SELECT COUNT(*)', Catalog(dialect, {"order": ROWS}), "rows per group", MARCH)
    assert f"GROUP BY {quote}group{quote}" in sql
    assert f"{end} >= '2025-03-01'" in sql


@pytest.mark.parametrize(
    "question",
    ["players by year and position", "по годам и position", "按年和position统计", "players by position, per year"],
)
def test_groups_after_a_period(question: str) -> None:
    assert grouped_columns(question, CATALOG.tables["players"]) == ["position"]
