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
