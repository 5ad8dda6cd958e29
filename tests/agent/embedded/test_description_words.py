"""Requests to describe the data, told from other questions by their words."""

import pytest

from datasphinx.agent.embedded.description_words import described_names

NAMES = ["orders", "order_items", "customers", "hr.staff", "订单"]
DESCRIBED: dict[str, list[str]] = {
    "Describe the data": [],
    "describe this dataset, please": [],
    "Give me a short overview of the data": [],
    "What are the main characteristics of this file?": [],
    "Can you summarize the data in words?": [],
    "Describe what is in the spreadsheet.": [],
    "Describe the orders table": ["orders"],
    "describe order_items": ["order_items"],
    "Describe the table staff": ["hr.staff"],
    "Опиши данные": [],
    "Опишите, пожалуйста, этот набор данных": [],
    "Дай краткий обзор данных": [],
    "Расскажи, что есть в этом файле": [],
    "Опиши таблицу orders": ["orders"],
    "描述一下数据特征": [],
    "请描述这份数据的基本情况": [],
    "概括一下这个表格": [],
    "介绍一下orders表": ["orders"],
    "描述订单表": ["订单"],
}
NOT_DESCRIBED = [
    "Describe the orders by month",
    "Describe the sales trend",
    "Summarize revenue per region",
    "Explain why the orders differ",
    "Describe the best customer",
    "How many rows are in the table?",
    "Show the data",
    "Опиши продажи по месяцам",
    "Покажи данные",
    "描述一下各月销售额",
    "描述订单趋势",
    "数据有多少行？",
]


@pytest.mark.parametrize(
    "question",
    ["Which tables exist?", "Show me all tables", "Какие есть таблицы?", "有哪些表？", "Welche Tabellen gibt es?"],
)
def test_a_question_for_the_tables_asks_for_all(question: str) -> None:
    assert described_names(question, ["orders", "customers"]) == []


def test_a_table_may_be_called_tables() -> None:
    assert described_names("Show me all tables", ["tables", "guests"]) is None


def test_requests_for_a_description_are_told_from_other_questions() -> None:
    assert {question: described_names(question, NAMES) for question in DESCRIBED} == DESCRIBED
    assert [question for question in NOT_DESCRIBED if described_names(question, NAMES) is not None] == []


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Beschreibe die Daten", []),
        ("Gib mir einen kurzen Überblick über die Tabelle orders", ["orders"]),
        ("Beschreibe die Bestellungen nach Monat", None),
        ("Wie viele Zeilen hat die Tabelle orders?", None),
    ],
)
def test_descriptions_in_german(question: str, names: list[str] | None) -> None:
    assert described_names(question, ["orders", "customers"]) == names
