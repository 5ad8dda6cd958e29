"""What a question says for certain of the form of its result, and what it leaves open."""

from dataclasses import replace

import pytest

from datasphinx.agent.embedded.shape import Shape, shape_of
from datasphinx.agent.queryspec.spec import Bucket
from datasphinx.agent.schema.catalog import Table
from tests.agent.embedded.schemas import STAFF, table

NAMES = table(Name="name", Team="name", Badge_number="number")
RAIN = table(城市="name", 日期="date", 降水量="number", 天气="name")
ORDERS = table(Клиент="name", Город="name", Дата="date", Сумма="number")


def month(column: str) -> Bucket:
    return Bucket(col=column, by="month")


@pytest.mark.parametrize(
    "columns, question, expected",
    [
        (STAFF, "What is the average salary in each team?", Shape(("Team",), ("avg",), ("Salary",))),
        (STAFF, "total salary per team and city", Shape(("Team", "City"), ("sum",), ("Salary",))),
        (STAFF, "Which city has the lowest average salary?", Shape(("City",), ("avg",), ("Salary",), False, 1)),
        (STAFF, "Top 3 cities by total salary", Shape(("City",), ("sum",), ("Salary",), True, 3)),
        (STAFF, "How many rows are there for each month?", Shape((month("Hired on"),), ("count",), ("*",))),
        (STAFF, "What is the number of rows in staff by team?", Shape(("Team",), ("count",), ("*",))),
        (STAFF, "What is the sum of salary in staff by city where team = A?", Shape(("City",), ("sum",), ("Salary",))),
        (NAMES, "How many people are in each team?", Shape(("Team",), ("count",), ("*",))),
        (STAFF, "How many different teams are there?", Shape((), ("nunique",), ("Team",), is_ungrouped=True)),
        (STAFF, "What is the highest salary?", Shape((), ("max",), ("Salary",), is_ungrouped=True)),
        (RAIN, "哪个城市的总降水量最多？", Shape(("城市",), ("sum",), ("降水量",), True, 1)),
        (RAIN, "每个月的降水量总和是多少？", Shape((month("日期"),), ("sum",), ("降水量",))),
        (RAIN, "降水量最少的前两个城市", Shape(("城市",), ("sum", "min"), ("降水量",), False, 2)),
        (RAIN, "各种天气分别有多少条记录？", Shape(("天气",), ("count",), ("*",))),
        (ORDERS, "Какая общая сумма по каждому клиенту?", Shape(("Клиент",), ("sum",), ("Сумма",))),
        (RAIN, "每个城市的记录数是多少？", Shape(("城市",), ("count",), ("*",))),
        (
            ORDERS,
            "Покажи количество строк по полю «Клиент»",
            Shape(("Клиент",), ("count",), ("*",)),
        ),
        (
            ORDERS,
            "Покажи суммарное значение «Сумма» по полю «Город»",
            Shape(("Город",), ("sum",), ("Сумма",)),
        ),
        (ORDERS, "Сколько строк по месяцам?", Shape((month("Дата"),), ("count",), ("*",))),
    ],
)
def test_what_is_said_is_read(columns: Table, question: str, expected: Shape) -> None:
    assert replace(shape_of(question, columns), takes_all=False) == expected


@pytest.mark.parametrize(
    "question",
    [
        "List the names and the teams",
        "What is the name of the person with the highest salary?",
        "What are the minimum and maximum salary?",
        "Show the total and average salary by team",
        "Show the names sorted by city",
        "Which city is Ann in?",
        "Find the city of each team",
        "Show all teams and the number of people in each team",
        "Which team earned the most?",
        "Which two teams have the most people?",
        "В каких командах меньше всего людей?",
    ],
)
def test_what_has_several_readings_is_left_open(question: str) -> None:
    assert replace(shape_of(question, STAFF), takes_all=False) == Shape()


def test_a_superlative_of_a_number_may_be_of_a_total_or_of_a_row() -> None:
    assert shape_of("Which team has the most salary?", STAFF).aggregations == ("sum", "max")
    assert shape_of("Which team has the least salary?", STAFF).aggregations == ("sum", "min")
    assert shape_of("Which team has the highest salary?", STAFF).aggregations == ("sum", "avg", "min", "max")


def test_how_many_may_be_a_count_or_a_quantity() -> None:
    assert shape_of("How many people are there?", STAFF).aggregations == ("count", "sum")
    assert shape_of("How many teams are there?", STAFF).aggregations == ("count", "nunique", "sum")
    assert shape_of("How many people are there?", NAMES).aggregations == ("count",)


def test_numbers_that_are_compared_or_name_things_are_no_figures() -> None:
    assert shape_of("How many people have a salary over 3000?", STAFF).figures == ()
    assert shape_of("badge number by team", STAFF) == Shape(takes_all=True)


def test_a_period_needs_the_one_column_of_dates() -> None:
    two = table(Ordered="date", Sent="date", Amount="number")
    assert shape_of("total amount by month", two).group_by == ()


@pytest.mark.parametrize(
    "question, bounds",
    [
        ("How many people earn more than 3000?", (">",)),
        ("teams with at least 5 people", (">=",)),
        ("Сколько заказов не более 5?", ("<=",)),
        ("Сколько заказов больше 5?", (">",)),
        ("Где больше всего заказов?", ()),
        ("降水量不超过5的记录", ("<=",)),
        ("降水量超过5的记录", (">",)),
        ("How many people are there?", ()),
    ],
)
def test_a_comparison_tells_its_operator(question: str, bounds: tuple[str, ...]) -> None:
    assert shape_of(question, STAFF).bounds == bounds


@pytest.mark.parametrize(
    "question, takes_all",
    [
        ("total salary by team", True),
        ("the 3 largest teams", False),
        ("the newest people", False),
        ("每个月的降水量", True),
        ("降水量最多的城市", False),
        ("Покажи сумму по месяцам", True),
        ("Первые заказы", False),
    ],
)
def test_rows_are_left_out_where_a_word_says_so(question: str, takes_all: bool) -> None:
    assert shape_of(question, STAFF).takes_all == takes_all
