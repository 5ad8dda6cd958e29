import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks import spider
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import open_source
from datasphinx.agent.types import Limits
from training.rows import fill, read_literals
from training.spider import (
    SpiderColumn,
    SpiderForeignKey,
    SpiderSchema,
    SpiderTable,
    read_held_out,
    read_schemas,
    read_training,
)

CLUB = SpiderSchema(
    "club",
    (
        SpiderTable("sqlite_sequence", (SpiderColumn("name", "text"),)),
        SpiderTable(
            "Club Member",
            (
                SpiderColumn("id", "number"),
                SpiderColumn("Full Name", "text"),
                SpiderColumn("home", "text"),
                SpiderColumn("joined_on", "time"),
                SpiderColumn("birth_year", "time"),
                SpiderColumn("level", "text", ("gold", "silver")),
                SpiderColumn("active", "boolean"),
            ),
            ("id",),
        ),
        SpiderTable(
            "fee",
            (
                SpiderColumn("fee_no", "number"),
                SpiderColumn("member", "number"),
                SpiderColumn("price", "number"),
                SpiderColumn("hours", "number"),
                SpiderColumn("order", "number"),
            ),
            ("fee_no",),
        ),
    ),
    (
        SpiderForeignKey("fee", "member", "club member", "id"),
        SpiderForeignKey("fee", "gone", "club member", "id"),
        SpiderForeignKey("fee", "price", "nowhere", "id"),
    ),
)
STATEMENTS = (
    'SELECT T1."Full Name" FROM "Club Member" AS T1 JOIN fee AS T2 ON T1.id = T2.member WHERE T2.hours > 2.5',
    'SELECT id FROM "Club Member" WHERE home = "Reykjavik" OR home LIKE \'%land%\'',
    "SELECT count(*) FROM fee WHERE price BETWEEN 100 AND 200",
    "no statement at all (",
)


def read(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


@pytest.fixture
def club(tmp_path: Path) -> Path:
    path = tmp_path / "club.sqlite"
    fill(CLUB, STATEMENTS, path, 1)
    return path


def test_literals_are_found_through_aliases_and_in_double_quotes() -> None:
    found = read_literals(CLUB, STATEMENTS)

    assert found.values == {
        ("fee", "hours"): ["2.5"],
        ("club member", "home"): ["Reykjavik", "%land%"],
        ("fee", "price"): ["100", "200"],
    }
    assert found.joined == [(("club member", "id"), ("fee", "member"))]


def test_what_statements_ask_for_is_there(club: Path) -> None:
    for statement in STATEMENTS[:2]:
        assert read(club, statement)
    [(matching,)] = read(club, STATEMENTS[2])
    [(rows,)] = read(club, "SELECT COUNT(*) FROM fee")

    assert isinstance(matching, int) and isinstance(rows, int)
    assert 0 < matching < rows
    assert 30 <= rows <= 50


def test_keys_point_at_rows_and_some_parents_have_none_and_some_many(club: Path) -> None:
    parents = {row[0] for row in read(club, 'SELECT id FROM "Club Member"')}
    counts = dict(read(club, "SELECT member, COUNT(*) FROM fee WHERE member IS NOT NULL GROUP BY member"))

    assert set(counts) < parents
    assert max(int(str(count)) for count in counts.values()) >= 3


def test_types_are_declared_by_name_and_by_what_is_compared(club: Path) -> None:
    types = {str(row[0]): row[1] for table in ("Club Member", "fee") for row in read(club, f"SELECT name, type FROM pragma_table_info('{table}')")}  # fmt: skip # noqa: E501

    assert types["price"] == types["hours"] == "REAL"
    assert types["fee_no"] == types["birth_year"] == "INTEGER"
    assert (types["joined_on"], types["active"], types["home"]) == ("DATE", "BOOLEAN", "TEXT")
    years = {str(row[0])[:4] for row in read(club, 'SELECT joined_on FROM "Club Member" WHERE joined_on IS NOT NULL')}
    assert years == {"2022", "2023", "2024", "2025"}
    assert {row[0] for row in read(club, 'SELECT level FROM "Club Member" WHERE level IS NOT NULL')} == {
        "gold",
        "silver",
    }


def test_reflection_sees_the_keys_and_skips_broken_ones(club: Path) -> None:
    source = open_source(SourceSettings(url=f"sqlite:///{club}"), Limits(timeout_s=10, row_limit=100))  # type: ignore[arg-type]
    try:
        tables = source.catalog.tables
        [key] = tables["fee"].foreign_keys
        assert set(tables) == {"Club Member", "fee"}
        assert (key.columns, key.target, key.inferred) == (("member",), "Club Member", False)
        assert tables["fee"].primary_key == ("fee_no",)
    finally:
        source.close()


def test_same_seed_same_rows(club: Path, tmp_path: Path) -> None:
    again, other = tmp_path / "again.sqlite", tmp_path / "other.sqlite"
    fill(CLUB, STATEMENTS, again, 1)
    fill(CLUB, STATEMENTS, other, 2)

    rows = [read(path, "SELECT * FROM fee") for path in (club, again, other)]
    assert rows[0] == rows[1] != rows[2]


def test_a_file_is_not_written_over(club: Path) -> None:
    with pytest.raises(FileExistsError):
        fill(CLUB, STATEMENTS, club, 1)


@pytest.mark.benchdata
@pytest.mark.skipif(not spider.SCHEMAS.is_file(), reason="shared/benchmarks is not beside the project")
def test_gold_statements_of_spider_run_and_give_rows(tmp_path: Path) -> None:
    schemas = read_schemas(spider.SCHEMAS)
    questions = read_training(spider.TRAIN)
    held_out = read_held_out(spider.DEV / "questions.jsonl")
    ran, gave = [], []
    for db_id in [name for name in sorted({question.db_id for question in questions})][::14]:
        own = [question.sql for question in questions if question.db_id == db_id]
        fill(schemas[db_id], own, tmp_path / f"{db_id}.sqlite", 1)
        for statement in own:
            try:
                rows = read(tmp_path / f"{db_id}.sqlite", statement)
            except sqlite3.Error:
                ran.append(False)
                continue
            ran.append(True)
            gave.append(bool(rows))

    assert not held_out.db_ids & {question.db_id for question in questions}
    assert len(ran) > 300
    assert sum(ran) / len(ran) > 0.95
    assert sum(gave) / len(ran) > 0.8
