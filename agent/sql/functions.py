"""Rules on functions and types: only what the allow-list of the dialect has may be called or cast to.

The lists are `agent/sql/allowed/<dialect>.txt`, generated from the engines' own catalogs by `tests/function_lists.py`.
Each construct that can call a function is resolved to the function's name first: calls, attribute notation (`(x).f` is
`f(x)` in PostgreSQL), functions named by a text (`list_aggregate(x, 'sum')`) or passed to APPLY, and sampling methods.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from agent.sql.dialects import faithful
from agent.sql.finding import Finding, Position, Statement, position_of, shown

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

_FUNCTION_BY_NAME = {
    "duckdb": {name: 1 for name in ("list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate")},
    "clickhouse": dict.fromkeys(("arrayreduce", "arrayreduceinranges"), 0),
}
"""Functions that call the function which an argument names, with the index of that argument."""

_SAMPLING_METHODS = {"", "system", "bernoulli", "reservoir", "block", "row"}

_RECORD_FIELDS = {
    **dict.fromkeys(("json_each", "jsonb_each", "json_each_text", "jsonb_each_text"), {"key", "value"}),
    **dict.fromkeys(("json_array_elements", "jsonb_array_elements"), {"value"}),
    **dict.fromkeys(("json_array_elements_text", "jsonb_array_elements_text"), {"value"}),
    "unnest": {"lexeme", "positions", "weights"},
}
"""The result columns of PostgreSQL's functions that name them."""

_BEFORE_NO_CALL = {"AS", "SAMPLE", "TABLESAMPLE", "RECURSIVE", "WITHIN", "OVER", "WINDOW"}
"""Words after which a name with a parenthesis is an alias with columns, a type, a method or a clause."""
_CLAUSES = {
    "filter", "group", "exclude", "except", "replace", "rename", "columns", "materialized", "union", "intersect",
    "using", "values", "over", "within", "sets", "in", "prewhere", "qualify", "passing", "nested", "partition",
}  # fmt: skip
"""Words that begin a clause in parentheses and are no function of any engine."""


@cache
def allowed_names(name: str) -> frozenset[str]:
    """Return the lines of the list `name` (of a dialect, `nodes` or `types`); none where there is no list."""
    path = files("agent.sql") / "allowed" / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if name.isalnum() and path.is_file() else []
    return frozenset(line for line in lines if line and not line.startswith("#"))


def harmless_functions(statement: Statement) -> Iterator[Finding]:
    """Every function is on the list of the dialect; none is called by a schema that is not the engine's own.

    A listed name that a user of the database has given to a function too is refused, since the call may reach that one.
    """
    for node in statement.nodes:
        name = called_name(node, statement.dialect)
        # DuckDB chains calls on values: in name.lower() a column comes before the dot.
        if statement.dialect != "duckdb" and isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            yield from _of_own_schema(node, statement.dialect)
        if name and name not in _callable(node, statement.dialect):
            yield _not_listed(name, position_of(node))
        elif name in statement.names.routines and not _is_in_engine_schema(node, statement.dialect):
            text = f"the function {name} is defined by a user of the database"
            yield Finding("harmless_functions", text, name.upper(), name, position_of(node))
        for passed in _passed_names(node, name, statement.dialect):
            if passed not in allowed_names(statement.dialect) or passed in statement.names.routines:
                yield _not_listed(passed or "without a name", position_of(node))
        if isinstance(node, exp.TableSample) and node.text("method").lower() not in _SAMPLING_METHODS:
            yield _not_listed(node.text("method").lower(), position_of(node))


def no_attribute_calls(statement: Statement) -> Iterator[Finding]:
    """PostgreSQL calls f(x) for `(x).f` and for `t.f` where t stands for a value: only known fields may be read so.

    Known are the fields of composite columns of the catalog, the columns that a source in FROM names, and those of
    functions that return records.
    """
    if statement.dialect != "postgres":
        return
    sources = _value_sources(statement)
    for node in statement.nodes:
        if isinstance(node, exp.Dot) and not isinstance(node.expression, exp.Func | exp.Star):
            if not _is_known_field(node, statement):
                name = node.expression.name
                text = (
                    f"{shown(node, statement.dialect)} may call the function {name}: it is no field of a known record"
                )
                yield Finding("harmless_functions", text, name.upper(), name, position_of(node))
        elif isinstance(node, exp.Column) and node.table and isinstance(node.this, exp.Identifier):
            columns = sources.get(node.table.lower())
            if columns is not None and node.name.lower() not in columns and not _is_of_table(node):
                text = f"{shown(node, statement.dialect)} may call the function {node.name}: it is no known column"
                yield Finding("harmless_functions", text, node.name.upper(), node.name, position_of(node))


def harmless_types(statement: Statement) -> Iterator[Finding]:
    """Every type is a type of values: none that looks names up in the engine's catalog, none without end."""
    for node in statement.nodes:
        if isinstance(node, exp.DataType) and not _is_value_type(node):
            name = shown(node, statement.dialect)
            yield Finding("harmless_types", f"the type {name} is not allowed", None, name, position_of(node))


def calls_in_text(tokens: Sequence[Token], statement: Statement) -> Iterator[Finding]:
    """Every name before a parenthesis in the text that will run is a listed function, a clause, a type or an alias.

    No operator is one that a user of the database has defined. This does not depend on the parser's view of a name.
    """
    parser = faithful(statement.dialect).parser_class
    aliases = {node.alias.lower() for node in statement.nodes if isinstance(node, exp.CTE)}
    known = allowed_names(statement.dialect) | _ROW_FUNCTIONS.get(statement.dialect, set()) | _CLAUSES | aliases
    for index, token in enumerate(tokens[:-1]):
        if token.text in statement.names.routines and not re.match(r"\w", token.text):
            text = f"the operator {token.text} is defined by a user of the database"
            yield Finding("harmless_functions", text, token.text, token.text, _position(token))
        if tokens[index + 1].token_type != TokenType.L_PAREN:
            continue
        kind, name = token.token_type, token.text.lower()
        may_be_call = kind in {TokenType.VAR, TokenType.IDENTIFIER} or kind in parser.FUNC_TOKENS
        if not may_be_call or name in known or (index and tokens[index - 1].text.upper() in _BEFORE_NO_CALL):
            continue
        if kind in parser.TYPE_TOKENS and kind.name in allowed_names("types"):
            continue
        yield _not_listed(name, _position(token))


def called_name(node: exp.Expr, dialect: str) -> str | None:
    """Return the name that `node` calls in `dialect`, in lower case; None for what is no call by name."""
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc | exp.ParameterizedAgg):
        return str(node.this.name if isinstance(node.this, exp.Expr) else node.this).lower()
    if not isinstance(node, exp.Func) or isinstance(node, exp.Connector | exp.SubqueryPredicate):
        return None
    printed = _CALL.match(node.sql(dialect=faithful(dialect), comments=False))
    return printed[1].lower() if printed else None


def _not_listed(name: str, position: Position | None) -> Finding:
    text = f"the function {name} is not on the list of harmless functions"
    return Finding("harmless_functions", text, name.upper(), name, position)


def _position(token: Token) -> Position:
    return Position(token.line, max(token.col - len(token.text) + 1, 1))


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


def _is_in_engine_schema(node: exp.Expr, dialect: str) -> bool:
    """Return whether the schema before the call says that the function is the engine's own."""
    parent = node.parent
    qualifier = parent.this if isinstance(parent, exp.Dot) and parent.expression is node else None
    return qualifier is not None and qualifier.name.lower() in _SCHEMAS.get(dialect, set())


def _passed_names(node: exp.Expr, name: str | None, dialect: str) -> Iterator[str]:
    """Yield the names of the functions that are passed to `node` by name; empty for one that only the data decides."""
    if isinstance(node, exp.Apply):
        yield called_name(node.expression, dialect) or node.expression.name.lower()
    index = _FUNCTION_BY_NAME.get(dialect, {}).get(name or "")
    if index is not None:
        arguments = [part for part in node.iter_expressions() if isinstance(part, exp.Expr)]
        argument = arguments[index] if index < len(arguments) else None
        is_text = isinstance(argument, exp.Literal) and argument.is_string
        yield argument.name.partition("(")[0].strip().lower() if argument is not None and is_text else ""


def _value_sources(statement: Statement) -> dict[str, set[str]]:
    """Return, by alias, the columns of each source in FROM that is a function: its alias may stand for a value."""
    sources: dict[str, set[str]] = {}
    for node in statement.nodes:
        functions = _functions_in_from(node)
        if not functions:
            continue
        names = [called_name(function, statement.dialect) or "" for function in functions]
        columns = {"ordinality", *names, *(field for name in names for field in _RECORD_FIELDS.get(name, ()))}
        alias = node.args.get("alias")
        columns |= {column.name.lower() for column in alias.columns} if alias else set()
        columns |= {column.name.lower() for column in node.find_all(exp.ColumnDef, exp.JSONColumnDef)}
        columns |= {node.args["offset"].name.lower()} if isinstance(node.args.get("offset"), exp.Identifier) else set()
        name = (node.alias or names[0]).lower()
        sources.setdefault(name, set()).update(columns | {name})
    return sources


def _functions_in_from(node: exp.Expr) -> list[exp.Expr]:
    """Return the functions whose rows the source `node` of a FROM gives; none for a table or a subquery."""
    if isinstance(node, exp.Unnest):
        return [node]
    if not isinstance(node, exp.Table | exp.Lateral):
        return []
    found = [part.this for part in node.args.get("rows_from") or ()] or [node.this]
    return [
        part.expression if isinstance(part, exp.Dot) else part for part in found if isinstance(part, exp.Func | exp.Dot)
    ]


def _is_of_table(column: exp.Column) -> bool:
    """Return whether the nearest source in sight with the name before the dot is a table or a subquery."""
    select = column.find_ancestor(exp.Select)
    while select is not None:
        joined = [join.this for join in select.args.get("joins") or ()]
        sources = [select.args["from_"].this, *joined] if select.args.get("from_") else joined
        for source in sources:
            if source.alias_or_name.lower() == column.table.lower():
                return not _functions_in_from(source)
        select = select.find_ancestor(exp.Select)
    return False


def _is_known_field(node: exp.Dot, statement: Statement) -> bool:
    base, field = node.this.unnest(), node.expression.name.lower()
    while isinstance(base, exp.Bracket):
        base = base.this.unnest()
    if isinstance(base, exp.Dot):
        pair = (base.expression.name.lower(), field)
        return pair in statement.names.composite_fields and _is_known_field(base, statement)
    if isinstance(base, exp.Column):
        return (base.name.lower(), field) in statement.names.composite_fields
    name = called_name(base, statement.dialect) or ""
    return name.endswith(("_each", "_each_text")) and field in _RECORD_FIELDS.get(name, ())


def _is_value_type(node: exp.DataType) -> bool:
    if node.this == exp.DataType.Type.USERDEFINED:
        kind = node.args.get("kind")
        return str(kind.name if isinstance(kind, exp.Identifier) else kind).lower() in _EXTENSION_TYPES
    lengths = (part.this.name for part in node.expressions if isinstance(part, exp.DataTypeParam) and part.this)
    too_long = any(length.isdigit() and int(length) > MAX_TYPE_LENGTH for length in lengths)
    name = node.this.name if isinstance(node.this, exp.DataType.Type) else type(node.this).__name__
    return (name in allowed_names("types") or isinstance(node.this, exp.Interval)) and not too_long
