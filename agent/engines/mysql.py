"""MySQL and MariaDB, which have one dialect."""

from typing import ClassVar

from sqlglot import exp

from agent.engines.base import Engine, EngineStatus


class MySQL(Engine):
    """MySQL, with PyMySQL."""

    name = "mysql"
    dialect = "mysql"
    driver = "mysql+pymysql"
    packages = ("pymysql",)
    extra = "mysql"
    status: ClassVar[EngineStatus] = "emulated"
    folds_with = True
    inner_with_hides_outer = True
    quotes_make_columns = True
    row_functions = frozenset({"json_table"})
    format_takes_number = True
    comment_needs_blank = True
    has_trim_from = True
    has_dual = True
    has_interval_function = True
    keeps_cast_types = True
    transforms = {exp.RegexpLike: lambda self, node: self.binary(node, "REGEXP")}
    preserves_case = True
    double_quotes_are_text = True
    ignores_case_of_text = True
    has_numeric_booleans = True
    grouping_follows_key = True
    pipes_are_or = True
    confusion_rank = 1


class MariaDB(MySQL):
    """MariaDB, with PyMySQL."""

    name = "mariadb"
    driver = "mariadb+pymysql"
    status = "tested"
