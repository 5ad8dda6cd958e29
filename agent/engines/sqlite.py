"""SQLite."""

from typing import TYPE_CHECKING

from sqlglot import exp

from agent.engines.base import Engine, fold_case

if TYPE_CHECKING:
    from sqlglot.optimizer.scope import Scope


_TIME_FORMATS = {"YEAR": "%Y", "MONTH": "%m", "DAY": "%d", "HOUR": "%H", "MINUTE": "%M", "SECOND": "%S", "DOW": "%w"}
_STARTS = {"YEAR": "%Y-01-01", "MONTH": "%Y-%m-01", "DAY": "%Y-%m-%d"}
_ROW_IDS = {"rowid", "oid", "_rowid_"}


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
    preserves_case = True
    reads_unknown_names_as_text = True
    enforces_types = False
    compares_numbers_as_text = True
    calculates_with_text = True
    has_numeric_booleans = True
    divides_integers = True
    has_time_zones = False
    reads_numbers_as_days = True
    grouping_follows_key = True
    has_row_of_extreme = True
    confusion_rank = 3

    def folded_for_sqlglot(self, name: str) -> str:
        """Return `name` in lower case."""
        return fold_case(name)

    def accepts_unknown_column(self, column: exp.Column, scope: "Scope") -> bool:
        """Accept row identifiers, texts in double quotes, and a full-text table that is named like a column of it."""
        name = column.name.lower()
        is_text = bool(column.this.args.get("quoted")) and isinstance(column.parent, exp.Binary | exp.In | exp.Between)
        is_table = isinstance(column.parent, exp.Match) and name in map(str.lower, scope.sources)
        return name in _ROW_IDS or (not column.table and (is_text or is_table))

    def rewritten_call(self, node: exp.Expr) -> exp.Expr:
        """Rewrite EXTRACT, YEAR and the like as STRFTIME, DATE_TRUNC as the first day of a period, LEFT and RIGHT."""
        if isinstance(node, exp.Left):
            return _call("SUBSTR", node.this, exp.Literal.number(1), node.expression)
        if isinstance(node, exp.Right):
            return _call("SUBSTR", node.this, exp.Neg(this=node.expression))
        if isinstance(node, exp.DateTrunc | exp.TimestampTrunc):
            pattern = _STARTS.get(node.text("unit").upper())
            return _call("STRFTIME", pattern, node.this) if pattern else node
        if isinstance(node, exp.Extract):
            pattern, value = _TIME_FORMATS.get(node.name.upper()), node.expression
        elif isinstance(node, exp.Year | exp.Month | exp.Day | exp.Hour | exp.Minute | exp.Second):
            pattern, value = _TIME_FORMATS[node.key.upper()], node.this
        else:
            return node
        return exp.cast(_call("STRFTIME", pattern, value), "INTEGER") if pattern else node


def _call(name: str, *arguments: exp.Expr | str) -> exp.Expr:
    expressions = [exp.Literal.string(argument) if isinstance(argument, str) else argument for argument in arguments]
    return exp.Anonymous(this=name, expressions=expressions)
