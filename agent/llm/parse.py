"""Read a model's answer: the JSON object, or the SQL statement, in a text with reasoning, fences and prose."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeVar

import sqlglot
from pydantic import BaseModel, ValidationError
from sqlglot.errors import SqlglotError

from agent.core.text import valid_json
from agent.llm.schemas import GeneratedSQL, SQLValidation

Answer = TypeVar("Answer", bound=BaseModel)

_REASONING = re.compile(r"^.*</think(?:ing)?>|^\s*<think(?:ing)?>.*", re.DOTALL)
"""The reasoning before an answer. If the chat template opens the tag in the prompt, only the closing tag remains."""

_OBJECT_START = re.compile(r"\{\s*[\"}]")
_MAX_STARTS = 300
"""Maximum number of positions where an object is tried; each takes time proportional to the length of the text."""

_LENIENT = re.compile(
    r'"""(?P<triple>.*?)"""|(?P<string>"(?:[^"\\]|\\.)*")|,(?P<closing>\s*[}\]])|\b(?P<word>True|False|None)\b',
    re.DOTALL,
)
_ESCAPE_SEQUENCE = re.compile(r"\\(\\|[\"/bfnrt]|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_WORDS = {"True": "true", "False": "false", "None": "null"}

_VERBS = (
    "INSERT|UPDATE|DELETE|MERGE|REPLACE|DROP|CREATE|ALTER|TRUNCATE|RENAME|GRANT|REVOKE|PRAGMA|ATTACH|DETACH|COPY|"
    "EXPLAIN|VALUES|TABLE|CALL|EXEC|EXECUTE|PREPARE|DECLARE|SET|RESET|SHOW|DESCRIBE|USE|DO|LOCK|KILL|FLUSH|LOAD|INSTALL|"
    "IMPORT|EXPORT|VACUUM|ANALYZE|REINDEX|CHECKPOINT|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|LISTEN|NOTIFY|SHUTDOWN"
)
_WRITE = (
    r"(?:DROP|CREATE|ALTER|TRUNCATE)\s+(?:OR\s+REPLACE\s+)?"
    r"(?:(?:GLOBAL|LOCAL|TEMP|TEMPORARY|UNIQUE|VIRTUAL|UNLOGGED|MATERIALIZED|EXTERNAL)\s+)*"
    r"(?:TABLE|VIEW|INDEX|TRIGGER|DATABASE|SCHEMA|FUNCTION|PROCEDURE|USER|ROLE|SEQUENCE|TYPE|EXTENSION|MACRO|SECRET)\b|"
    r"(?:INSERT|REPLACE)\s+(?:OR\s+\w+\s+|IGNORE\s+)?INTO\b|DELETE\s+FROM\b|MERGE\s+INTO\b|UPDATE\s+\S+\s+SET\b|"
    r"(?:PRAGMA|ATTACH|DETACH|VACUUM|TRUNCATE)\b"
)
_CTE = (
    r"WITH\s+(?:RECURSIVE\s+)?(?:\w+|\"[^\"]+\"|`[^`]+`|\[[^\]]+\])\s*(?:\([^()]*\)\s*)?"
    r"AS\s*(?:(?:NOT\s+)?MATERIALIZED\s*)?\("
)
_QUERY = rf"(?:\(\s*){{0,20}}+(?:SELECT\b|{_CTE})"
_COMMENTS = r"(?>(?:\s|--[^\n]*|/\*.*?\*/)*)"
_STATEMENT = re.compile(rf"{_COMMENTS}(?:(?i:{_QUERY}|{_WRITE})|(?:{_VERBS})\b)", re.DOTALL)
# After a semicolon, a lower-case keyword is SQL too, but a capitalised word begins a sentence.
_NEXT_STATEMENT = re.compile(rf"{_STATEMENT.pattern}|{_COMMENTS}(?:(?:{_VERBS.lower()})\b|\Z)", re.DOTALL)
# Within a sentence, only upper case is a keyword: "I cannot select anything" contains no statement.
_QUERY_IN_PROSE = re.compile(
    rf"(?:^[ \t]*|[:：][ \t*]*)(?P<any>(?i:{_QUERY}))|(?<![A-Za-z0-9_.\"'`\[])(?P<upper>{_QUERY})", re.MULTILINE
)
_FENCE = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<block>.*?)(?:(?P=mark)|\Z)", re.DOTALL)
_FENCED_LINE = re.compile(r"^[ \t>]*(?:`{3}|~{3})", re.MULTILINE)
_LABEL = re.compile(r"[ \t]*(?:(?i:\w*sql\w*|duckdb|postgres|oracle|mariadb)\b|[\w+.-]*(?=[ \t\r]*\n))")
_INLINE_CODE = re.compile(r"(?<!`)`(?P<code>(?:SELECT|WITH)\s+\S[^`\n]*)`(?!`)", re.IGNORECASE)
_QUOTED = re.compile(r"(?P<quote>\"\"\"|'''|[\"'`])(?P<text>.*?)\s*(?P=quote)[\s;.]*", re.DOTALL)
_OPEN_QUOTES = re.compile(r"\A(?:\"\"\"|''')|(?:\"\"\"|''')\Z")
_SPAN = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|(?P<end>;)", re.DOTALL)
# A statement that sqlglot cannot parse must not be cut at a capitalised clause such as "Where".
_CLAUSE = (
    "(?i:AND|ANTI|AS|ASOF|CASE|CROSS|ELSE|END|EXCEPT|FETCH|FOR|FROM|FULL|GLOBAL|GROUP|HAVING|IN|INNER|INTERSECT|INTO|IS|"
    "JOIN|LATERAL|LEFT|LIKE|LIMIT|MINUS|NATURAL|NOT|OFFSET|ON|OPTION|OR|ORDER|OUTER|PARTITION|PIVOT|PREWHERE|QUALIFY|"
    "RIGHT|SAMPLE|SELECT|SEMI|SETTINGS|START|TABLESAMPLE|THEN|TOP|UNION|UNPIVOT|USING|WHEN|WHERE|WINDOW|WITH)"
)
_SENTENCE = re.compile(
    rf"^[ \t]*(?!{_CLAUSE}\b)(?:\*\*|\#+ |> )?"
    r"(?:[A-ZА-ЯЁ][a-zа-яё'’]*(?:[ ,:.!]|$)|[\u3000-\u303f\u3400-\u9fff\uff00-\uffef])",
    re.MULTILINE,
)
# Identifiers may contain these characters, so the parser would accept a Chinese sentence as a table alias.
_CJK_SENTENCE = re.compile(r"^[ \t]*[\u3400-\u9fff][^\n'\"`]*[。！？：，]", re.MULTILINE)
_MAX_ENDS = 50
_DIALECTS = ("sqlite", "postgres", "mysql")
"""Together they cover the quotes and most of the grammar of the other dialects."""


def read_answer(text: str, schema: type[Answer]) -> Answer:
    """Return the first JSON object in `text` that matches `schema`, with its SQL statements cleaned.

    If `schema` is `GeneratedSQL`, a bare statement without JSON is accepted too.

    Raises:
        ValueError: nothing matches; the message describes the problem of the first candidate.
    """
    text = _REASONING.sub("", text)
    problem = ""
    for candidate in _json_objects(text):
        try:
            # JSON escapes can produce characters that are invalid in text, such as unpaired surrogates.
            return _with_clean_sql(schema.model_validate(valid_json(candidate)))
        except ValidationError as error:
            first = error.errors()[0]
            problem = problem or f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if schema is GeneratedSQL and holds_statement(text):
        return schema.model_validate({"sql": clean_sql(text)})
    if not problem and text.strip():
        problem = "its JSON object is not complete" if "{" in text else "there is no JSON object in the answer"
    raise ValueError(problem or "the answer is empty")


def clean_sql(text: str) -> str:
    r"""Return the SQL in `text` without reasoning, fences, prose, triple quotes and a final semicolon.

    Several statements are all kept, so that the guard can reject them.

    >>> clean_sql("Here it is: ```sql\nSELECT 1;\n```")
    'SELECT 1'
    """
    return find_statement(_REASONING.sub("", text))


def _json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in `text`, outer objects before inner ones.

    Strict JSON comes first, then JSON with raw line breaks in strings, then JSON with Python syntax.
    """
    yield from _decode_objects(json.JSONDecoder(), text)
    yield from _decode_objects(json.JSONDecoder(strict=False), text)
    yield from _decode_objects(json.JSONDecoder(strict=False), _as_json(text))


def _decode_objects(decoder: json.JSONDecoder, text: str) -> Iterator[dict[str, Any]]:
    end = 0
    for start in islice(_OBJECT_START.finditer(text), _MAX_STARTS):
        if start.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, start.start())
        except (json.JSONDecodeError, RecursionError):
            continue
        yield value
        # Weak models wrap the answer in an object named after the schema, or in a function call.
        yield from (inner for inner in value.values() if isinstance(inner, dict))


def _as_json(text: str) -> str:
    """Return `text` with triple quotes, Python literals, trailing commas and unknown escapes turned into valid JSON."""

    def rewrite(match: re.Match[str]) -> str:
        if match["triple"] is not None:
            return json.dumps(match["triple"])
        if match["string"]:
            return _ESCAPE_SEQUENCE.sub(_escape, match["string"])
        return match["closing"] or _WORDS[match["word"]]

    return _LENIENT.sub(rewrite, text)


def _escape(match: re.Match[str]) -> str:
    if match[1] == "'":
        return "'"
    return match[0] if match[1][0] in '\\"/bfnrt' or len(match[1]) > 1 else "\\" + match[0]


def _with_clean_sql(answer: Answer) -> Answer:
    if isinstance(answer, GeneratedSQL):
        answer.sql = clean_sql(answer.sql)
    elif isinstance(answer, SQLValidation) and answer.corrected_sql is not None:
        answer.corrected_sql = clean_sql(answer.corrected_sql) or None
    return answer


def find_statement(text: str) -> str:
    """Return the SQL in `text` without surrounding text and final semicolon, or `text` if there is none.

    Several statements are all kept.
    """
    sql = _strip_quotes(_strip_fences(text))
    return _without_tail(sql[_start(sql) or 0 :]).strip().rstrip("; \t\r\n")


def holds_statement(text: str) -> bool:
    """Return whether `text` contains a statement outside of a JSON object."""
    sql = _strip_quotes(_strip_fences(text))
    start = _start(sql)
    return start is not None and "{" not in sql[:start]


def _strip_fences(text: str) -> str:
    """Return the first fenced block with a statement, else the text outside of fences, else the first block."""
    fence, begins = _FENCE.search(text), _start(text)
    if not _FENCED_LINE.search(text) and begins is not None and (fence is None or begins < fence.start()):
        # Fence marks after the start of a statement are inside one of its string literals.
        return text
    blocks = [match["block"] for match in _FENCE.finditer(text)]
    blocks = [block if _STATEMENT.match(block) else _LABEL.sub("", block, count=1) for block in blocks]
    for block in [*blocks, *(match["code"] for match in _INLINE_CODE.finditer(text))]:
        if _STATEMENT.match(_strip_quotes(block)):
            return block
    outside = _FENCE.sub("\n\n", text)
    return outside if _start(outside) is not None or not blocks else blocks[0]


def _strip_quotes(text: str) -> str:
    text = text.strip()
    quoted = _QUOTED.fullmatch(text)
    if quoted and _STATEMENT.match(quoted["text"]):
        return quoted["text"].strip()
    return _OPEN_QUOTES.sub("", text).strip()


def _start(sql: str) -> int | None:
    """Return the index where the statement begins, or None."""
    queries = [match.start("any" if match["any"] else "upper") for match in _QUERY_IN_PROSE.finditer(sql)]
    first = 0 if _STATEMENT.match(sql) else next(iter(queries), None)
    if first is not None and sql.startswith("Select", first):
        # "Select the best customers: SELECT ..." starts with a sentence.
        return next((at for at in queries if at > first and sql[:at].rstrip().endswith((":", "："))), first)
    return first


def _without_tail(sql: str) -> str:
    """Return `sql` without the prose after it."""
    for span in _SPAN.finditer(sql):
        if span["end"] and not _NEXT_STATEMENT.match(sql, span.end()):
            return sql[: span.start()]
        if span["end"] and re.fullmatch(_COMMENTS, sql[span.end() :], re.DOTALL):
            return sql[: span.start()]
    ends = [match.start() for match in _SENTENCE.finditer(sql) if match.start()]
    if not ends or (_parses(sql) and not _CJK_SENTENCE.search(sql)):
        return sql
    heads = (sql[:end].rstrip() for end in ends[:_MAX_ENDS])
    return next((head for head in heads if not head.endswith(",") and _parses(head)), sql)


def _parses(sql: str) -> bool:
    for dialect in _DIALECTS:
        try:
            sqlglot.parse(sql, dialect=dialect)
        except (SqlglotError, RecursionError):
            continue
        return True
    return False
