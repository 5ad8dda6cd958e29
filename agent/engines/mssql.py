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
