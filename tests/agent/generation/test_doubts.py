"""Doubts about a statement without a model: what it does not share with its question."""

from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from time import thread_time

import pytest

from datasphinx.agent.charts.calendar_names import dated_periods
from datasphinx.agent.generation.doubts import Mentions, absent_names, doubts_about, doubts_of, doubts_on_rows
from datasphinx.agent.generation.question import Question
from datasphinx.agent.messages import Language
from datasphinx.agent.retrieval.linked_values import LinkedValue
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.support.databases import make_database, open_url, url

TODAY = date(2026, 5, 4)
PRODUCTS = Table(
    "products",
    (Column("product_id", "INTEGER"), Column("product_name", "TEXT"), Column("price", "REAL")),
    primary_key=("product_id",),
)
SALES = Table(
    "sales",
    (
        Column("sale_id", "INTEGER"),
        Column("product_id", "INTEGER"),
        Column("sold_on", "DATE"),
        Column("amount", "REAL"),
        Column("city", "TEXT", comment="place of delivery"),
        Column("weight", "INTEGER", comment="kg, above 31 is large"),
    ),
    primary_key=("sale_id",),
    foreign_keys=(ForeignKey(("product_id",), "products", ("product_id",)),),
)
PEOPLE = Table("people", (Column("name", "TEXT"), Column("age", "INTEGER")))
ENGINES = ("sqlite", "postgres", "mysql", "duckdb", "clickhouse", "snowflake", "bigquery", "tsql", "trino", "spark")


def doubts(question: str, sql: str, dialect: str = "sqlite", **said: object) -> str:
    catalog = Catalog(dialect, {table.key: table for table in (PRODUCTS, SALES, PEOPLE)})
    return "; ".join(doubts_about(sql, replace(Mentions(question), **said), catalog, TODAY))


def opened(folder: Path, *setup: str) -> Source:
    """A source on a new database, all of whose values were read."""
    source = open_url(url(make_database(folder, *setup)), Limits(5, 100))
    source.complete_values()
    return source


@pytest.mark.parametrize("dialect", ENGINES)
def test_another_year_is_a_doubt_on_every_dialect(dialect: str) -> None:
    last_day = "SELECT SUM(amount) FROM sales WHERE sold_on BETWEEN '2023-01-01' AND '2023-12-31'"
    whole = last_day.replace("2023", "2024")
    up_to = "SELECT SUM(amount) FROM sales WHERE sold_on >= '2024-01-01' AND sold_on < '2025-01-01'"

    found = doubts("Total sales in 2024?", last_day, dialect)
    assert "does not use “2024”" in found and "uses “2023”, which the question does not mention" in found
    assert doubts("Total sales in 2024?", whole, dialect) == ""
    assert doubts("Total sales in 2024?", up_to, dialect) == ""
    assert doubts("2024年的总销售额是多少？", whole, dialect) == ""


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize(
    ("question", "where", "part"),
    [
        ("Total sales in 2024?", "sold_on >= '2023-01-01' AND sold_on < '2024-01-01'", "2024"),
        ("Total sales in 2024?", "sold_on < '2024-01-01' AND '2023-01-01' <= sold_on", "2023"),
        ("Total sales in 2024?", "sold_on >= '2025-01-01' AND sold_on < '2026-01-01'", "2024"),
        ("Total sales in 2024?", "sold_on > '2024-12-31' AND sold_on <= '2025-12-31'", "2024"),
        ("Total sales in 2024?", "YEAR(sold_on) >= 2025 AND YEAR(sold_on) < 2026", "2024"),
        ("Total sales on 2024-03-15?", "sold_on >= '2024-03-14' AND sold_on < '2024-03-15'", "15"),
        ("Total sales in 2024?", "sold_on BETWEEN '2023-01-01' AND '2024-01-01'", "2023"),
        ("Total sales in 2024?", "sold_on >= '2023-01-01' AND sold_on <= '2024-01-01'", "2023"),
        ("Total sales in 2024?", "weight BETWEEN 202301 AND 202312", "2024"),
        ("Total sales on 2024-03-15?", "weight = 20240314", "15"),
    ],
)
def test_the_excluded_end_of_a_range_does_not_stand_for_the_period(
    question: str, where: str, part: str, dialect: str
) -> None:
    assert f"“{part}”" in doubts(question, f"SELECT SUM(amount) FROM sales WHERE {where}", dialect)


@pytest.mark.parametrize(
    ("question", "where"),
    [
        ("How many sales before 2024?", "sold_on < '2024-01-01'"),
        ("How many sales until 2023?", "sold_on < '2024-01-01'"),
        ("How many sales after 2024-03-05?", "sold_on > '2024-03-05'"),
        ("How many sales in 2024?", "sold_on > '2023-12-31' AND sold_on < '2025-01-01'"),
        ("How many sales from 2022 to 2024?", "sold_on >= '2022-01-01' AND sold_on < '2025-01-01'"),
        ("How many sales in 2022, 2023 and 2024?", "sold_on >= '2022-01-01' AND sold_on < '2025-01-01'"),
        ("How many sales on 2024-03-15?", "sold_on >= '2024-03-15' AND sold_on < '2024-03-16'"),
        (
            "How many sales in 2024, and the year before?",
            "sold_on >= '2024-01-01' AND sold_on < '2025-01-01' OR sold_on >= '2023-01-01' AND sold_on < '2024-01-01'",
        ),
        ("How many sales after 2020 and before 2024?", "sold_on > '2020-12-31' AND sold_on < '2024-01-01'"),
        ("How many sales between 10 and 50?", "amount >= 10 AND amount < 50"),
        ("How many sales in the winter of 2023?", "sold_on >= '2023-12-01' AND sold_on < '2024-03-01'"),
        ("How many sales in the winter of 2024?", "sold_on BETWEEN '2023-12-01' AND '2024-02-29'"),
        ("How many sales in fiscal 2024?", "sold_on BETWEEN '2023-07-01' AND '2024-06-30'"),
        ("How many sales from 2023-01-01 to 2024-01-01?", "sold_on BETWEEN '2023-01-01' AND '2024-01-01'"),
        ("How many sales in 2024?", "weight BETWEEN 202401 AND 202412"),
        ("How many sales in 2024?", "weight >= 20240101 AND weight < 20250101"),
        ("How many sales in March 2024?", "weight = 202403"),
        ("How many sales on 2024-03-05?", "weight = 20240305"),
        ("How many sales above 202401?", "weight > 202401"),
        ("How many sales on 2024-02-29?", "sold_on >= '2024-02-29' AND sold_on < '2024-03-01'"),
        ("How many sales from 2024 to 9999?", "sold_on BETWEEN '2024-01-01' AND '9999-12-31'"),
    ],
)
def test_a_range_stands_for_the_days_in_it(question: str, where: str) -> None:
    assert doubts(question, f"SELECT COUNT(*) FROM sales WHERE {where}") == ""


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_column_that_is_named_exactly_is_missed_on_every_dialect(dialect: str) -> None:
    by_id = "SELECT product_id FROM sales GROUP BY product_id ORDER BY SUM(amount) DESC"
    by_name = (
        "SELECT p.product_name FROM sales AS s JOIN products AS p ON p.product_id = s.product_id "
        "GROUP BY p.product_name ORDER BY SUM(s.amount) DESC"
    )

    assert doubts("Which product name has the highest sales?", by_id, dialect) == (
        "the query does not use “product_name” of the question, which is products.product_name"
    )
    assert doubts("Which product name has the highest sales?", by_name, dialect) == ""
    assert "“age”" in doubts("List the name and age of all people", "SELECT name FROM people", dialect)
    assert doubts("List the name and age of all people", "SELECT name, age FROM people", dialect) == ""


@pytest.mark.parametrize(
    ("question", "sql", "language", "is_doubted"),
    [
        ("Name and age of all people older than 35", "SELECT name FROM people WHERE age > 35", "en", True),
        ("Age and name of all people, oldest first", "SELECT name FROM people ORDER BY age DESC", "en", True),
        ("Name und Age aller Leute über 35", "SELECT name FROM people WHERE age > 35", "de", True),
        ("Name and age of all people older than 35", "SELECT name, age FROM people WHERE age > 35", "en", False),
        ("Name of all people of age 35", "SELECT name FROM people WHERE age = 35", "en", False),
        ("Names of all people by age", "SELECT name FROM people ORDER BY age", "en", False),
        ("The people by name and age", "SELECT name FROM people ORDER BY name, age", "en", False),
        ("People with name and age", "SELECT COUNT(*) FROM people WHERE name <> '' AND age > 0", "en", False),
        ("Name and age groups", "SELECT name, CASE WHEN age > 1 THEN 1 END FROM people ORDER BY age", "en", False),
    ],
)
def test_a_column_in_a_list_with_a_returned_one_is_missed_if_it_is_only_compared(
    question: str, sql: str, language: Language, is_doubted: bool
) -> None:
    assert ("does not use “age”" in doubts(question, sql, language=language)) is is_doubted


@pytest.mark.parametrize(
    ("question", "where"),
    [
        ("How many sales above 1,500?", "amount > 1500"),
        ("How many sales above 1.5 million?", "amount > 1500000"),
        ("How many sales of at least 20 %?", "amount >= 0.2"),
        ("How many sales of 21 or more?", "amount > 20"),
        ("How many sales in the last 3 months?", "sold_on >= '2026-02-04'"),
        ("How many sales this year?", "sold_on >= '2026-01-01'"),
        ("How many sales last year?", "sold_on BETWEEN '2025-01-01' AND '2025-12-31'"),
        ("How many sales in the first half of March 2024?", "sold_on BETWEEN '2024-03-01' AND '2024-03-15'"),
        (
            "How many sales in March 2024 and on May 5, 2024?",
            "strftime('%Y-%m', sold_on) = '2024-03' OR sold_on = '2024-05-05'",
        ),
        ("How many sales on 5.3.2024?", "sold_on = '2024-03-05'"),
        ("How many sales in Q1?", "sold_on < '2026-04-01'"),
        ("How many sales of more than two?", "amount > 2"),
        ("How many sales above one hundred dollars?", "amount > 100"),
        ("How many sales in the last 3 years?", "strftime('%Y', sold_on) >= '2023'"),
        ("How many sales are older than half a year?", "sold_on < date('now', '-180 days')"),
        ("How many sales after 3 pm?", "strftime('%H', sold_on) >= '15'"),
        ("How many sales after 3 pm?", "EXTRACT(HOUR FROM sold_on) >= 15"),
        ("How many sales in the 90s?", "sold_on >= '1990-01-01' AND sold_on < '2000-01-01'"),
        ("How many sales in 2021, 2022 and 2023?", "sold_on BETWEEN '2021-01-01' AND '2023-12-31'"),
        (
            "How many sales in March 2024 and the March before?",
            "sold_on BETWEEN '2024-03-01' AND '2024-03-31' OR sold_on BETWEEN '2023-03-01' AND '2023-03-31'",
        ),
        ("How many large sales?", "weight > 31"),
        ("How many sales with an amount?", "amount * 100 > 0"),
        ("How many sales above 100 after a rise of 10 %?", "amount * 1.1 > 100"),
        ("How many sales above 100 after a discount of 15 percent?", "amount * 0.85 > 100"),
        ("How many sales after today?", "weight > CAST(strftime('%Y%m%d', 'now', '+0 days') AS INTEGER)"),
    ],
)
def test_figures_in_another_form_are_no_doubt(question: str, where: str) -> None:
    assert doubts(question, f"SELECT COUNT(*) FROM sales WHERE {where}") == ""


@pytest.mark.parametrize(
    ("question", "where", "part"),
    [
        ("How many sales above 50?", "amount > 500", "50"),
        ("How many sales above 50?", "amount > 60", "50"),
        ("How many sales?", "amount > 61", "61"),
        ("How many sales after 3 pm?", "strftime('%H', sold_on) >= '16'", "3"),
        ("How many sales in the 80s?", "sold_on >= '1990-01-01' AND sold_on < '2000-01-01'", "1990"),
        ("How many large sales?", "weight > 61", "61"),
        ("How many sales in March 2024?", "sold_on BETWEEN '2023-03-01' AND '2024-03-31'", "2023"),
        ("How many sales?", "sold_on >= '2019-01-01'", "2019"),
        ("Sales on 2024-03-05", "sold_on = '2024-03-08'", "05"),
    ],
)
def test_another_figure_is_a_doubt(question: str, where: str, part: str) -> None:
    assert f"“{part}”" in doubts(question, f"SELECT COUNT(*) FROM sales WHERE {where}")


@pytest.mark.parametrize(("first", "is_doubted"), [(2023, False), (2022, True)])
def test_the_year_before_is_computed_beside_the_year_of_the_question(first: int, is_doubted: bool) -> None:
    year = "SUM(CASE WHEN strftime('%Y', sold_on) = '{}' THEN amount END)"
    sql = f"SELECT {year.format(2024)} / {year.format(first)} - 1 FROM sales"

    assert bool(doubts("By how much did sales grow in 2024, year over year?", sql)) is is_doubted


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(amount) AS total_2024 FROM sales",
        "WITH sales_2024 AS (SELECT * FROM sales) SELECT SUM(amount) FROM sales_2024",
        "SELECT SUM(of_2024.amount) FROM sales AS of_2024",
        "SELECT total_2024 FROM (SELECT SUM(amount) AS total_2024 FROM sales) AS t ORDER BY total_2024",
    ],
)
def test_a_name_that_the_statement_gives_uses_no_number(sql: str, dialect: str) -> None:
    assert "does not use “2024”" in doubts("Total sales in 2024?", sql, dialect)


def test_the_name_of_a_stored_table_or_column_uses_its_number() -> None:
    sales = replace(SALES, name="sales_2024", columns=(*SALES.columns, Column("amount_2023", "REAL")))
    catalog = Catalog("sqlite", {sales.key: sales})
    for sql in ("SELECT SUM(amount) AS sales_2024 FROM sales_2024", "SELECT SUM(amount_2023) FROM sales_2024"):
        said = Mentions(f"Total sales in {2023 if '2023' in sql else 2024}?")
        assert doubts_about(sql, said, catalog, TODAY) == ()


def test_a_name_that_the_statement_gives_uses_no_stored_value() -> None:
    city = LinkedValue("sales", "city", "Oslo", "Oslo")
    found = doubts("How many sales in Oslo?", "SELECT COUNT(*) AS sales_in_oslo FROM sales", values=[city])

    assert "does not use “Oslo”" in found


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Wie viele Verkäufe gab es im März 2026?", "März 2026"),
        ("How many sales in March 2026?", "March 2026"),
        ("Сколько продаж за март 2026 года?", "март 2026"),
        ("2026年3月有多少销售?", "2026年3月"),
        ("Sales in Q2 2026", "Q2 2026"),
        ("Verkäufe im 2. Quartal 2026", "2. Quartal 2026"),
        ("2026年第二季度的销售额", "2026年第二季"),
    ],
)
def test_another_month_or_quarter_of_the_year_is_a_doubt(question: str, words: str) -> None:
    def found(first: str, end: str) -> str:
        return doubts(question, f"SELECT SUM(amount) FROM sales WHERE sold_on >= '{first}' AND sold_on < '{end}'")

    quarter = "2" in words.replace("2026", "") or "二" in words
    right = ("2026-04-01", "2026-07-01") if quarter else ("2026-03-01", "2026-04-01")
    assert f"“{words}”" in found("2026-02-01", "2026-03-01")
    assert f"“{words}”" not in found(*right) + found("2026-01-01", "2027-01-01")


@pytest.mark.parametrize(
    "where",
    [
        "sold_on >= '2026-04-01'",
        "sold_on < '2026-03-01'",
        "sold_on BETWEEN '2026-01-01' AND '2026-05-31'",
        "strftime('%Y-%m', sold_on) = '2026-03'",
        "sold_on >= '2026-03-01' AND sold_on < date('2026-03-01', '+1 month')",
        "sold_on = '2026-03-09'",
    ],
)
def test_a_month_is_used_by_what_begins_ends_or_lies_with_it(where: str) -> None:
    assert doubts("How many sales after or before or in March 2026?", f"SELECT COUNT(*) FROM sales WHERE {where}") == ""


def test_the_number_of_all_rows_or_values_is_no_doubt() -> None:
    catalog = Catalog("sqlite", {"stores": STORES})
    sql = "SELECT kind, COUNT(*) FROM stores GROUP BY kind"

    for question, is_doubted in (("Our 40 stores?", False), ("Compare our 3 kinds", False), ("Our 50 stores?", True)):
        assert bool(doubts_about(sql, Mentions(question), catalog, TODAY)) is is_doubted


def test_limits_and_calculations_are_no_doubt() -> None:
    assert doubts("The best sale?", "SELECT ROUND(amount * 1.19, 2) FROM sales ORDER BY 1 DESC LIMIT 100") == ""


def test_stored_values_that_are_left_out_or_not_mentioned_are_doubts() -> None:
    berlin = [LinkedValue("sales", "city", "Berlin", "Berlin")]
    sql = "SELECT COUNT(*) FROM sales WHERE city = 'Hamburg'"

    found = doubts("How many sales in Berlin?", sql, values=berlin)
    assert "does not use “Berlin”" in found and "uses “Hamburg”" in found
    assert doubts("How many sales in Berlin?", sql.replace("Hamburg", "Berlin"), values=berlin) == ""
    ordered = "SELECT COALESCE(city, 'unknown') FROM sales GROUP BY 1 ORDER BY COALESCE(city, 'unknown') = 'unknown'"
    assert doubts("How many sales are there by city?", ordered) == ""
    assert doubts("How many sales up north?", sql, others=["the north is Hamburg"]) == ""


def test_a_code_is_a_use_of_the_value_that_it_stands_for() -> None:
    online = [LinkedValue("products", "product_name", "Online", "online"), LinkedValue("sales", "city", "W", "online")]
    share = "SELECT AVG(CASE WHEN city = 'W' THEN 1.0 ELSE 0 END) FROM sales"

    assert doubts("What share of sales was online?", share, values=online) == ""
    assert "“online”" in doubts("What share of sales was online?", share.replace("'W'", "'S'"), values=online)


def test_a_value_of_a_table_that_no_key_connects_is_not_meant() -> None:
    question, counted = "How many sales in Berlin?", "SELECT COUNT(*) FROM sales"
    assert "“Berlin”" in doubts(question, counted, values=[LinkedValue("sales", "city", "Berlin", "Berlin")])
    assert doubts(question, counted, values=[LinkedValue("people", "name", "Berlin", "Berlin")]) == ""


def test_a_value_with_which_the_result_is_the_same_is_not_missed(tmp_path: Path) -> None:
    setup = [
        "CREATE TABLE hotels (hotel_id INTEGER PRIMARY KEY, country TEXT, city TEXT)",
        "CREATE TABLE rooms (room_id INTEGER PRIMARY KEY, hotel_id INTEGER REFERENCES hotels, kind TEXT)",
        "INSERT INTO hotels VALUES (1, 'Iceland', 'Akureyri'), (2, 'Iceland', 'Husavik'), (3, 'Norway', 'Bergen')",
        "INSERT INTO rooms VALUES (1, 1, 'single'), (2, 1, 'double'), (3, 3, 'single')",
    ]
    with closing(opened(tmp_path, *setup)) as source:

        def found(question: str, sql: str) -> str:
            said = Mentions(question, values=source.linked_values(question, source.catalog.selection()))
            return "; ".join(doubts_on_rows(sql, said, source, TODAY))

        in_city = "SELECT COUNT(*) FROM hotels WHERE city IN ('Akureyri', 'Husavik')"
        assert found("Hotels in Akureyri and Husavik, Iceland?", in_city) == ""
        assert "“Iceland”" in found("How many hotels in Iceland?", "SELECT COUNT(*) FROM hotels")
        # The condition on the other value, or the lack of rows, may be the mistake.
        assert "“Iceland”" in found("Hotels in Iceland?", "SELECT COUNT(*) FROM hotels WHERE country <> 'Norway'")
        assert "“Iceland”" in found("Hotels in Iceland?", "SELECT city FROM hotels WHERE city = 'Oslo'")
        without = "SELECT city FROM hotels h WHERE NOT EXISTS (SELECT 1 FROM rooms r WHERE r.hotel_id = h.hotel_id)"
        assert found("Which hotels are without a single room?", without) == ""
        assert "“double”" in found("Which hotels are without a double room?", without)


def test_a_result_that_is_the_same_as_far_as_it_was_read_may_differ(tmp_path: Path) -> None:
    rows = ", ".join(f"({at}, '{'north' if at <= 100 else 'south'}')" for at in range(1, 201))
    setup = ["CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, region TEXT)", f"INSERT INTO visits VALUES {rows}"]
    with closing(opened(tmp_path, *setup)) as source:
        said = Mentions("Visits up north", values=[LinkedValue("visits", "region", "north", "north")])
        assert doubts_on_rows("SELECT visit_id FROM visits ORDER BY visit_id", said, source, TODAY)
        assert not doubts_on_rows("SELECT visit_id FROM visits ORDER BY visit_id LIMIT 9", said, source, TODAY)


def test_a_value_of_several_columns_is_missed_if_it_changes_the_result_in_one(tmp_path: Path) -> None:
    setup = [
        "CREATE TABLE ships (ship_id INTEGER PRIMARY KEY, origin TEXT, flag TEXT)",
        "INSERT INTO ships VALUES (1, 'Iceland', 'Iceland'), (2, 'Norway', 'Iceland')",
    ]
    with closing(opened(tmp_path, *setup)) as source:
        links = [LinkedValue("ships", column, "Iceland", "Iceland") for column in ("origin", "flag")]
        for values in (links, links[::-1]):
            assert doubts_on_rows("SELECT COUNT(*) FROM ships", Mentions("Iceland", values=values), source, TODAY)


def test_a_column_with_the_name_of_a_text_that_is_compared_is_not_meant() -> None:
    question, sql = "How many sales did prices get?", "SELECT COUNT(*) FROM sales WHERE city = '{}'"
    assert doubts(question, sql.format("Price")) == ""
    assert "“price”" in doubts(question, sql.format("Berlin"))


def test_a_name_that_no_row_has_is_no_doubt_if_none_is_like_it() -> None:
    with closing(Services(load_settings())) as services:
        source = services.source(None)

        def absent(place: str, column: str = "country") -> int:
            sql = f"SELECT COUNT(*) FROM customers WHERE {column} = '{place}'"
            return len(absent_names(sql, Question("Customers in Iceland, USA or Germny? Any Jon Smth?", {}), source))

        # Others have another name of what is said, or a similar one; or nobody said it; or persons have it.
        assert [absent(place) for place in ("Iceland", "USA", "Germny", "Norway", "Spain")] == [1, 0, 0, 0, 0]
        assert absent("Jon Smth", "name") == 0
        # A few kinds may be called otherwise.
        assert absent("Iceland", "segment") == 0


def test_a_name_that_another_column_has_is_not_absent(tmp_path: Path) -> None:
    rows = ", ".join(f"({at}, 'Country {at}', 'Town {at}')" for at in range(15))
    setup = [
        "CREATE TABLE hotels (id INTEGER PRIMARY KEY, country TEXT, city TEXT)",
        f"INSERT INTO hotels VALUES {rows}, (99, 'Norway', 'Oslo')",
    ]
    with closing(opened(tmp_path, *setup)) as source:
        for name, absent in (("Oslo", 0), ("Iceland", 1)):
            sql, question = f"SELECT COUNT(*) FROM hotels WHERE country = '{name}'", Question(f"Hotels in {name}?", {})
            assert len(absent_names(sql, question, source)) == absent


def test_a_short_code_is_meant_only_as_it_is_written() -> None:
    counted = "SELECT COUNT(*) FROM sales"
    assert doubts("Wo sind die Verkäufe?", counted, values=[LinkedValue("sales", "city", "WO", "Wo")]) == ""
    assert "“WO”" in doubts("Sales in WO?", counted, values=[LinkedValue("sales", "city", "WO", "WO")])


def test_a_short_name_among_names_is_meant_in_any_spelling() -> None:
    named = replace(SALES, columns=(*SALES.columns, Column("country", "TEXT", examples=("Germany", "USA"))))
    catalog = Catalog("sqlite", {"sales": named})
    said = Mentions("Sales in the usa?", values=[LinkedValue("sales", "country", "USA", "usa")])
    assert "“usa”" in "; ".join(doubts_about("SELECT COUNT(*) FROM sales", said, catalog, TODAY))


def test_a_word_of_a_stored_value_names_no_column() -> None:
    named = [LinkedValue("products", "product_name", "Price Hammer", "Price Hammer")]
    sql = "SELECT COUNT(*) FROM products WHERE product_name = 'Price Hammer'"
    assert doubts("How many of the Price Hammer?", sql, values=named) == ""
    assert "“price”" in doubts("What is the price of the Price Hammer?", sql, values=named)
    assert "“price”" in doubts("How many of the Price Hammer?", "SELECT COUNT(*) FROM products", values=named)


def test_the_number_in_a_stored_value_is_no_figure() -> None:
    sql, link = (
        "SELECT COUNT(*) FROM sales WHERE city = 'E11'",
        LinkedValue("sales", "city", "Type 2 site", "Typ-2-Ort"),
    )
    assert "“2”" in doubts("Verkäufe am Typ-2-Ort?", sql)
    assert "“2”" not in doubts("Verkäufe am Typ-2-Ort?", sql, values=[link])


def test_a_stored_value_that_is_a_part_of_a_number_leaves_the_number() -> None:
    sql = "SELECT COUNT(*) FROM sales WHERE city = '20' AND strftime('%Y', sold_on) = '2023'"
    found = doubts("Sales in city “20” in 2024?", sql, values=[LinkedValue("sales", "city", "20", "20")])
    assert "“2024”" in found and "“24”" not in found


def test_the_date_that_each_row_has_says_that_there_is_one() -> None:
    def found(null_share: float) -> str:
        opened = Column("opened", "DATE", null_share=null_share)
        tickets = Table("tickets", (Column("client_id", "INTEGER"), opened))
        catalog = Catalog("sqlite", {"clients": Table("clients", (Column("id", "INTEGER"),)), "tickets": tickets})
        sql = "SELECT id FROM clients WHERE NOT EXISTS (SELECT 1 FROM tickets WHERE client_id = id)"
        return "; ".join(doubts_about(sql, Mentions("Which clients never opened a ticket?"), catalog, TODAY))

    assert found(0) == ""
    assert "tickets.opened" in found(0.5)


PETS = Table(
    "pets",
    (
        Column("pet_id", "INTEGER"),
        Column("died", "DATE", null_share=0.9),
        Column("opened", "DATE", null_share=0.5),
        Column("list_price", "REAL"),
        Column("category", "TEXT"),
    ),
    primary_key=("pet_id",),
)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Wie viele Tiere hatten die Tierärzte?", ""),
        ("Which pets have open cases?", ""),
        ("Which pets are opening a case?", ""),
        ("Which pets died?", "died"),
        ("Which cases were Opened?", "opened"),
        ("How are the list-prices?", "list_price"),
        ("Pets by categories", "category"),
        ("How were pets categorised?", ""),
    ],
)
def test_a_column_is_named_by_its_words_and_not_by_others_of_their_stem(question: str, named: str) -> None:
    catalog = Catalog("sqlite", {"pets": PETS})
    found = doubts_about("SELECT COUNT(*) FROM pets", Mentions(question), catalog, TODAY)
    assert [doubt.facts["part"] for doubt in found] == ([named] if named else [])


def test_one_of_few_kinds_is_a_doubt_only_if_another_one_was_said() -> None:
    catalog = Catalog("sqlite", {"sales": SALES}, values={("sales", "city"): ("coastal", "inland")})
    sql = "SELECT COUNT(*) FROM sales WHERE city = 'coastal'"

    assert doubts_about(sql, Mentions("How many sales by the sea?"), catalog, TODAY) == ()
    assert len(doubts_about(sql, Mentions("How many inland sales?"), catalog, TODAY)) == 1


def test_comments_and_business_names_are_names_of_columns() -> None:
    sql = "SELECT COUNT(*) FROM sales"
    known = [("turnover", {"sales.amount"})]

    assert "place of delivery" in doubts("How many sales by place of delivery?", sql)
    assert "turnover" in doubts("What is the turnover?", sql, columns=known)
    assert doubts("What is the turnover?", "SELECT SUM(amount) FROM sales", columns=known) == ""


STORES = Table(
    "stores",
    (Column("store_id", "INTEGER"), Column("sign", "TEXT", distinct=40), Column("kind", "TEXT", distinct=3)),
    primary_key=("store_id",),
    rows=40,
)
VISITS = Table(
    "visits",
    (Column("store_id", "INTEGER"), Column("guests", "INTEGER")),
    foreign_keys=(ForeignKey(("store_id",), "stores", ("store_id",)),),
)
EXPLAINED = replace(VISITS, columns=(Column("store_id", "TEXT", comment="N = north, S = south"), *VISITS.columns[1:]))


def test_a_code_that_the_answer_explains_may_stand_for_its_name() -> None:
    by_store = "SELECT store_id, SUM(guests) FROM visits GROUP BY 1"
    for visits, is_doubted in ((VISITS, True), (EXPLAINED, False)):
        catalog = Catalog("sqlite", {table.key: table for table in (STORES, visits)})
        assert bool(doubts_about(by_store, Mentions("Guests by store"), catalog, TODAY)) == is_doubted


@pytest.mark.parametrize(
    ("question", "sql", "is_doubted"),
    [
        ("Which store has the most guests?", "SELECT store_id FROM visits GROUP BY 1 ORDER BY SUM(guests) DESC", True),
        ("Which stores are parks?", "SELECT store_id FROM stores WHERE kind = 'park'", True),
        ("Which stores are parks?", "SELECT store_id, sign FROM stores WHERE kind = 'park'", False),
        ("Which store ids are parks?", "SELECT store_id FROM stores WHERE kind = 'park'", False),
        ("How many stores are parks?", "SELECT COUNT(store_id) FROM stores WHERE kind = 'park'", False),
        ("Where are most guests?", "SELECT store_id FROM visits GROUP BY 1 ORDER BY SUM(guests) DESC", False),
    ],
)
def test_a_key_in_place_of_the_name_of_what_the_question_names(question: str, sql: str, is_doubted: bool) -> None:
    catalog = Catalog("sqlite", {table.key: table for table in (STORES, VISITS)})
    found = [doubt for doubt in doubts_about(sql, Mentions(question), catalog, TODAY) if doubt.code == "key_returned"]
    told = "the query returns store_id of stores, and the question names stores, which stores.sign tells apart"
    assert found == ([told] if is_doubted else [])


@pytest.mark.parametrize("sql", ["SELECT 1; SELECT 2", "no SQL"])
def test_a_statement_that_cannot_be_read_causes_no_doubt(sql: str) -> None:
    assert doubts("How many sales in 2024?", sql) == ""


def test_what_was_said_in_one_conversation_is_not_said_in_another() -> None:
    with closing(Services(load_settings())) as services:
        source = services.source(None)
        sql = "SELECT COUNT(*) FROM orders WHERE ordered_on >= '2024-01-01' AND ordered_on < '2025-01-01'"
        question = Question("And how many orders?", {"orders": ["ordered_on"]})
        later = replace(question, turns=[{"question": "Sales in 2024?", "sql": sql}])

        assert doubts_of(later, (), source, sql, TODAY) == ()
        assert len(doubts_of(question, (), source, sql, TODAY)) == 1


def test_the_periods_of_a_long_question_are_found_in_time() -> None:
    started = thread_time()
    assert not dated_periods("x2024y" * 1000)
    assert list(dated_periods("x" * 6000 + " March 2024 " + "y" * 6000).values()) == ["March 2024"]
    assert thread_time() - started < 5
