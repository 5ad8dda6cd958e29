import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.grounding.claims import unsupported_claims
from agent.grounding.vocabulary import lazy_pattern
from agent.types import Result
from tests.cases import all_cases


def test_patterns_of_a_vocabulary_are_compiled_at_their_first_use() -> None:
    pattern = lazy_pattern("(unclosed")

    with pytest.raises(re.error, match="unterminated"):
        _ = pattern.search
    assert lazy_pattern("WORD", re.IGNORECASE).fullmatch("word")


def rows_of(*rows: tuple[Any, ...], columns: tuple[str, ...] = ("city", "revenue")) -> Result:
    return Result(
        columns=list(columns), types=["other"] * len(columns), rows=[list(row) for row in rows], truncated=False
    )


def unsupported(text: str, results: Result | list[Result], question: str) -> list[str]:
    """Return the words of the claims that are not supported."""
    return [objection.claim for objection in unsupported_claims(text, results, question)]


CITIES = rows_of(("Berlin", 1_234_567.891), ("Oslo", -45.5), ("Rome 2024-03-07", 0.256), ("Nowhere", None))


@all_cases(
    "text",
    [
        "Berlin leads.",
        "1234567.891",
        "1,234,567.89",
        "1 234 568",
        "1\u00a0234\u00a0567,9",
        "1\u202f234\u202f568",
        "1.234.567,9",
        "1.23 million",
        "1.2M",
        "1,235 thousand",
        "1,2 млн рублей",
        "1235 тыс.",
        "123万",
        "€1,234,568",
        "-45.5",
        "−46",
        "0.26",
        "on 7 March 2024",
        "2024-03-07",
        "There are 4 cities",
        "The top 10, as asked",
    ],
)
def test_figures_of_the_rows_are_found(text: str) -> None:
    assert unsupported(text, CITIES, "Top 10 cities by revenue") == []


@all_cases(
    "text, invented",
    [
        ("99", ["99"]),
        ("1.24 million", ["1.24"]),
        ("12,345", ["12,345"]),
        ("1,234,569", ["1,234,569"]),
        ("30%", ["30"]),
        ("45.6", ["45.6"]),
        ("2,000,000", ["2,000,000"]),
        ("1.2 billion", ["1.2"]),
        ("1.2k", ["1.2"]),
        ("1e9", ["1e9"]),
        ("Q4", ["Q4"]),
        ("Q1", []),
        ("Q5 and the 9th or the 4th", ["5", "9"]),
        ("99 and 98", ["99", "98"]),
        ("12.345.678", ["12.345.678"]),
        ("１２３", ["１２３"]),
        ("9" * 400, ["9" * 400]),
    ],
)
def test_invented_figures_are_named(text: str, invented: list[str]) -> None:
    assert unsupported(text, CITIES, "Revenue by city") == invented


@all_cases("text", ["7.3M", "7.3m", "7.3k", "7,3тыс", "$7.3bn"])
def test_figure_is_not_found_by_its_halves(text: str) -> None:
    """7 and 3 are in the rows, 7.3 is not."""
    assert unsupported(text, rows_of(("a", 7), ("b", 3)), "") != []


@all_cases("text", ["12,000 orders", "12,500 orders", "12,000 заказов", "12.000 заказов", "12,000 个订单"])
def test_small_value_does_not_vouch_for_thousands(text: str) -> None:
    assert unsupported(text, rows_of(("a", 12), ("b", 12.5)), "") == [text.split()[0]]


@all_cases("text", ["12,346 тонны", "12.346 tons", "12.346 тонны"])
def test_three_decimals_are_read_as_the_language_writes_them(text: str) -> None:
    assert unsupported(text, rows_of(("a", 12.3456), columns=("city", "weight")), "") == []


@all_cases("text, wrong", [("25.6%", []), ("26 %", []), ("30%", ["30"])])
def test_rate_is_a_percentage(text: str, wrong: list[str]) -> None:
    assert unsupported(text, rows_of(("Rome", 0.256), columns=("city", "return_rate")), "") == wrong


def test_share_follows_from_the_rows() -> None:
    rows = rows_of(("Rome", 10), ("Oslo", 10), ("Bern", 20))

    assert unsupported("Rome has 25%, Bern half of it.", rows, "") == []
    assert unsupported("Rome has 35%, Bern a third of it.", rows, "") == ["35", "a third"]


@all_cases(
    "text, invented",
    [
        ("It rose from 80 to 100, by 25%.", []),
        ("It rose from 80 to 100, by 20%.", ["20"]),
        ("It fell from 100 to 80, by 20%.", []),
        ("It fell from 100 to 80, by 25%.", ["25"]),
        ("80 is 80% of 100.", []),
        ("80 of 100, that is 0.8 per piece.", []),
        ("100 is 1.25 times 80.", []),
        ("80 against 100: 20 fewer.", []),
        ("80 and 100, and 20 birds.", ["20"]),
        ("There are 30 fewer.", ["30"]),
        ("80, 100 and 180 in all.", []),
        ("80, 100 and 190 in all.", ["190"]),
    ],
)
def test_figure_of_two_values_is_found_where_the_text_states_both_and_says_what_it_is(
    text: str, invented: list[str]
) -> None:
    assert unsupported(text, rows_of(("a", 80), ("b", 100)), "") == invented


@all_cases(
    "text, invented",
    [
        ("about 1,180", []),
        ("1,180", ["1,180"]),
        ("about 1,200", []),
        ("roughly 1,100", ["1,100"]),
        ("over 1,100", []),
        ("over 1,200", ["1,200"]),
        ("1,100+", []),
        ("nearly 1,200", []),
        ("nearly 1,100", ["1,100"]),
        ("约 1200 人", []),
        ("1100多人", []),
        ("1200多人", ["1200"]),
        ("1200人左右", []),
        ("почти 1200", []),
        ("более 1100", []),
        ("about 2,000", ["2,000"]),
    ],
)
def test_round_figure_needs_a_word_that_says_so(text: str, invented: list[str]) -> None:
    assert unsupported(text, rows_of(("a", 1184), columns=("city", "visitors")), "") == invented


def test_chinese_more_than_stands_before_the_scale() -> None:
    assert unsupported("120多万元", rows_of(("a", 1_234_567)), "") == []
    assert unsupported("130多万元", rows_of(("a", 1_234_567)), "") == ["130"]


@all_cases(
    "text, column, invented",
    [
        ("3 million orders", "orders", ["3"]),
        ("3 million orders", "orders_million", []),
        ("3 млн заказов", "заказы_млн", []),
        ("3万单", "订单数（万）", []),
        ("3 k", "orders", []),
        ("3k", "orders", ["3"]),
    ],
)
def test_word_of_scale_is_taken_at_its_word(text: str, column: str, invented: list[str]) -> None:
    assert unsupported(text, rows_of(("a", 3), ("b", 7), columns=("name", column)), "") == invented


@all_cases(
    "text, invented",
    [
        ("2 items", []),
        ("2%", ["2"]),
        ("2 thousand", ["2"]),
        ("2.0", ["2.0"]),
        ("2nd", []),
        ("3rd", ["3"]),
        ("Galaxy 12", []),
        ("the Galaxy 12 sold 12 pieces", ["12"]),
        ("S-07", []),
        ("S-2", ["2"]),
    ],
)
def test_counts_ordinals_and_codes_vouch_for_nothing_else(text: str, invented: list[str]) -> None:
    assert unsupported(text, rows_of(("Galaxy 12", 40), ("S-07", 55)), "") == invented


@all_cases(
    "text, invented",
    [
        ("May 2023", []),
        ("в мае 2023 года", []),
        ("2023年5月", []),
        ("Q2 2023", []),
        ("2023年第二季度", []),
        ("June 2023", ["June 2023"]),
        ("2024年5月", ["2024年5月"]),
        ("Q3 2023", ["Q3 2023"]),
        ("5 May 2023", ["5 May 2023"]),
        ("2023", []),
        ("2022", ["2022"]),
    ],
)
def test_date_is_found_in_columns_of_years_and_months(text: str, invented: list[str]) -> None:
    rows = rows_of((2023, 5, 400), columns=("year", "month", "visits"))

    assert unsupported(text, rows, "") == invented


def test_figures_of_several_results_count_together() -> None:
    results = [rows_of(("a", 70)), rows_of(("b", 40))]

    assert unsupported("a has 70, b 40: 30 more", results, "") == []
    assert unsupported("a has 71", results, "") == ["71"]


def test_a_figure_that_may_be_any_of_many_values_is_nothing_to_reckon_with() -> None:
    rows = rows_of(*(("a", 1_000_000 + at) for at in range(2000)))

    assert unsupported("from 1 million to 1 million, 7 more", rows, "") == ["7"]


def test_true_is_not_one() -> None:
    assert unsupported("1", rows_of((True, None), (False, None), (None, None)), "") == ["1"]


@all_cases("value", [10**400, -(10**400), 1e308, float("1e-300")])
def test_extreme_values_do_no_harm(value: float) -> None:
    assert unsupported("5", rows_of(("a", value), ("b", 1), ("c", 1)), "") == ["5"]


def test_no_rows() -> None:
    assert unsupported("0 rows", rows_of(), "") == []
    assert unsupported("7 rows", rows_of(), "") == ["7"]


@given(st.integers(-(10**12), 10**12))
def test_every_whole_value_is_found_as_people_write_it(value: int) -> None:
    rows = rows_of(("a", value))

    assert unsupported(f"It is {value:,}.", rows, "") == []
    assert unsupported(f"It is {value}.", rows, "") == []
    assert unsupported(f"Это {value:,}.".replace(",", "\u00a0"), rows, "") == []


@given(st.floats(-1e6, 1e6), st.integers(0, 4))
def test_every_value_is_found_rounded(value: float, decimals: int) -> None:
    assert unsupported(f"It is {value:,.{decimals}f} in all", rows_of(("a", value)), "") == []


@given(st.integers(100, 10**9), st.integers(2, 10**6))
def test_a_value_that_is_off_is_never_found(value: int, off: int) -> None:
    assert unsupported(f"It is {value + off:,}.", rows_of(("a", value)), "") == [f"{value + off:,}"]


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    figures = unsupported(text, CITIES, "")

    assert all(figure in text for figure in figures)
