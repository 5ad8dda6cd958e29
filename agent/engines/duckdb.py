"""DuckDB."""

from collections.abc import Collection
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import TokenType

from datasphinx.agent.engines.base import Engine, SystemQuery
from datasphinx.agent.engines.read_only import connect_duckdb_read_only
from datasphinx.agent.engines.spelling import Spelling, function_call

if TYPE_CHECKING:
    from sqlalchemy import Dialect as SQLAlchemyDialect
    from sqlglot.optimizer.scope import Scope

_AroundCall = exp.Window | exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls
"""Nodes around a call that are written after it."""


class _Method(exp.Expression):
    """A call after a dot, while its operand is parsed."""

    arg_types = {"this": True}


class _Methods(Parser):
    """Parser that reads the method calls of DuckDB, `x.f(y)`, as the calls `f(x, y)` that they are."""

    def _parse_field(
        self, any_token: bool = False, tokens: Collection[TokenType] | None = None, anonymous_func: bool = False
    ) -> exp.Expr | None:
        field = super()._parse_field(any_token, tokens, anonymous_func)
        # Another node than a function keeps sqlglot from changing the columns of the operand into names.
        is_call = anonymous_func and isinstance(field, exp.Func | _AroundCall)
        return _Method(this=field) if is_call else field

    def _parse_column_ops(self, this: exp.Expr | None) -> exp.Expr | None:
        parsed = super()._parse_column_ops(this)
        nodes = parsed.walk() if parsed else ()
        operands = [node for node in nodes if any(isinstance(part, _Method) for part in node.iter_expressions())]
        for node in reversed(operands):
            call = _without_methods(node)
            parsed = call if node is parsed else parsed
            node.replace(call)
        return parsed


def _without_methods(node: exp.Expr) -> exp.Expr:
    """Return the column or dot `node` with calls instead of methods; `a.b.f()` is parsed as the column f() of a.b."""
    operand: exp.Expr | None = None
    names: list[Any] = []
    for part in node.parts if isinstance(node, exp.Column) else (node.this, node.expression):
        if isinstance(part, _Method):
            operand = _call(part.this, operand or exp.column(*reversed(names)))
        elif operand is None and isinstance(node, exp.Column):
            names.append(part)
        else:
            operand = exp.Dot(this=operand, expression=part) if operand else part
    assert operand
    return operand


def _call(call: exp.Expr, operand: exp.Expr) -> exp.Expr:
    """Return `call` with `operand` as its first argument; the guard refuses calls that cannot have one."""
    function = call
    while isinstance(function, _AroundCall):
        function = function.this
    if not isinstance(function, exp.Anonymous):
        return exp.Dot(this=operand, expression=call)
    function.set("expressions", [operand, *function.expressions])
    return call


class _Spelling(Spelling):
    dialect = "duckdb"
    match = "REGEXP_MATCHES"

    def as_decimal(self, node: exp.Expr) -> exp.Expr:
        return exp.TryCast(this=node, to=exp.DataType.build(self.decimal, dialect=self.dialect))

    def period_key(self, node: exp.Expr, by: str) -> exp.Expr:
        """Return the first day of the period, which is faster than its text."""
        return function_call("DATE_TRUNC", by, node)

    def period(self, key: exp.Expr, by: str) -> exp.Expr:
        return self.period_text(key, by)


class DuckDB(Engine):
    """DuckDB, in worker processes."""

    name = "duckdb"
    dialect = "duckdb"
    driver = "duckdb"
    sqlalchemy_dialect = ("datasphinx.agent.engines.duckdb_dialect", "DuckDBDialect")
    packages = ("duckdb",)
    status = "tested"
    worker_cursor = "duckdb_cursor"
    file_signature = (8, b"DUCK")
    ignores_case = True
    reuses_aliases = True
    bare_session_functions = frozenset({"user"})
    row_functions = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree"})
    calls_by_name = dict.fromkeys(("list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate"), 1)
    reads_separated_digits = True
    usual_schema = "main"
    has_isnull = True
    has_trim_from = True
    has_limit_percent = True
    parser_mixins = (_Methods,)
    preserves_case = True
    compares_strictly = True
    groups_strictly = True
    confusion_rank = 7
    spelling = _Spelling()
    # A PermissionException is the read-only connection: no account lacks a privilege. Messages may quote data.
    error_kinds = {
        "PermissionException": "other",
        "InterruptException": "timeout",
        "OutOfMemoryException": "resource",
        **dict.fromkeys(("ConversionException", "TypeMismatchException", "InvalidTypeException"), "type"),
        **dict.fromkeys(("ParserException", "SyntaxException"), "syntax"),
        **dict.fromkeys(("InvalidInputException", "OutOfRangeException", "ConstraintException"), "other"),
    }
    routines = "SELECT function_name FROM duckdb_functions() WHERE NOT internal"
    zone = SystemQuery("SELECT STRFTIME(CURRENT_TIMESTAMP, '%Z') AS zone")
    text_bytes = "encode(CAST(x AS VARCHAR))"
    names_outputs_by_text = True
    driver_kinds = {"FLOAT": "single", "INTERVAL": "interval"}
    # DuckDB pushes conditions into materialised common table expressions.
    has_barrier = True
    barrier_limit = 2**63 - 1
    url_options = frozenset()
    has_form = True

    def accepts_unknown_column(self, column: exp.Column, scope: "Scope") -> bool:
        """Accept the row identifier."""
        return column.name.lower() == "rowid"

    def product(self, dialect: "SQLAlchemyDialect") -> str:
        """Return the name with the version of the library."""
        return f"DuckDB {version('duckdb')}"

    def open_file(self, path: str) -> Any:
        """Return a connection without access to other files, the network and extensions."""
        return connect_duckdb_read_only(path)
