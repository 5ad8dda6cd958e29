"""Compact statements say what ordinary ones say, and nothing that keys imply."""

from dataclasses import replace

import pytest

from datasphinx.agent.embedded.expand import expand
from datasphinx.agent.embedded.prompts import describe_briefly
from tests.agent.embedded.schemas import CATALOG
from training.compact import compact

PAIRS = [
    (
        "SELECT name FROM matches m JOIN teams t ON m.home_id = t.team_id WHERE goals = '3'",
        "FROM matches JOIN teams ON matches.home_id = teams.team_id SELECT teams.name WHERE matches.goals = 3",
    ),
    ("SELECT name FROM teams WHERE city = '3'", "FROM teams SELECT name WHERE city = '3'"),
    (
        "SELECT g.name FROM matches AS m JOIN teams AS h ON m.home_id = h.team_id JOIN teams AS g"
        " ON m.guest_id = g.team_id WHERE h.name = 'Ajax' AND m.goals > 2",
        "FROM matches JOIN teams ON matches.guest_id = teams.team_id SELECT teams.name WHERE matches.goals > 2 AND"
        " matches.home_id IN (FROM teams SELECT team_id WHERE name = 'Ajax')",
    ),
    ("select count(*) as n from players", "FROM players SELECT COUNT(*)"),
    (
        "SELECT T2.name, COUNT(*) FROM players AS T1 JOIN teams AS T2 ON T2.team_id = T1.team_id"
        ' WHERE T1.position = "wing" GROUP BY T2.name',
        "FROM players JOIN teams SELECT teams.name, COUNT(*) WHERE players.position = 'wing' GROUP BY teams.name",
    ),
    (
        "SELECT t.name FROM players p, teams t WHERE p.team_id = t.team_id AND t.city = 'Riga'",
        "FROM players JOIN teams SELECT teams.name WHERE teams.city = 'Riga'",
    ),
    (
        "SELECT name FROM matches JOIN teams ON home_id = teams.team_id",
        "FROM matches JOIN teams ON matches.home_id = teams.team_id SELECT teams.name",
    ),
    (
        "SELECT strftime('%Y', played_on) AS y, SUM(goals) AS g FROM matches GROUP BY 1 ORDER BY g DESC, y ASC, 1",
        "FROM matches SELECT strftime('%Y', played_on), SUM(goals) GROUP BY strftime('%Y', played_on)"
        " ORDER BY SUM(goals) DESC, strftime('%Y', played_on), strftime('%Y', played_on)",
    ),
    (
        "SELECT name FROM teams WHERE team_id NOT IN (SELECT team_id FROM players) AND city <> 'X'",
        "FROM teams SELECT name WHERE team_id NOT IN (FROM players SELECT team_id) AND city != 'X'",
    ),
    (
        "SELECT name FROM teams EXCEPT SELECT T1.name FROM teams T1 LEFT JOIN players T2 ON T1.team_id = T2.team_id",
        "FROM teams SELECT name EXCEPT FROM teams LEFT JOIN players SELECT teams.name",
    ),
    (
        "SELECT position, born FROM players QUALIFY RANK() OVER (PARTITION BY position ORDER BY born) <= 2",
        "FROM players SELECT position, born QUALIFY RANK() OVER (PARTITION BY position ORDER BY born) <= 2",
    ),
    ('SELECT "Full Name" FROM players', 'FROM players SELECT "Full Name"'),
    ("SELECT * FROM teams", "FROM teams SELECT team_id, name, city"),
]


@pytest.mark.parametrize(("ordinary", "compacted"), PAIRS, ids=[pair[1][:40] for pair in PAIRS])
def test_an_ordinary_statement_is_said_compactly(ordinary: str, compacted: str) -> None:
    assert compact(ordinary, CATALOG) == compacted


@pytest.mark.parametrize("compacted", [pair[1] for pair in PAIRS if "QUALIFY" not in pair[1]])
def test_what_is_expanded_is_said_in_the_same_way_again(compacted: str) -> None:
    assert compact(expand(compacted, CATALOG), CATALOG) == compacted


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a.name FROM teams a JOIN teams b ON a.city = b.city",
        "SELECT x FROM (SELECT name AS x FROM teams)",
        "SELECT name FROM teams t WHERE EXISTS (SELECT 1 FROM players p WHERE p.team_id = t.team_id)",
        "SELECT nothing FROM teams",
        "SELECT name FROM teams LIMIT 1 OFFSET 1",
        "SELECT name FROM teams UNION SELECT city FROM teams ORDER BY name",
        "SELECT name FROM nowhere",
        "SELECT teams.name FROM players JOIN teams ON players.player_id = teams.team_id",
        "SELECT team_id FROM players JOIN teams ON players.team_id = teams.team_id",
        "DROP TABLE teams",
        "SELECT FROM WHERE",
    ],
)
def test_what_has_no_compact_form_is_left_alone(sql: str) -> None:
    assert compact(sql, CATALOG) is None


def test_the_best_of_each_group_becomes_a_subquery() -> None:
    sql = expand(
        "FROM players SELECT position, born QUALIFY RANK() OVER (PARTITION BY position ORDER BY born) <= 1", CATALOG
    )
    assert sql.startswith("SELECT position, born FROM (SELECT")
    assert "QUALIFY" not in sql


def test_computed_outputs_get_names_that_readers_understand() -> None:
    sql = expand("FROM players SELECT position, COUNT(*), MIN(born) GROUP BY position", CATALOG)
    assert "COUNT(*) AS number_of_players" in sql
    joined = "FROM players JOIN teams SELECT teams.name, COUNT(*) GROUP BY teams.name"
    assert "COUNT(*) AS number_of_rows" in expand(joined, CATALOG)
    assert "MIN(born) AS lowest_born" in sql


def test_other_dialects_get_their_own_functions_and_quotes() -> None:
    text = "FROM players SELECT \"Full Name\", strftime('%Y-%m', born)"
    assert expand(text, replace(CATALOG, dialect="mysql")).endswith("DATE_FORMAT(born, '%Y-%m') AS month FROM players")
    assert 'SELECT "Full Name"' in expand(text, replace(CATALOG, dialect="postgres"))
    quarter = (
        "FROM matches SELECT (strftime('%m', played_on) + 2) / 3, COUNT(*) GROUP BY (strftime('%m', played_on) + 2) / 3"
    )
    assert "EXTRACT(QUARTER FROM CAST(played_on AS TIMESTAMP))" in expand(quarter, replace(CATALOG, dialect="postgres"))


def test_days_between_two_dates_are_said_by_every_dialect() -> None:
    text = "FROM players JOIN matches SELECT AVG(JULIANDAY(matches.played_on) - JULIANDAY(players.born))"
    text = text.replace(" JOIN matches", " JOIN matches ON matches.match_id = players.player_id")
    assert "AS average_days" in expand(text, CATALOG)
    assert "DATEDIFF(matches.played_on, players.born)" in expand(text, replace(CATALOG, dialect="mysql"))
    assert "JULIANDAY" not in expand(text, replace(CATALOG, dialect="postgres"))


@pytest.mark.parametrize(
    "text, reason",
    [
        ("FROM matches JOIN teams SELECT teams.name", "no foreign key, or more than one"),
        ("FROM matches JOIN players SELECT players.born", "no foreign key"),
        ("DROP TABLE teams", "this is no query"),
        ("FROM teams SELECT (", "cannot be read"),
    ],
)
def test_what_cannot_be_expanded_says_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        expand(text, CATALOG)


def test_a_schema_is_described_in_a_line_for_each_table_and_key() -> None:
    assert describe_briefly(
        CATALOG, {"teams": ["team_id", "name"], "players": ["Full Name", "position", "team_id"]}
    ) == (
        "teams(team_id key, name text)\n"
        "players(team_id number, \"Full Name\" text, position 'goal' 'wing')\n"
        "players.team_id = teams.team_id"
    )
