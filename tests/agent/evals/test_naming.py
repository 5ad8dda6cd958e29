from collections.abc import Iterator
from pathlib import Path

import pytest

from datasphinx.agent.evals.report import Overlap, overlaps
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.names import ReferencedNames, referenced_names
from tests.support.databases import make_database, open_url, url


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    path: Path = make_database(
        tmp_path_factory.mktemp("naming"),
        "CREATE TABLE clubs (club_id INTEGER PRIMARY KEY, name TEXT, founded INTEGER)",
        "CREATE TABLE members (member_id INTEGER PRIMARY KEY, club_id INTEGER REFERENCES clubs, name TEXT, age INT)",
    )
    source = open_url(url(path))
    yield source.catalog
    source.close()


def names(tables: str, columns: str) -> ReferencedNames:
    return ReferencedNames(frozenset(tables.split()), frozenset(columns.split()))


@pytest.mark.parametrize(
    ("sql", "tables", "columns"),
    [
        ("SELECT name FROM clubs", "clubs", "clubs.name"),
        ("select T1.NAME from CLUBS as T1", "clubs", "clubs.name"),
        ("SELECT COUNT(*) FROM clubs", "clubs", ""),
        ("SELECT * FROM clubs", "clubs", "clubs.club_id clubs.name clubs.founded"),
        ("SELECT c.*, m.age FROM clubs AS c JOIN members AS m ON m.club_id = c.club_id", "clubs members",
         "clubs.club_id clubs.name clubs.founded members.club_id members.age"),
        ("SELECT age FROM clubs JOIN members USING (club_id)", "clubs members",
         "clubs.club_id members.club_id members.age"),
        ("SELECT name FROM clubs WHERE club_id IN (SELECT club_id FROM members WHERE age > 60)", "clubs members",
         "clubs.name clubs.club_id members.club_id members.age"),
        ("SELECT name FROM clubs AS c WHERE EXISTS (SELECT 1 FROM members AS m WHERE m.club_id = c.club_id)",
         "clubs members", "clubs.name clubs.club_id members.club_id"),
        ("WITH old AS (SELECT club_id AS id FROM clubs WHERE founded < 1900) SELECT id FROM old", "clubs",
         "clubs.club_id clubs.founded"),
        ("SELECT t.n FROM (SELECT name AS n FROM members) AS t ORDER BY t.n", "members", "members.name"),
        ("SELECT name FROM clubs UNION SELECT name FROM members ORDER BY name", "clubs members",
         "clubs.name members.name"),
        ("SELECT founded, COUNT(*) AS many FROM clubs GROUP BY founded HAVING many > 2 ORDER BY many", "clubs",
         "clubs.founded"),
        ("SELECT a.name FROM members AS a JOIN members AS b ON a.age = b.age", "members", "members.name members.age"),
        ('SELECT name FROM clubs WHERE name = "Chess"', "clubs", "clubs.name"),
        ("SELECT nickname FROM clubs", "clubs", ""),
        ("SELECT 1", "", ""),
        ("SELECT name FROM", "", ""),
        ("DROP TABLE clubs; SELECT 1", "", ""),
    ],
)  # fmt: skip
def test_names_are_resolved_by_their_scope(catalog: Catalog, sql: str, tables: str, columns: str) -> None:
    assert referenced_names(sql, catalog) == names(tables, columns)


def test_overlaps_count_what_both_name(catalog: Catalog) -> None:
    reference = "SELECT c.name FROM clubs AS c JOIN members AS m ON m.club_id = c.club_id WHERE m.age > 60"
    tables, columns = overlaps("SELECT name, founded FROM clubs", reference, catalog)

    assert (tables, tables.precision, tables.recall) == (Overlap(1, 1, 2), 1.0, 0.5)
    assert (columns, columns.precision, columns.recall) == (Overlap(1, 2, 4), 0.5, 0.25)


def test_without_a_statement_nothing_was_named(catalog: Catalog) -> None:
    assert overlaps(None, "SELECT name FROM clubs", catalog) == (Overlap(0, 0, 1), Overlap(0, 0, 1))


def test_a_reference_that_names_nothing_counts_for_nothing(catalog: Catalog) -> None:
    assert overlaps("SELECT name FROM clubs", "SELECT name FROM", catalog) == (Overlap(), Overlap())
    assert (Overlap().precision, Overlap().recall) == (None, None)
