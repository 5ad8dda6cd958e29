"""Finds the SQL statement in a text that may have fences, quotes and prose around it."""

import re
from collections.abc import Iterator

import sqlglot
from sqlglot.errors import SqlglotError

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
# Behind a semicolon: lower case is SQL too, but a capitalised word begins a sentence.
_NEXT_STATEMENT = re.compile(rf"{_STATEMENT.pattern}|{_COMMENTS}(?:(?:{_VERBS.lower()})\b|\Z)", re.DOTALL)
# In the middle of a sentence only capitals are a keyword: "I cannot select anything" is none.
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
# A dialect that cannot be parsed here must not lose a condition because somebody writes "Where".
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
# An identifier may have any of these characters, so a sentence in Chinese would pass for the alias of a table.
_CJK_SENTENCE = re.compile(r"^[ \t]*[\u3400-\u9fff][^\n'\"`]*[。！？：，]", re.MULTILINE)
_MOST_ENDS = 50
_DIALECTS = ("sqlite", "postgres", "mysql")
"""Together they read the quotes and most of the grammar of the others too."""


def find_statement(text: str) -> str:
    """Return the statement in `text` with nothing around it, without a last semicolon; else `text` as it is.

    Two statements stay two.
    """
    sql = _unquoted(_unfenced(text))
    return _without_tail(sql[_start(sql) or 0 :]).strip().rstrip("; \t\r\n")


def holds_statement(text: str) -> bool:
    """Return whether `text` has a statement that is not part of a broken JSON object."""
    sql = _unquoted(_unfenced(text))
    start = _start(sql)
    return start is not None and "{" not in sql[:start]


def _unfenced(text: str) -> str:
    """Return the first fenced block that is a statement, else the text outside, else the first block."""
    fence, begins = _FENCE.search(text), _start(text)
    if not _FENCED_LINE.search(text) and begins is not None and (fence is None or begins < fence.start()):
        # Marks behind the beginning of a statement stand within one of its texts.
        return text
    blocks = [_unlabelled(match["block"]) for match in _FENCE.finditer(text)]
    for block in [*blocks, *(match["code"] for match in _INLINE_CODE.finditer(text))]:
        if _STATEMENT.match(_unquoted(block)):
            return block
    outside = _FENCE.sub("\n\n", text)
    return outside if _start(outside) is not None or not blocks else blocks[0]


def _unlabelled(block: str) -> str:
    return block if _STATEMENT.match(block) else _LABEL.sub("", block, count=1)


def _unquoted(text: str) -> str:
    text = text.strip()
    quoted = _QUOTED.fullmatch(text)
    if quoted and _STATEMENT.match(quoted["text"]):
        return quoted["text"].strip()
    return _OPEN_QUOTES.sub("", text).strip()


def _start(sql: str) -> int | None:
    """Return where the statement begins; None where there is none."""
    found = [match.start("any" if match["any"] else "upper") for match in _QUERY_IN_PROSE.finditer(sql)]
    first = 0 if _STATEMENT.match(sql) else next(iter(found), None)
    if first is not None and sql.startswith("Select", first):
        # "Select the best customers: SELECT ..." begins with a sentence.
        return next((at for at in found if at > first and sql[:at].rstrip().endswith((":", "："))), first)
    return first


def _without_tail(sql: str) -> str:
    """Return `sql` up to the prose that follows it, if any."""
    for span in _SPAN.finditer(sql):
        if span["end"] and not _NEXT_STATEMENT.match(sql, span.end()):
            return sql[: span.start()]
        if span["end"] and _is_comment(sql[span.end() :]):
            return sql[: span.start()]
    ends = [match.start() for match in _SENTENCE.finditer(sql) if match.start()]
    if not ends or (_parses(sql) and not _CJK_SENTENCE.search(sql)):
        return sql
    return next(_parsable(sql, ends[:_MOST_ENDS]), sql)


def _is_comment(text: str) -> bool:
    return re.fullmatch(_COMMENTS, text, re.DOTALL) is not None


def _parsable(sql: str, ends: list[int]) -> Iterator[str]:
    for end in ends:
        head = sql[:end].rstrip()
        if not head.endswith(",") and _parses(head):
            yield head


def _parses(sql: str) -> bool:
    for dialect in _DIALECTS:
        try:
            sqlglot.parse(sql, dialect=dialect)
        except (SqlglotError, RecursionError):
            continue
        return True
    return False
