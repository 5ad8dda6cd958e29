"""SQLite."""

from sqlglot import exp

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
    has_isnull = True
    has_string_aliases = True
    # The name of the type in a CAST decides its affinity, so NUMERIC and REAL differ.
    transforms = {exp.Cast: lambda self, node: f"CAST({self.sql(node, 'this')} AS {self.sql(node, 'to')})"}
    type_names = {exp.DType.DECIMAL: "DECIMAL", exp.DType.BOOLEAN: "BOOLEAN"}
