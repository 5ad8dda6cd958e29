"""Trino."""

from agent.engines.base import Engine


class Trino(Engine):
    """Trino."""

    name = "trino"
    dialect = "trino"
    driver = "trino"
    packages = ("trino",)
    extra = "trino"
