"""Microsoft SQL Server."""

from agent.engines.base import Engine


class SQLServer(Engine):
    """SQL Server, with pyodbc and an ODBC driver."""

    name = "mssql"
    other_schemes = ("sqlserver",)
    dialect = "tsql"
    driver = "mssql+pyodbc"
    packages = ("pyodbc",)
    extra = "mssql"
    ignores_case = True
    system_columns = frozenset({"$identity", "$rowguid", "$action"})
    bare_session_functions = frozenset({"user"})
    quotes_make_columns = True
    row_functions = frozenset({"string_split", "openjson"})
    format_takes_number = True
    other_dialects = ("sqlserver",)
    usual_schema = "dbo"
    recurses_without_keyword = True
    has_unit_words = True
    divides_integers = True
    groups_strictly = True
    orders_distinct_by_outputs = True
    has_ties = True
    confusion_rank = 4

    def folded_for_sqlglot(self, name: str) -> str:
        """Return `name` in lower case."""
        return name.lower()
