"""Running specs on a source: limits, truth values, engine-specific types, row rules, and MariaDB's text comparison."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import ConfigurationError, QuerySpecInvalid, StatementFailed
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import compile_spec, run
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.agent.queryspec.tables import ENGINES, datasets, engine, loaded
from tests.support.databases import make_table, open_url, url

pytestmark = pytest.mark.integration


def one(source: Source, table: str) -> Datasets:
    return Datasets(table, {table: source.catalog.tables[table]})


@pytest.fixture
def many(tmp_path: Path) -> Iterator[Source]:
    """A table of 1,500 rows."""
    with engine("duckdb", tmp_path) as (place, admin):
        admin("CREATE TABLE many AS SELECT range AS n, range % 3 = 0 AS third FROM range(1500)")
    source = open_url(place, Limits(10, 20_000))
    yield source
    source.close()


def test_without_a_limit_the_cut_is_said(many: Source) -> None:
    result = run(read_spec({"sort": [{"by": "n"}]}), one(many, "many"), many)

    assert (len(result["rows"]), result["truncated"]) == (1000, True)


def test_a_limit_that_was_asked_for_is_no_cut(many: Source) -> None:
    result = run(read_spec({"sort": [{"by": "n", "desc": True}], "limit": 2}), one(many, "many"), many)

    assert result == {
        "columns": ["n", "third"],
        "types": ["integer", "boolean"],
        "rows": [[1499, False], [1498, False]],
        "truncated": False,
    }


def test_the_limit_of_the_source_cuts_too(tmp_path: Path) -> None:
    with loaded("duckdb", tmp_path, Limits(10, 3)) as source:
        result = run(read_spec({}), datasets(tables=source.catalog.tables), source)

    assert (len(result["rows"]), result["truncated"]) == (3, True)


def test_row_rules_hold(tmp_path: Path) -> None:
    rules = {"qs_orders": "status = :v1"}
    with loaded("duckdb", tmp_path, row_rules=rules, row_parameters={"v1": "paid"}) as source:
        spec = {
            "filters": [{"col": "id", "op": ">", "value": 2}],
            "aggregations": [{"as": "n", "agg": "count", "col": "*"}],
        }
        result = run(read_spec(spec), datasets(tables=source.catalog.tables), source)

    assert result["rows"] == [[3]]


def test_a_spec_that_does_not_fit_does_not_run(many: Source) -> None:
    with pytest.raises(QuerySpecInvalid):
        run(read_spec({"group_by": ["m"]}), one(many, "many"), many)


def test_engines_without_a_compiler_are_named(tmp_path: Path) -> None:
    source = open_url(url(make_table(tmp_path, "a TEXT", [("x",)])))
    elsewhere = replace(source, catalog=replace(source.catalog, dialect="trino"))

    with pytest.raises(ConfigurationError, match="sqlite, duckdb, postgres, mysql, clickhouse, not on trino"):
        run(read_spec({}), one(source, "things"), elsewhere)
    source.close()


def test_sqlite_compares_dates_in_whatever_form_they_are_kept(tmp_path: Path) -> None:
    kept = ["2024-01-31 23:59:59", "2024-01-31T08:00", "2024-01-31", "2024-02-01 00:00:00.000000", None, "soon"]
    with engine("sqlite", tmp_path) as (place, admin):
        admin("CREATE TABLE moments (id INTEGER, at DATETIME, day DATE)")
        for number, text in enumerate(kept):
            value = repr(text) if text else "NULL"
            admin(f"INSERT INTO moments VALUES ({number}, {value}, {value})")
    source = open_url(place, Limits(10, 10))
    for col in ("at", "day"):
        spec = {"filters": [{"col": col, "op": "=", "value": "2024-01-31"}], "sort": [{"by": "id"}]}
        assert [row[0] for row in rows(source, "moments", spec)] == [0, 1, 2]
    months = rows(source, "moments", {"group_by": [{"col": "at", "by": "month"}], "aggregations": COUNT})
    last = run(read_spec({"aggregations": [{"as": "m", "agg": "max", "col": "at"}], "filters": [
        {"col": "at", "op": "<", "value": "2025-01-01"}]}), one(source, "moments"), source)  # fmt: skip
    source.close()

    assert months == [["2024-01", 3], ["2024-02", 1], [None, 2]]
    assert (last["rows"], last["types"]) == ([["2024-02-01T00:00:00"]], ["datetime"])


@pytest.mark.parametrize(("text", "found"), [("привет", 1), ("[x]", 1), ("*", 1), ("100%", 1), ("?", 0), ("ß", 1)])
def test_sqlite_finds_text_in_whatever_case(text: str, found: int, tmp_path: Path) -> None:
    with engine("sqlite", tmp_path) as (place, admin):
        admin("CREATE TABLE words (word TEXT)")
        admin("INSERT INTO words VALUES ('ПРИвет'), ('a[X]b'), ('2*2'), ('100% sure'), ('Straße')")
    source = open_url(place, Limits(10, 10))
    spec = {"filters": [{"col": "word", "op": "contains", "value": text}], "aggregations": COUNT}

    assert rows(source, "words", spec) == [[found]]
    source.close()


def rows(source: Source, table: str, spec: dict[str, Any]) -> list[list[Any]]:
    return run(read_spec(spec), one(source, table), source)["rows"]


@pytest.mark.parametrize(
    "dialect", ["duckdb", pytest.param("clickhouse", marks=[pytest.mark.clickhouse, pytest.mark.heavy])]
)
def test_regular_expressions_match_on_engines_with_linear_time(dialect: str, tmp_path: Path) -> None:
    patterns = {"^(open|late)$": [1, 4, 6, 8], "(?i)^PA": [2, 3, 7, 9], "a.?d": [2, 3, 7, 9], r"\bop\w{2,3}": [1, 6]}
    with loaded(dialect, tmp_path) as source:
        known = datasets(tables=source.catalog.tables)
        for pattern, wanted in patterns.items():
            condition = {"col": "status", "op": "matches", "value": pattern}
            spec = {"filters": [condition], "sort": [{"by": "id"}]}
            assert [row[0] for row in run(read_spec(spec), known, source)["rows"]] == wanted, pattern
            spec = {"aggregations": [{**COUNT[0], "where": [condition]}]}
            assert run(read_spec(spec), known, source)["rows"] == [[len(wanted)]], pattern
        for pattern in (r"(a)\1", "(?=a)b", "((a{1,100}){1,100}){1,100}"):
            condition = {"col": "status", "op": "matches", "value": pattern}
            with pytest.raises(StatementFailed):
                run(read_spec({"filters": [condition]}), known, source)


@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "mysql"])
def test_engines_that_backtrack_refuse_regular_expressions(dialect: Any) -> None:
    condition = {"col": "status", "op": "matches", "value": "a"}
    for spec, path in (
        ({"filters": [{"any": [condition]}]}, "filters[0].any[0].op"),
        ({"aggregations": [{**COUNT[0], "where": [condition]}]}, "aggregations[0].where[0].op"),
    ):
        with pytest.raises(QuerySpecInvalid, match=f"need DuckDB or ClickHouse, and this is {dialect}") as caught:
            compile_spec(read_spec(spec), datasets(), dialect)
        assert [problem.path for problem in caught.value.problems] == [path]


COUNT = [{"as": "n", "agg": "count", "col": "*"}]


@pytest.mark.postgres
def test_enums_and_uuids_are_text(tmp_path: Path) -> None:
    uuid = "b0a4d3c6-0000-4000-8000-000000000001"
    with engine("postgres", tmp_path) as (place, admin):
        admin("DROP TABLE IF EXISTS qs_typed")
        admin("DROP TYPE IF EXISTS qs_mood")
        admin("CREATE TYPE qs_mood AS ENUM ('sad', 'happy')")
        admin("CREATE TABLE qs_typed (key UUID, mood qs_mood, big BIGINT, at TIMESTAMPTZ)")
        admin(f"INSERT INTO qs_typed VALUES ('{uuid}', 'happy', 9007199254740993, now())")
        try:
            source = open_url(place, Limits(10, 10))
            for col, op, value in [
                ("key", "=", uuid), ("key", "in", [uuid]), ("key", "contains", "B0A4"), ("mood", "=", "happy"),
                ("mood", "contains", "HAP"), ("mood", ">", "g"), ("big", "=", 9007199254740993),
                ("at", ">", "2020-01-01"),
            ]:  # fmt: skip
                spec = {"filters": [{"col": col, "op": op, "value": value}], "aggregations": COUNT}
                assert rows(source, "qs_typed", spec) == [[1]], (col, op)
            highest = [{"as": "m", "agg": "max", "col": "mood"}, {"as": "k", "agg": "min", "col": "key"}]
            assert rows(source, "qs_typed", {"aggregations": highest}) == [["happy", uuid]]
            source.close()
        finally:
            admin("DROP TABLE qs_typed")
            admin("DROP TYPE qs_mood")


@pytest.mark.mysql
def test_mariadb_compares_text_by_its_collation(tmp_path: Path) -> None:
    with engine("mysql", tmp_path) as (place, admin):
        admin("DROP TABLE IF EXISTS qs_cases")
        admin(
            "CREATE TABLE qs_cases (word VARCHAR(20) COLLATE utf8mb4_general_ci, exact VARCHAR(20) COLLATE utf8mb4_bin)"
        )
        admin("INSERT INTO qs_cases VALUES ('Open', 'Open'), ('open', 'open')")
        try:
            source = open_url(place, Limits(10, 10))
            for col, found in (("word", 2), ("exact", 1)):
                spec = {"filters": [{"col": col, "op": "=", "value": "open"}], "aggregations": COUNT}
                assert rows(source, "qs_cases", spec) == [[found]]
                spec = {"filters": [{"col": col, "op": "contains", "value": "OPE"}], "aggregations": COUNT}
                assert rows(source, "qs_cases", spec) == [[2]]
            source.close()
        finally:
            admin("DROP TABLE qs_cases")


CLOCKS = [("09:30:00", "2024-01-05 09:00:00"), ("23:15:30", "2024-01-06 12:30:00"), (None, None)]


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "sqlite"])
def test_times_of_day_are_measures_on_every_engine(dialect: str, tmp_path: Path) -> None:
    with engine(dialect, tmp_path) as (place, admin):
        admin(f"CREATE TABLE qs_clocks (n INT, t TIME, moment {'TIMESTAMP' if dialect != 'mysql' else 'DATETIME'})")
        for at, (clock, moment) in enumerate(CLOCKS):
            admin(f"INSERT INTO qs_clocks VALUES ({at}, {_quoted(clock)}, {_quoted(moment)})")
        source = open_url(place, Limits(20, 100))
        try:
            key = next(name for name in source.catalog.tables if name.endswith("qs_clocks"))
            found = one(source, key)
            derived = [
                {"as": "a", "expr": "minute(t)"},
                {"as": "b", "expr": "minutes_between(moment, moment)"},
                {"as": "c", "expr": "t > '09:30'"},
            ]
            rows = run(read_spec({"sort": [{"by": "n"}], "derived": derived}), found, source)["rows"]
            total = run(read_spec({"aggregations": [{"as": "s", "agg": "sum", "col": "t"}]}), found, source)["rows"]
            late = {"filters": [{"col": "t", "op": ">=", "value": "23:15:30"}], "sort": [{"by": "n"}]}
            names = [row[0] for row in run(read_spec(late), found, source)["rows"]]
        finally:
            source.close()
            admin("DROP TABLE qs_clocks")

    assert [row[3:] for row in rows] == [[30, 0.0, False], [15, 0.0, True], [None, None, False]]
    assert total[0][0] in ("P1DT8H45M30S", "PT32H45M30S", "32:45:30")
    assert names == [1]


def _quoted(text: str | None) -> str:
    return "NULL" if text is None else f"'{text}'"


def test_rests_and_parts_of_text_are_the_same_on_every_engine(spec_source: Source) -> None:
    expressions = [
        "floor(id / 2)", "ceil(id / 2)", "id % 3", "-id % 3", "id % 0", "left(status, 2)", "length(status)",
        "minute(created)", "hours_between(日期, created)", "days_between(today(), today())",
    ]  # fmt: skip
    derived = [{"as": f"d{at}", "expr": expression} for at, expression in enumerate(expressions)]
    spec = {"filters": [{"col": "id", "op": "=", "value": 4}], "derived": derived}

    (row,) = run(read_spec(spec), datasets(tables=spec_source.catalog.tables), spec_source)["rows"]

    assert row[-10:] == [2.0, 2.0, 1.0, 2.0, None, "la", 4, 30, 12.5, 0]


@pytest.fixture(params=ENGINES)
def spec_source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Source]:
    with loaded(request.param, tmp_path) as source:
        yield source


def test_columns_that_a_part_of_a_union_lacks_are_null(spec_source: Source) -> None:
    parts = [{"from": "customers", "as": "a"}, {"from": "customers", "as": "b"}, {"from": "orders", "as": "c"}]
    known = datasets(tables=spec_source.catalog.tables)
    names = {name: set(known.relation(name).column_names) for name in ("customers", "orders")}

    result = run(read_spec({"from": {"union": parts}}), known, spec_source)

    assert set(result["columns"]) == {"part", *names["customers"], *names["orders"]}
    rows = [dict(zip(result["columns"], row, strict=True)) for row in result["rows"]]
    assert {row["part"] for row in rows} == {"a", "b", "c"}
    for own, other, part in (("customers", "orders", "ab"), ("orders", "customers", "c")):
        lacking = {row[name] for row in rows if row["part"] in part for name in names[other] - names[own]}
        assert lacking == {None}
