"""SQLite."""

from agent.engines.base import Engine


class SQLite(Engine):
    """SQLite, in worker processes."""

    name = "sqlite"
    dialect = "sqlite"
    driver = "sqlite"
    status = "tested"
    in_worker = True
