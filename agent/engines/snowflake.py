"""Snowflake."""

from agent.engines.base import Engine


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
