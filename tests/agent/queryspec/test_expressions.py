"""The expression language of derived columns: valid and invalid text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from datasphinx.agent.queryspec.expressions import Call, Node, names_in, parse, windows_in


def shown(node: Node) -> str:
    """Return a tree as nested calls: `add(a, mul(b, c))`."""
    if isinstance(node, exp.Literal | exp.Column | exp.Null | exp.Boolean):
        return node.sql()
    parts = ", ".join(map(shown, node.expressions if isinstance(node, Call) else node.iter_expressions()))
    if not isinstance(node, Call):
        return f"{node.key}({parts})"
    order = f", order_by: {node.order_by.sql()}" if node.order_by else ""
    return f"{node.function}({parts}{', within: ' + ' & '.join(node.within) if node.within else ''}{order})"


@pytest.mark.parametrize(
    "text, tree",
    [
        ("1", "1"),
        (" 1.5 ", "1.5"),
        (".5", "0.5"),
        ("2e3", "2e3"),
        ("a", "a"),
        ("销售额", "销售额"),
        ("выручка_2", "выручка_2"),
        ('"unit price"', '"unit price"'),
        ('"say ""hi"""', '"say ""hi"""'),
        ('"sum(x)"', '"sum(x)"'),
        ("customers.age", "customers.age"),
        ("round", "round"),
        ("date + order + left + desc", "add(add(add(date, order), left), desc)"),
        ("a + b * c", "add(a, mul(b, c))"),
        ("a - b - c", "sub(sub(a, b), c)"),
        ("a / (b / c)", "div(a, div(b, c))"),
        ("a % b", "mod(a, b)"),
        ("-a * b", "mul(neg(a), b)"),
        ("a - -b", "sub(a, neg(b))"),
        ("a -- b", "sub(a, neg(b))"),
        ("ROUND(a, 2)", "round(a, 2)"),
        ("coalesce(a, b, 0)", "coalesce(a, b, 0)"),
        ("share_of_total(a)", "share_of_total(a)"),
        ("today()", "today()"),
        ("'it''s'", "'it''s'"),
        ("NULL", "NULL"),
        ('"null"', '"null"'),
        ("a <> b", "neq(a, b)"),
        ("a == b", "eq(a, b)"),
        ("a + 1 >= b", "gte(add(a, 1), b)"),
        ("a or b and not c", "or(a, and(b, not(c)))"),
        ("(a or b) and c", "and(or(a, b), c)"),
        ("not a = b", "not(eq(a, b))"),
        ("a in (1, 2)", "or(eq(a, 1), eq(a, 2))"),
        ("a not in (1)", "not(eq(a, 1))"),
        ("a between 1 and b and c", "and(and(gte(a, 1), lte(a, b)), c)"),
        ("a is not null", "not(is(a, NULL))"),
        ("(a is null) = b", "eq(is(a, NULL), b)"),
        ("if(a, b, c)", "case(if(a, b), c)"),
        ("if(a, b)", "case(if(a, b))"),
        ("case(a, b, c, 1)", "case(if(a, b), if(c, 1))"),
        ("case when a then b when b then c else 1 end", "case(if(a, b), if(b, c), 1)"),
        ("case a when 1 then b when 2 then c end", "case(if(eq(a, 1), b), if(eq(a, 2), c))"),
        ("case + end", "add(case, end)"),
        ("rank(a, within: b)", "rank(a, within: b)"),
        ('lag(a, 2, within: b, "x y", order_by: c desc)', "lag(a, 2, within: b & x y, order_by: c DESC)"),
        ("lag(a, order_by=c, within=b)", "lag(a, within: b, order_by: c)"),
        ("rank(a) over (partition by b, c)", "rank(a, within: b & c)"),
        ("lag(a) OVER (ORDER BY b)", "lag(a, order_by: b)"),
    ],
)
def test_valid_expression(text: str, tree: str) -> None:
    assert shown(parse(text)).replace(" NULLS FIRST", "").replace(" NULLS LAST", "") == tree


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "one expression"),
        ("a b", "a AS b is no expression"),
        ("a +", "'+' at character 3"),
        ("(a", "cannot be read"),
        ("a)", "')' at character 2"),
        ("a ** b", "is no expression"),
        ("a $ b", "cannot be read"),
        ("a = ", "'=' at character 3"),
        ("case when a then b", "cannot be read"),
        ("case when a else b end", "'else' at character 13"),
        ("case a when 1 end", "cannot be read"),
        ("a is 1", "a IS 1 is no expression"),
        ("a is true", "is no expression"),
        ("a in ()", "is no expression"),
        ("a in b", "is no expression"),
        ("a in (select b)", "cannot be read"),
        ("exists(select 1)", "cannot be read"),
        ("select a", "is no expression"),
        ("cast(a as int)", "cannot be read"),
        ("a::int", "cannot be read"),
        ("count(*)", "there is no function count"),
        ("abs(*)", "is no expression"),
        (":a", "is no expression"),
        ("?", "is no expression"),
        ("a between 1 or 2", "'or' at character 13"),
        ("'open", "cannot be read"),
        ("rank(a) over w", "partition by and order by alone"),
        ("lag(a) over (order by b rows 2 preceding)", "cannot be read"),
        ("rank(a, within: 1)", "within takes names"),
        ("lag(a, order_by: -b)", "order_by one name"),
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
        ("a; DROP TABLE b", "cannot be read"),
        ("a; b", "one expression"),
        ('""', "is no expression"),
        ('"a', "cannot be read"),
        ("a /* b */", "cannot be read"),
        ("a[0]", "is no expression"),
        ("a.", "'.' at character 2"),
        ("a.*", "is no expression"),
        ("1.2.3", "is no expression"),
        ("1a", "is no expression"),
        ("1e999", "too large"),
        ("1" * 400, "too large"),
        ("99999999999999999999", "too large"),
        ("eval(a)", "there is no function eval, only if"),
        ("a.b(c)", "is no expression"),
        ("abs()", "abs takes 1 argument"),
        ("abs(a, b)", "abs takes 1 argument"),
        ("nullif(a)", "nullif takes 2 arguments"),
        ("coalesce(a)", "coalesce takes 2 to 30 arguments"),
        ("round(a, b)", "a literal whole number"),
        ("round(a, 11)", "0 to 10"),
        ("round(a, 1.5)", "whole number"),
        ("abs(" * 30 + "a" + ")" * 30, "more than 20 levels deep"),
        ("(" * 400 + "a" + ")" * 400, "more than 20 levels deep"),
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
    assert [(call.function, call.within) for call in windows_in(node)] == [("rank", ("d",))]
