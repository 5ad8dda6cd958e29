"""ClickHouse, as a server and in the process."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from datasphinx.agent.engines.base import Engine, EngineStatus, Storage, SystemQuery, timeout_of
from datasphinx.agent.engines.privileges import Grants, shown_grants
from datasphinx.agent.engines.spelling import ISO_FORMATS, TEXT_OF_SECONDS, Spelling, function_call
from datasphinx.agent.types import Limits

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection
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


_DATE_PARTS = {
    "year": "toYear", "quarter": "toQuarter", "month": "toMonth", "iso_week": "toISOWeek", "day": "toDayOfMonth",
    "weekday": "toDayOfWeek", "hour": "toHour", "minute": "toMinute",
}  # fmt: skip
_SECONDS = "toUnixTimestamp64Micro(CAST(x AS Nullable(DateTime64(6)))) / 1000000"


class _Spelling(Spelling):
    dialect = "clickhouse"
    types = {
        "number": "Nullable(Float64)",
        "date": "Nullable(Date32)",
        "datetime": "Nullable(DateTime64(6))",
        "text": "Nullable(String)",
    }
    integer = "Nullable(Int64)"
    decimal = "Nullable(Decimal(38, 10))"
    formatter = "formatDateTime"
    formats = {**ISO_FORMATS, "quarter": "%Y-Q%Q"}
    match = "match"
    pattern_escape = "\\"
    fills_unmatched = True
    widens_numbers = False
    formulas = {
        **{part: f"CAST({function}(x) AS Nullable(Int64))" for part, function in _DATE_PARTS.items()},
        "seconds_of_time": _SECONDS,
        "seconds": _SECONDS,
        "duration": TEXT_OF_SECONDS,
        # Days since 1970: the unit of dateDiff does not survive parsing.
        "days_between": "(CAST(stop AS Nullable(Int64)) - CAST(start AS Nullable(Int64)))",
        "length": "lengthUTF8(x)",
        "left": "substringUTF8(x, 1, n)",
        "replace": "replaceAll(x, old, new)",
        "lower": "lowerUTF8(x)",
        "upper": "upperUTF8(x)",
        # An array is never NULL.
        "initcap": "CASE WHEN x IS NOT NULL THEN arrayStringConcat(arrayMap(word -> concat(upperUTF8(substringUTF8("
        "word, 1, 1)), substringUTF8(word, 2)), splitByString(' ', x)), ' ') END",
        # The functions give NaN for a single value.
        "stddev": "CASE WHEN COUNT(x) > 1 THEN stddevSamp(x) END",
        "variance": "CASE WHEN COUNT(x) > 1 THEN varSamp(x) END",
        "percentile": "quantileExactInclusive(p)(x)",
    }

    def nullable(self, node: exp.Expr, kind: str) -> exp.Expr:
        """Make NULL possible, in whose place there is 0 or '' otherwise."""
        return function_call("toNullable", node) if kind in {*self.types, "boolean"} else node

    def as_decimal(self, node: exp.Expr) -> exp.Expr:
        return function_call("accurateCastOrNull", node, "Decimal(38, 10)")

    def concatenate(self, parts: Sequence[exp.Expr]) -> exp.Expr:
        return function_call("concat", *parts)

    def contains(self, node: exp.Expr, pattern: exp.Expr) -> exp.Expr:
        """Compare in lower case: LOWER handles only ASCII, and LIKE has no ESCAPE."""
        return exp.Like(this=function_call("lowerUTF8", node), expression=function_call("lowerUTF8", pattern))


_THREADS = 4
"""Threads of one statement; each needs memory of its own."""


_TABLES = "SELECT database, name, engine, create_table_query FROM system.tables"
_LOCAL_ENGINES = {"Memory", "Log", "TinyLog", "StripeLog", "Set", "Join", "EmbeddedRocksDB"}
_TARGET = re.compile(r"\sTO\s+(`[^`]+`|\w+)\.(`[^`]+`|\w+)")


class ClickHouse(Engine):
    """A ClickHouse server."""

    name = "clickhouse"
    other_schemes: ClassVar[tuple[str, ...]] = ("clickhousedb",)
    dialect = "clickhouse"
    otel_name = "clickhouse"
    driver = "clickhousedb"
    packages: ClassVar[tuple[str, ...]] = ("clickhouse_connect",)
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
    spelling = _Spelling()
    readonly: ClassVar[int] = 2
    """The setting `readonly`; 1 forbids all changes of settings, including those that the HTTP client sends."""
    routines = "SELECT name FROM system.functions WHERE origin <> 'System'"
    read_only_account = """CREATE USER datasphinx IDENTIFIED BY '...' SETTINGS readonly = 1;
GRANT SELECT ON {database}.* TO datasphinx;"""
    zone = SystemQuery("SELECT timezone() AS zone")
    moment_type = "datetime"
    has_exact_distances = True
    has_barrier = True
    barrier_limit = 2**64 - 1
    url_options: ClassVar[frozenset[str] | None] = frozenset({"secure", "verify", "protocol"})
    has_form: ClassVar[bool] = True

    def base_name(self, name: str) -> str:
        """Leave out combinators of aggregates that are not part of a listed name."""
        return name.lower() if name.lower() in self.allowed_functions else _COMBINATORS.sub("", name).lower()

    def accepts_unknown_column(self, column: exp.Column, scope: "Scope") -> bool:
        """Accept names of values in WITH, and members of a value with an alias."""
        name, qualifier = column.name.lower(), column.table.lower()
        values = {cte.alias.lower() for cte in scope.expression.root().find_all(exp.CTE) if cte.args.get("scalar")}
        aliases = {output.alias.lower() for output in scope.expression.expressions}
        return (qualifier or name) in values or (bool(qualifier) and qualifier in aliases)

    def setup_statements(self, connection: "Connection", limits: Limits) -> tuple[str, ...]:
        """Set the limits, and make the session read-only."""
        return (
            "SET dialect = 'clickhouse'",
            f"SET max_result_rows = {limits.row_limit + 1}, result_overflow_mode = 'break'",
            f"SET max_memory_usage = {limits.memory_mb << 20}, max_threads = {_THREADS}",
            f"SET max_execution_time = {timeout_of(limits)}, timeout_overflow_mode = 'throw'",
            f"SET readonly = {self.readonly}",
        )

    def default_schema(self, url: "URL") -> str | None:
        """Return the database of the URL."""
        return url.database or "default"

    def storage(self, connection: "Connection", default: str) -> Storage:
        """Return the tables whose storage engine does not hold their rows, and those that a materialized view fills."""
        shared, definitions = set(), {}
        for schema, name, engine, query in connection.exec_driver_sql(_TABLES):
            if not (engine.endswith("MergeTree") or engine in _LOCAL_ENGINES) or name.startswith(".inner"):
                shared.add((schema, name))
            target = _TARGET.search(query) if engine == "MaterializedView" else None
            if target:
                shown = target[1].strip("`"), target[2].strip("`")
                shared.add(shown)
                definitions[shown] = query
        return Storage(shared=frozenset(shared), definitions=definitions)

    def grants(self, connection: "Connection") -> Grants:
        """Read SHOW GRANTS."""
        return Grants(shown_grants(connection))


class ChDB(ClickHouse):
    """ClickHouse's engine over a folder, in worker processes."""

    name = "chdb"
    other_schemes = ()
    driver = "chdb"
    packages = ("chdb", "chdb_sqlalchemy")
    status = "tested"
    worker_cursor = "chdb_cursor"
    readonly = 1
    url_options = None
    has_form = False
    is_folder = True

    def default_schema(self, url: "URL") -> str | None:
        """Return the only database of a folder."""
        return "default"
