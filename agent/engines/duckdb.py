"""DuckDB."""

from agent.engines.base import Engine


class DuckDB(Engine):
    """DuckDB, in worker processes."""

    name = "duckdb"
    dialect = "duckdb"
    driver = "duckdb"
    sqlalchemy_dialect = ("agent.engines.duckdb_dialect", "DuckDBDialect")
    packages = ("duckdb",)
    extra = "duckdb"
    status = "tested"
    in_worker = True
