"""PostgreSQL."""

from agent.engines.base import Engine


class PostgreSQL(Engine):
    """PostgreSQL, with psycopg."""

    name = "postgresql"
    other_schemes = ("postgres",)
    dialect = "postgres"
    driver = "postgresql+psycopg"
    packages = ("psycopg",)
    extra = "postgres"
    status = "tested"
