"""Tests of the range of dates to which a question limits its rows."""

from datetime import date

import pytest

from datasphinx.agent.embedded.date_ranges import date_range_of

TODAY = date(2026, 11, 23)  # a Monday


@pytest.mark.parametrize(
    ("question", "start", "end", "asked"),
    [
        (
            "How many orders were placed in March 2025?",
            "2025-03-01",
            "2025-04-01",
            "How many orders were placed in 2025?",
        ),
        ("Revenue in the second quarter of 2024", "2024-04-01", "2024-07-01", "Revenue in 2024"),
        ("Revenue in H1 2025", "2025-01-01", "2025-07-01", "Revenue in 2025"),
        ("Orders on 5 May 2025", "2025-05-05", "2025-05-06", "Orders in 2025"),
        ("Orders in the last quarter of 2024", "2024-10-01", "2025-01-01", "Orders in 2024"),
        ("Orders last quarter", "2026-07-01", "2026-10-01", "Orders in 2026"),
        ("Orders last month", "2026-10-01", "2026-11-01", "Orders in 2026"),
        ("What was the revenue this year?", "2026-01-01", "2027-01-01", "What was the revenue in 2026?"),
        ("How many orders came in yesterday?", "2026-11-22", "2026-11-23", "How many orders came in 2026?"),
        ("Orders last week", "2026-11-16", "2026-11-23", "Orders in 2026"),
        ("Orders in the last 30 days", "2026-10-24", "2026-11-24", "Orders in 2026"),
        ("Orders in the past three months by city", "2026-08-23", "2026-11-24", "Orders in 2026 by city"),
        ("Orders in the past week", "2026-11-16", "2026-11-24", "Orders in 2026"),
        ("Year-to-date revenue", "2026-01-01", "2026-11-24", "in 2026 revenue"),
        ("Orders by week since the beginning of this year", "2026-01-01", "2026-11-24", "Orders by week in 2026"),
        ("Orders since June 2025", "2025-06-01", None, "Orders in 2025"),
        ("Orders from June 2025 onwards", "2025-06-01", None, "Orders in 2025"),
        ("Orders after June 2025", "2025-07-01", None, "Orders in 2025"),
        ("Orders before July 2024", None, "2024-07-01", "Orders in 2024"),
        ("Orders until the end of July 2024", None, "2024-08-01", "Orders in 2024"),
        ("Orders between March and May 2025", "2025-03-01", "2025-06-01", "Orders in 2025"),
        ("Orders from November to February 2025", "2024-11-01", "2025-03-01", "Orders in 2024"),
        ("Orders from 15 March to 20 April 2025", "2025-03-15", "2025-04-21", "Orders in 2025"),
        ("Orders in March of last year", "2025-03-01", "2025-04-01", "Orders in 2025"),
        ("Customers who signed up since 2023", "2023-01-01", None, "Customers who signed up since 2023"),
        ("Сколько заказов было в марте 2025 года?", "2025-03-01", "2025-04-01", "Сколько заказов было в 2025 году?"),
        ("Заказы за первое полугодие 2025 года", "2025-01-01", "2025-07-01", "Заказы в 2025 году"),
        ("Заказы с марта по май 2025 года", "2025-03-01", "2025-06-01", "Заказы в 2025 году"),
        ("Заказы за последние 7 дней", "2026-11-16", "2026-11-24", "Заказы в 2026 году"),
        ("Заказы за последнюю неделю", "2026-11-16", "2026-11-24", "Заказы в 2026 году"),
        ("Заказы с начала года", "2026-01-01", "2026-11-24", "Заказы в 2026 году"),
        ("Заказы до июля 2024 года", None, "2024-07-01", "Заказы в 2024 году"),
        ("Выручка в мае прошлого года", "2025-05-01", "2025-06-01", "Выручка в 2025 году"),
        ("Bestellungen vor dem 1. Juli 2024", None, "2024-07-01", "Bestellungen im Jahr 2024"),
        (
            "Wie viele Bestellungen gab es im letzten Monat?",
            "2026-10-01",
            "2026-11-01",
            "Wie viele Bestellungen gab es im Jahr 2026?",
        ),
        ("Bestellungen der letzten 30 Tage", "2026-10-24", "2026-11-24", "Bestellungen im Jahr 2026"),
        ("2025年上半年有多少订单？", "2025-01-01", "2025-07-01", "2025年有多少订单？"),
        ("2025年3月到5月的销售额", "2025-03-01", "2025-06-01", "2025年的销售额"),
        ("从2025年3月起的订单", "2025-03-01", None, "2025年的订单"),
        ("2024年7月之前的订单", None, "2024-07-01", "2024年的订单"),
        ("去年3月有多少订单", "2025-03-01", "2025-04-01", "2025年有多少订单"),
        ("上个月有多少订单？", "2026-10-01", "2026-11-01", "2026年有多少订单？"),
        ("近三个月的订单数", "2026-08-23", "2026-11-24", "2026年的订单数"),
        ("今年以来的销售额", "2026-01-01", "2026-11-24", "2026年的销售额"),
    ],
)
def test_range_of_a_question(question: str, start: str | None, end: str | None, asked: str) -> None:
    dates = date_range_of(question, TODAY)

    assert dates is not None
    assert [day and day.isoformat() for day in dates.days] == [start, end]
    assert dates.question == asked


@pytest.mark.parametrize(
    "question",
    [
        "How many orders are there?",
        "How many orders in 2025?",
        "Orders in March",
        "How many customers may have ordered in 2025?",
        "Orders in early March 2025",
        "Orders in the first week of March 2025",
        "Orders in the week of 5 May 2025",
        "Orders in the last month of 2024",
        "Orders by March 2025",
        "Compare March 2025 with March 2024",
        "Did sales grow from March 2024 against March 2025?",
        "Orders in March 2025 or earlier",
        "Orders except in May 2025",
        "Orders on 30 February 2025",
        "Orders from May 2025 to March 2025",
        "На сколько выросли продажи в мае 2025 по сравнению с апрелем 2025?",
        "Заказы в начале мая 2025 года",
        "2025年3月底的库存",
    ],
)
def test_wording_that_determines_no_range(question: str) -> None:
    assert date_range_of(question, TODAY) is None


def test_months_of_different_length() -> None:
    dates = date_range_of("Orders in the last 3 months", date(2026, 5, 31))
    assert dates and dates.days.start == date(2026, 2, 28)
