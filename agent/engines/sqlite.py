"""SQLite."""

from agent.engines.base import Engine


class SQLite(Engine):
    """SQLite, in worker processes."""

    name = "sqlite"
    dialect = "sqlite"
    driver = "sqlite"
    status = "tested"
    in_worker = True
    ignores_case = True
    recurses_in_later_arms = True
    quotes_make_columns = True
    in_reads_tables = True
    row_functions = frozenset({"json_each", "json_tree", "generate_series"})
    usual_schema = "main"
