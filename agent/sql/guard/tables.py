"""Rules on the tables and columns that a statement reads: only catalog tables, and no system columns."""

import re
from collections.abc import Iterable, Iterator

from sqlglot import exp

from datasphinx.agent.engines.base import Engine
from datasphinx.agent.messages import Message
from datasphinx.agent.schema.catalog import dotted_name
from datasphinx.agent.sql.guard.finding import Finding, Statement, position_of, sql_excerpt

_SYSTEM_TABLE = re.compile(
    r"pg_|sqlite_|duckdb_|pragma_|mysql\.|seq_\d+_to_\d+|(dbstat|completion|bytecode)$|(stl|stv|svl|svv|svcs|sys)_|__tables"
)
_SYSTEM_READ = re.compile(r"pg_|sqlite_|duckdb_|pragma_")
"""Prefixes of system tables that engines allow reading."""
_FILE = re.compile(
    r"\.(csv|tsv|json|jsonl|ndjson|parquet|arrow|orc|avro|xlsx?|txt|gz|zst|db|duckdb|sqlite)$", re.IGNORECASE
)
"""Table names that DuckDB interprets as a file if no such table exists."""
_FORMATS = {"csv", "json", "parquet", "orc", "text", "avro", "binaryfile", "delta"}
"""Schemas in which Spark interprets a table name as a file."""

_MAX_PARTS = 3
"""Parts of a name on one server: database, schema and table."""

_SESSION = {
    "current_user", "session_user", "system_user", "current_role", "current_catalog", "current_schema", "current_path",
    "current_database", "currentuser", "currentdatabase",
}  # fmt: skip
"""Session functions that are written like a column."""


class _IgnoringCase(Engine):
    """An engine whose WITH ignores case, and is visible wherever the standard says so."""

    ignores_case = True


_STANDARD = _IgnoringCase()


def catalog_tables(statement: Statement) -> Iterator[Finding]:
    """Reject tables that are neither in the catalog nor common table expressions in scope."""
    for node in statement.nodes:
        if isinstance(node, exp.Table) and not isinstance(node.this, exp.Func) and node.this is not None:
            name = ".".join(part.name for part in node.parts).lower() or node.sql()
            is_cte = names_cte(node, statement.engine)
            if statement.engine.folds_with and is_cte != names_cte(node, _STANDARD):
                # Versions of the engine differ on whether the name refers to a WITH in scope.
                text = f"{name} may be a WITH or a table; give the WITH another name, and define it where it is used"
                yield Finding("catalog_tables", text, None, name, position_of(node))
            elif not is_cte and not _is_readable(node, statement):
                absent = Message("table_not_in_catalog", name=name)
                yield Finding("catalog_tables", absent, None, name, position_of(node))


def listed_sources(statement: Statement) -> Iterator[Finding]:
    """Reject a source that is not of a listed kind, so that no rule overlooks the tables in it.

    sqlglot reads every table below ARRAY JOIN (ClickHouse) as a column; a query there is rejected.
    """
    for node in statement.nodes:
        if isinstance(node, exp.Join) and node.kind == "ARRAY":
            sources = [query for part in (node.this, *node.expressions) for query in part.find_all(exp.Query)]
        else:
            is_source = isinstance(node, exp.From | exp.Join) or (isinstance(node, exp.Pivot) and node.this)
            sources = [node.this] if is_source and not _is_listed(node.this) else []
        for source in sources:
            text = f"{sql_excerpt(source, statement.dialect)} is not a table, a query or a listed function"
            yield Finding("catalog_tables", text, None, sql_excerpt(source, statement.dialect), position_of(source))


def _is_listed(source: exp.Expr) -> bool:
    """Return whether `source` is a table, query, VALUES, UNNEST or LATERAL, or a function, which has a rule."""
    if isinstance(source, exp.Final):
        return isinstance(source.this, exp.Table)
    if isinstance(source, exp.Subquery):
        return isinstance(source.this, exp.Query | exp.Values | exp.Pivot) or _is_listed(source.this)
    if isinstance(source, exp.Table):
        return source.this is None or isinstance(source.this, exp.Identifier | exp.Func)
    if isinstance(source, exp.Lateral):
        return isinstance(source.this, exp.Func | exp.Subquery | exp.Unnest)
    return isinstance(source, exp.Values | exp.Unnest | exp.TableFromRows)


def no_bare_table_lists(statement: Statement) -> Iterator[Finding]:
    """Reject a table name as the list of an IN, which SQLite and ClickHouse allow.

    ClickHouse allows it in parentheses too.
    """
    for node in statement.nodes if statement.engine.in_reads_tables else ():
        if not isinstance(node, exp.In):
            continue
        field = node.args.get("field")
        if field is None and statement.engine.in_list_reads_tables and len(node.expressions) == 1:
            only = node.expressions[0].unnest()
            field = only if isinstance(only, exp.Column | exp.Dot | exp.Identifier) else None
        if field is not None:
            name = field.sql(dialect=statement.dialect)
            text = f"IN {name} may read a table; write IN (SELECT ... FROM {name})"
            yield Finding("catalog_tables", text, None, name, position_of(field))


def no_system_columns(statement: Statement) -> Iterator[Finding]:
    """Reject system columns, and session functions that are written like a column."""
    engine = statement.engine
    for node in statement.nodes:
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            continue
        name, is_quoted = node.name.lower(), bool(node.this.args.get("quoted"))
        is_session = not node.table and (
            (name in _SESSION and not (is_quoted and engine.quotes_make_columns))
            or (name in engine.bare_session_functions and not is_quoted)
        )
        if not engine.system_columns.isdisjoint((name, node.table.lower())) or is_session:
            text = f"{name} is a system column or a session function, not a column of a table"
            yield Finding("no_system_columns", text, name.upper(), node.name, position_of(node))


def names_cte(table: exp.Table, engine: Engine) -> bool:
    """Return whether `table` refers to a WITH in scope: an enclosing one that defines the name before its use.

    Return False where engines differ; the name then counts as that of a table.
    """
    if len(table.parts) != 1:
        return False
    child: exp.Expr = table
    ancestor = table.parent
    path: list[exp.Expr] = [table]
    while ancestor is not None:
        clause = ancestor.args.get("with_")
        if clause is not None:
            if any(_defines_name(cte, table, engine) for cte in clause.expressions):
                if engine.inner_with_hides_outer and any(
                    isinstance(node, exp.With) and node is not clause for node in path
                ):
                    # MariaDB does not see the outer WITH in the definitions of an inner one.
                    return False
                return _refers_to_cte(clause, table, path if clause is child else [], engine)
            if engine.arm_hides_with and isinstance(ancestor.parent, exp.SetOperation):
                # An arm with its own WITH does not see the WITH of the first arm.
                return False
        child, ancestor = ancestor, ancestor.parent
        path.append(child)
    return False


def system_names(findings: Iterable[Finding]) -> list[str]:
    """Return the system tables and system table functions that `findings` reject."""
    tables = [finding.token or "" for finding in findings if finding.rule == "catalog_tables"]
    calls = [finding.token or "" for finding in findings if finding.rule == "harmless_functions"]
    system = []
    for name in tables:
        schema, _, table = name.lower().rpartition(".")
        if schema.split(".")[-1] in Engine.system_schemas or _SYSTEM_READ.match(table):
            system.append(name)
    system += [name for name in calls if name.startswith(("duckdb_", "pragma_"))]
    return list(dict.fromkeys(system))


def _is_readable(table: exp.Table, statement: Statement) -> bool:
    if _is_elsewhere(table):
        return False
    parts = [statement.engine.stored_name(part) for part in table.parts]
    if statement.names.tables is not None:
        return dotted_name(*parts) in statement.names.tables
    *schemas, name = (part.lower() for part in parts)
    # Trino reads metadata from a table with a $ in its name, Spark files from some schemas.
    if not re.fullmatch(r"[\w ]+", "".join(parts)) or _SYSTEM_TABLE.match(name):
        return False
    is_file = bool(_FILE.search(".".join(parts))) or not _FORMATS.isdisjoint(schemas)
    return not is_file and statement.engine.system_schemas.isdisjoint(schemas)


def _is_elsewhere(table: exp.Table) -> bool:
    """Return whether `table` is a temporary table (`#t`), on another server, or in the default schema of a database.

    `sales..orders` is in the database `sales` on SQL Server and Snowflake, not in the schema.
    """
    has_empty_part = bool(table.args.get("catalog")) and not table.db
    is_temporary = bool(table.this.args.get("temporary") or table.this.args.get("global_"))
    return has_empty_part or is_temporary or len(table.parts) > _MAX_PARTS


def _refers_to_cte(clause: exp.With, table: exp.Table, path: list[exp.Expr], engine: Engine) -> bool:
    """Return whether `table` refers to a common table expression of `clause`.

    `path` holds the nodes from the table up to the clause, if the table is inside it.
    """
    inside = next((cte for cte in clause.expressions if any(cte is node for node in path)), None)
    for cte in clause.expressions:
        if cte is inside:
            is_recursive = bool(clause.recursive) and _defines_name(inside, table, engine)
            return is_recursive and _in_recursive_arm(inside, path, engine)
        if _defines_name(cte, table, engine):
            return isinstance(cte.this, exp.Query | exp.Pivot) and not cte.args.get("scalar")
    return False


def _in_recursive_arm(cte: exp.CTE, path: list[exp.Expr], engine: Engine) -> bool:
    """Return whether `path` leads through a later arm of the recursive UNION.

    In the first arm DuckDB reads a table with the name of the common table expression.
    """
    body = cte.this
    if not isinstance(body, exp.Union) or body.args.get("by_name"):
        return False
    while (
        engine.recurses_in_later_arms
        and isinstance(body.this, exp.SetOperation)
        and any(body.this is node for node in path)
    ):
        body = body.this
    return any(body.expression is node for node in path)


def _defines_name(cte: exp.CTE, table: exp.Table, engine: Engine) -> bool:
    return engine.stored_name(cte.args["alias"].this) == engine.stored_name(table.this)
