"""Rules on what a statement reads: tables of the catalog alone, and of them no column that the engine adds."""

import re
from collections.abc import Iterable, Iterator

from sqlglot import exp

from agent.catalog.schema import IGNORES_CASE, folded, joined
from agent.sql.finding import Finding, Statement, position_of

_SYSTEM_SCHEMAS = {"pg_catalog", "information_schema", "performance_schema", "mysql", "sys", "system", "pg_toast"}
_SYSTEM_TABLE = re.compile(r"pg_|sqlite_|duckdb_|pragma_|mysql\.|seq_\d+_to_\d+|(dbstat|completion|bytecode)$")
_SYSTEM_READ = re.compile(r"pg_|sqlite_|duckdb_|pragma_")
"""Beginnings of what the engines keep of themselves, and read back as a table."""
_FILE = re.compile(
    r"\.(csv|tsv|json|jsonl|ndjson|parquet|arrow|orc|avro|xlsx?|txt|gz|zst|db|duckdb|sqlite)$", re.IGNORECASE
)
"""Names that DuckDB reads as a file where there is no such table."""
_FORMATS = {"csv", "json", "parquet", "orc", "text", "avro", "binaryfile", "delta"}
"""Schemas under which Spark reads the file that the table is called after."""

_SYSTEM_COLUMNS = {
    "postgres": {"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"},
    "clickhouse": {"_file", "_path", "_database", "_table"},
    "spark": {"_metadata"},
    "trino": {"$path", "$file_size", "$file_modified_time", "$partition", "$bucket"},
}
_SESSION = {
    "current_user", "session_user", "system_user", "current_role", "current_catalog", "current_schema", "current_path",
    "current_database", "currentuser", "currentdatabase",
}  # fmt: skip
"""Names that read as a column and are a function of the session."""
_BARE_SESSION = {"postgres": {"user"}, "duckdb": {"user"}}
"""Such names that a table may also have as a column, where they are quoted."""
_QUOTES_MAKE_COLUMNS = {"postgres", "mysql", "sqlite", "trino"}
"""Engines in which a quoted name is never a function of the session."""


def catalog_tables(statement: Statement) -> Iterator[Finding]:
    """Every table is in the catalog, is a common table expression in sight, or unfolds a value into rows."""
    for node in statement.nodes:
        if isinstance(node, exp.Table) and not isinstance(node.this, exp.Func) and node.this is not None:
            if not _is_readable(node, statement) and not names_cte(node, statement.dialect):
                name = ".".join(part.name for part in node.parts).lower() or node.sql()
                text = f"the table {name} is not in the catalog"
                yield Finding("catalog_tables", text, None, name, position_of(node))


def no_bare_table_lists(statement: Statement) -> Iterator[Finding]:
    """No table as the list of an IN, which SQLite and ClickHouse read where other engines have a value.

    ClickHouse does so in parentheses too.
    """
    for node in statement.nodes if statement.dialect in {"sqlite", "clickhouse"} else ():
        if not isinstance(node, exp.In):
            continue
        field = node.args.get("field")
        if field is None and statement.dialect == "clickhouse" and len(node.expressions) == 1:
            only = node.expressions[0].unnest()
            field = only if isinstance(only, exp.Column | exp.Dot | exp.Identifier) else None
        if field is not None:
            name = field.sql(dialect=statement.dialect)
            text = f"IN {name} may read a table; write IN (SELECT ... FROM {name})"
            yield Finding("catalog_tables", text, None, name, position_of(field))


def no_system_columns(statement: Statement) -> Iterator[Finding]:
    """No column that the engine adds to tables, and no function of the session that reads as a column."""
    system = _SYSTEM_COLUMNS.get(statement.dialect, set())
    bare = _BARE_SESSION.get(statement.dialect, set())
    for node in statement.nodes:
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            continue
        name, is_quoted = node.name.lower(), bool(node.this.args.get("quoted"))
        is_session = not node.table and (
            (name in _SESSION and not (is_quoted and statement.dialect in _QUOTES_MAKE_COLUMNS))
            or (name in bare and not is_quoted)
        )
        if name in system or is_session:
            text = f"{name} is no column of a table but of the engine"
            yield Finding("no_system_columns", text, name.upper(), node.name, position_of(node))


def names_cte(table: exp.Table, dialect: str) -> bool:
    """Return whether `table` is a name that a WITH in sight defines: an enclosing one, before the place of use.

    Where engines differ on that, False: then the name is held to be a table's.
    """
    if len(table.parts) != 1:
        return False
    child: exp.Expr = table
    ancestor = table.parent
    path: list[exp.Expr] = [table]
    while ancestor is not None:
        clause = ancestor.args.get("with_")
        if clause is not None:
            if any(_is_same_name(cte, table, dialect) for cte in clause.expressions):
                return _defines(clause, table, path if clause is child else [], dialect)
            if dialect == "clickhouse" and isinstance(ancestor.parent, exp.SetOperation):
                # An arm with a WITH of its own does not see that of the first arm.
                return False
        child, ancestor = ancestor, ancestor.parent
        path.append(child)
    return False


def system_names(findings: Iterable[Finding]) -> list[str]:
    """Return the tables and row functions of the engine's own catalog among what `findings` refuse."""
    tables = [finding.token or "" for finding in findings if finding.rule == "catalog_tables"]
    calls = [finding.token or "" for finding in findings if finding.rule == "harmless_functions"]
    read = [*filter(_is_system, tables), *(name for name in calls if name.startswith(("duckdb_", "pragma_")))]
    return list(dict.fromkeys(read))


def _is_system(name: str) -> bool:
    schema, _, table = name.lower().rpartition(".")
    return schema.split(".")[-1] in _SYSTEM_SCHEMAS or bool(_SYSTEM_READ.match(table))


def _is_readable(table: exp.Table, statement: Statement) -> bool:
    parts = [stored_name(part, statement.dialect) for part in table.parts]
    if statement.names.tables is not None:
        return joined(*parts) in statement.names.tables
    *schemas, name = (part.lower() for part in parts)
    if not re.fullmatch(r"[\w $]+", "".join(parts)) or _SYSTEM_TABLE.match(name):
        return False
    if statement.dialect == "trino" and "$" in name:
        return False
    is_file = bool(_FILE.search(".".join(parts))) or (statement.dialect == "spark" and not _FORMATS.isdisjoint(schemas))
    return not is_file and _SYSTEM_SCHEMAS.isdisjoint(schemas)


def _defines(clause: exp.With, table: exp.Table, path: list[exp.Expr], dialect: str) -> bool:
    """Return whether the name of `table` means the common table expression that `clause` has of that name.

    `path` leads from the table up to the clause, if it is inside.
    """
    inside = next((cte for cte in clause.expressions if any(cte is node for node in path)), None)
    for cte in clause.expressions:
        if cte is inside:
            is_recursive = bool(clause.recursive) and _is_same_name(inside, table, dialect)
            return is_recursive and _in_recursive_arm(inside, path, dialect)
        if _is_same_name(cte, table, dialect):
            return isinstance(cte.this, exp.Query | exp.Pivot) and not cte.args.get("scalar")
    return False


def _in_recursive_arm(cte: exp.CTE, path: list[exp.Expr], dialect: str) -> bool:
    """True past the first arm of the UNION: in the first arm DuckDB reads the table that has the name of the CTE."""
    body = cte.this
    if not isinstance(body, exp.Union) or body.args.get("by_name"):
        return False
    while dialect == "sqlite" and isinstance(body.this, exp.SetOperation) and any(body.this is node for node in path):
        body = body.this
    return any(body.expression is node for node in path)


def _is_same_name(cte: exp.CTE, table: exp.Table, dialect: str) -> bool:
    return stored_name(cte.args["alias"].this, dialect) == stored_name(table.this, dialect)


def stored_name(name: exp.Expr, dialect: str) -> str:
    """Return `name` as the engine looks it up: folded where case is ignored, by PostgreSQL where it is not quoted."""
    folds = dialect in IGNORES_CASE or (dialect == "postgres" and not name.args.get("quoted"))
    return folded(name.name) if folds else name.name
