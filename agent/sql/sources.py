"""Rules on what a statement reads: tables of the catalog alone, and of them no column that the engine adds."""

import re
from collections.abc import Iterable, Iterator

from sqlglot import exp

from agent.sql.finding import Finding, Statement, position_of

_SYSTEM_SCHEMAS = {"pg_catalog", "information_schema", "performance_schema", "mysql", "sys", "system", "pg_toast"}
_SYSTEM_TABLE = re.compile(r"pg_|sqlite_|duckdb_|pragma_|mysql\.|seq_\d+_to_\d+")
_SYSTEM_READ = re.compile(r"pg_|sqlite_|duckdb_|pragma_")
"""Beginnings of what the engines keep of themselves, and read back as a table."""

_SYSTEM_COLUMNS = {
    "postgres": {"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"},
    "clickhouse": {"_file", "_path", "_database", "_table"},
    "spark": {"_metadata"},
    "trino": {"$path"},
}
_FUNCTIONS_WITHOUT_CALL = {
    "postgres": {"user", "system_user", "current_schema"},
    "duckdb": {"user"},
    "trino": {"current_path"},
}
"""Names that read as a column and are a function of the session, unless they are quoted or say their table."""

CASE_BLIND = {"sqlite", "duckdb", "spark", "trino"}
"""Engines for which names are equal in any case, also in quotes."""


def catalog_tables(statement: Statement) -> Iterator[Finding]:
    """Every table is in the catalog, is a common table expression in sight, or unfolds a value into rows."""
    for node in statement.nodes:
        if isinstance(node, exp.Table) and not isinstance(node.this, exp.Func) and node.this is not None:
            key = ".".join(part.name for part in node.parts).lower()
            if not _is_readable(key, statement) and not names_cte(node, statement.dialect):
                name = key or node.sql()
                text = f"the table {name} is not in the catalog"
                yield Finding("catalog_tables", text, None, name, position_of(node))


def no_bare_table_lists(statement: Statement) -> Iterator[Finding]:
    """No table as the list of an IN, which SQLite and ClickHouse read where other engines have a value."""
    for node in statement.nodes if statement.dialect in {"sqlite", "clickhouse"} else ():
        field = node.args.get("field") if isinstance(node, exp.In) else None
        if field is not None:
            name = field.sql(dialect=statement.dialect)
            text = f"IN {name} may read a table; write IN (SELECT ... FROM {name})"
            yield Finding("catalog_tables", text, None, name, position_of(field))


def no_system_columns(statement: Statement) -> Iterator[Finding]:
    """No column that the engine adds to tables, and no function of the session that reads as a column."""
    system = _SYSTEM_COLUMNS.get(statement.dialect, set())
    bare = _FUNCTIONS_WITHOUT_CALL.get(statement.dialect, set())
    for node in statement.nodes:
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            continue
        name = node.name.lower()
        if name in system or (name in bare and not node.table and not node.this.args.get("quoted")):
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
        if clause is not None and _defines(clause, table, path if clause is child else [], dialect):
            return True
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


def _is_readable(key: str, statement: Statement) -> bool:
    if statement.names.tables is not None:
        return key in statement.names.tables
    schema, _, _ = key.rpartition(".")
    return bool(re.fullmatch(r"[\w. $]+", key)) and not (
        schema.split(".")[-1] in _SYSTEM_SCHEMAS or _SYSTEM_TABLE.match(key.rpartition(".")[2])
    )


def _defines(clause: exp.With, table: exp.Table, path: list[exp.Expr], dialect: str) -> bool:
    """Return whether `clause` defines the name of `table`; `path` leads from the table up to the clause, if inside."""
    inside = next((cte for cte in clause.expressions if any(cte is node for node in path)), None)
    for cte in clause.expressions:
        if cte is inside:
            return (
                bool(clause.recursive)
                and _is_same_name(inside, table, dialect)
                and _in_recursive_arm(inside, path, dialect)
            )
        if _is_same_name(cte, table, dialect):
            return True
    return False


def _in_recursive_arm(cte: exp.CTE, path: list[exp.Expr], dialect: str) -> bool:
    """True past the first arm of the UNION: in the first arm DuckDB reads the table that has the name of the CTE."""
    body = cte.this
    if not isinstance(body, exp.SetOperation):
        return False
    while dialect == "sqlite" and isinstance(body.this, exp.SetOperation) and any(body.this is node for node in path):
        body = body.this
    return any(body.expression is node for node in path)


def _is_same_name(cte: exp.CTE, table: exp.Table, dialect: str) -> bool:
    alias = cte.args["alias"].this
    if dialect in CASE_BLIND:
        return bool(alias.name.lower() == table.name.lower())
    return _folded(alias, dialect) == _folded(table.this, dialect)


def _folded(name: exp.Expr, dialect: str) -> str:
    """Return `name` as PostgreSQL stores it; other engines may or may not tell cases apart, so it stays as it is."""
    return name.name.lower() if dialect == "postgres" and not name.args.get("quoted") else name.name
