"""Tests of the conditions on dates that statements and query specs of the embedded model get from the question."""

from dataclasses import replace
from datetime import date

import pytest

from datasphinx.agent.embedded.date_conditions import contains_dates, limited_spec
from datasphinx.agent.embedded.date_ranges import Days
from datasphinx.agent.embedded.expand import expand
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.schema.catalog import Column, Table
from tests.agent.embedded.schemas import CATALOG, MARCH

IN_MARCH = "played_on >= '2025-03-01' AND played_on < '2025-04-01'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM matches SELECT goals WHERE strftime('%Y', played_on) = '2025'", IN_MARCH),
        ("FROM matches SELECT goals WHERE played_on BETWEEN '2025-01-01' AND '2025-12-31'", IN_MARCH),
        ("FROM matches SELECT goals WHERE goals > 2 AND played_on >= '2025-01-01'", f"goals > 2 AND {IN_MARCH}"),
        (
            "FROM matches SELECT goals WHERE strftime('%m', played_on) = '03' AND strftime('%Y', played_on) = '2025'",
            IN_MARCH,
        ),
        (
            "FROM matches SELECT goals WHERE strftime('%w', played_on) = '0' AND strftime('%Y', played_on) = '2025'",
            f"STRFTIME('%w', played_on) = '0' AND {IN_MARCH}",
        ),
        ("FROM matches SELECT goals", IN_MARCH),
        ("FROM matches SELECT goals WHERE goals > 2 OR goals = 0", f"(goals > 2 OR goals = 0) AND {IN_MARCH}"),
    ],
)
def test_range_replaces_conditions_or_is_added(text: str, expected: str) -> None:
    assert expand(text, CATALOG, "", MARCH) == f"SELECT goals FROM matches WHERE {expected}"


def test_range_in_a_subquery() -> None:
    text = (
        "FROM players SELECT team_id WHERE NOT team_id IN (FROM matches SELECT home_id WHERE played_on >= '2025-01-01')"
    )
    assert expand(text, CATALOG, "", MARCH).endswith(f"NOT team_id IN (SELECT home_id FROM matches WHERE {IN_MARCH})")


@pytest.mark.parametrize(
    "text",
    [
        "FROM matches SELECT goals WHERE goals > 2 OR played_on >= '2025-01-01'",
        "FROM matches SELECT goals WHERE NOT played_on BETWEEN '2025-01-01' AND '2025-12-31'",
        "FROM matches SELECT goals WHERE played_on NOT LIKE '2025-01%'",
        "FROM matches SELECT SUM(CASE WHEN played_on >= '2025-01-01' THEN goals END)",
        "FROM teams SELECT name",
        "FROM matches SELECT goals WHERE home_id IN (FROM players SELECT team_id WHERE goals > 1)",
    ],
)
def test_statement_that_cannot_be_limited_stays(text: str) -> None:
    assert expand(text, CATALOG, "", MARCH) == expand(text, CATALOG)


def test_conditions_on_two_columns_stay() -> None:
    matches = CATALOG.tables["matches"]
    table = replace(matches, columns=(*matches.columns, Column("reported_on", "date")))
    catalog = replace(CATALOG, tables={**CATALOG.tables, "matches": table})
    text = "FROM matches SELECT goals WHERE played_on >= '2025-01-01' AND reported_on >= '2025-01-01'"
    assert expand(text, catalog, "", MARCH) == expand(text, catalog)


def test_open_range_in_another_dialect() -> None:
    text = "FROM matches SELECT goals WHERE strftime('%Y', played_on) = '2025'"
    sql = expand(text, replace(CATALOG, dialect="postgres"), "", Days(date(2025, 3, 1), None))
    assert sql == "SELECT goals FROM matches WHERE played_on >= '2025-03-01'"


@pytest.mark.parametrize(
    ("column", "is_date"),
    [
        (Column("day", "date"), True),
        (Column("day", "timestamp", minimum="2024-01-01 10:00:00"), True),
        (Column("day", "text", examples=("2024-01-01", "2024-02-01T10:00:00")), True),
        (Column("day", "text", examples=("01.02.2024",)), False),
        (Column("day", "text"), False),
        (Column("day", "date", examples=("Jan 5",)), False),
        (Column("day", "integer", minimum="1700000000"), False),
    ],
)
def test_columns_with_dates(column: Column, is_date: bool) -> None:
    assert contains_dates(column) is is_date


SALES = Table("sales", (Column("day", "date"), Column("due", "text"), Column("amount", "double")))


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([], [{"col": "day", "op": "between", "value": ["2025-03-01", "2025-03-31"]}]),
        (
            [{"col": "day", "op": ">=", "value": "2025-01-01"}, {"col": "amount", "op": ">", "value": 5}],
            [
                {"col": "amount", "op": ">", "value": 5},
                {"col": "day", "op": "between", "value": ["2025-03-01", "2025-03-31"]},
            ],
        ),
        ([{"col": "day", "op": "!=", "value": "2025-01-01"}], None),
        ([{"any": [{"col": "day", "op": "=", "value": "2025-01-01"}, {"col": "amount", "op": ">", "value": 5}]}], None),
    ],
)
def test_query_spec(filters: list[object], expected: list[object] | None) -> None:
    spec = limited_spec(
        read_spec({"filters": filters, "aggregations": [{"as": "n", "agg": "count", "col": "*"}]}), SALES, MARCH
    )
    assert (spec and spec.model_dump(by_alias=True, exclude_unset=True)["filters"]) == expected


def test_open_ranges_of_a_query_spec() -> None:
    spec = read_spec({"aggregations": [{"as": "n", "agg": "count", "col": "*"}]})
    since, before = (limited_spec(spec, SALES, days) for days in (Days(MARCH.start, None), Days(None, MARCH.start)))
    assert since and since.filters[0].model_dump() == {"col": "day", "op": ">=", "value": "2025-03-01"}
    assert before and before.filters[0].model_dump() == {"col": "day", "op": "<=", "value": "2025-02-28"}
