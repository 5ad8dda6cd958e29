"""Where the stored dates begin and end of which a statement asks for others."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from datasphinx.agent.generation.ends_of_dates import ends_of_dates
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.support.databases import open_url


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    path: Path = tmp_path_factory.mktemp("runs") / "runs.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE runs AS SELECT * FROM (VALUES (TIMESTAMP '2024-01-01 08:00:00'), "
            "(TIMESTAMP '2024-06-30 18:00:00')) AS t(began)"
        )
        connection.execute("CREATE TABLE stops AS SELECT TIMESTAMP '2023-03-01 07:00:00' AS began, 1 AS n")
    source = open_url(f"duckdb:///{path}", Limits(timeout_s=20, row_limit=100))
    source.complete_values()
    yield source
    source.close()


@pytest.mark.parametrize(
    ("condition", "is_last"),
    [
        ("began < '2024-01-01'", [False]),
        ("began < '2024-01-01 06:00:00'", [False]),
        ("began < '2024-01-01 12:00:00'", []),
        ("began >= '2024-06-30 12:00:00'", []),
        ("began >= '2024-06-30 19:00:00'", [True]),
        ("began >= TIMESTAMP '2024-06-30T12:00:00'", []),
        ("EXTRACT(MONTH FROM began) = 3", []),
        ("EXTRACT(MONTH FROM began) = 10", []),
        ("STRFTIME(began, '%Y') = '2023'", [False]),
    ],
)
def test_moments_are_outside_the_data_by_their_time(source: Source, condition: str, is_last: list[bool]) -> None:
    assert [end.is_last for end in ends_of_dates(f"SELECT began FROM runs WHERE {condition}", source)] == is_last


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT 1 FROM runs r JOIN stops s ON r.began > s.began WHERE r.began > '2024-12-01'", ["runs.began"]),
        ("SELECT 1 FROM runs r WHERE EXISTS (SELECT 1 FROM stops r WHERE r.began > '2023-12-01')", ["stops.began"]),
        ("SELECT 1 FROM (SELECT MAX(began) AS last FROM stops) t, runs WHERE last > '2023-12-01'", ["stops.began"]),
        ("SELECT began > '2025-01-01' FROM runs GROUP BY began HAVING MAX(began) > '2025-01-01'", []),
    ],
)
def test_only_the_column_that_is_compared_has_an_end(source: Source, sql: str, columns: list[str]) -> None:
    assert [end.column for end in ends_of_dates(sql, source)] == columns
