"""Follow-ups that change only the form, and wordings that lean on earlier questions."""

from typing import Any

import pytest

from agent.conversation.follow_ups import is_follow_up
from agent.conversation.format_changes import FormatChange, asks_for_format, format_change
from agent.types import Result

ROWS = [["Oslo", 1], ["Rome", 3], ["Bern", None], ["Lima", 9]]


def result(rows: list[list[Any]] = ROWS, *, truncated: bool = False, columns: Any = ("city", "orders")) -> Result:
    return Result(columns=list(columns), types=["text", "integer"], rows=rows, truncated=truncated)


def change(question: str, *, is_ordered: bool = False, **given: Any) -> FormatChange | None:
    return format_change(question, result(**given), is_ordered=is_ordered)


@pytest.mark.parametrize(
    ("question", "form"),
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
        ("画成图表", "plot"),
        ("用柱状图显示", "plot"),
        ("用表格显示", "dataframe"),
    ],
)
def test_another_form(question: str, form: str) -> None:
    changed = change(question)

    assert changed and (changed.output_type, changed.result["rows"]) == (form, ROWS)
    assert asks_for_format(question) and is_follow_up(question)


@pytest.mark.parametrize(
    "question", ["only the top two", "top 2", "just the first 2 rows", "только первые 2", "топ-2", "只看前2个", "前2"]
)
def test_fewer_rows_are_the_first_of_an_ordered_result(question: str) -> None:
    changed = change(question, is_ordered=True)

    assert changed and changed.result["rows"] == ROWS[:2]


def test_fewer_rows_are_the_highest_where_there_is_no_order() -> None:
    changed = change("only the top two")

    assert changed and changed.result["rows"] == [["Lima", 9], ["Rome", 3]]


def test_the_first_rows_of_a_cut_result_are_known_only_where_it_is_ordered() -> None:
    assert change("top 2", truncated=True) is None
    cut = change("top 2", truncated=True, is_ordered=True)
    assert cut and cut.result["truncated"] is False


def test_which_figure_is_meant_has_to_be_clear() -> None:
    two = [["Oslo", 1, 2], ["Rome", 3, 1]]

    assert change("top 1", rows=two, columns=("city", "orders", "returns")) is None


@pytest.mark.parametrize(
    ("question", "cities"),
    [
        ("sort by city", ["Bern", "Lima", "Oslo", "Rome"]),
        ("sorted by orders descending", ["Lima", "Rome", "Oslo", "Bern"]),
        ("order them by orders", ["Oslo", "Rome", "Lima", "Bern"]),
        ("按orders降序排列", ["Lima", "Rome", "Oslo", "Bern"]),
    ],
)
def test_another_order_with_what_has_no_value_last(question: str, cities: list[str]) -> None:
    changed = change(question)

    assert changed and [row[0] for row in changed.result["rows"]] == cities


@pytest.mark.parametrize("question", ["sort by price", "sorted by", "sort by city"])
def test_an_order_that_the_rows_cannot_have(question: str) -> None:
    assert change(question, truncated=question == "sort by city") is None


@pytest.mark.parametrize(
    "question",
    ["and in 2024?", "only the top three customers of Oslo", "top products", "as a chart for 2024", "the first of May",
     "chart of the orders", "as a revenue chart", "top 0", "top 5"],
)  # fmt: skip
def test_a_question_that_asks_for_more(question: str) -> None:
    assert change(question, is_ordered=True) is None and (question[:4] == "top " or not asks_for_format(question))


@pytest.mark.parametrize(
    "question",
    ["And in 2024?", "only those from Oslo", "what about last year?", "How many of them are paid?", "by month",
     "а в 2024 году?", "только за март", "что насчёт них?", "那2024年呢？", "只看北京的", "其中有多少已付款？"],
)  # fmt: skip
def test_leaning(question: str) -> None:
    assert is_follow_up(question)


@pytest.mark.parametrize(
    "question",
    ["How many orders are there?", "List the regions", "Which region had the highest revenue in 2024?",
     "Who sold most?", "List the customers and their orders", "For each region, give the number of its customers",
     "按城市统计每个月的销售总额是多少", "По каждому региону покажи число клиентов и сумму их заказов",
     "Сколько заказов было в марте?", "2024年每个城市的销售额是多少？",
     "Which products that were returned cost over 100?",
     "", None, 5],
)  # fmt: skip
def test_standing_alone(question: Any) -> None:
    assert not is_follow_up(question)
