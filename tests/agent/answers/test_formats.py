"""The formats of columns and the text of values in every language."""

import re
from dataclasses import asdict
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from datasphinx.agent.answers.markdown import markdown_table
from datasphinx.agent.answers.result_facts import facts_of
from datasphinx.agent.charts.cells import labels_of
from datasphinx.agent.cli.render import rows_view
from datasphinx.agent.formatting.checks import checked_formats, with_formats
from datasphinx.agent.formatting.formats import (
    ColumnFormat,
    answer_table,
    column_formats,
    format_computed,
    format_rows,
    format_value,
)
from datasphinx.agent.messages import LANGUAGES
from datasphinx.agent.responses import table_of
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table
from datasphinx.agent.sql.rows import type_of
from datasphinx.agent.types import Result


def result(kind: str, *cells: Any) -> Result:
    return Result(columns=["c"], types=[kind], rows=[[cell] for cell in cells], truncated=False)


def texts(kind: str, *cells: Any, spec: str = "", language: str = "en", in_sentence: bool = False) -> list[str]:
    (fmt,) = column_formats(result(kind, *cells), {"c": spec} if spec else {})
    return [format_value(cell, fmt, language, in_sentence=in_sentence) for cell in cells]


@pytest.mark.parametrize(
    ("kind", "cells", "spec", "expected"),
    [
        ("decimal", [828200, 87557.5, None], "", ["828,200.0", "87,557.5", "–"]),
        ("float", [0.1 + 0.2, 1.0], "", ["0.3", "1.0"]),
        ("decimal", [57.272637503703, 42.727362496297], "percent", ["57.3%", "42.7%"]),
        ("float", [99.966, 50.123], "percent", ["99.966%", "50.123%"]),
        ("float", [0.02345, 50.123], "percent", ["0.0235%", "50.1230%"]),
        ("float", [48.664, 48.652], "percent", ["48.66%", "48.65%"]),
        ("float", [1.8666, 2.5], "duration days", ["1.9 days", "2.5 days"]),
        ("float", [0.0605, 0.9395], "fraction", ["6.05%", "93.95%"]),
        ("decimal", [44976.190476190476], "", ["44,976.19"]),
        ("float", [0.57272637], "", ["0.5727"]),
        ("float", [1.2e-11], "", ["1.2E-11"]),
        ("decimal", ["12345678901234567890.12"], "", ["12,345,678,901,234,567,890.12"]),
        ("decimal", [1234.5, 1000], "currency EUR", ["€1,234.50", "€1,000.00"]),
        ("integer", [1234, 1000], "currency EUR", ["€1,234", "€1,000"]),
        ("float", [1.4590, 1.5], "currency EUR", ["€1.46", "€1.50"]),
        ("float", [1234.5678], "currency JPY", ["¥1,235"]),
        ("float", [4000.0, 37.0], "decimal 2", ["4,000", "37"]),
        ("float", [4000.0, 37.5], "decimal 2", ["4,000.00", "37.50"]),
        ("float", [145.8, 99.125], "decimal 2", ["145.80", "99.13"]),
        ("float", [0.0025], "decimal 2", ["0.0025"]),
        ("integer", [2024, 1999], "year", ["2024", "1999"]),
        ("integer", [0, 2], "year", ["0", "2"]),
        ("string", ["2024-01-01", "1999-01-01"], "year", ["2024", "1999"]),
        ("integer", [12345], "code", ["12345"]),
        ("float", [1.8, 2.25], "duration days", ["1.80 days", "2.25 days"]),
        ("interval", ["P2985D", "P1Y2M3DT4H"], "", ["2,985 days", "1 year 2 months 3 days 4 hours"]),
        ("interval", ["P29DT26H47M36.199141S", "P32DT13H"], "", ["30 days 3 hours", "32 days 13 hours"]),
        ("interval", ["PT1H1M17.866676S", "PT37M56S"], "", ["1 hour 1 minute", "38 minutes"]),
        ("interval", ["PT1H1M17.866676S", "PT12.25S"], "", ["1 hour 1 minute 18 seconds", "12 seconds"]),
        ("interval", ["PT172H30M", "PT7H59M59.5S"], "", ["172 hours 30 minutes", "8 hours"]),
        ("interval", ["PT12.2555S", "PT0.5S"], "", ["12.3 seconds", "0.5 seconds"]),
        ("interval", ["P1DT-30M-0.5S", "-P1DT6H0.5S"], "", ["23 hours", "-1 day 6 hours"]),
        ("interval", ["P-1DT2H", "P2DT-1H"], "", ["-22 hours", "1 day 23 hours"]),
        ("interval", ["PT1H29M44S", "PT49H"], "", ["1 hour 29 minutes 44 seconds", "49 hours"]),
        ("interval", ["P1Y4M23DT9H13M50.749292S", "P2M5D", "P20DT5H50.5S"], "", ["1 year 4 months", "2 months 5 days", "20 days 5 hours"]),  # noqa: E501
        ("interval", ["P0D", "PT49H"], "", ["0 hours", "49 hours"]),
        ("interval", ["P0D", "P2D"], "", ["0 days", "2 days"]),
        ("string", ["2024-03", "2023-12"], "", ["March 2024", "December 2023"]),
        ("datetime", ["2024-03-01T00:00:00", "2024-04-01T00:00:00"], "month", ["March 2024", "April 2024"]),
        ("datetime", ["2024-03-01T00:00:00"], "", ["Mar 1, 2024"]),
        ("datetime", ["2024-03-01T00:00:00", "2024-04-01T00:00:00"], "", ["March 2024", "April 2024"]),
        ("date", ["2023-01-01", "2024-01-01", "2025-01-01"], "", ["2023", "2024", "2025"]),
        ("date", ["2024-03-01", "2024-04-02"], "", ["Mar 1, 2024", "Apr 2, 2024"]),
        ("datetime", ["2024-03-01T00:00:00", "2024-03-01T10:20:30Z"], "", ["Mar 1, 2024, 00:00", "Mar 1, 2024, 10:20:30"]),  # noqa: E501
        ("integer", [3, 12], "month", ["March", "December"]),
        ("string", ["2024-13", "2024-02"], "", ["2024-13", "2024-02"]),
        ("string", ["007", "1e5"], "", ["007", "1e5"]),
        ("boolean", [True, False], "", ["yes", "no"]),
        ("json", [{"a": 1}], "", ['{"a": 1}']),
        ("array", [["a", None, True], [], [1.5, 2], [["a"]]], "", ["a, –, yes", "–", "1.5, 2", '[["a"]]']),
        ("array", [["PT1H30M", None], ["P2D"]], "", ["1 hour 30 minutes, –", "2 days"]),
        ("array", [["PT1H"], ["P", "PT"]], "", ["PT1H", "P, PT"]),
        ("json", [{"least": "PT1H0.5S", "rows": 3}], "", ['{"least": "1 hour", "rows": 3}']),
        ("decimal", ["NaN", 1.5], "percent", ["NaN", "1.5"]),
    ],
)  # fmt: skip
def test_a_column_has_one_format(kind: str, cells: list[Any], spec: str, expected: list[str]) -> None:
    assert texts(kind, *cells, spec=spec) == expected


@pytest.mark.parametrize(
    ("kind", "cell", "spec", "expected"),
    [
        ("float", 53209.92, "currency USD", ["$53,209.92", "53.209,92\xa0$", "53\xa0209,92\xa0$", "US$53,209.92"]),
        (
            "float",
            -5629.5,
            "currency CHF",
            ["-CHF\xa05,629.50", "-5.629,50\xa0CHF", "-5\xa0629,50\xa0CHF", "-CHF\xa05,629.50"],
        ),
        ("float", 5629.5, "currency AUD", ["A$5,629.50", "5.629,50\xa0AU$", "5\xa0629,50\xa0A$", "AU$5,629.50"]),
        ("string", "2025-Q1", "", ["Q1 2025", "Q1 2025", "1-й кв. 2025", "2025年第1季度"]),
        ("date", "2025-04-01", "quarter", ["Q2 2025", "Q2 2025", "2-й кв. 2025", "2025年第2季度"]),
        ("array", ["a", "b", "c"], "", ["a, b and c", "a, b und c", "a, b и c", "a、b和c"]),
        ("integer", 2, "quarter", ["2", "2", "2", "2"]),
        ("integer", 7, "week", ["7", "7", "7", "7"]),
        ("date", "2025-01-06", "week", ["January 6, 2025", "6. Januar 2025", "6 января 2025 года", "2025年1月6日"]),
        ("float", 3.77491, "", ["3.77", "3,77", "3,77", "3.77"]),
        ("float", 9999.5, "currency EUR", ["€9,999.50", "9.999,50\xa0€", "9\xa0999,50\xa0€", "€9,999.50"]),
        ("float", 1.8, "duration days", ["1.8 days", "1,8 Tage", "1,8 дня", "1.8天"]),
        ("string", "2025-01", "", ["January 2025", "Januar 2025", "январь 2025", "2025年1月"]),
        ("date", "2025-01-05", "", ["January 5, 2025", "5. Januar 2025", "5 января 2025 года", "2025年1月5日"]),
        ("float", 12.0, "percent", ["12%", "12\xa0%", "12\xa0%", "12%"]),
    ],
)
def test_a_value_in_a_sentence(kind: str, cell: Any, spec: str, expected: list[str]) -> None:
    found = [texts(kind, cell, spec=spec, language=code, in_sentence=True)[0] for code in ("en", "de", "ru", "zh")]
    assert found == expected


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**30), max_value=10**30))
def test_no_digit_of_an_exact_decimal_is_lost_in_any_language(number: Decimal) -> None:
    for language in LANGUAGES:
        (text,) = texts("decimal", str(number), language=language)
        marks = {
            "." if language in {"de", "ru"} else ",": "",
            "\xa0": "",
            "," if language in {"de", "ru"} else ".": ".",
        }
        assert Decimal(text.translate(str.maketrans(marks))) == number


# The checks of formats

SALES = Table(
    "sales",
    (
        Column("id", "INTEGER"),
        Column("shop_id", "INTEGER"),
        Column("price", "NUMERIC", comment="Gross price in EUR"),
        Column("rate", "NUMERIC"),
        Column("fee", "DECIMAL(9, 2)"),
        Column("weight", "REAL", examples=("3.5", "4.0"), minimum="1.25", maximum="7"),
        Column("size", "REAL", examples=("3.5", "4.0")),
        Column("noise", "REAL", examples=("0.3333333333",)),
        Column("units", "INTEGER", examples=("3",)),
        Column("opened", "INTEGER", minimum="1987", maximum="2021"),
        Column("sold_on", "DATE"),
        Column("week_from", "TEXT", minimum="2024-01-01", maximum="2025-12-29"),
        Column("day", "DATE"),
    ),
    primary_key=("id", "week_from", "day"),
    foreign_keys=(ForeignKey(("shop_id",), "shops", ("id",)),),
)  # fmt: skip
CATALOG = Catalog("sqlite", {"sales": SALES})


@pytest.mark.parametrize(
    ("output", "spec", "said", "expected"),
    [
        ("100.0 * SUM(rate) / SUM(price)", "percent", "", "percent"),
        ("SUM(rate) / SUM(price)", "percent", "", None),
        ("SUM(rate) / SUM(price)", "fraction", "", "fraction"),
        ("ROUND(SUM(rate) / SUM(price) * 100, 1)", "fraction", "", None),
        ("AVG(CASE WHEN rate > 1 THEN 100.0 ELSE 0 END)", "percent", "", "percent"),
        ("rate", "percent", "", "percent"),
        ("AVG(rate)", "percent", "", "percent"),
        ("units / SUM(units) OVER ()", "", "", "fraction"),
        ("CAST(SUM(fee) AS REAL) / NULLIF(SUM(CAST(SUM(fee) AS REAL)) OVER (PARTITION BY day), 0)", "", "", "fraction"),
        ("ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1)", "", "", "percent"),
        ("1.0 * units / SUM(units) OVER () * 100", "", "", "percent"),
        ("units / SUM(units) OVER ()", "decimal 3", "", "decimal 3"),
        ("units / SUM(id) OVER ()", "", "", None),
        ("units / AVG(units) OVER ()", "", "", None),
        ("SUM(price)", "currency EUR", "", "currency EUR"),
        ("SUM(price)", "currency USD", "", None),
        ("SUM(price)", "currency USD", "Revenue in dollars?", "currency USD"),
        ("SUM(price)", "currency USD", "Выручка в $", "currency USD"),
        ("SUM(price)", "currency XYZ", "XYZ", None),
        ("SUM(price)", "bananas", "", None),
        ("COUNT(*)", "duration weeks", "", None),
        ("COUNT(*)", "decimal 2", "", "decimal 2"),
        ("id", "", "", "code"),
        ("MAX(shop_id)", "", "", "code"),
        ("day", "", "", None),
        ("MAX(week_from)", "", "", None),
        ("opened / 10 * 10", "", "", "ungrouped"),
        ("FLOOR(opened / 10.0) * 10", "", "", "ungrouped"),
        ("opened - opened % 10", "", "", "ungrouped"),
        ("CAST(EXTRACT(YEAR FROM sold_on) AS INTEGER) / 10 * 10", "", "", "ungrouped"),
        ("opened * units", "", "", None),
        ("price / 10 * 10", "", "", None),
        ("COUNT(DISTINCT shop_id)", "", "", None),
        ("price > 5", "", "", "boolean"),
        ("NOT price > 5 AND id = 1", "", "", "boolean"),
        ("EXISTS (SELECT 1 FROM sales)", "", "", "boolean"),
        ("price IS NULL", "integer", "", "integer"),
        ("SUM(price > 5)", "", "", None),
        ("opened", "", "", "ungrouped"),
        ("opened", "year", "", "year"),
        ("AVG(opened)", "", "", "ungrouped"),
        ("AVG(fee)", "", "", "decimal 2"),
        ("AVG(weight)", "", "", "decimal 2"),
        ("AVG(size)", "", "", "decimal 2"),
        ("SUM(fee) / COUNT(*)", "", "", "decimal 2"),
        ("1.0 * SUM(fee * units) / NULLIF(SUM(units), 0)", "", "", "decimal 2"),
        ("AVG(CASE WHEN units > 1 THEN COALESCE(fee, 0) END)", "", "", "decimal 2"),
        ("AVG(weight - fee) OVER ()", "", "", "decimal 2"),
        ("AVG(fee * weight)", "", "", "decimal 4"),
        ("AVG(fee)", "currency EUR", "euros", "currency EUR"),
        ("AVG(units)", "", "", None),
        ("AVG(noise)", "", "", None),
        ("AVG(price)", "", "", None),
        ("SUM(fee) / SUM(weight)", "", "", None),
        ("ROUND(AVG(fee), 1)", "", "", None),
        ("SUM(fee)", "", "", None),
        ("fee", "", "", None),
        ("CAST(strftime('%Y', sold_on) AS INTEGER)", "", "", "year"),
        ("strftime('%Y-%m', sold_on)", "", "", "month"),
        ("CAST(substr(sold_on, 1, 4) AS INTEGER)", "", "", "year"),
    ],
)
def test_a_format_holds_only_if_statement_and_schema_agree(
    output: str, spec: str, said: str, expected: str | None
) -> None:
    formats = {"value": spec} if spec else {}
    for sql in (
        f"SELECT {output} AS value FROM sales",
        f"WITH part AS (SELECT {output} AS inner_value FROM sales) SELECT inner_value AS value FROM part",
        f"SELECT {output} AS value FROM sales UNION ALL SELECT {output} FROM sales",
    ):
        assert checked_formats(formats, ["value"], sql, CATALOG, [said]).get("value") == expected


@pytest.mark.parametrize(
    ("select", "other", "expected"),
    [
        ("SUM(price)", "SUM(price)", "currency EUR"),
        ("SUM(price)", "COUNT(*)", None),
        ("SUM(price)", "SUM(cost)", None),
        ("SUM(price)", "NULL", None),
    ],
)
def test_what_a_file_shows_holds_only_for_all_queries_of_a_union(select: str, other: str, expected: str | None) -> None:
    table = Table("sales", (Column("price", "DOUBLE"), Column("cost", "DOUBLE")))
    formats = {("sales", "price"): "currency EUR", ("sales", "cost"): "currency USD"}
    known = Catalog("duckdb", {"sales": table}, formats=formats)
    union = f"SELECT {select} AS value FROM sales UNION ALL SELECT {other} FROM sales"
    for sql in (union, f"SELECT SUM(value) AS value FROM ({union}) AS part"):
        assert checked_formats({}, ["value"], sql, known).get("value") == expected


@pytest.mark.parametrize(
    "end", ["GROUP BY opened", "GROUP BY 1", "ORDER BY value", "ORDER BY opened", "ORDER BY 1 LIMIT 3"]
)
def test_numbers_like_years_are_years_where_rows_are_grouped_or_sorted_by_them(end: str) -> None:
    sql = f"SELECT opened AS value FROM sales {end}"
    assert checked_formats({}, ["value"], sql, CATALOG) == {"value": "year"}


@pytest.mark.parametrize(
    ("columns", "rows", "kind"),
    [
        ("opened, price", [[1987, 5], [2021, 7]], "year"),
        ("opened / 10 * 10 AS decade, price", [[1980, 5], [2020, 7]], "year"),
        ("2026 - opened AS age, price", [[39, 5], [5, 7]], "number"),
        ("opened, price", [[1987, 5], [1987, 7]], "number"),
        ("opened, price", [[None, 5], [1987, 7]], "number"),
        ("opened, price", [[1987, 5]], "number"),
        ("opened, id", [[1987, 5], [2021, 7]], "number"),
        ("AVG(opened) AS opened, price", [[1987.5, 5], [2021.0, 7]], "number"),
    ],
)
def test_numbers_like_years_are_years_where_they_alone_tell_the_rows_apart(
    columns: str, rows: list[list[Any]], kind: str
) -> None:
    names = [each.split(" AS ")[-1] for each in columns.split(", ")]
    types = [next(type_of(cell) for cell in cells if cell is not None) for cells in zip(*rows, strict=True)]
    found = Result(columns=names, types=types, rows=rows, truncated=False)
    shown = with_formats(found, f"SELECT {columns} FROM sales ORDER BY price DESC", CATALOG)
    assert shown["formats"][0]["kind"] == kind


def test_codes_like_months_are_told_by_the_other_values_of_their_column() -> None:
    def kind(*stored: str) -> str:
        table = Table("parts", (Column("lot", "TEXT"),))
        catalog = Catalog("sqlite", {"parts": table}, values={("parts", "lot"): stored})
        found = Result(columns=["lot"], types=["string"], rows=[["2001-10"]], truncated=False)
        return str(with_formats(found, "SELECT lot FROM parts", catalog)["formats"][0]["kind"])

    assert kind("2001-10", "2001-13", "2001-77") == "text"
    assert kind("2001-10", "2001-11", "unknown") == "month"
    assert kind() == "month"


def test_numbers_like_years_have_no_sum() -> None:
    sql = "SELECT rate, opened FROM sales ORDER BY rate"
    rows = Result(
        columns=["rate", "opened"], types=["integer", "integer"], rows=[[1, 1987], [2, 1987]], truncated=False
    )
    facts = facts_of(with_formats(rows, sql, CATALOG), sql, CATALOG, "en")
    assert [column.is_additive for column in facts.columns] == [True, False]


def test_numbers_like_years_have_no_separators_and_may_be_averaged() -> None:
    assert texts("integer", 1899, 2050, spec="ungrouped") == ["1899", "2050"]
    assert texts("integer", 1899, spec="ungrouped", language="zh", in_sentence=True) == ["1899"]
    assert texts("float", 1799.5, 2050.0, spec="ungrouped", language="de") == ["1799,5", "2050,0"]


def test_a_time_stands_behind_its_day_as_the_language_has_it() -> None:
    shown = [format_value("2025-06-30 13:30", ColumnFormat("datetime"), language) for language in ("de", "zh")]
    assert [text.replace("\xa0", " ") for text in shown] == ["30.06.2025, 13:30", "2025年6月30日 13:30"]


def test_columns_of_all_null_are_dashes() -> None:
    assert column_formats(result("null", None), {"c": "percent"}) == [ColumnFormat()]
    assert texts("null", None) == ["–"]


# Every output


@given(
    st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=4, unique=True),
    st.sampled_from(["", "currency EUR", "percent"]),
)
@settings(max_examples=25, deadline=None)
def test_a_value_has_the_same_text_in_every_output(values: list[float], spec: str) -> None:
    rows = Result(columns=["name", "n"], types=["string", "float"], truncated=False, rows=[])
    rows["rows"] = [[f"r{at}", value] for at, value in enumerate(values)]
    rows["formats"] = [asdict(each) for each in column_formats(rows, {"n": spec})]
    table = answer_table("result", rows)
    expected = [text for _, text in format_rows(table, "en", len(values))]

    assert [
        line.split(" | ")[1].removesuffix(" |") for line in markdown_table(table, "en", 9).splitlines()[2:]
    ] == expected
    assert re.findall(r'<td class="number">(.*?)</td>', table_of(table, "en")) == expected
    console = Console(width=200, record=True, file=StringIO())
    console.print(rows_view(table, "en", console))
    shown = console.export_text()
    assert all(text in shown for text in expected)
    labels = labels_of(rows, "n", "en")
    assert labels == expected or len(set(expected)) < len(expected)


def test_a_computed_number_may_have_more_digits_than_a_decimal_context() -> None:
    number = Decimal("12345678901234567890123456789.5")
    assert format_computed(number, ColumnFormat("number", 2), "en") == "12,345,678,901,234,567,890,123,456,790"
