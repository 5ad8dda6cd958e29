"""Rules on the text and tokens of a statement before parsing: size, and text that parsers interpret differently."""

import re
from collections.abc import Iterator, Sequence
from unicodedata import category

from sqlglot.tokenizer_core import Token, TokenType

from datasphinx.agent.engines.base import Engine
from datasphinx.agent.sql.guard.finding import Finding, Position

_STRINGS = {
    TokenType.STRING,
    TokenType.NATIONAL_STRING,
    TokenType.RAW_STRING,
    TokenType.HEREDOC_STRING,
    TokenType.BYTE_STRING,
}
_NAMES = {TokenType.IDENTIFIER}
_EXECUTABLE = re.compile(r"/\*(?:M?!|\+)")
_ESCAPED = re.compile(r"(?i)(?<![\w$])U&\s*[\"']")
_GLUED_COMMENT = re.compile(r"--(?=[^\s-])")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_MISREAD = {"Zs", "Zl", "Zp", "Pi", "Pf"}
"""Unicode categories of blanks and quotation marks. Engines read some of them as SQL, some as parts of names."""
_MINUS = "\N{MINUS SIGN}"
_SEPARATED_DIGITS = re.compile(r"(?<![\w$.])\d+_\d")
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}

MAX_CHARACTERS = 100_000
"""Maximum length of a statement in characters."""
MAX_TOKENS = 5_000
"""Maximum number of tokens in a statement."""
MAX_NESTING = 50
"""Maximum nesting depth of parentheses, brackets, braces and CASE."""


def check_length(sql: str) -> Iterator[Finding]:
    """Yield a finding if `sql` is too long or contains a NUL character."""
    if len(sql) > MAX_CHARACTERS:
        yield Finding("length", f"the statement has {len(sql)} characters, at most {MAX_CHARACTERS} are read")
    elif "\0" in sql:
        yield _finding("hidden_characters", "a NUL character is not allowed", sql, sql.index("\0"), "U+0000")


def check_tokens(sql: str, tokens: Sequence[Token], engine: Engine) -> Iterator[Finding]:
    """Yield findings on the size and text of `sql`; the contents of strings are not checked."""
    if len(tokens) > MAX_TOKENS:
        yield Finding("length", f"the statement has {len(tokens)} tokens, at most {MAX_TOKENS} are parsed")
        return
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth > MAX_NESTING:
            yield Finding("length", f"the statement is nested deeper than {MAX_NESTING} levels")
            return
    if engine.substitutes_variables and "${" in sql:
        # Spark substitutes variables before parsing, even within strings and quoted names.
        yield _finding("variables", "a variable ${...} is not allowed", sql, sql.index("${"), "${")
    if engine.has_ambiguous_escapes:
        yield from _backslashes(sql, tokens)
    unquoted, code = _without_strings(sql, tokens)
    for match in _INVISIBLE.finditer(unquoted.replace("\0", " ")):
        name = f"U+{ord(match[0]):04X}"
        text = f"the invisible character {name} is not allowed outside of strings"
        yield _finding("hidden_characters", text, sql, match.start(), name)
    for index, character in enumerate(code):
        if character > "\x7f" and (category(character) in _MISREAD or character == _MINUS):
            name = f"U+{ord(character):04X}"
            text = f"engines read {name} as a blank, quotation mark or operator, or as a part of a name; quote the name"
            yield _finding("hidden_characters", text, sql, index, name)
            return
    yield from _ambiguous_text(code, sql, engine)


def check_printed(sql: str, tokens: Sequence[Token]) -> Iterator[Finding]:
    """Yield a finding if the printed text `sql` has other characters than ASCII outside strings and quoted names."""
    code = _without_strings(sql, tokens)[1]
    index = next((index for index, character in enumerate(code) if character > "\x7f"), None)
    if index is not None:
        name = f"U+{ord(sql[index]):04X}"
        yield _finding("hidden_characters", f"{name} is not allowed outside strings and quoted names", sql, index, name)


def _backslashes(sql: str, tokens: Sequence[Token]) -> Iterator[Finding]:
    """Report backslashes in strings: whether they escape depends on a setting."""
    for token in tokens:
        index = sql.find("\\", token.start, token.end + 1) if token.token_type in _STRINGS else -1
        if index >= 0:
            text = "a backslash in a string is an escape in some sessions only; write [.] or [0-9] in patterns"
            yield _finding("ambiguous_escapes", text, sql, index, "\\")


def _ambiguous_text(code: str, sql: str, engine: Engine) -> Iterator[Finding]:
    for match in _EXECUTABLE.finditer(code):
        if match[0] == "/*+" and engine.has_plan_hints:
            continue
        text = f"a comment that begins with {match[0]} is run as code by some engines"
        yield _finding("executable_comments", text, sql, match.start(), match[0])
    for match in _ESCAPED.finditer(sql):
        if code[match.start()] != " ":
            text = "names and strings with Unicode escapes are not allowed"
            yield _finding("unicode_escapes", text, sql, match.start(), match[0])
    if not engine.reads_separated_digits:
        for match in _SEPARATED_DIGITS.finditer(code):
            text = f"{match[0]} is a number to some versions and a number with an alias to others"
            yield _finding("ambiguous_number", text, sql, match.start(), match[0])
    if engine.comment_needs_blank:
        for match in _GLUED_COMMENT.finditer(code):
            text = "-- starts a comment only before white space; without it, engines disagree"
            yield _finding("executable_comments", text, sql, match.start(), "--")


def _without_strings(sql: str, tokens: Sequence[Token]) -> tuple[str, str]:
    """Return `sql` with strings blanked, and with strings and quoted names blanked."""
    unquoted, code = list(sql), list(sql)
    for token in tokens:
        span = slice(token.start, token.end + 1)
        blank = " " * (token.end + 1 - token.start)
        if token.token_type in _STRINGS:
            unquoted[span] = blank
        if token.token_type in _STRINGS | _NAMES and sql[token.start] in "\"'`[$eEnNrRbBxX":
            code[span] = blank
    return "".join(unquoted), "".join(code)


def _finding(rule: str, text: str, sql: str, index: int, token: str) -> Finding:
    line = sql.count("\n", 0, index) + 1
    return Finding(rule, text, token=token, position=Position(line, index - (sql.rfind("\n", 0, index) + 1) + 1))
