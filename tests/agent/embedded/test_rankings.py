"""What a ranking is by stands beside it."""

import pytest

from datasphinx.agent.embedded.expand import expand
from tests.agent.embedded.schemas import CATALOG

BY_COUNT = "FROM players SELECT position GROUP BY position ORDER BY COUNT(*) DESC LIMIT "


@pytest.mark.parametrize("question", ["Which 3 positions have the most players?", "3 самые частые позиции", "前三位置"])
def test_a_ranking_shows_its_figure(question: str) -> None:
    assert expand(BY_COUNT + "3", CATALOG, question).startswith("SELECT position, COUNT(*) AS number_of_players FROM")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (BY_COUNT + "3", "List the 3 most common positions"),
        (BY_COUNT + "3", "Names of the top 3 positions"),
        (BY_COUNT + "1", "Which position has the most players?"),
        (BY_COUNT + "3", ""),
        ("FROM players SELECT position, COUNT(*) GROUP BY position ORDER BY COUNT(*) DESC LIMIT 3", "Top 3 positions"),
        ("FROM players SELECT position ORDER BY position LIMIT 3", "First 3 positions"),
        ("FROM players SELECT position, born ORDER BY player_id LIMIT 3", "3 positions with dates of birth"),
        ("FROM players SELECT position", "All positions"),
    ],
)
def test_where_the_question_or_the_statement_says_what_to_list_it_stays(text: str, question: str) -> None:
    assert expand(text, CATALOG, question) == expand(text, CATALOG)
