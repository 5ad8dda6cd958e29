"""Spark SQL, through its Thrift server, and Databricks."""

import math
from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import TokenType

from datasphinx.agent.engines.base import Engine, EngineStatus, timeout_of
from datasphinx.agent.types import Limits

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection
    from sqlglot.optimizer.scope import Scope


_PARSER_SETTINGS = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.caseSensitive": "false",
}
"""Spark settings that affect parsing. Spark would otherwise replace variables, such as ${env:NAME}, before it
parses.
"""


class _WindowFunction(Parser):
    """Parser of window(...) after GROUP BY as a call."""

    QUERY_MODIFIER_TOKENS = Parser.QUERY_MODIFIER_TOKENS - {TokenType.WINDOW}


class Spark(Engine):
    """Spark SQL, with PyHive."""

    name = "spark"
    other_schemes: ClassVar[tuple[str, ...]] = ("hive",)
    dialect = "spark"
    driver = "spark"
    sqlalchemy_dialect: ClassVar[tuple[str, str] | None] = ("datasphinx.agent.engines.spark_dialect", "SparkDialect")
    packages: ClassVar[tuple[str, ...]] = ("pyhive", "thrift_sasl")
    status: ClassVar[EngineStatus] = "tested"
    ignores_case = True
    system_columns = frozenset({"_metadata"})
    has_plan_hints = True
    substitutes_variables = True
    has_trim_from = True
    parser_mixins: ClassVar[tuple[type[Parser], ...]] = (_WindowFunction,)
    groups_strictly = True
    routines = "SHOW USER FUNCTIONS"
    read_only_account = """Give the account of the Thrift server read-only permission on the files of the warehouse,
or GRANT SELECT ON DATABASE {database} TO `datasphinx` if an authorizer is configured."""
    has_barrier: ClassVar[bool] = True
    url_options: ClassVar[frozenset[str] | None] = frozenset()

    def accepts_unknown_column(self, column: exp.Column, scope: "Scope") -> bool:
        """Accept parts of the output of window(time, '1 hour'), which is called `window`."""
        return column.table.lower() == "window"

    def setup_statements(self, connection: "Connection", limits: Limits) -> tuple[str, ...]:
        """Set the time limit and the parser."""
        return (
            f"SET spark.sql.thriftServer.queryTimeout={math.ceil(timeout_of(limits))}s",
            "SET spark.sql.thriftServer.interruptOnCancel=true",
            "SET spark.sql.thriftServer.incrementalCollect=true",
            *(f"SET {name}={value}" for name, value in _PARSER_SETTINGS.items()),
        )

    def default_schema(self, url: "URL") -> str | None:
        """Return the database of the URL."""
        return url.database or "default"

    def with_barrier(self, rows: exp.Select, cte: str) -> exp.Select:
        """Use a sample of 100 per cent, below which Spark pushes no condition.

        A LIMIT would gather all rows in one partition, and its maximum is 2,147,483,647 rows.
        """
        source = exp.Subquery(this=rows, sample=exp.TableSample(percent=exp.Literal.number(100)))
        return exp.Select(expressions=[exp.Star()], from_=exp.From(this=source))


class Databricks(Spark):
    """A SQL warehouse of Databricks."""

    name = "databricks"
    other_schemes = ()
    dialect = "databricks"
    driver = "databricks"
    sqlalchemy_dialect = None
    packages = ("databricks.sqlalchemy",)
    status = "untested"
    bare_session_functions = frozenset({"user"})
    usual_schema = "default"
    has_unit_words = True
    checks_url = True
    read_only_account = """GRANT USE CATALOG ON CATALOG ... TO `datasphinx`;
GRANT USE SCHEMA, SELECT ON SCHEMA ... TO `datasphinx`;"""
    has_barrier = False
    url_options = frozenset({"http_path", "catalog", "schema"})

    def setup_statements(self, connection: "Connection", limits: Limits) -> tuple[str, ...]:
        """Set the time limit."""
        return (f"SET STATEMENT_TIMEOUT = {math.ceil(timeout_of(limits))}",)

    def default_schema(self, url: "URL") -> str | None:
        """Return the schema of the URL."""
        return str(url.query.get("schema", "default"))
