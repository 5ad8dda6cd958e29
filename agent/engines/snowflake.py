"""Snowflake."""

import math
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.generator import Generator

from datasphinx.agent.engines.base import CONNECT_TIMEOUT_S, Engine, Named, timeout_of
from datasphinx.agent.types import Limits

if TYPE_CHECKING:
    from sqlalchemy import Connection


class _Generator(Generator):
    def identifier_sql(self, expression: exp.Identifier) -> str:
        """Print a quoted name without upper-case letters in upper case.

        SQLAlchemy, and thus the catalog, has names that Snowflake stores in upper case in lower case.
        """
        name = expression.name
        if expression.args.get("quoted") and name == name.lower():
            expression = exp.Identifier(this=name.upper(), quoted=True)
        return str(super().identifier_sql(expression))


_SESSION: dict[str, Any] = {
    "QUOTED_IDENTIFIERS_IGNORE_CASE": False,
    "MULTI_STATEMENT_COUNT": 1,
    "ABORT_DETACHED_QUERY": True,
    "CLIENT_TELEMETRY_ENABLED": False,
}
"""Snowflake session parameters: names are parsed by default rules, a call has one statement, which ends with its
session, and the driver sends no telemetry.
"""


class Snowflake(Engine):
    """Snowflake."""

    name = "snowflake"
    dialect = "snowflake"
    driver = "snowflake"
    packages = ("snowflake.sqlalchemy",)
    status = "emulated"
    ignores_case = True
    system_columns = frozenset({"nextval"})
    quotes_make_columns = True
    row_functions = frozenset({"flatten", "generator", "split_to_table", "strtok_split_to_table"})
    table_calls_functions = True
    usual_schema = "public"
    recurses_without_keyword = True
    has_dual = True

    generator_mixins = (_Generator,)
    has_unit_words = True
    groups_strictly = True
    confusion_rank = 6
    checks_url = True
    driver_arguments = {"login_timeout": CONNECT_TIMEOUT_S, "session_parameters": _SESSION}
    routines = "SELECT function_name FROM information_schema.functions"
    read_only_account = """CREATE ROLE datasphinx;
GRANT USAGE ON WAREHOUSE ... TO ROLE datasphinx;
GRANT USAGE ON DATABASE {database} TO ROLE datasphinx;
GRANT USAGE ON ALL SCHEMAS IN DATABASE {database} TO ROLE datasphinx;
GRANT SELECT ON ALL TABLES IN DATABASE {database} TO ROLE datasphinx;
CREATE USER datasphinx DEFAULT_ROLE = datasphinx TYPE = SERVICE RSA_PUBLIC_KEY = '...';
GRANT ROLE datasphinx TO USER datasphinx;"""
    url_options = frozenset({"warehouse", "role"})

    def stored_spelling(self, name: str) -> str:
        """Return `name` in upper case."""
        return name.upper()

    def folded_for_sqlglot(self, name: Named) -> Named:
        """Change names to upper case, in which Snowflake stores those that SQLAlchemy returns in lower case."""
        for part in name.find_all(exp.Identifier):
            part.set("this", part.name.upper() if part.name == part.name.lower() else part.name)
        return name

    def setup_statements(self, connection: "Connection", limits: Limits) -> tuple[str, ...]:
        """Set the time limit."""
        return (f"ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = {math.ceil(timeout_of(limits))}",)
