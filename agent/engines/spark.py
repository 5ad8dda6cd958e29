"""Spark SQL, through its Thrift server, and Databricks."""

from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from agent.engines.base import Engine, EngineStatus

if TYPE_CHECKING:
    from sqlglot.optimizer.scope import Scope


class Spark(Engine):
    """Spark SQL, with PyHive."""

    name = "spark"
    other_schemes: ClassVar[tuple[str, ...]] = ("hive",)
    dialect = "spark"
    driver = "spark"
    sqlalchemy_dialect: ClassVar[tuple[str, str] | None] = ("agent.engines.spark_dialect", "SparkDialect")
    packages: ClassVar[tuple[str, ...]] = ("pyhive", "thrift_sasl")
    extra = "spark"
    status: ClassVar[EngineStatus] = "tested"
    ignores_case = True
    system_columns = frozenset({"_metadata"})
    schema_names_format = True
    has_plan_hints = True
    substitutes_variables = True
    has_trim_from = True
    has_window_function = True
    groups_strictly = True

    def accepts_unknown_column(self, column: exp.Column, scope: "Scope") -> bool:
        """Accept parts of the output of window(time, '1 hour'), which is called `window`."""
        return column.table.lower() == "window"


class Databricks(Spark):
    """A SQL warehouse of Databricks."""

    name = "databricks"
    other_schemes = ()
    dialect = "databricks"
    driver = "databricks"
    sqlalchemy_dialect = None
    packages = ("databricks.sqlalchemy",)
    extra = "databricks"
    status = "untested"
    bare_session_functions = frozenset({"user"})
    usual_schema = "default"
    has_unit_words = True

    def folded_for_sqlglot(self, name: str) -> str:
        """Return `name` in lower case."""
        return name.lower()
