"""What the text of a statement must not hold, before anything is parsed: what another reader would read otherwise."""

import re
from collections.abc import Iterator

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType

from agent.sql.finding import Finding, Position

_STRINGS = {
    TokenType.STRING,
    TokenType.NATIONAL_STRING,
    TokenType.RAW_STRING,
    TokenType.HEREDOC_STRING,
    TokenType.BYTE_STRING,
}
_NAMES = {TokenType.IDENTIFIER}
_READS_SEPARATED_DIGITS = {"duckdb", "clickhouse"}
_EXECUTABLE = re.compile(r"/\*(?:M?!|\+)")
_ESCAPED = re.compile(r"(?i)(?<![\w$])U&\s*[\"']")
_GLUED_REMARK = re.compile(r"--(?=[^\s-])")
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_SEPARATED_DIGITS = re.compile(r"(?<![\w$.])\d+_\d")
MAX_CHARACTERS = 100_000
"""Longer statements are refused unread."""


def check_text(sql: str, dialect: str) -> Iterator[Finding]:
    """Yield what speaks against the text of `sql`; what its strings hold is left alone, but for NUL."""
    if len(sql) > MAX_CHARACTERS:
        yield Finding("length", f"the statement has {len(sql)} characters, at most {MAX_CHARACTERS} are read")
        return
    if "\0" in sql:
        yield _finding("hidden_characters", "a NUL character is not allowed", sql, sql.index("\0"), "U+0000")
    try:
        outside, code = _without_strings(sql, dialect)
    except (SqlglotError, RecursionError) as error:
        yield Finding("parsable", f"the statement cannot be parsed: {str(error).splitlines()[0]}")
        return
    yield from _hidden(outside, sql)
    yield from _remarks(code, sql, dialect)


def _hidden(outside: str, sql: str) -> Iterator[Finding]:
    for match in _UNSEEN.finditer(outside.replace("\0", " ")):
        name = f"U+{ord(match[0]):04X}"
        text = f"the invisible character {name} is not allowed outside of strings"
        yield _finding("hidden_characters", text, sql, match.start(), name)


def _remarks(code: str, sql: str, dialect: str) -> Iterator[Finding]:
    for match in _EXECUTABLE.finditer(code):
        text = f"a comment that begins with {match[0]} is run as code by some engines"
        yield _finding("executable_comments", text, sql, match.start(), match[0])
    for match in _ESCAPED.finditer(sql):
        if code[match.start()] != " ":
            text = "names and strings with Unicode escapes are not allowed"
            yield _finding("unicode_escapes", text, sql, match.start(), match[0])
    if dialect not in _READS_SEPARATED_DIGITS:
        for match in _SEPARATED_DIGITS.finditer(code):
            text = f"{match[0]} is a number to some versions and a number with an alias to others"
            yield _finding("ambiguous_number", text, sql, match.start(), match[0])
    if dialect == "mysql":
        for match in _GLUED_REMARK.finditer(code):
            text = "-- begins a remark only before white space; here it would be read in two ways"
            yield _finding("executable_comments", text, sql, match.start(), "--")


def _without_strings(sql: str, dialect: str) -> tuple[str, str]:
    """Return `sql` with its strings blanked, and with its strings and quoted names blanked."""
    outside, code = list(sql), list(sql)
    for token in Dialect.get_or_raise(dialect).tokenize(sql):
        span = slice(token.start, token.end + 1)
        blank = " " * (token.end + 1 - token.start)
        if token.token_type in _STRINGS:
            outside[span] = blank
        if token.token_type in _STRINGS | _NAMES and sql[token.start] in "\"'`[$eEnNrRbBxX":
            code[span] = blank
    return "".join(outside), "".join(code)


def _finding(rule: str, text: str, sql: str, index: int, token: str) -> Finding:
    line = sql.count("\n", 0, index) + 1
    return Finding(rule, text, token=token, position=Position(line, index - (sql.rfind("\n", 0, index) + 1) + 1))
