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
    ignores_case = True
    reuses_aliases = True
    bare_session_functions = frozenset({"user"})
    row_functions = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree"})
    calls_by_name = dict.fromkeys(("list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate"), 1)
    reads_separated_digits = True
    usual_schema = "main"
