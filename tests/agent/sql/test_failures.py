"""Classification of database errors by the driver's code, otherwise by keywords."""

from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError

from datasphinx.agent.engines import engine_of
from datasphinx.agent.engines.base import Engine
from datasphinx.agent.sql.failures import kind_of, kind_of_text

POSTGRES = engine_of("postgres")


class Coded(Exception):
    """An error with a SQLSTATE, as psycopg raises it."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__("as the server says")
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("42501", "permission"), ("42703", "unknown name"), ("42P01", "unknown name"), ("42601", "syntax"),
        ("42803", "syntax"), ("42883", "type"), ("22P02", "type"), ("57014", "timeout"), ("57P01", "connection"),
        ("08006", "connection"), ("53200", "resource"), ("22012", "other"), ("25006", "other"),
    ],
)  # fmt: skip
def test_by_sqlstate(state: str, kind: str) -> None:
    assert kind_of(DBAPIError("SELECT 1", None, Coded(state)), POSTGRES) == kind
    assert kind_of(Coded(state), POSTGRES) == kind


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (1142, "permission"), (1143, "permission"), (1054, "unknown name"), (1146, "unknown name"), (1064, "syntax"),
        (1055, "syntax"), (1292, "type"), (1969, "timeout"), (3024, "timeout"), (2013, "connection"),
        (1114, "resource"),
        (1690, "other"),
    ],
)  # fmt: skip
def test_by_number(number: int, kind: str) -> None:
    assert kind_of(DBAPIError("SELECT 1", None, Exception(number, "as the server says")), engine_of("mysql")) == kind


@pytest.mark.parametrize(
    "text, kind",
    [
        ("no such column: colour", "unknown name"),
        ("ambiguous column name: id", "unknown name"),
        ('near "FROM": syntax error', "syntax"),
        ("misuse of aggregate: COUNT()", "syntax"),
        ("no such function: year", "type"),
        ("interrupted", "timeout"),
        ("string or blob too big", "resource"),
        ("unable to open database file", "connection"),
        ("integer overflow", "other"),
        ("Catalog Error: Table with name nowhere does not exist!", "unknown name"),
        ('Binder Error: Referenced column "colour" not found in FROM clause!', "unknown name"),
        ("Binder Error: No function matches the given name and argument types 'sum(VARCHAR)'.", "type"),
        ("Conversion Error: Could not convert string 'x' to INT32", "type"),
        ('Parser Error: syntax error at or near "FROM"', "syntax"),
        ("Code: 47. DB::Exception: Unknown expression identifier `colour`. (UNKNOWN_IDENTIFIER)", "unknown name"),
        ("Code: 497. DB::Exception: reader: Not enough privileges. (ACCESS_DENIED)", "permission"),
        ("Code: 159. DB::Exception: Timeout exceeded: elapsed 1 s. (TIMEOUT_EXCEEDED)", "timeout"),
        ("Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)", "resource"),
        ("[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column cannot be resolved.", "unknown name"),
        ("[TABLE_OR_VIEW_NOT_FOUND] The table or view `nowhere` cannot be found.", "unknown name"),
        ("[DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES] Cannot resolve.", "type"),
        ("[PARSE_SYNTAX_ERROR] Syntax error at or near 'FROM'.", "syntax"),
    ],
)
def test_by_words(text: str, kind: str) -> None:
    assert kind_of_text(text, Engine()) == kind


@pytest.mark.parametrize(
    ("text", "dialect", "name", "kind"),
    [
        (
            "Conversion Error: Could not convert string 'x permission denied' to INT32",
            "duckdb",
            "ConversionException",
            "type",
        ),
        ("Conversion Error: Could not convert string 'a' permission denied 'b' to INT32", "duckdb", "", "type"),
        ("Invalid Input Error: bad 'x' permission denied", "duckdb", "InvalidInputException", "other"),
        ("bad JSON path: 'access denied'", "sqlite", "SQLITE_ERROR", "other"),
        ("Permission Error: no", "duckdb", "PermissionException", "other"),
        ("Code: 6. DB::Exception: Cannot parse string 'access denied' as Int32", "clickhouse", "", "type"),
        ("interrupted", "sqlite", "SQLITE_INTERRUPT", "timeout"),
    ],
)
def test_data_that_a_message_quotes_does_not_decide(text: str, dialect: str, name: str, kind: str) -> None:
    assert kind_of_text(text, engine_of(dialect), name) == kind


@pytest.mark.parametrize("error", [Exception(), Exception(None), ValueError("")])
def test_what_says_nothing_is_of_no_class(error: Any) -> None:
    assert kind_of(error, POSTGRES) == "other"
