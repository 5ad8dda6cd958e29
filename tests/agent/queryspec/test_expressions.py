"""The expression language of derived columns: valid and invalid text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasphinx.agent.queryspec.expressions import (
    Binary,
    Call,
    Case,
    Compare,
    Constant,
    Logical,
    Missing,
    Name,
    Negative,
    Not,
    Number,
    Order,
    Text,
    names_in,
    parse,
    windows_in,
)
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
        ("'it''s'", Text("it's")),
        ("NULL", Constant(None)),
        ('"null"', Name("null")),
        ("a <> b", Compare("!=", A, B)),
        ("a == b", Compare("=", A, B)),
        ("a + 1 >= b", Compare(">=", Binary("+", A, Number(1)), B)),
        ("a or b and not c", Logical("or", A, Logical("and", B, Not(C)))),
        ("(a or b) and c", Logical("and", Logical("or", A, B), C)),
        ("a in (1, 2)", Logical("or", Compare("=", A, Number(1)), Compare("=", A, Number(2)))),
        ("a not in (1)", Not(Compare("=", A, Number(1)))),
        (
            "a between 1 and b and c",
            Logical("and", Logical("and", Compare(">=", A, Number(1)), Compare("<=", A, B)), C),
        ),
        ("a is not null", Not(Missing(A))),
        ("if(a, b, c)", Case(((A, B),), C)),
        ("if(a, b)", Case(((A, B),), Constant(None))),
        ("case(a, b, c, 1)", Case(((A, B), (C, Number(1))), Constant(None))),
        ("case when a then b when b then c else 1 end", Case(((A, B), (B, C)), Number(1))),
        ("case + end + not", Binary("+", Binary("+", Name("case"), Name("end")), Name("not"))),
        ("rank(a, within: b)", Call("rank", (A,), ("b",))),
        ('lag(a, 2, within: b, "x y", order_by: c desc)', Call("lag", (A, Number(2)), ("b", "x y"), Order("c", True))),
        ("lag(a, order_by=c, within=b)", Call("lag", (A,), ("b",), Order("c"))),
        ("rank(a) over (partition by b, c)", Call("rank", (A,), ("b", "c"))),
        ("lag(a) OVER (ORDER BY b)", Call("lag", (A,), None, Order("b"))),
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
        ("a $ b", "'$' at character 3"),
        ("a == b == c", "an operator or the end"),
        ("a = ", "the end"),
        ("case when a then b", "end is expected"),
        ("case when a else b end", "then is expected"),
        ("a is 1", "null is expected"),
        ("a in ()", "a number, a name"),
        ("a in b", "'(' is expected"),
        ("a between 1 or 2", "and is expected"),
        ("'open", "is not valid in an expression"),
        ("rank(a, within: 1)", "a name is expected"),
        ("rank(a, order_by: b)", "rank does not depend on the order"),
        ("abs(a, within: b)", "without within and order_by"),
        ("lag(a, within: b, 2)", "within or order_by is expected"),
        ("lag(a, 0)", "from 1 to 1000"),
        ("lag(a, b)", "a literal whole number"),
        ("fiscal_year(a, 13)", "from 1 to 12"),
        ("log(a, 1)", "the base of log"),
        ("contains(a, b)", "text in single quotes"),
        ("replace(a, '', 'b')", "text in single quotes"),
        ("if(a)", "if takes 2 to 3 arguments"),
        ("a; DROP TABLE b", "';' at character 2"),
        ('""', "is not valid in an expression"),
        ('"a', "is not valid in an expression"),
        ("a /* b */", "not *"),
        ("a[0]", "'['"),
        ("a.", "'.' at character 2"),
        ("1.2.3", "is not valid in an expression"),
        ("1a", "is not valid in an expression"),
        ("1e999", "too large"),
        ("1" * 400, "too large"),
        ("99999999999999999999", "too large"),
        ("eval(a)", "there is no function eval, only if"),
        ("a.b(c)", "there is no function"),
        ("abs()", "abs takes 1 argument"),
        ("abs(a, b)", "abs takes 1 argument"),
        ("nullif(a)", "nullif takes 2 arguments"),
        ("coalesce(a)", "coalesce takes 2 to 30 arguments"),
        ("round(a, b)", "a literal whole number"),
        ("round(a, 11)", "0 to 10"),
        ("round(a, 1.5)", "whole number"),
        ("(" * 30 + "a" + ")" * 30, "more than 20 levels deep"),
        ("-" * 30 + "a", "more than 20 levels deep"),
        ("+".join("a" * 120), "more than 200"),
        ("a" * 1001, "at most 1000"),
    ],
)
def test_invalid_expression(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse(text)


@given(st.text(alphabet="ab1 .,()+-*/<>:\"'_;=\n销", max_size=40))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        parse(text)
    except ValueError as error:
        assert str(error)


def test_names_and_windows_are_found() -> None:
    node = parse("a / b + rank(c, within: d) - a")

    assert names_in(node) == ("a", "b", "c", "d")
    assert windows_in(node) == (Call("rank", (C,), ("d",)),)
