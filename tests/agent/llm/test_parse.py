"""Structured answers in what models really write."""

from typing import Any

import pytest

from datasphinx.agent.llm.parse import read_answer
from datasphinx.agent.llm.schemas import ColumnSelection, GeneratedSQL, NarratedAnswer, SQLValidation, TableColumns
from datasphinx.agent.llm.schemas import TableSelection as Tables

ONE = "SELECT 1"
CTE = "WITH best AS (\n  SELECT customer_id FROM orders\n)\nSELECT * FROM best"

ANSWERS: dict[str, str] = {
    "json": '{"sql": "SELECT 1", "assumptions": ["a"], "off_topic": false}',
    "fenced": '```json\n{"sql": "SELECT 1", "assumptions": ["a"]}\n```',
    "fenced without label": '```\n{"sql": "SELECT 1", "assumptions": ["a"]}\n```',
    "fence left open": '```json\n{"sql": "SELECT 1", "assumptions": ["a"]}',
    "prose around": 'Sure, here it is: {"sql": "SELECT 1", "assumptions": ["a"]} Have fun!',
    "braces in prose": 'The set {a, b} and {"c"}: {"sql": "SELECT 1", "assumptions": ["a"]}',
    "thoughts": '<think>{"sql": "SELECT 9"}</think>{"sql": "SELECT 1", "assumptions": ["a"]}',
    "thoughts without a begin": '{"sql": "SELECT 9"}\n</think>\n{"sql": "SELECT 1", "assumptions": ["a"]}',
    "two objects": '{"sql": "SELECT 1", "assumptions": ["a"]}\n{"sql": "SELECT 2", "assumptions": []}',
    "one that does not fit first": '{"thought": "hm"} {"sql": "SELECT 1", "assumptions": ["a"]}',
    "more than was asked": '{"sql": "SELECT 1", "assumptions": ["a"], "confidence": 0.9}',
    "in an array": '[{"sql": "SELECT 1", "assumptions": ["a"]}]',
    "under its own name": '{"GeneratedSQL": {"sql": "SELECT 1", "assumptions": ["a"]}}',
    "as a function call": '{"name": "GeneratedSQL", "arguments": {"sql": "SELECT 1", "assumptions": ["a"]}}',
    "raw line breaks": '{"sql": "\nSELECT 1\n", "assumptions": ["a"]}',
    "raw tab": '{"sql": "\tSELECT 1", "assumptions": ["a"]}',
    "last commas": '{"sql": "SELECT 1", "assumptions": ["a",],\n}',
    "triple quotes": '{"sql": """\nSELECT 1\n""", "assumptions": ["a"]}',
    "words of Python": '{"sql": "SELECT 1", "assumptions": ["a"], "off_topic": False}',
    "fence in the string": '{"sql": "```sql\\nSELECT 1;\\n```", "assumptions": ["a"]}',
    "raw fence in the string": '{"sql": "```sql\nSELECT 1;\n```", "assumptions": ["a"]}',
    "fences in fences": '```json\n{"sql": "```sql\\nSELECT 1\\n```", "assumptions": ["a"]}\n```',
    "schema first": '{"properties": {"sql": {"type": "string"}}} {"sql": "SELECT 1", "assumptions": ["a"]}',
    "chinese": '好的：{"sql": "SELECT 1", "assumptions": ["a"]}。',
    "russian": 'Вот ответ: {"sql": "SELECT 1", "assumptions": ["a"]}. Готово.',
    "byte order mark": '\ufeff{"sql": "SELECT 1", "assumptions": ["a"]}',
    "carriage returns": '{\r\n"sql": "SELECT 1",\r\n"assumptions": ["a"]\r\n}',
}


@pytest.mark.parametrize("text", ANSWERS.values())
def test_the_answer_is_found(text: str) -> None:
    assert read_answer(text, GeneratedSQL) == GeneratedSQL(sql=ONE, assumptions=["a"])


STRINGS = {
    "braces": ("""{"sql": "SELECT '{\\"a\\": {}}' AS j"}""", """SELECT '{"a": {}}' AS j"""),
    "half a brace": ("""{"sql": "SELECT '}' || '{'"}""", "SELECT '}' || '{'"),
    "escaped quotes": ('{"sql": "SELECT \\"a b\\" FROM t"}', 'SELECT "a b" FROM t'),
    "needless escape": ("""{"sql": "SELECT \\'a\\'"}""", "SELECT 'a'"),
    "backslash left bare": (r"""{"sql": "SELECT a LIKE '50\%' ESCAPE '\\'"}""", r"SELECT a LIKE '50\%' ESCAPE '\'"),
    "raw breaks and braces": ("""{"sql": "SELECT '{'\nFROM t"}""", "SELECT '{'\nFROM t"),
    "a last comma in a string": ("""{"sql": "SELECT ',}' , 'True'",}""", "SELECT ',}' , 'True'"),
    "unicode escapes": ('{"sql": "SELECT \\u0438\\u043c\\u044f"}', "SELECT имя"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), STRINGS.values(), ids=STRINGS)
def test_strings_come_through(text: str, expected: str) -> None:
    assert read_answer(text, GeneratedSQL).sql == expected


BARE = {
    "statement": ("SELECT a FROM t;", "SELECT a FROM t"),
    "fence": ("```sql\nSELECT a FROM t\n```", "SELECT a FROM t"),
    "prose": ("Here is the query: SELECT a FROM t", "SELECT a FROM t"),
    "cte": (CTE, CTE),
    "braces in a string": ("""SELECT '{"a": 1}' AS j""", """SELECT '{"a": 1}' AS j"""),
    "drop": ("DROP TABLE orders", "DROP TABLE orders"),
    "drop in a fence": ("```sql\ndrop table orders;\n```", "drop table orders"),
    "quoted": ('"SELECT 1"', ONE),
    "thoughts": ("<think>{hm}</think>SELECT 1", ONE),
}


@pytest.mark.parametrize(("text", "expected"), BARE.values(), ids=BARE)
def test_a_bare_statement_is_an_answer(text: str, expected: str) -> None:
    assert read_answer(text, GeneratedSQL) == GeneratedSQL(sql=expected)


UNREADABLE = {
    "empty": ("", "the answer is empty"),
    "blank": (" \n\t", "the answer is empty"),
    "thoughts alone": ("<think>hm", "the answer is empty"),
    "prose": ("I would rather talk.", "there is no JSON object in the answer"),
    "refusal": ("I'm sorry, I cannot select data for you.", "there is no JSON object in the answer"),
    "refusal with a keyword": ("I can't drop tables, update rows or select users.", "there is no JSON object"),
    "refusal in Russian": ("Извините, я не могу выполнить этот запрос.", "there is no JSON object"),
    "refusal in Chinese": ("抱歉，我无法回答这个问题。", "there is no JSON object"),
    "number": ("42", "there is no JSON object"),
    "array": ("[]", "there is no JSON object"),
    "cut": ('{"sql": "SELECT a FROM t WHERE', "its JSON object is not complete"),
    "cut in a subquery": ('{"sql": "SELECT a FROM (SELECT b', "its JSON object is not complete"),
    "cut in a fence": ('```json\n{"sql": "SELECT a', "its JSON object is not complete"),
    "cut behind the statement": ('{"sql": "SELECT 1", "assumptions": [', "its JSON object is not complete"),
    "wrong field": ('{"answer": "SELECT 1"}', "sql: Field required"),
    "wrong type": ('{"sql": 5}', "sql: Input should be a valid string"),
    "null": ('{"sql": null}', "sql: Input should be a valid string"),
    "empty object": ("{}", "sql: Field required"),
    "wrong type inside": ('{"sql": "SELECT 1", "assumptions": [1]}', "assumptions.0: Input should be a valid string"),
}


@pytest.mark.parametrize(("text", "problem"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_says_why(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match="^" + problem.replace(".", r"\.")):
        read_answer(text, GeneratedSQL)


@pytest.mark.parametrize("schema", [Tables, ColumnSelection, SQLValidation, NarratedAnswer])
def test_only_a_statement_may_come_without_json(schema: Any) -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        read_answer("SELECT 1", schema)


def test_an_outer_object_comes_before_its_parts() -> None:
    text = '{"tables": [{"table": "t", "columns": ["a\nb"]}]}'
    expected = ColumnSelection(tables=[TableColumns(table="t", columns=["a\nb"])])
    assert read_answer(text, ColumnSelection) == expected


def test_an_empty_correction_is_none() -> None:
    assert read_answer('{"is_valid": false, "corrected_sql": "```sql\\n```"}', SQLValidation).corrected_sql is None


def test_an_off_topic_answer_has_no_statement() -> None:
    answer = read_answer('{"sql": "", "off_topic": true}', GeneratedSQL)
    assert (answer.sql, answer.off_topic) == ("", True)


NONSENSE = [
    "(", "{", '{"a":', '{"', '"', '"""', "`", "``` ", "/*", "/**/", "<think>", 'WITH "', ": ", "SELECT ", "SELECT 1;",
    "Note it\n", '{"sql": "\\',
]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("text", NONSENSE)
def test_long_nonsense_ends(text: str) -> None:
    try:
        read_answer(text * 5_000, GeneratedSQL)
    except ValueError as error:
        assert str(error)
