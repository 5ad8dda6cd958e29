"""Microsoft SQL Server."""

import math
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from datasphinx.agent.engines.base import CONNECT_TIMEOUT_S, Engine, timeout_of
from datasphinx.agent.types import Limits

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection


_PARSER_SETTINGS = "SET QUOTED_IDENTIFIER, ANSI_NULLS, ANSI_PADDING, ANSI_WARNINGS, CONCAT_NULL_YIELDS_NULL ON"
_ODBC_DRIVER = "ODBC Driver 18 for SQL Server"


class SQLServer(Engine):
    """SQL Server, with pyodbc and an ODBC driver."""

    name = "mssql"
    other_schemes = ("sqlserver",)
    dialect = "tsql"
    driver = "mssql+pyodbc"
    packages = ("pyodbc",)
    ignores_case = True
    system_columns = frozenset({"$identity", "$rowguid", "$action"})
    bare_session_functions = frozenset({"user"})
    quotes_make_columns = True
    row_functions = frozenset({"string_split", "openjson"})
    format_takes_number = True
    other_dialects = ("sqlserver", "fabric", "synapse")
    usual_schema = "dbo"
    recurses_without_keyword = True
    has_unit_words = True
    divides_integers = True
    groups_strictly = True
    orders_distinct_by_outputs = True
    has_ties = True
    confusion_rank = 4
    checks_url = True
    driver_arguments = {"timeout": CONNECT_TIMEOUT_S}
    routines = "SELECT name FROM sys.objects WHERE type IN ('FN', 'IF', 'TF', 'FS', 'FT', 'AF')"
    read_only_account = """CREATE LOGIN datasphinx WITH PASSWORD = '...';
CREATE USER datasphinx FOR LOGIN datasphinx;
ALTER ROLE db_datareader ADD MEMBER datasphinx;"""
    url_options = frozenset({"Encrypt", "TrustServerCertificate"})
    has_form = True

    def period(self, day: exp.Expr, by: str) -> exp.Expr:
        """Return the first day of the period of a date; weeks begin on Monday."""
        return super().period(day, "iso_week" if by == "week" else by)

    def connection_url(self, url: "URL") -> "URL":
        """Ask for a read-only replica, with a driver."""
        forced = {"applicationintent", "driver"}
        query = {name: value for name, value in url.query.items() if name.lower() not in forced}
        driver = next((value for name, value in url.query.items() if name.lower() == "driver"), _ODBC_DRIVER)
        return url.set(query={**query, "driver": driver, "ApplicationIntent": "ReadOnly"})

    def setup_statements(self, connection: "Connection", limits: Limits) -> tuple[str, ...]:
        """Set the parser, and limits for locks and rows."""
        return (_PARSER_SETTINGS, f"SET LOCK_TIMEOUT {int(timeout_of(limits) * 1000)}", "SET ROWCOUNT 0")

    def limit_driver(self, connection: "Connection", limits: Limits) -> dict[str, Any]:
        """Set the time limit."""
        driver: Any = connection.connection.driver_connection
        driver.timeout = math.ceil(timeout_of(limits))
        return {}
