"""ClickHouse, as a server and in the process."""

import re
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from agent.engines.base import Engine, EngineStatus

if TYPE_CHECKING:
    from sqlglot.optimizer.scope import Scope

_COMBINATORS = re.compile(r"(?:If|Array|Map|Merge|ForEach|Distinct|OrNull|OrDefault|ArgMin|ArgMax|Resample)+$")
"""Combinator suffixes of aggregate functions."""


def _values(self: Any, node: exp.Values) -> str:
    """Print rows of values; sqlglot parses each value of a row as a row with one value."""
    rows = []
    for row in node.expressions:
        cells = [cell.expressions[0] if isinstance(cell, exp.Tuple) else cell for cell in row.expressions]
        rows.append(f"({', '.join(self.sql(cell) for cell in cells)})")
    alias = self.sql(node, "alias")
    return f"(VALUES {', '.join(rows)}){f' AS {alias}' if alias else ''}"


class ClickHouse(Engine):
    """A ClickHouse server."""

    name = "clickhouse"
    other_schemes: ClassVar[tuple[str, ...]] = ("clickhousedb",)
    dialect = "clickhouse"
    driver = "clickhousedb"
    packages: ClassVar[tuple[str, ...]] = ("clickhouse_connect",)
    extra = "clickhouse"
    status: ClassVar[EngineStatus] = "emulated"
    arm_hides_with = True
    reuses_aliases = True
    system_columns = frozenset({"_file", "_path", "_database", "_table"})
    in_reads_tables = True
    in_list_reads_tables = True
    row_functions = frozenset({"numbers", "values", "generateseries", "generate_series"})
    calls_by_name = dict.fromkeys(("arrayreduce", "arrayreduceinranges"), 0)
    reads_separated_digits = True
    usual_schema = "default"

    transforms = {
        exp.IntDiv: lambda self, node: self.binary(node, "DIV"),
        exp.NullSafeEQ: lambda self, node: self.binary(node, "<=>"),
        exp.Values: _values,
    }
    has_exact_columns = True
    aliases_hide_columns = True
    compares_strictly = True
    groups_strictly = True
    has_ties = True

    def base_name(self, name: str) -> str:
        """Leave out combinators of aggregates that are not part of a listed name."""
        return name.lower() if name.lower() in self.allowed_functions else _COMBINATORS.sub("", name).lower()

    def accepts_unknown_column(self, column: exp.Column, scope: "Scope") -> bool:
        """Accept names of values in WITH, and members of a value with an alias."""
        name, qualifier = column.name.lower(), column.table.lower()
        values = {cte.alias.lower() for cte in scope.expression.root().find_all(exp.CTE) if cte.args.get("scalar")}
        aliases = {output.alias.lower() for output in scope.expression.expressions}
        return (qualifier or name) in values or (bool(qualifier) and qualifier in aliases)


class ChDB(ClickHouse):
    """ClickHouse's engine over a folder, in worker processes."""

    name = "chdb"
    other_schemes = ()
    driver = "chdb"
    packages = ("chdb", "chdb_sqlalchemy")
    status = "tested"
    in_worker = True
