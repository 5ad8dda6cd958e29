"""Classification of database errors, which decides how to proceed, and removal of data from their messages.

SQLSTATE classes follow the SQL standard and appendix A of the PostgreSQL manual; error numbers follow the server error
references of MySQL and MariaDB. Errors without codes are classified by keywords in their messages.
"""

import re
from pathlib import Path
from typing import Literal

from datasphinx.agent.errors import (
    DatasphinxError,
    PermissionDenied,
    SourceUnreachable,
    StatementFailed,
)
from datasphinx.agent.messages import Message

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
"""SQLSTATE prefixes; longer prefixes come before their classes."""

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
    (
        "resource",
        re.compile(
            r"out of memory|memory.?limit|disk (is )?full|too big|no space|too many (terms|columns)"
            r"|limit for bytes billed"
        ),
    ),
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
"""Patterns of messages, in the order in which they are tried."""


_CONNECTION_CAUSES: tuple[tuple[str, frozenset[object], re.Pattern[str]], ...] = tuple(
    (cause, frozenset(codes), re.compile(words))
    for cause, codes, words in (
        ("database_in_use", ("SQLITE_BUSY", "SQLITE_LOCKED"), r"could not set lock on file|database is locked"),
        ("connection_option_refused", ("08P01",), r"unsupported startup parameter|unsupported configuration parameter"),
        (
            "tls_required",
            (3159, 4151),
            r"no encryption|ssl off|insecure transport|(requires?|without) (ssl|tls|encrypt)",
        ),
        (
            "account_refused",
            ("28P01", "28000", 1044, 1045, 1129, 1130, 1698),
            r"authentication failed|password supplied|no pg_hba|access denied|role .* does not exist|not allowed to",
        ),
        (
            "connections_exhausted",
            ("53300", 1040, 1203, 1226),
            r"too many (clients|connections)|remaining connection slots|max_client_conn",
        ),
        ("database_unknown", ("3D000", 1049), r"database .* does not exist|unknown database|no such database"),
        ("database_starting", ("57P03",), r"starting up|shutting down|recovery mode"),
        (
            "not_a_database",
            ("SQLITE_NOTADB", "SQLITE_CORRUPT"),
            r"not a valid duckdb|not a database|malformed|serialization error",
        ),
        ("wal_not_readable", ("SQLITE_READONLY_CANTINIT", "SQLITE_READONLY_DIRECTORY", "SQLITE_READONLY"), r"(?!)"),
        (
            "database_file_not_readable",
            ("SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_IOERR", "PermissionError"),
            r"unable to open database file|cannot open file|permission denied",
        ),
    )
)
"""Why a connection fails: a message, the codes of the engines, and words for errors without a code.

libpq returns no SQLSTATE for a connection that fails; DuckDB has no codes.
"""


_TYPES: dict[str, Kind] = {
    # Refused by the read-only connection to a file; no account lacks a privilege.
    **dict.fromkeys(("PermissionException", "SQLITE_AUTH", "SQLITE_PERM"), "other"),
    **dict.fromkeys(("InterruptException", "SQLITE_INTERRUPT"), "timeout"),
    **dict.fromkeys(("OutOfMemoryException", "SQLITE_NOMEM", "SQLITE_TOOBIG", "SQLITE_FULL"), "resource"),
    **dict.fromkeys(("ConversionException", "TypeMismatchException", "InvalidTypeException"), "type"),
    **dict.fromkeys(("SQLITE_MISMATCH",), "type"),
    **dict.fromkeys(("ParserException", "SyntaxException"), "syntax"),
    **dict.fromkeys(("InvalidInputException", "OutOfRangeException", "ConstraintException"), "other"),
}
"""DuckDB exceptions and SQLite result codes with a fixed class. Their messages are ignored, since they may quote
data.
"""

_QUOTED = re.compile(r"""(?<!\w)'.*'|"[^"]*"|`[^`]*`""", re.DOTALL)
"""Quoted parts of a message; a quoted value may itself contain single quotes."""


_STATE_CAUSES: tuple[tuple[str, str], ...] = (
    ("22012", "division_by_zero"),
    ("22003", "number_out_of_range"),
    ("22P02", "value_not_converted"), ("22018", "value_not_converted"),
    ("22007", "date_invalid"), ("22008", "date_invalid"),
    ("2201B", "regex_invalid"),
    ("22025", "like_invalid"), ("22019", "like_invalid"),
    ("2203", "json_invalid"),
    ("21000", "subquery_rows"),
    ("22", "argument_invalid"),
)  # fmt: skip
_ERRNO_CAUSES: dict[int, str] = {
    1365: "division_by_zero",
    **dict.fromkeys((1264, 1690), "number_out_of_range"),
    **dict.fromkeys((1292, 1366, 1367, 1411), "value_not_converted"),
    **dict.fromkeys((1139, *range(3685, 3700)), "regex_invalid"),
    **dict.fromkeys((*range(3140, 3160), *range(4035, 4043)), "json_invalid"),
    **dict.fromkeys((1242,), "subquery_rows"),
    **dict.fromkeys((1210, 1367, 1416, 3037, 3055, 4079), "argument_invalid"),
}
_WORD_CAUSES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("division_by_zero", re.compile(r"divi(sion|de) by zero|divided by zero|divide_by_zero")),
    ("subquery_rows", re.compile(r"more than one row|more than 1 row|multiple rows")),
    ("number_out_of_range", re.compile(r"^out of range error|out of range|overflow")),
    (
        "value_not_converted",
        re.compile(r"^conversion error|cannot parse|cannot cast|cast_invalid|malformed"),
    ),
    ("regex_invalid", re.compile(r"regexp?\b|regular expression")),
    ("argument_invalid", re.compile(r"^invalid input error|invalid argument|^bad ")),
)
_KIND_CAUSES: dict[Kind, str] = {
    "unknown name": "name_missing",
    "type": "types_not_accepted",
    "syntax": "syntax_error",
    "permission": "privilege_missing",
    "timeout": "statement_stopped",
    "connection": "database_silent",
    "resource": "resources_exceeded",
    "other": "not_evaluated",
}


def connection_reason(text: str, code: object = "", path: str = "") -> Message:
    """Return why a database cannot be opened, with `text`, the message of its driver.

    `code` is the driver's code of the error, and `path` that of a database file.
    """
    if path and not Path(path).exists():
        return Message("source_file_missing")
    message = text.lower()
    causes = (cause for cause, codes, words in _CONNECTION_CAUSES if code in codes or words.search(message))
    return Message("cause_and_quotation", cause=Message(next(causes, "database_silent")), quotation=text)


def connection_failure(source: str, error: Exception, text: str, path: str = "") -> SourceUnreachable:
    """Return the error for a connection that fails, or is lost, with `error`; `text` is the message shown."""
    original = getattr(error, "orig", None) or error
    first = original.args[0] if original.args else None
    names = (getattr(original, "sqlstate", None), getattr(original, "sqlite_errorname", None))
    code = first if isinstance(first, int) else next(filter(None, names), type(original).__name__)
    return SourceUnreachable(source, connection_reason(text, code, path))


def kind_of(error: Exception) -> Kind:
    """Return the class of a driver's error, by its code if it has one, otherwise by its message."""
    original = getattr(error, "orig", None) or error
    first = original.args[0] if original.args else None
    if isinstance(first, int):
        # MySQL's error numbers are more specific than its SQLSTATE values.
        return _ERRNO.get(first, "other")
    state = getattr(original, "sqlstate", None)
    if isinstance(state, str):
        return next((kind for start, kind in _SQLSTATE if state.startswith(start)), "other")
    return kind_of_text(str(original), type(original).__name__)


def kind_of_text(text: str, name: str = "") -> Kind:
    """Return the class of an error by `name`, its exception type or result code, otherwise by keywords in `text`.

    Quoted parts of `text` are ignored: they may be values from rows.

    >>> kind_of_text('relation "orders" does not exist')
    'unknown name'
    """
    if name in _TYPES:
        return _TYPES[name]
    message = f"{name} {_QUOTED.sub('', text)}".lower()
    return next((kind for kind, pattern in _WORDS if pattern.search(message)), "other")


def without_database_text(error: DatasphinxError) -> DatasphinxError:
    """Return `error` with the database's message replaced by the cause of the error.

    The returned error has no cause and no context, and none of its attributes quotes the database. An error without
    such text is returned unchanged, without cause and context.
    """
    cause = error.__cause__
    error.__cause__ = error.__context__ = None
    if not isinstance(cause, Exception):
        return error
    if isinstance(error, StatementFailed):
        return StatementFailed(_cause(cause, error.kind), error.kind)
    if isinstance(error, PermissionDenied):
        return PermissionDenied(error.source, Message(_KIND_CAUSES["permission"]))
    if isinstance(error, SourceUnreachable):
        cause = error.reason.facts.get("cause") if isinstance(error.reason, Message) else None
        return SourceUnreachable(error.source, cause or Message(_KIND_CAUSES["connection"]))
    return error


def _cause(driver_error: Exception, kind: str) -> Message:
    original = getattr(driver_error, "orig", None) or driver_error
    first = original.args[0] if original.args else None
    cause: str | None = None
    if isinstance(first, int):
        cause = _ERRNO_CAUSES.get(first)
    elif isinstance(state := getattr(original, "sqlstate", None), str):
        cause = next((code for start, code in _STATE_CAUSES if state.startswith(start)), None)
    else:
        message = _QUOTED.sub("", str(original)).lower()
        cause = next((code for code, pattern in _WORD_CAUSES if pattern.search(message)), None)
    by_kind = next((code for name, code in _KIND_CAUSES.items() if name == kind), _KIND_CAUSES["other"])
    return Message(cause or by_kind)
