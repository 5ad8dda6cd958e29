"""Rules on functions and types: only what the allow-list of the dialect has may be called or cast to.

The lists are `agent/sql/allowed/<dialect>.txt`, made from the engines' own catalogs by `tests/function_lists.py`.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from sqlglot import exp

from agent.sql.dialects import faithful
from agent.sql.finding import Finding, Statement, position_of, shown

_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
_ROW_FUNCTIONS = {
    "sqlite": {"json_each", "json_tree", "generate_series"},
    "duckdb": {"range", "generate_series", "unnest", "json_each", "json_tree"},
    "clickhouse": {"numbers", "values", "generateseries", "generate_series"},
    "mysql": {"json_table"},
}
"""Engines whose functions in FROM are a list of their own; elsewhere any allowed function may stand there."""

_SCHEMAS = {"postgres": {"pg_catalog"}}
_EXTENSION_TYPES = {"citext", "hstore", "geometry", "geography", "ltree", "vector", "tsvector", "tsquery"}
"""Types that sqlglot does not know by name and that only hold values."""
MAX_TYPE_LENGTH = 1_000_000
"""Characters that CAST(... AS CHAR(n)) may pad to."""


@cache
def allowed_names(name: str) -> frozenset[str]:
    """Return the lines of the list `name` (of a dialect, `nodes` or `types`); none where there is no list."""
    path = files("agent.sql") / "allowed" / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if name.isalnum() and path.is_file() else []
    return frozenset(line for line in lines if line and not line.startswith("#"))


def harmless_functions(statement: Statement) -> Iterator[Finding]:
    """Every function is on the list of the dialect; none is named by a schema that is not the engine's own."""
    for node in statement.nodes:
        name = called_name(node, statement.dialect)
        if name and name not in _callable(node, statement.dialect):
            text = f"the function {name} is not on the list of harmless functions"
            yield Finding("harmless_functions", text, name.upper(), name, position_of(node))
        # DuckDB chains calls on values: in name.lower() a column comes before the dot.
        if statement.dialect != "duckdb" and isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            yield from _of_own_schema(node, statement.dialect)


def harmless_types(statement: Statement) -> Iterator[Finding]:
    """Every type is a type of values: none that looks names up in the engine's catalog, none without end."""
    for node in statement.nodes:
        if isinstance(node, exp.DataType) and not _is_value_type(node):
            name = shown(node, statement.dialect)
            yield Finding("harmless_types", f"the type {name} is not allowed", None, name, position_of(node))


def called_name(node: exp.Expr, dialect: str) -> str | None:
    """Return the name that `node` calls in `dialect`, in lower case; None for what is no call by name."""
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc | exp.ParameterizedAgg):
        return str(node.this.name if isinstance(node.this, exp.Expr) else node.this).lower()
    if not isinstance(node, exp.Func) or isinstance(node, exp.Connector | exp.SubqueryPredicate):
        return None
    printed = _CALL.match(node.sql(dialect=faithful(dialect), comments=False))
    return printed[1].lower() if printed else None


def _callable(node: exp.Expr, dialect: str) -> frozenset[str]:
    if isinstance(node.parent, exp.Table) and dialect in _ROW_FUNCTIONS:
        return frozenset(_ROW_FUNCTIONS[dialect])
    return allowed_names(dialect)


def _of_own_schema(node: exp.Dot, dialect: str) -> Iterator[Finding]:
    schema = shown(node.this, dialect).strip('"`').lower()
    if isinstance(node.this, exp.Identifier | exp.Column | exp.Dot) and schema not in _SCHEMAS.get(dialect, set()):
        name = shown(node, dialect)
        text = f"the function {name} is called by schema"
        yield Finding("harmless_functions", text, name.upper(), name, position_of(node))


def _is_value_type(node: exp.DataType) -> bool:
    if node.this == exp.DataType.Type.USERDEFINED:
        kind = node.args.get("kind")
        return str(kind.name if isinstance(kind, exp.Identifier) else kind).lower() in _EXTENSION_TYPES
    lengths = (part.this.name for part in node.expressions if isinstance(part, exp.DataTypeParam) and part.this)
    too_long = any(length.isdigit() and int(length) > MAX_TYPE_LENGTH for length in lengths)
    name = node.this.name if isinstance(node.this, exp.DataType.Type) else type(node.this).__name__
    return (name in allowed_names("types") or isinstance(node.this, exp.Interval)) and not too_long
