"""Profiles of tables and columns from samples."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from datasphinx.agent.schema.catalog import Catalog, Column
from datasphinx.agent.sources.cache import fingerprint
from datasphinx.agent.sources.profile import Sampler, profile
from datasphinx.agent.sources.reflect import reflect
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.execute import RowAccess
from datasphinx.agent.sql.row_rules import RowRules
from tests.support.databases import make_database, make_table, url


def read(path: Path, budget_s: float = 3.0) -> Catalog:
    database = Database(url(path))
    return profile(Sampler(database, reflect(database), budget_s=budget_s))


def column(catalog: Catalog, name: str, table: str = "things") -> Column:
    return next(column for column in catalog.tables[table].columns if column.name == name)


def test_a_small_table_is_known_exactly(tmp_path: Path) -> None:
    rows = [(1, "red", 2.5, b"\xff" * 10), (2, "red", None, None), (3, "blue", None, None), (4, None, None, None)]
    catalog = read(make_table(tmp_path, "id INTEGER, colour TEXT, price REAL, photo BLOB", rows))
    assert catalog.tables["things"].rows == 4
    colour, price, photo = (column(catalog, name) for name in ("colour", "price", "photo"))
    assert (colour.null_share, colour.distinct, colour.examples) == (0.25, 2, ("red", "blue"))
    assert (price.null_share, price.distinct, price.examples) == (0.75, 1, ("2.5",))
    assert (photo.null_share, photo.distinct, photo.examples) == (0.75, None, ())
    assert catalog.values == {("things", "colour"): ("blue", "red")}


def test_rows_that_rules_hide_are_not_counted(tmp_path: Path) -> None:
    rows = [(number, ("north", "south")[number % 5 == 0]) for number in range(5000)]
    path = make_table(tmp_path, "id INTEGER, side TEXT", rows)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE INDEX by_side ON things (side)")
        connection.execute("ANALYZE")
    database = Database(url(path))
    catalog = reflect(database)
    access = RowAccess(RowRules({"things": "side = 'north'"}, "sqlite", catalog), {})

    assert read(path).tables["things"].rows == 5000
    assert profile(Sampler(database, catalog, access=access, budget_s=3.0)).tables["things"].rows == 4000


def test_a_large_table_is_estimated(tmp_path: Path) -> None:
    rows = [(number, f"name {number}", ("north", "south")[number % 2]) for number in range(5000)]
    catalog = read(make_table(tmp_path, "id INTEGER, name TEXT, side TEXT", rows))
    assert catalog.tables["things"].rows == 5000
    assert 2000 <= (column(catalog, "name").distinct or 0) <= 5000
    assert column(catalog, "side").distinct == 2
    assert catalog.values["things", "side"] == ("north", "south")
    assert len(catalog.values["things", "name"]) == 200


def test_values_beyond_the_first_rows_are_met(tmp_path: Path) -> None:
    rows = [("common",)] * 3000 + [("rare",)]
    assert read(make_table(tmp_path, "word TEXT", rows)).values["things", "word"] == ("common", "rare")


def test_statistics_of_the_engine_are_taken(tmp_path: Path) -> None:
    path = make_database(
        tmp_path,
        "CREATE TABLE things (id INTEGER PRIMARY KEY, word TEXT)",
        "INSERT INTO things SELECT value, 'w' FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL"
        " SELECT value + 1 FROM n WHERE value < 2500) SELECT value FROM n)",
        "CREATE INDEX words ON things (word)",
        "ANALYZE",
        "UPDATE sqlite_stat1 SET stat = '777777 1'",
    )
    assert read(path).tables["things"].rows == 777777


@pytest.mark.parametrize(
    ("teams", "is_likely"),
    [([(1, 2), (2, 1), (None, 1)], True), ([(1, 2), (4, 2)], False), ([(1, 1), (1, 2)], False), ([], False)],
    ids=["contained", "another value", "one value", "no rows"],
)
def test_an_inferred_key_is_likely_if_all_its_values_are_those_of_the_key(
    tmp_path: Path, teams: list[tuple[object, object]], is_likely: bool
) -> None:
    path = make_database(
        tmp_path,
        "CREATE TABLE teams (id INTEGER PRIMARY KEY)",
        "CREATE TABLE games (id INTEGER PRIMARY KEY, home_team_id INTEGER, away_team_id INTEGER)",
        "INSERT INTO teams VALUES (1), (2), (3)",
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany("INSERT INTO games (home_team_id, away_team_id) VALUES (?, ?)", teams)
        connection.commit()

    (home, _) = read(path).tables["games"].foreign_keys
    assert (home.columns, home.target, home.likely) == (("home_team_id",), "teams", is_likely)


def test_an_empty_table(tmp_path: Path) -> None:
    catalog = read(make_table(tmp_path, "id INTEGER, word TEXT", []))
    assert catalog.tables["things"].rows == 0
    assert (column(catalog, "word").distinct, column(catalog, "word").null_share) == (0, None)


def test_without_time_nothing_is_sampled_and_nothing_fails(tmp_path: Path) -> None:
    catalog = read(make_table(tmp_path, "word TEXT", [("a",)]), budget_s=0)
    assert catalog.tables["things"].rows is None
    assert (column(catalog, "word").distinct, dict(catalog.values)) == (None, {})


def test_long_texts_are_cut(tmp_path: Path) -> None:
    catalog = read(make_table(tmp_path, "word TEXT", [("x" * 100_000,)]))
    assert catalog.values["things", "word"] == ("x" * 200,)
    assert column(catalog, "word").examples == ("x" * 60,)


def test_a_warning_about_a_sample_quotes_no_value(tmp_path: Path) -> None:
    path = make_database(
        tmp_path,
        "CREATE TABLE t (word TEXT)",
        "INSERT INTO t VALUES ('private')",
        "CREATE VIEW v AS SELECT json_extract(word, '$.a') AS part FROM t",
    )
    catalog = read(path)
    assert catalog.warnings == ("'v' is not sampled: statement_failed",)
    assert catalog.values["t", "word"] == ("private",)


def ranges(catalog: Catalog) -> dict[str, tuple[str | None, str | None]]:
    """Smallest and largest value of each column that has a range."""
    columns = catalog.tables["things"].columns
    return {column.name: (column.minimum, column.maximum) for column in columns if column.minimum is not None}


@pytest.mark.parametrize("count", [7, 3000], ids=["in the sample", "beyond the sample"])
def test_ranges_of_numbers_and_dates(tmp_path: Path, count: int) -> None:
    columns = "id INTEGER PRIMARY KEY, n INTEGER, day DATE, said TEXT, word TEXT, api_key INTEGER"
    rows = [
        (number, -number, f"20{10 + number % 7}-01-02", f"2020-01-0{1 + number % 7} 10:00:00", f"w{number}", number)
        for number in range(count)
    ]
    assert ranges(read(make_table(tmp_path, columns, rows))) == {
        "n": (str(1 - count), "0"),
        "day": ("2010-01-02", "2016-01-02"),
        "said": ("2020-01-01 10:00:00", "2020-01-07 10:00:00"),
    }


@pytest.mark.parametrize("count", [7, 3000], ids=["in the sample", "beyond the sample"])
def test_days_that_are_part_of_a_key_have_a_range(tmp_path: Path, count: int) -> None:
    columns = "sensor INTEGER, day DATE, n INTEGER, PRIMARY KEY (sensor, day)"
    rows = [(number, f"20{10 + number % 7}-01-02", 1) for number in range(count)]
    assert ranges(read(make_table(tmp_path, columns, rows))) == {"day": ("2010-01-02", "2016-01-02"), "n": ("1", "1")}


@pytest.mark.parametrize("count", [7, 3000], ids=["in the sample", "beyond the sample"])
def test_a_column_of_mixed_values_has_no_range(tmp_path: Path, count: int) -> None:
    rows = [(number, "2020-01-02") for number in range(count)] + [("unknown", "soon")]
    assert ranges(read(make_table(tmp_path, "n INTEGER, day DATE", rows))) == {}


@pytest.mark.parametrize("count", [8, 4000], ids=["in the sample", "beyond the sample"])
def test_ranges_cover_only_permitted_rows(tmp_path: Path, count: int) -> None:
    rows = [(number, ("north", "south")[number >= count // 2]) for number in range(count)]
    database = Database(url(make_table(tmp_path, "n INTEGER, side TEXT", rows)))
    catalog = reflect(database)

    for rule, expected in (
        ("side = 'north'", {"n": ("0", str(count // 2 - 1))}),
        ("side = 'south'", {"n": (str(count // 2), str(count - 1))}),
        ("deny", {}),
    ):
        access = RowAccess(RowRules({"things": rule}, "sqlite", catalog), {})
        assert ranges(profile(Sampler(database, catalog, access=access, budget_s=3.0))) == expected


def test_untyped_columns_have_the_type_of_their_cells(tmp_path: Path) -> None:
    path = make_table(tmp_path, "id INTEGER, code, price, mixed", [(1, "a", 1, "x"), (2, "b", 2.5, 3)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIEW net AS SELECT id, price * 0.5 AS half FROM things")
    catalog = read(path)
    assert [column(catalog, name).type for name in ("id", "code", "price", "mixed")] == [
        "INTEGER", "text", "real", "NULL",
    ]  # fmt: skip
    assert column(catalog, "half", "net").type == "real"
    assert fingerprint(catalog) == fingerprint(reflect(Database(url(path))))


def test_the_columns_of_a_table_are_sampled_alone_if_one_cannot_be_read(tmp_path: Path) -> None:
    path = make_table(tmp_path, "id INTEGER, word TEXT", [(1, "yes"), (2, "no")])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIEW broken AS SELECT id, word, json_extract(word, '$.a') AS part FROM things")
    catalog = read(path)
    assert column(catalog, "word", "broken").examples == ("yes", "no")
    assert column(catalog, "part", "broken").null_share is None


def test_names_that_need_quotes_are_sampled(tmp_path: Path) -> None:
    names = ("select", "a b", "50%", "x:y", "q?", "Größe", 'say "hi"', "$1")
    quoted = ", ".join('"{}" TEXT'.format(name.replace('"', '""')) for name in names)
    catalog = read(make_table(tmp_path, quoted, [tuple("v" for _ in names)]))
    assert [column(catalog, name).examples for name in names] == [("v",)] * len(names)


def test_long_json_in_text_is_read_to_its_end(tmp_path: Path) -> None:
    document = json.dumps({"note": "x" * 500, "plan": "free"})
    catalog = read(make_table(tmp_path, "id INTEGER, props TEXT", [(1, document)]))
    assert column(catalog, "props").parts == ("note", "plan ('free')")
