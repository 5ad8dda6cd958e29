"""Statements in what models really write around them."""

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from datasphinx.agent.llm.parse import clean_sql, read_answer
from datasphinx.agent.llm.schemas import GeneratedSQL, SQLValidation
from tests.support.characters import ANY
from tests.support.heavy import sample

ONE = "SELECT 1"
LONG = "SELECT name,\n       COUNT(*) AS n\nFROM customers\n\nWHERE city = 'Köln; or -- not'\nGROUP BY name"
CTE = "WITH best AS (\n  SELECT customer_id FROM orders\n)\nSELECT * FROM best"
UNION = "(SELECT a FROM t) UNION (SELECT b FROM u)"
BLANK_LINES = "SELECT a FROM t\n\nUNION\n\nSELECT b FROM u"
SENTENCE = "SELECT a FROM t WHERE b = 'x\n\nThis is it.'"
CAPITALS = "SELECT\n  Name,\n  Price\nFROM Products p\nORDER BY\n  Price"
NAMES = "SELECT имя FROM 客户 WHERE город = 'Москва'"
RECURSIVE = "WITH RECURSIVE n AS (SELECT 1) SELECT * FROM n"

STATEMENTS = {
    "bare": (ONE, ONE),
    "semicolon": ("SELECT 1;", ONE),
    "semicolons": ("SELECT 1 ; ;\n;\n", ONE),
    "semicolon and comment": ("SELECT 1; -- that is all", ONE),
    "semicolon and block comment": ("SELECT 1;\n/* all */\n", ONE),
    "blank around": ("\n\n  SELECT 1  \n", ONE),
    "fence": ("```sql\nSELECT 1\n```", ONE),
    "fence without label": ("```\nSELECT 1;\n```", ONE),
    "fence on one line": ("```SELECT 1```", ONE),
    "fence with label on one line": ("```sql SELECT 1```", ONE),
    "fence in capitals": ("```SQL\nSELECT 1\n```", ONE),
    "fence of a dialect": ("```postgresql\nSELECT 1\n```", ONE),
    "fence with keyword in the first line": ("```SELECT\n1```", "SELECT\n1"),
    "fence of four": ("````sql\nSELECT 1\n````", ONE),
    "fence of tildes": ("~~~sql\nSELECT 1\n~~~", ONE),
    "fence left open": ("Here you are:\n```sql\nSELECT 1;", ONE),
    "fence only closed": ("SELECT 1\n```", ONE),
    "fence with carriage returns": ("```sql\r\nSELECT 1\r\n```\r\n", ONE),
    "fence in prose": ("This is it:\n\n```sql\nSELECT 1\n```\n\nIt returns one.", ONE),
    "two fences": ("```sql\nSELECT 1\n```\nOr shorter:\n```sql\nSELECT 2\n```", ONE),
    "fence of another kind first": ("```text\nthe tables: t\n```\n```sql\nSELECT 1\n```", ONE),
    "result after the statement": ("SELECT 1\n```\n1\n```", ONE),
    "fence in a string": ("SELECT '```a```' FROM t", "SELECT '```a```' FROM t"),
    "fence in a string after prose": ("Here is the query:\nSELECT a = '```' FROM t", "SELECT a = '```' FROM t"),
    "inline code": ("You can use `SELECT a FROM t` for that.", "SELECT a FROM t"),
    "inline code around": ("`SELECT 1;`", ONE),
    "quoted": ('"SELECT 1"', ONE),
    "triple quotes": ('"""SELECT 1"""', ONE),
    "triple quotes with lines": ('"""\nSELECT 1;\n"""', ONE),
    "triple single quotes": ("'''SELECT 1'''", ONE),
    "triple quotes left open": ('"""SELECT 1', ONE),
    "fence and triple quotes": ('```sql\n"""SELECT 1"""\n```', ONE),
    "quotes at both ends that belong to it": ("SELECT 'a' AS \"b\"", "SELECT 'a' AS \"b\""),
    "prose before": ("Here is the query: SELECT 1", ONE),
    "prose before with blank line": (f"Here is the query:\n\n{LONG}", LONG),
    "label": ("SQL: SELECT 1", ONE),
    "label on its line": ("SQLQuery:\nSELECT 1\n", ONE),
    "prose after": (f"{LONG}\n\nThis query counts the customers.", LONG),
    "prose right after": ("SELECT a FROM t\nThis lists every a.", "SELECT a FROM t"),
    "prose after the semicolon": ("SELECT 1; This returns one.", ONE),
    "prose that looks like sql after": ("SELECT 1;\n\nUse this query, or select another.", ONE),
    "explanation in markdown": ("SELECT a FROM t\n\n**Explanation:**\n- a is listed", "SELECT a FROM t"),
    "note after": ("SELECT a FROM t WHERE b = 1\n\nNote: b is a flag.", "SELECT a FROM t WHERE b = 1"),
    "prose around": (f"Sure! Try\n\n{CTE};\n\nLet me know.", CTE),
    "with in prose": ("With this query: SELECT 1", ONE),
    "with as in prose": ("With sales as the base, this is it: SELECT 1", ONE),
    "select in prose": ("Select the best customers like this: SELECT 1", ONE),
    "select in prose in small letters": ("You select them so:\nSELECT 1", ONE),
    "cte": (CTE, CTE),
    "cte in prose": (f"Using a CTE:\n{CTE}", CTE),
    "cte with columns": ("Here: WITH x(a, b) AS (SELECT 1, 2) SELECT a FROM x",
                         "WITH x(a, b) AS (SELECT 1, 2) SELECT a FROM x"),
    "recursive cte": (f"So: {RECURSIVE}", RECURSIVE),
    "cte with a quoted name": ('So: WITH "my n" AS (SELECT 1) SELECT * FROM "my n"',
                               'WITH "my n" AS (SELECT 1) SELECT * FROM "my n"'),
    "parenthesised union": (UNION, UNION),
    "parenthesised union in prose": (f"Both together:\n{UNION};", UNION),
    "union over blank lines": (BLANK_LINES, BLANK_LINES),
    "line comment first": ("-- select all\nSELECT 1", "-- select all\nSELECT 1"),
    "block comment first": ("/* the\nanswer */ SELECT 1;", "/* the\nanswer */ SELECT 1"),
    "small letters": ("select a from t;", "select a from t"),
    "small letters in prose": ("here it is:\nselect a from t", "select a from t"),
    "capitalised": ("Select a From t;", "Select a From t"),
    "semicolon in a string": ("SELECT ';' FROM t", "SELECT ';' FROM t"),
    "sentence in a string": (SENTENCE, SENTENCE),
    "capitalised columns": (CAPITALS, CAPITALS),
    "backticks": ("SELECT `a b` FROM `select`", "SELECT `a b` FROM `select`"),
    "brackets": ("SELECT [a b] FROM [t]", "SELECT [a b] FROM [t]"),
    "two statements": ("SELECT 1; DROP TABLE orders;", "SELECT 1; DROP TABLE orders"),
    "two statements on lines": ("SELECT 1;\n\nDelete from orders;", "SELECT 1;\n\nDelete from orders"),
    "two statements, small letters": ("SELECT 1; vacuum", "SELECT 1; vacuum"),
    "two statements with a comment between": ("SELECT 1; -- and\nSELECT 2", "SELECT 1; -- and\nSELECT 2"),
    "two statements in a fence": ("```sql\nSELECT 1;\nUPDATE t SET a = 1;\n```", "SELECT 1;\nUPDATE t SET a = 1"),
    "drop": ("DROP TABLE orders", "DROP TABLE orders"),
    "drop in small letters": ("drop table orders;", "drop table orders"),
    "create as select": ("Create table x as SELECT 1", "Create table x as SELECT 1"),
    "insert select": ("INSERT INTO t SELECT * FROM u", "INSERT INTO t SELECT * FROM u"),
    "delete": ("```sql\nDELETE FROM orders WHERE 1 = 1;\n```", "DELETE FROM orders WHERE 1 = 1"),
    "pragma": ("pragma table_info(t)", "pragma table_info(t)"),
    "update in a cte": ("WITH x AS (SELECT 1) UPDATE t SET a = 1", "WITH x AS (SELECT 1) UPDATE t SET a = 1"),
    "explain": ("EXPLAIN SELECT 1", "EXPLAIN SELECT 1"),
    "thoughts": ("<think>SELECT 9? No.</think>\nSELECT 1", ONE),
    "thoughts without a begin": ("SELECT 9? No.\n</think>\n\n```sql\nSELECT 1\n```", ONE),
    "thinking": ("<thinking>\nSELECT 9\n</thinking>SELECT 1", ONE),
    "thoughts without an end": ("<think>SELECT 9", ""),
    "chinese": ("查询如下：SELECT a FROM t", "SELECT a FROM t"),
    "chinese without a space": ("您可以使用SELECT a FROM t;", "SELECT a FROM t"),
    "chinese after": ("SELECT a FROM t\n\n它返回所有行。", "SELECT a FROM t"),
    "chinese around": ("好的，这是查询：\n```sql\nSELECT a FROM t;\n```\n它返回所有行。", "SELECT a FROM t"),
    "russian": ("Вот запрос: SELECT a FROM t", "SELECT a FROM t"),
    "russian around": ("Вот запрос:\n\nSELECT a FROM t\n\nОн возвращает все строки.", "SELECT a FROM t"),
    "names that are not ascii": (NAMES, NAMES),
    "prose alone": ("I would rather talk.", "I would rather talk."),
    "empty": ("", ""),
    "only a semicolon": (";", ""),
    "only a fence": ("```sql\n```", ""),
}  # fmt: skip


@pytest.mark.parametrize("text, expected", STATEMENTS.values())
def test_the_statement_is_freed(text: str, expected: str) -> None:
    assert clean_sql(text) == expected


INSIDE = {name: pair for name, pair in STATEMENTS.items() if "</think" not in pair[0]}


@pytest.mark.parametrize("text, expected", INSIDE.values())
def test_the_statement_is_freed_inside_json_too(text: str, expected: str) -> None:
    answer = read_answer(json.dumps({"sql": text}), GeneratedSQL)
    assert answer.sql == expected
    verdict = read_answer(json.dumps({"is_valid": False, "corrected_sql": text}), SQLValidation)
    assert verdict.corrected_sql == (expected or None)


@pytest.mark.parametrize("expected", sorted({expected for _, expected in STATEMENTS.values()}))
def test_a_free_statement_stays_as_it_is(expected: str) -> None:
    assert clean_sql(expected) == expected


def test_an_unknown_grammar_loses_no_condition() -> None:
    sql = "SELECT a\nFROM t\nWhere b ~~~*~ 1 QUALIFY %% x\nLimit @@ 5"
    assert clean_sql(sql) == sql


# Any statement, in any wrapping

_NAMES = st.sampled_from(["a", "orders", '"order date"', "`x y`", "имя", "客户", "t1.c", "Price"])
_TEXTS = st.text(alphabet='ab ;{}[]()"`-:,.\n*%é客я', max_size=12).map(lambda text: f"'{text}'")
_VALUES = st.one_of(_NAMES, _TEXTS, st.integers(0, 99).map(str), st.just("COUNT(*)"))
_BREAKS = st.sampled_from([" ", "\n", "\n  ", "\n\n", "\t"])


@st.composite
def statements(draw: st.DrawFn) -> str:
    gap = draw(_BREAKS)
    columns = ", ".join(draw(st.lists(_VALUES, min_size=1, max_size=3)))
    sql = f"SELECT {columns}{gap}FROM {draw(_NAMES)}"
    if draw(st.booleans()):
        sql += f"{gap}WHERE {draw(_NAMES)} = {draw(_VALUES)}"
    if draw(st.booleans()):
        sql += f"{gap}UNION{gap}SELECT {draw(_VALUES)}"
    if draw(st.booleans()):
        sql = f"WITH x AS ({sql}){gap}SELECT * FROM x"
    return draw(st.sampled_from(["", "-- the answer\n", "/* so */ "])) + sql


_BEFORE = st.sampled_from(
    [
        "",
        "Here is the query:\n",
        "Sure!\n\nWith this query you get it:\n\n",
        "Вот запрос:\n",
        "查询如下：\n",
        "1. Count\n2. Group\n\nSQL:\n",
    ]
)
_AFTER = st.sampled_from(
    [
        "",
        "\n",
        "\n\nThis query returns the rows, as you asked.",
        "\n\nОн считает строки.",
        "\n它返回所有行。",
        "\n\nNote: a is a flag.",
    ]
)
_FENCES = st.sampled_from(["```sql\n{}\n```", "```\n{}\n```", "```SQL\r\n{}\r\n```", "~~~\n{}\n~~~"])


def wrapped_in(form: str, sql: str) -> str:
    return form.replace("{}", sql)


@settings(deadline=None, max_examples=sample(200, 30))
@given(statements(), _BEFORE, _AFTER, _FENCES, st.sampled_from(["", ";", " ;\n"]))
def test_any_statement_comes_back_from_a_fence(sql: str, before: str, after: str, fence: str, end: str) -> None:
    # A mark ends the block, also within a line: models close one so more often than they quote the mark.
    assume(fence[:3] not in sql)
    text = before + wrapped_in(fence, sql + end) + after
    assert clean_sql(text) == sql
    assert clean_sql(f"<think>SELECT 9?</think>{text}") == sql


@settings(deadline=None, max_examples=sample(200, 30))
@given(statements(), _BEFORE, _AFTER)
def test_any_statement_comes_back_from_prose(sql: str, before: str, after: str) -> None:
    expected = sql
    if before and sql.startswith(("--", "/*")):
        expected = sql.partition("\n" if sql.startswith("--") else "*/ ")[2]
    assert clean_sql(f"{before}{sql};{after}") in (sql, expected)


@settings(deadline=None, max_examples=sample(200, 30))
@given(statements(), _BEFORE, _AFTER, st.booleans(), st.booleans())
def test_any_statement_comes_back_from_json(sql: str, before: str, after: str, ascii_only: bool, raw: bool) -> None:
    said = json.dumps({"sql": sql, "assumptions": ["x"]}, ensure_ascii=ascii_only)
    if raw:
        said = said.replace("\\n", "\n").replace("\\t", "\t")
    assert read_answer(f"{before}{said}{after}", GeneratedSQL).sql == sql
    assert read_answer(f"{before}```json\n{said}\n```{after}", GeneratedSQL).sql == sql


@settings(deadline=None, max_examples=sample(200, 30))
@given(statements(), st.sampled_from(["DROP TABLE t", "DELETE FROM t", "SELECT 2", "vacuum", "ATTACH 'x' AS y"]))
def test_two_statements_stay_two(sql: str, second: str) -> None:
    fenced = clean_sql(f"```sql\n{sql};\n{second};\n```")
    # A mark in the first one ends the block, which cuts it: it is never left whole without the second one.
    assert fenced.endswith(second) or ("```" in sql and fenced != sql)
    assert clean_sql(f"{sql}; {second}").endswith(second)


@settings(deadline=None, max_examples=sample(300, 50))
@given(st.text(ANY, max_size=200))
def test_any_text_is_an_answer_or_a_value_error(text: str) -> None:
    clean_sql(text)
    for schema in (GeneratedSQL, SQLValidation):
        try:
            assert isinstance(read_answer(text, schema), schema)
        except ValueError as error:
            assert str(error)


@pytest.mark.parametrize(
    "text",
    [
        "I cannot answer this FROM the data",
        "customers from Germany",
        "apples, pears from trees",
        "The answer FROM users",
        "No name can be read FROM users",
        "EXTRACT(year FROM date)",
        "I took it (quite literally) from the users",
        "Ответ из таблицы FROM users нельзя получить",
    ],
)
def test_a_sentence_becomes_no_statement(text: str) -> None:
    assert clean_sql(text) == text
