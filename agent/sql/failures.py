"""Errors of databases by class, which decides what may be done next.

SQLSTATE classes are those of the SQL standard and of PostgreSQL's appendix A; numbers are MySQL's and MariaDB's server
error reference. Engines without codes are told by the words of their messages.
"""

import re
from difflib import SequenceMatcher
from os.path import commonprefix
from typing import Literal

from agent.errors import (
    DatasphinxError,
    PermissionDenied,
    SourceUnreachable,
    StatementFailed,
    StatementTooCostly,
)

Kind = Literal["unknown name", "type", "syntax", "permission", "timeout", "connection", "resource", "other"]

_SQLSTATE: tuple[tuple[str, Kind], ...] = (
    ("42501", "permission"), ("28", "permission"),
    ("42703", "unknown name"), ("42P01", "unknown name"), ("42702", "unknown name"), ("3F000", "unknown name"),
    ("42883", "type"), ("42804", "type"), ("42846", "type"), ("22P02", "type"), ("22007", "type"), ("22008", "type"),
    ("42601", "syntax"), ("42803", "syntax"), ("42P10", "syntax"),
    ("57014", "timeout"), ("25P03", "timeout"), ("55P03", "timeout"),
    ("08", "connection"), ("57P", "connection"),
    ("53", "resource"), ("54", "resource"),
)  # fmt: skip
"""Beginnings of SQLSTATE, the longer ones before the classes that they are in."""

_ERRNO: dict[int, Kind] = {
    **dict.fromkeys((1044, 1045, 1142, 1143, 1227, 1370, 1410), "permission"),
    **dict.fromkeys((1052, 1054, 1049, 1051, 1109, 1146, 1305), "unknown name"),
    **dict.fromkeys((1292, 1366, 1367, 1411), "type"),
    **dict.fromkeys((1064, 1055, 1140, 1149, 1248), "syntax"),
    **dict.fromkeys((1205, 1317, 1969, 3024), "timeout"),
    **dict.fromkeys((1040, 1053, 1927, 2002, 2003, 2006, 2013), "connection"),
    **dict.fromkeys((1021, 1037, 1038, 1041, 1114, 1104, 3), "resource"),
}  # fmt: skip

_WORDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("permission", re.compile(r"permission denied|insufficient.permission|access.?denied|not enough privileges")),
    ("timeout", re.compile(r"interrupted|timeout|time limit|\(code:? 159\)|code: 159\b")),
    ("resource", re.compile(r"out of memory|memory.?limit|disk (is )?full|too big|no space|too many (terms|columns)")),
    ("connection", re.compile(r"connection (refused|reset|closed|lost)|broken pipe|unable to open database")),
    (
        "unknown name",
        re.compile(
            r"no such (column|table)|ambiguous column|unresolved_column|table_or_view_not_found|unknown[_ ]"
            r"(identifier|table|column)|ambiguous reference|(column|table|catalog error: table)\b.*\bnot (found|exist)"
            r"|does not exist|cannot be resolved|missing columns|referenced (column|table)"
        ),
    ),
    (
        "type",
        re.compile(
            r"conversion error|no function matches|cannot compare|datatype_mismatch|type mismatch|cast_invalid"
            r"|illegal type|type_mismatch|cannot parse|cannot cast|no supertype|no such function"
            r"|unresolved_routine|unknown function"
        ),
    ),
    ("syntax", re.compile(r"syntax|parser error|unrecognized token|incomplete input|misuse of|not_an_aggregate")),
)  # fmt: skip
"""In the order in which they are tried."""


_TYPES: dict[str, Kind] = {
    # What a connection refuses that can only read its file; there is no account that lacks a privilege.
    **dict.fromkeys(("PermissionException", "SQLITE_AUTH", "SQLITE_PERM"), "other"),
    **dict.fromkeys(("InterruptException", "SQLITE_INTERRUPT"), "timeout"),
    **dict.fromkeys(("OutOfMemoryException", "SQLITE_NOMEM", "SQLITE_TOOBIG", "SQLITE_FULL"), "resource"),
    **dict.fromkeys(("ConversionException", "TypeMismatchException", "InvalidTypeException"), "type"),
    **dict.fromkeys(("SQLITE_MISMATCH",), "type"),
    **dict.fromkeys(("ParserException", "SyntaxException"), "syntax"),
    **dict.fromkeys(("InvalidInputException", "OutOfRangeException", "ConstraintException"), "other"),
}
"""Exceptions of DuckDB and result codes of SQLite whose class does not depend on the message, which may quote data."""

_QUOTED = re.compile(r"""(?<!\w)'.*'|"[^"]*"|`[^`]*`""", re.DOTALL)
"""What a message quotes; a value may itself have single quotes."""


def kind_of(error: Exception) -> Kind:
    """Return the class of what a driver raised, by its code where it has one and else by its words."""
    original = getattr(error, "orig", None) or error
    first = original.args[0] if original.args else None
    if isinstance(first, int):
        # MySQL's numbers say more than the SQLSTATE that comes with them.
        return _ERRNO.get(first, "other")
    state = getattr(original, "sqlstate", None)
    if isinstance(state, str):
        return next((kind for start, kind in _SQLSTATE if state.startswith(start)), "other")
    return kind_of_text(str(original), type(original).__name__)


def kind_of_text(text: str, name: str = "") -> Kind:
    """Return the class of an error by `name`, the type or code that the driver gave it, and else by its words.

    Quoted parts of `text` do not count: they may be values of rows.
    """
    if name in _TYPES:
        return _TYPES[name]
    said = f"{name} {_QUOTED.sub('', text)}".lower()
    return next((kind for kind, pattern in _WORDS if pattern.search(said)), "other")


_STATE_CAUSES: tuple[tuple[str, str], ...] = (
    ("22012", "a number was divided by zero"),
    ("22003", "a number is out of range"),
    ("22P02", "a value could not be converted"), ("22018", "a value could not be converted"),
    ("22007", "a date or time is invalid"), ("22008", "a date or time is invalid"),
    ("2201B", "a regular expression is invalid"),
    ("22025", "a LIKE pattern is invalid"), ("22019", "a LIKE pattern is invalid"),
    ("2203", "a JSON value or path is invalid"),
    ("21000", "a subquery returned more than one row"),
    ("22", "a function got a value that it does not take"),
)  # fmt: skip

_ERRNO_CAUSES: dict[int, str] = {
    1365: "a number was divided by zero",
    **dict.fromkeys((1264, 1690), "a number is out of range"),
    **dict.fromkeys((1292, 1366, 1367, 1411), "a value could not be converted"),
    **dict.fromkeys((1139, *range(3685, 3700)), "a regular expression is invalid"),
    **dict.fromkeys((*range(3140, 3160), *range(4035, 4043)), "a JSON value or path is invalid"),
    **dict.fromkeys((1242,), "a subquery returned more than one row"),
    **dict.fromkeys((1210, 1367, 1416, 3037, 3055, 4079), "a function got a value that it does not take"),
}

_WORD_CAUSES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("a number was divided by zero", re.compile(r"divi(sion|de) by zero|divided by zero|divide_by_zero")),
    ("a subquery returned more than one row", re.compile(r"more than one row|more than 1 row|multiple rows")),
    ("a number is out of range", re.compile(r"^out of range error|out of range|overflow")),
    (
        "a value could not be converted",
        re.compile(r"^conversion error|cannot parse|cannot cast|cast_invalid|malformed"),
    ),
    ("a regular expression is invalid", re.compile(r"regexp?\b|regular expression")),
    ("a function got a value that it does not take", re.compile(r"^invalid input error|invalid argument|^bad ")),
)

_KIND_CAUSES: dict[Kind, str] = {
    "unknown name": "a table, column or function is not known",
    "type": "a function or operator does not fit the types of its arguments",
    "syntax": "it has a syntax error",
    "permission": "the account may not read what it needs",
    "timeout": "it was stopped",
    "connection": "the database does not answer",
    "resource": "it needs more memory or space than it may have",
    "other": "it could not be evaluated",
}

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\w+|\S")
_CARET = re.compile(r"(LINE \d+: )(.*)\n( *)\^")


def without_database_text(error: DatasphinxError, sql: str, sent: str) -> DatasphinxError:
    """Return `error` with the text of the database replaced by its class and, where the engine tells it, its position.

    `sql` is the statement as it was given, to which the position refers, counted in characters from 1; `sent` is what
    the database got. The result has no cause, no context and no fact that quotes the database. An error that quotes
    nothing is returned itself, without cause and context.
    """
    if isinstance(error, StatementTooCostly):
        # The plan's number of rows is made of statistics, which count hidden rows too.
        return StatementTooCostly(error.limit, error.limit)
    raised = error.__cause__
    error.__cause__ = error.__context__ = None
    if not isinstance(raised, Exception):
        return error
    if isinstance(error, StatementFailed):
        position = _position(raised, sql, sent)
        where = f" (position {position})" if position else ""
        return StatementFailed(f"{_cause(raised, error.kind)}{where}", error.kind)
    if isinstance(error, PermissionDenied):
        return PermissionDenied(error.source, _KIND_CAUSES["permission"])
    if isinstance(error, SourceUnreachable):
        return SourceUnreachable(error.source, _KIND_CAUSES["connection"])
    return error


def database_text(error: DatasphinxError) -> str:
    """Return all that the database said of `error`; empty where it said nothing."""
    raised = error.__cause__
    return str(getattr(raised, "orig", None) or raised).strip() if isinstance(raised, Exception) else ""


def _cause(raised: Exception, kind: str) -> str:
    original = getattr(raised, "orig", None) or raised
    first = original.args[0] if original.args else None
    found: str | None = None
    if isinstance(first, int):
        found = _ERRNO_CAUSES.get(first)
    elif isinstance(state := getattr(original, "sqlstate", None), str):
        found = next((cause for start, cause in _STATE_CAUSES if state.startswith(start)), None)
    else:
        text = _QUOTED.sub("", str(original)).lower()
        found = next((cause for cause, pattern in _WORD_CAUSES if pattern.search(text)), None)
    return found or next((cause for known, cause in _KIND_CAUSES.items() if known == kind), _KIND_CAUSES["other"])


def _position(raised: Exception, sql: str, sent: str) -> int | None:
    """Return where in `sql` the token stands at which the database stopped in `sent`; None where that is not known.

    PostgreSQL and DuckDB show a part of the line with a caret below it. What stands before `sent`, such as DECLARE, is
    not known here, so that the part is looked up in it.
    """
    caret = _CARET.search(str(getattr(raised, "orig", None) or raised))
    if caret is None:
        return None
    column = len(caret[3]) - len(caret[1])
    before, after = caret[2][:column].rpartition("...")[2], caret[2][column:].partition("...")[0]
    sent = _as_postgres_reads_it(sent)
    places = [found.start() for found in re.finditer(re.escape(after), sent)] if after else []
    at = max(places, key=lambda place: len(commonprefix((sent[:place][::-1], before[::-1]))), default=None)
    theirs, ours = list(_TOKEN.finditer(sent)), list(_TOKEN.finditer(sql))
    index = next((number for number, token in enumerate(theirs) if token.start() == at), None)
    if index is None:
        return None
    matcher = SequenceMatcher(None, [token[0].lower() for token in ours], [token[0].lower() for token in theirs], False)
    for block in matcher.get_matching_blocks():
        if block.b <= index < block.b + block.size:
            return ours[block.a + index - block.b].start() + 1
    return None


def _as_postgres_reads_it(sent: str) -> str:
    """Return `sent` as psycopg passes it on: parameters numbered, per cent signs single."""
    numbers: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        return "%" if found[1] is None else f"${numbers.setdefault(found[1], len(numbers) + 1)}"

    return re.sub(r"%%|%\((\w+)\)s", numbered, sent) if "%(" in sent else sent
