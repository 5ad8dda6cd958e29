"""Classification of database errors, which decides how to proceed, and removal of data from their messages.

The codes of errors are those of `Engine`. Errors without codes are classified by keywords in their messages.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from datasphinx.agent.engines.base import Engine, ErrorKind
from datasphinx.agent.errors import (
    DatasphinxError,
    PermissionDenied,
    SourceUnreachable,
    StatementFailed,
)
from datasphinx.agent.messages import Message

_WORDS: tuple[tuple[ErrorKind, re.Pattern[str]], ...] = (
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


_CONNECTION_CAUSES = tuple(
    (cause, re.compile(words))
    for cause, words in (
        ("database_in_use", r"could not set lock on file|database is locked"),
        ("connection_option_refused", r"unsupported startup parameter|unsupported configuration parameter"),
        ("tls_required", r"no encryption|ssl off|insecure transport|(requires?|without) (ssl|tls|encrypt)"),
        (
            "account_refused",
            r"authentication failed|password supplied|no pg_hba|access denied|role .* does not exist|not allowed to",
        ),
        ("connections_exhausted", r"too many (clients|connections)|remaining connection slots|max_client_conn"),
        ("database_unknown", r"database .* does not exist|unknown database|no such database"),
        ("database_starting", r"starting up|shutting down|recovery mode"),
        ("not_a_database", r"not a valid duckdb|not a database|malformed|serialization error"),
        ("wal_not_readable", r"(?!)"),
        ("database_file_not_readable", r"unable to open database file|cannot open file|permission denied"),
    )
)
"""Why a connection fails: a message, and words for errors without a code, such as those of libpq and DuckDB."""

_QUOTED = re.compile(r"""(?<!\w)'.*'|"[^"]*"|`[^`]*`""", re.DOTALL)
"""Quoted parts of a message; a quoted value may itself contain single quotes."""


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
_KIND_CAUSES: dict[ErrorKind, str] = {
    "unknown name": "name_missing",
    "type": "types_not_accepted",
    "syntax": "syntax_error",
    "permission": "privilege_missing",
    "timeout": "statement_stopped",
    "connection": "database_silent",
    "resource": "resources_exceeded",
    "other": "not_evaluated",
}


_Found = TypeVar("_Found")


def connection_reason(text: str, engine: Engine, code: int | str = "", path: str = "") -> Message:
    """Return why a database cannot be opened, with `text`, the message of its driver.

    `code` is the driver's code of the error, and `path` that of a database file.
    """
    if path and not Path(path).exists():
        return Message("source_file_missing")
    message, known = text.lower(), engine.connection_causes.get(code)
    causes = (cause for cause, words in _CONNECTION_CAUSES if cause == known or words.search(message))
    return Message("cause_and_quotation", cause=Message(next(causes, "database_silent")), quotation=text)


def connection_failure(source: str, engine: Engine, error: Exception, text: str, path: str = "") -> SourceUnreachable:
    """Return the error for a connection that fails, or is lost, with `error`; `text` is the message shown."""
    original = _original(error)
    code = _code_of(original) or getattr(original, "sqlite_errorname", None) or type(original).__name__
    return SourceUnreachable(source, connection_reason(text, engine, code, path))


def kind_of(error: Exception, engine: Engine) -> ErrorKind:
    """Return the kind of a driver's error, by its code if it has one, otherwise by its message."""
    original = _original(error)
    if (code := _code_of(original)) is not None:
        return _of_code(engine.error_kinds, code) or "other"
    return kind_of_text(str(original), engine, type(original).__name__)


def kind_of_text(text: str, engine: Engine, name: str = "") -> ErrorKind:
    """Return the kind of an error by `name`, its exception type or result code, otherwise by keywords in `text`.

    Quoted parts of `text` are ignored: they may be values from rows.

    >>> kind_of_text('relation "orders" does not exist', Engine())
    'unknown name'
    """
    if name in engine.error_kinds:
        return engine.error_kinds[name]
    message = f"{name} {_QUOTED.sub('', text)}".lower()
    return next((kind for kind, pattern in _WORDS if pattern.search(message)), "other")


def without_database_text(error: DatasphinxError, engine: Engine) -> DatasphinxError:
    """Return `error` with the database's message replaced by the cause of the error.

    The returned error has no cause and no context, and none of its attributes quotes the database. An error without
    such text is returned unchanged, without cause and context.
    """
    cause = error.__cause__
    error.__cause__ = error.__context__ = None
    if not isinstance(cause, Exception):
        return error
    if isinstance(error, StatementFailed):
        return StatementFailed(_cause(cause, error.kind, engine), error.kind)
    if isinstance(error, PermissionDenied):
        return PermissionDenied(error.source, Message(_KIND_CAUSES["permission"]))
    if isinstance(error, SourceUnreachable):
        cause = error.reason.facts.get("cause") if isinstance(error.reason, Message) else None
        return SourceUnreachable(error.source, cause or Message(_KIND_CAUSES["connection"]))
    return error


def _cause(driver_error: Exception, kind: str, engine: Engine) -> Message:
    original = _original(driver_error)
    if (code := _code_of(original)) is not None:
        cause = _of_code(engine.error_causes, code)
    else:
        message = _QUOTED.sub("", str(original)).lower()
        cause = next((cause for cause, pattern in _WORD_CAUSES if pattern.search(message)), None)
    by_kind = next((code for name, code in _KIND_CAUSES.items() if name == kind), _KIND_CAUSES["other"])
    return Message(cause or by_kind)


def _original(error: Exception) -> BaseException:
    """Return the driver's error of one of SQLAlchemy."""
    return getattr(error, "orig", None) or error


def _code_of(error: BaseException) -> int | str | None:
    """Return the number or the SQLSTATE of a driver's error; MySQL's numbers are more specific than its SQLSTATE."""
    first, state = error.args[0] if error.args else None, getattr(error, "sqlstate", None)
    return first if isinstance(first, int) else state if isinstance(state, str) else None


def _of_code(known: Mapping[int | str, _Found], code: int | str) -> _Found | None:
    """Return what is known about a number, or about the longest known beginning of a SQLSTATE."""
    starts = [code] if isinstance(code, int) else [code[:length] for length in range(len(code), 1, -1)]
    return next((known[start] for start in starts if start in known), None)
