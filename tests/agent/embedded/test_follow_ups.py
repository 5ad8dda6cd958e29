"""Follow-ups that change only the form, and wordings that lean on earlier questions."""

from typing import Any

import pytest

from datasphinx.agent.embedded.follow_ups import is_follow_up
from datasphinx.agent.embedded.format_changes import FormatChange, asks_for_format, format_change
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Result
from tests.cases import all_cases
from tests.databases import make_database, open_url

ROWS = [["Oslo", 1], ["Rome", 3], ["Bern", None], ["Lima", 9]]
ALL = "SELECT city, orders FROM cities"
ORDERED = f"{ALL} ORDER BY rowid"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    values = ", ".join(f"('{city}', {'NULL' if orders is None else orders})" for city, orders in ROWS)
    path = make_database(
        tmp_path_factory.mktemp("cities"),
        "CREATE TABLE cities (city TEXT, orders INTEGER)",
        f"INSERT INTO cities VALUES {values}",
    )
    return open_url(f"sqlite:///{path}")


def change(source: Source, question: str, sql: str = ALL) -> FormatChange | None:
    return format_change(question, sql, source.execute(sql), "sqlite")


def changed_rows(source: Source, question: str, sql: str) -> list[list[Any]]:
    """Return the rows of the changed statement, which has to differ."""
    changed = change(source, question, sql)
    assert changed and changed.sql != sql
    return source.execute(changed.sql)["rows"]


@all_cases(
    "question, form",
    [
        ("as a chart", "plot"),
        ("And now as a bar chart", "plot"),
        ("show it as a diagram", "plot"),
        ("plot it", "plot"),
        ("show me a chart of it", "plot"),
        ("a pie chart please", "plot"),
        ("as a table", "dataframe"),
        ("in words", "string"),
        ("в виде графика", "plot"),
        ("покажи это в виде таблицы", "dataframe"),
        ("als Balkendiagramm", "plot"),
        ("und jetzt als Tabelle", "dataframe"),
        ("zeige es als Diagramm", "plot"),
        ("画成图表", "plot"),
        ("用柱状图显示", "plot"),
        ("用表格显示", "dataframe"),
    ],
)
def test_another_form(source: Source, question: str, form: str) -> None:
    assert change(source, question) == FormatChange(form, ALL)  # type: ignore[arg-type]
    assert asks_for_format(question) and is_follow_up(question)


@all_cases(
    "question", ["only the top two", "top 2", "just the first 2 rows", "только первые 2", "топ-2", "只看前2个", "前2"]
)
def test_fewer_rows_are_the_first_of_an_ordered_result(source: Source, question: str) -> None:
    assert changed_rows(source, question, ORDERED) == ROWS[:2]


def test_fewer_rows_are_the_highest_where_there_is_no_order(source: Source) -> None:
    assert changed_rows(source, "only the top two", ALL) == [["Lima", 9], ["Rome", 3]]


@all_cases(
    "sql, cities",
    [
        (f"{ORDERED} LIMIT 3", ["Oslo", "Rome"]),
        (f"{ORDERED} LIMIT 3 OFFSET 1", ["Rome", "Bern"]),
        (f"{ORDERED};", ["Oslo", "Rome"]),
        (f"{ALL} LIMIT 3", ["Rome", "Oslo"]),
        (f"WITH c AS ({ALL}) SELECT * FROM c ORDER BY orders DESC", ["Lima", "Rome"]),
        (f"WITH c AS ({ALL}) SELECT * FROM c LIMIT 3", ["Rome", "Oslo"]),
        (f"{ALL} WHERE orders > 1 UNION {ALL} WHERE orders = 1 ORDER BY city", ["Lima", "Oslo"]),
        (f"{ALL} WHERE orders > 1 UNION ALL {ALL} WHERE orders = 1", ["Lima", "Rome"]),
        (f"{ALL} WHERE orders > 1 UNION ALL {ALL} WHERE orders = 1 LIMIT 2", ["Lima", "Rome"]),
        ("SELECT DISTINCT city, orders FROM cities", ["Lima", "Rome"]),
        ("SELECT city, SUM(orders) FROM cities GROUP BY city", ["Lima", "Rome"]),
        ("SELECT city, RANK() OVER (ORDER BY orders DESC) FROM cities ORDER BY 2", ["Lima", "Rome"]),
        ("SELECT city, ':x%' FROM cities WHERE city NOT LIKE '%:x%' -- all\nORDER BY city DESC", ["Rome", "Oslo"]),
    ],
)
def test_the_first_rows_of_any_statement(source: Source, sql: str, cities: list[str]) -> None:
    assert [row[0] for row in changed_rows(source, "only the top two", sql)] == cities


def test_which_figure_is_meant_has_to_be_clear(source: Source) -> None:
    assert change(source, "top 1", "SELECT city, orders, orders + 1 AS returns FROM cities") is None


@all_cases("sql", ["SELECT city FROM cities", f"{ALL} WHERE orders > 100"])
def test_rows_without_a_figure_or_too_few_have_no_top(source: Source, sql: str) -> None:
    assert change(source, "top 2", sql) is None


@pytest.mark.parametrize(
    ("question", "cities"),
    [
        ("sort by city", ["Bern", "Lima", "Oslo", "Rome"]),
        ("sorted by orders descending", ["Lima", "Rome", "Oslo", "Bern"]),
        ("order them by orders", ["Oslo", "Rome", "Lima", "Bern"]),
        ("按orders降序排列", ["Lima", "Rome", "Oslo", "Bern"]),
    ],
)
@all_cases("sql", [ALL, ORDERED, f"{ALL} LIMIT 4", f"SELECT * FROM ({ALL}) AS c", f"{ALL} UNION {ALL}"])
def test_another_order_with_what_has_no_value_last(source: Source, question: str, cities: list[str], sql: str) -> None:
    assert [row[0] for row in changed_rows(source, question, sql)] == cities


def test_the_rows_of_a_limit_stay_the_same_in_another_order(source: Source) -> None:
    assert changed_rows(source, "sort by city", f"{ORDERED} LIMIT 2") == ROWS[:2]
    assert changed_rows(source, "sort by city descending", f"{ORDERED} LIMIT 2 OFFSET 1") == [ROWS[1], ROWS[2]]


@all_cases("question", ["sort by price", "sorted by"])
def test_an_order_that_the_rows_cannot_have(source: Source, question: str) -> None:
    assert change(source, question) is None


@all_cases(
    "dialect, expected",
    [
        ("postgres", "SELECT a, b FROM t ORDER BY 2 DESC NULLS LAST LIMIT 1"),
        ("mysql", "SELECT a, b FROM t ORDER BY 2 DESC LIMIT 1"),
        ("duckdb", "SELECT a, b FROM t ORDER BY 2 DESC LIMIT 1"),
    ],
)
def test_each_dialect_places_null_last(dialect: str, expected: str) -> None:
    result = Result(columns=["a", "b"], types=["text", "integer"], rows=[["x", 1], ["y", 2]], truncated=False)
    changed = format_change("top 1", "SELECT a, b FROM t", result, dialect)

    assert changed and changed.sql == expected


@all_cases("question",
    ["and in 2024?", "only the top three customers of Oslo", "top products", "as a chart for 2024", "the first of May",
     "chart of the orders", "as a revenue chart", "top 0", "top 5"],
)  # fmt: skip
def test_a_question_that_asks_for_more(source: Source, question: str) -> None:
    assert change(source, question, ORDERED) is None and (question[:4] == "top " or not asks_for_format(question))


@all_cases("question",
    ["And in 2024?", "only those from Oslo", "show two decimals", "rounded to two decimals",
     "округли до двух знаков", "保留两位小数", "only the names",
     "what about last year?", "How many of them are paid?", "by month",
     "und im Jahr 2024?", "nur die aus Oslo", "nach Region sortiert", "Wie viele davon sind bezahlt?",
     "а в 2024 году?", "только за март", "что насчёт них?", "那2024年呢？", "只看北京的", "其中有多少已付款？"],
)  # fmt: skip
def test_leaning(question: str) -> None:
    assert is_follow_up(question)


@all_cases("question",
    ["How many orders are there?", "List the regions", "Which region had the highest revenue in 2024?",
     "Who sold most?", "List the customers and their orders", "For each region, give the number of its customers",
     "按城市统计每个月的销售总额是多少", "По каждому региону покажи число клиентов и сумму их заказов",
     "Сколько заказов было в марте?", "2024年每个城市的销售额是多少？",
     "Which products that were returned cost over 100?", "Was the revenue higher in 2024 than in 2023?",
     "Wie viele Kunden gibt es?", "Zeige die Bestellungen nach Region", "Was ist der Umsatz?",
     "Welche Kunden haben am meisten ausgegeben?"],
)  # fmt: skip
def test_standing_alone(question: str) -> None:
    assert not is_follow_up(question)
