"""Snowflake."""

from sqlglot import exp
from sqlglot.generator import Generator

from agent.engines.base import Engine


class _Generator(Generator):
    def identifier_sql(self, expression: exp.Identifier) -> str:
        """Print a quoted name without upper-case letters in upper case.

        SQLAlchemy, and thus the catalog, has names that Snowflake stores in upper case in lower case.
        """
        name = expression.name
        if expression.args.get("quoted") and name == name.lower():
            expression = exp.Identifier(this=name.upper(), quoted=True)
        return str(super().identifier_sql(expression))


class Snowflake(Engine):
    """Snowflake."""

    name = "snowflake"
    dialect = "snowflake"
    driver = "snowflake"
    packages = ("snowflake.sqlalchemy",)
    extra = "snowflake"
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

    def stored_spelling(self, name: str) -> str:
        """Return `name` in upper case."""
        return name.upper()

    def folded_for_sqlglot(self, name: str) -> str:
        """Return `name` in upper case, in which Snowflake stores names that SQLAlchemy returns in lower case."""
        return name.upper() if name == name.lower() else name
