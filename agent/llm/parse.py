"""Parse structured answers and statements from model output, which may contain reasoning, fences and prose too."""

import re
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

import sqlglot
from pydantic import BaseModel, ValidationError
from sqlglot.errors import SqlglotError

from datasphinx.agent.core.text import valid_json
from datasphinx.agent.engines import engines
from datasphinx.agent.llm.json_text import json_objects, parse_or_none
from datasphinx.agent.llm.reasoning import without_reasoning
from datasphinx.agent.llm.schemas import AmbiguityReview, GeneratedSQL, SQLValidation
from datasphinx.agent.llm.tool_calls import answer_in_words, call_in_text, call_texts, matching_name
from datasphinx.agent.messages import Message

Answer = TypeVar("Answer", bound=BaseModel)
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
_ELEMENT = re.compile(r"<(?P<tag>sql|query|answer|output|response)>(?P<code>.*?)</(?P=tag)>", re.DOTALL | re.IGNORECASE)
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


def read_answer(text: str, schema: type[Answer], tools: Sequence[str] = ()) -> Answer:
    """Return the first JSON object in `text` that matches `schema`, with its SQL statements cleaned.

    If `schema` is `GeneratedSQL`, a bare statement without JSON is accepted too. With `tools`, `schema` is
    `AnalystStep`: the calls may have the syntax of the model, those after the first one are in `further`, and a text in
    plain words is a call of `finish`.

    Raises:
        ValueError: nothing matches; the message describes the problem of the first candidate.
    """
    text = without_reasoning(text)
    inner = parse_or_none(text)
    if isinstance(inner, str):
        text = inner
    if not tools:
        return _read_object(text, schema)
    calls: list[Answer] = []
    for part in call_texts(text):
        call = _read_call(part, schema, tools)
        calls += [call] if call and call not in calls else []
    if calls:
        return calls[0].model_copy(update={"further": calls[1:]})
    if answer := answer_in_words(text, tools):
        return schema.model_validate(valid_json(answer))
    return _read_object(text, schema)


def _read_object(text: str, schema: type[Answer]) -> Answer:
    problem = ""
    for candidate in json_objects(text):
        try:
            # JSON escapes can produce characters that are invalid in text, such as unpaired surrogates.
            return _with_clean_sql(schema.model_validate(valid_json(candidate)))
        except ValidationError as error:
            first = error.errors()[0]
            problem = problem or f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if schema is GeneratedSQL and holds_statement(text):
        return schema.model_validate({"sql": clean_sql(text)})
    if not text.strip():
        raise ValueError(Message("answer_empty"))
    missing = Message("answer_json_incomplete" if "{" in text else "answer_without_json")
    raise ValueError(problem or missing)


def _read_call(text: str, schema: type[Answer], tools: Sequence[str]) -> Answer | None:
    """Return the first call of one of `tools` in `text`, else the first call of another tool."""
    unknown_call = None
    for candidate in json_objects(text):
        try:
            call = schema.model_validate(valid_json(candidate))
        except ValidationError:
            continue
        if name := matching_name(getattr(call, "tool", ""), tools):
            return call.model_copy(update={"tool": name})
        unknown_call = unknown_call or call
    if found := call_in_text(text, tools):
        return schema.model_validate(valid_json(found))
    return unknown_call


def clean_sql(text: str) -> str:
    r"""Return the SQL in `text` without reasoning, fences, prose, triple quotes and a final semicolon.

    Several statements are all kept, so that the guard can reject them.

    >>> clean_sql("Here it is: ```sql\nSELECT 1;\n```")
    'SELECT 1'
    """
    return find_statement(without_reasoning(text))


def _with_clean_sql(answer: Answer) -> Answer:
    if isinstance(answer, GeneratedSQL):
        answer.sql = clean_sql(answer.sql)
    if isinstance(answer, GeneratedSQL | AmbiguityReview):
        options = answer.alternatives if isinstance(answer, GeneratedSQL) else answer.options
        for option in options:
            option.sql = clean_sql(option.sql or "") or None
    if isinstance(answer, SQLValidation) and answer.corrected_sql is not None:
        answer.corrected_sql = clean_sql(answer.corrected_sql) or None
    return answer


def find_statement(text: str) -> str:
    """Return the SQL in `text` without surrounding text and final semicolon, or `text` if there is none.

    Several statements are all kept.

    >>> find_statement("It counts: SELECT 8;"), find_statement("No name can be read FROM users")
    ('SELECT 8', 'No name can be read FROM users')
    """
    sql = _strip_quotes(_strip_fences(text))
    return _without_tail(sql[_start(sql) or 0 :]).strip().rstrip("; \t\r\n")


def holds_statement(text: str) -> bool:
    """Return whether `text` contains a statement outside of a JSON object."""
    sql = _strip_quotes(_strip_fences(text))
    start = _start(sql)
    return start is not None and "{" not in sql[:start]


@cache
def _dialects() -> tuple[str, ...]:
    return tuple(dict.fromkeys(engine.dialect for engine in engines().values() if engine.covers_grammar))


def _strip_fences(text: str) -> str:
    """Return the first fenced block with a statement, else the text outside of fences, else the first block."""
    fence, start = _FENCE.search(text), _start(text)
    if start is not None and not _ELEMENT.search(text) and (fence is None or start < fence.start()):
        # Fence marks after the start of a statement may be inside one of its string literals.
        is_in_literal = fence is not None and text.count("'", start, fence.start()) % 2 == 1
        if is_in_literal or not _FENCED_LINE.search(text):
            return text
    labelled = [match["block"] for match in _FENCE.finditer(text)]
    blocks = [block if _STATEMENT.match(block) else _LABEL.sub("", block, count=1) for block in labelled]
    code_spans = [match["code"] for pattern in (_INLINE_CODE, _ELEMENT) for match in pattern.finditer(text)]
    for block in [*blocks, *code_spans]:
        if _STATEMENT.match(_strip_quotes(block)):
            return block
    text_outside = _FENCE.sub("\n\n", text)
    return text_outside if _start(text_outside) is not None or not blocks else blocks[0]


def _strip_quotes(text: str) -> str:
    text = text.strip()
    match = _QUOTED.fullmatch(text)
    if match and _STATEMENT.match(match["text"]):
        return match["text"].strip()
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
    for end in ends[:_MAX_ENDS]:
        head = sql[:end].rstrip()
        if not head.endswith(",") and _parses(head):
            return head
    return sql


def _parses(sql: str) -> bool:
    for dialect in _dialects():
        try:
            sqlglot.parse(sql, dialect=dialect)
        except (SqlglotError, RecursionError):
            continue
        return True
    return False
