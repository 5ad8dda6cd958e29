"""The expression language of derived columns: valid and invalid text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.queryspec.expressions import Binary, Call, Name, Negative, Number, names_in, parse, windows_in
from tests.cases import all_cases

A, B, C = Name("a"), Name("b"), Name("c")


@all_cases(
    "text, node",
    [
        ("1", Number(1)),
        (" 1.5 ", Number(1.5)),
        (".5", Number(0.5)),
        ("2e3", Number(2000.0)),
        ("a", A),
        ("销售额", Name("销售额")),
        ("выручка_2", Name("выручка_2")),
        ('"unit price"', Name("unit price")),
        ('"say ""hi"""', Name('say "hi"')),
        ('"sum(x)"', Name("sum(x)")),
        ("customers.age", Name("customers.age")),
        ("round", Name("round")),
        ("a + b * c", Binary("+", A, Binary("*", B, C))),
        ("a - b - c", Binary("-", Binary("-", A, B), C)),
        ("a / (b / c)", Binary("/", A, Binary("/", B, C))),
        ("-a * b", Binary("*", Negative(A), B)),
        ("a - -b", Binary("-", A, Negative(B))),
        ("a -- b", Binary("-", A, Negative(B))),
        ("ROUND(a, 2)", Call("round", (A, Number(2)))),
        ("coalesce(a, b, 0)", Call("coalesce", (A, B, Number(0)))),
        ("share_of_total(a)", Call("share_of_total", (A,))),
    ],
)
def test_valid_expression(text: str, node: object) -> None:
    assert parse(text) == node


@all_cases(
    "text, reason",
    [
        ("", "a number, a name or '('"),
        ("a b", "character 3"),
        ("a +", "the end"),
        ("(a", "')' is expected"),
        ("a)", "an operator or the end"),
        ("a ** b", "not *"),
        ("a % b", "'%' at character 3"),
        ("a == b", "'=' at character 3"),
        ("a; DROP TABLE b", "';' at character 2"),
        ("'text'", "is not valid in an expression"),
        ('""', "is not valid in an expression"),
        ('"a', "is not valid in an expression"),
        ("a /* b */", "not *"),
        ("a[0]", "'['"),
        ("a.", "'.' at character 2"),
        ("1.2.3", "is not valid in an expression"),
        ("1a", "is not valid in an expression"),
        ("1e999", "too large"),
        ("99999999999999999999", "too large"),
        ("eval(a)", "there is no function eval, only nullif"),
        ("a.b(c)", "there is no function"),
        ("abs()", "a number, a name"),
        ("abs(a, b)", "abs takes 1 argument"),
        ("nullif(a)", "nullif takes 2 arguments"),
        ("coalesce(a)", "coalesce takes 2 to 10 arguments"),
        ("round(a, b)", "a literal whole number"),
        ("round(a, 11)", "0 to 10"),
        ("round(a, 1.5)", "whole number"),
        ("(" * 30 + "a" + ")" * 30, "more than 20 levels deep"),
        ("-" * 30 + "a", "more than 20 levels deep"),
        ("+".join("a" * 60), "more than 100"),
        ("a" * 501, "at most 500"),
    ],
)
def test_invalid_expression(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse(text)


@given(st.text(alphabet="ab1 .,()+-*/\"'_;=\n销", max_size=40))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        parse(text)
    except ValueError as error:
        assert str(error)


def test_names_and_windows_are_found() -> None:
    node = parse("a / b + rank(c) - a")

    assert names_in(node) == ("a", "b", "c")
    assert windows_in(node) == (Call("rank", (C,)),)
