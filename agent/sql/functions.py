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
from agent.sql.sources import stored_name

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
    "duckdb": dict.fromkeys(("list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate"), 1),
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

_SERVER_FUNCTION = re.compile(
    r"(pg|lo|txid|dblink)_|has_\w+_privilege$|(query|table|schema|cursor|database)_to_xml|ts_(stat|rewrite|debug)$"
    r"|(curr|next|set)val$|set_config$|current_setting$|record_(out|send)$|row_to_json$|crosstab"
)
"""Names of PostgreSQL's functions that nobody gives to a column, for statements that are judged without a catalog."""

_COMBINATORS = re.compile(r"(?:If|Array|Map|Merge|ForEach|Distinct|OrNull|OrDefault|ArgMin|ArgMax|Resample)+$")
"""Suffixes of ClickHouse's aggregate functions."""

_BEFORE_NO_CALL = {"AS", "SAMPLE", "TABLESAMPLE", "RECURSIVE", "WITHIN", "OVER", "WINDOW"}
"""Words after which a name with a parenthesis is an alias with columns, a type, a method or a clause."""
_CLAUSES = {
    "filter", "group", "exclude", "except", "replace", "rename", "columns", "materialized", "union", "intersect",
    "using", "values", "over", "within", "sets", "in", "prewhere", "qualify", "passing", "nested", "partition", "key",
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
    """PostgreSQL calls f(x) for `(x).f`, and f(t) for `t.f` where the source t has no column f.

    `(x).f` may be a field of a composite column of the catalog, or of a function that returns records. `t.f` may be a
    column that a function in FROM names, with the alias t; columns of tables and subqueries are checked with the
    catalog (`agent.sql.names`), and here only held against functions that users have defined and those of the server.
    """
    if statement.dialect != "postgres":
        return
    has_values = any(_functions_in_from(node) for node in statement.nodes)
    for node in statement.nodes:
        if isinstance(node, exp.Dot) and not isinstance(node.expression, exp.Func | exp.Star):
            may_call = not _is_known_field(node, statement)
            name = node.expression.name
        elif isinstance(node, exp.Column) and node.table and isinstance(node.this, exp.Identifier):
            name = node.name
            source = _source_of(node)
            if source is not None and _functions_in_from(source):
                may_call = stored_name(node.this, "postgres") not in _named_columns(source, statement.dialect)
            else:
                is_function = name.lower() in statement.names.routines or bool(_SERVER_FUNCTION.match(name.lower()))
                may_call = is_function or (source is None and has_values)
        else:
            continue
        if may_call:
            text = f"{shown(node, statement.dialect)} may call the function {name}: it is no known column or field"
            yield Finding("harmless_functions", text, name.upper(), name, position_of(node))


def harmless_types(statement: Statement) -> Iterator[Finding]:
    """Every type is a type of values: none that looks names up in the engine's catalog, none without end."""
    for node in statement.nodes:
        if isinstance(node, exp.DataType) and not isinstance(node, exp.IntervalSpan) and not _is_value_type(node):
            name = shown(node, statement.dialect)
            yield Finding("harmless_types", f"the type {name} is not allowed", None, name, position_of(node))


def calls_in_text(tokens: Sequence[Token], statement: Statement) -> Iterator[Finding]:
    """Every name before a parenthesis in the text that will run is a listed function, a clause, a type or an alias.

    No operator is one that a user of the database has defined. This does not depend on the parser's view of a name.
    """
    parser = faithful(statement.dialect).parser_class
    aliases = {node.alias.lower() for node in statement.nodes if isinstance(node, exp.CTE)}
    known = allowed_names(statement.dialect) | _ROW_FUNCTIONS.get(statement.dialect, set()) | aliases
    for index, token in enumerate(tokens[:-1]):
        if token.text in statement.names.routines and not re.match(r"\w", token.text):
            text = f"the operator {token.text} is defined by a user of the database"
            yield Finding("harmless_functions", text, token.text, token.text, _position(token))
        if tokens[index + 1].token_type != TokenType.L_PAREN:
            continue
        kind, name = token.token_type, _base_name(token.text, statement.dialect)
        is_word = kind == TokenType.IDENTIFIER or bool(re.match(r"\w", token.text))
        may_be_call = is_word and (kind in {TokenType.VAR, TokenType.IDENTIFIER} or kind in parser.FUNC_TOKENS)
        if not may_be_call or name in known or (index and tokens[index - 1].text.upper() in _BEFORE_NO_CALL):
            continue
        if kind != TokenType.IDENTIFIER and name in _CLAUSES:
            continue
        if kind in parser.TYPE_TOKENS and kind.name in allowed_names("types"):
            continue
        yield _not_listed(name, _position(token))


def called_name(node: exp.Expr, dialect: str) -> str | None:
    """Return the name that `node` calls in `dialect`, in lower case; None for what is no call by name."""
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc | exp.ParameterizedAgg | exp.CombinedAggFunc):
        return _base_name(str(node.this.name if isinstance(node.this, exp.Expr) else node.this), dialect)
    if not isinstance(node, exp.Func) or isinstance(node, exp.Connector | exp.SubqueryPredicate):
        return None
    printed = _CALL.match(node.sql(dialect=faithful(dialect), comments=False))
    return _base_name(printed[1], dialect) if printed else None


def _base_name(name: str, dialect: str) -> str:
    """Return `name` in lower case, an aggregate of ClickHouse without its combinators where they are no part of it."""
    if dialect != "clickhouse" or name.lower() in allowed_names(dialect):
        return name.lower()
    return _COMBINATORS.sub("", name).lower()


def _not_listed(name: str, position: Position | None) -> Finding:
    text = f"the function {name} is not on the list of harmless functions"
    return Finding("harmless_functions", text, name.upper(), name, position)


def _position(token: Token) -> Position:
    return Position(token.line, max(token.col - len(token.text) + 1, 1))


def _callable(node: exp.Expr, dialect: str) -> frozenset[str]:
    if isinstance(node.parent, exp.Table | exp.Lateral) and dialect in _ROW_FUNCTIONS:
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


def _functions_in_from(node: exp.Expr) -> list[exp.Expr]:
    """Return the functions whose rows the source `node` of a FROM gives; none for a table or a subquery."""
    if isinstance(node, exp.Unnest):
        return [node]
    if not isinstance(node, exp.Table | exp.Lateral):
        return []
    found = [part.this for part in node.args.get("rows_from") or ()] or [node.this]
    functions = [part.expression if isinstance(part, exp.Dot) else part for part in found]
    return [part for part in functions if isinstance(part, exp.Func)]


def _named_columns(source: exp.Expr, dialect: str) -> set[str]:
    """Return the columns of a function in FROM, which has an alias, as PostgreSQL stores their names."""
    alias = source.args["alias"]
    columns = {stored_name(alias.this, dialect), "ordinality"}
    for column in alias.columns:
        columns.add(stored_name(column.this if isinstance(column, exp.ColumnDef) else column, dialect))
    if isinstance(source.args.get("offset"), exp.Identifier):
        columns.add(stored_name(source.args["offset"], dialect))
    for function in _functions_in_from(source):
        columns |= _RECORD_FIELDS.get(called_name(function, dialect) or "", set())
        own: Sequence[exp.Expr] = ()
        if isinstance(function, exp.XMLTable):
            own = function.args.get("columns") or ()
        elif isinstance(function, exp.JSONTable):
            own = list(function.args["schema"].find_all(exp.JSONColumnDef))
        columns |= {stored_name(column.this, dialect) for column in own if isinstance(column.this, exp.Identifier)}
    return columns


def _source_of(column: exp.Column) -> exp.Expr | None:
    """Return what the name before the dot means in PostgreSQL: the source with that name in the innermost FROM."""
    wanted = stored_name(column.args["table"], "postgres")
    select = column.find_ancestor(exp.Select)
    while select is not None:
        for source in _sources_of(select):
            alias = source.args.get("alias")
            name = alias.this if alias and alias.this else source.this if isinstance(source, exp.Table) else None
            if isinstance(name, exp.Identifier) and stored_name(name, "postgres") == wanted:
                return source
        select = select.find_ancestor(exp.Select)
    return None


def _sources_of(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield the sources of a FROM, also those of joins in parentheses."""
    clause = select.args.get("from_")
    pending = [clause.this] if clause else []
    pending += [join.this for join in select.args.get("joins") or ()]
    pending += select.args.get("laterals") or ()
    while pending:
        source = pending.pop()
        yield source
        pending += [join.this for join in source.args.get("joins") or ()]
        if isinstance(source, exp.Subquery | exp.Paren) and not isinstance(source.this, exp.Query):
            pending.append(source.this)


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
