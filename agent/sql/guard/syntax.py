"""Rules on the structure of a statement: a single query whose nodes only read."""

from collections.abc import Iterator

from sqlglot import exp

from datasphinx.agent.engines.base import Engine
from datasphinx.agent.sql.guard.finding import Finding, Statement, position_of, sql_excerpt
from datasphinx.agent.sql.guard.functions import called_name, guard_names

_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
_OPERATIONS = {
    "TRUNCATETABLE": "TRUNCATE",
    "LOADDATA": "LOAD DATA",
    "NEXTVALUEFOR": "NEXT VALUE FOR",
    "HISTORICALDATA": "AS OF",
}


_CLAUSES: dict[type[exp.Expr], set[str]] = {
    exp.Select: {
        "with_", "expressions", "distinct", "from_", "exclude", "laterals", "joins", "pivots", "prewhere", "where",
        "group", "having", "qualify", "windows", "distribute", "sort", "cluster", "order", "limit", "offset", "sample",
        "options", "kind",
    },
    exp.Table: {
        "this", "alias", "db", "catalog", "laterals", "joins", "pivots", "ordinality", "only", "rows_from", "sample",
        "hints",
    },
    exp.SetOperation: {
        "this", "expression", "with_", "distinct", "by_name", "side", "kind", "on", "order", "limit", "offset",
    },
}  # fmt: skip
"""Parts of a query that only read. Other parts contain settings, formats, modifiers or hints, which no rule checks."""
_TABLE_HINTS = {"NOLOCK", "READUNCOMMITTED", "READCOMMITTED", "NOEXPAND", "FORCESEEK", "FORCESCAN", "INDEX"}
_OPTIONS = {"MAXRECURSION", "RECOMPILE", "MAXDOP", "FAST", "FORCE ORDER", "HASH JOIN", "LOOP JOIN", "MERGE JOIN"}
"""Hints of SQL Server that change neither the rows nor their locks."""
_WRITES = (exp.DDL, exp.DML, exp.Command, exp.Into, exp.Lock, exp.Set, exp.Drop, exp.Alter, exp.Merge, exp.Copy)
"""Node types that are reported under their own rule, `no_write`."""


def single_statement(statement: Statement) -> Iterator[Finding]:
    """Reject text that is not exactly one statement."""
    if not statement.trees:
        yield Finding("single_statement", "there is no statement")
    elif len(statement.trees) > 1:
        place = position_of(statement.trees[1])
        yield Finding(
            "single_statement", f"exactly one statement is allowed, not {len(statement.trees)}", None, None, place
        )


def query_only(statement: Statement) -> Iterator[Finding]:
    """Reject statements other than SELECT, set operations, VALUES and WITH, and columns without a source.

    A SELECT has to have columns, which PostgreSQL does not require, except in its EXISTS.
    """
    for node in statement.nodes:
        is_exists = statement.engine.exists_needs_no_columns and isinstance(node.parent, exp.Exists)
        if isinstance(node, exp.Select) and not node.expressions and not is_exists:
            yield Finding("query_only", "a SELECT has to name the columns of its result", None, "SELECT")
    for tree in statement.trees:
        is_pivot = isinstance(tree, exp.Pivot) and isinstance(tree.this, exp.Table | exp.Subquery)
        if not isinstance(tree, _QUERIES) and not is_pivot:
            word = _operation(tree)
            yield Finding("query_only", f"only a query may run, not {word}", word, word, position_of(tree))
        elif isinstance(tree, exp.Select) and not tree.args.get("from_"):
            yield from _columns_without_source(tree, statement.engine)


def known_syntax(statement: Statement) -> Iterator[Finding]:
    """Reject node types that are not known to only read; functions are checked by name instead."""
    allowed = guard_names("nodes")
    for node in statement.nodes:
        is_call = isinstance(node, exp.Func) and called_name(node, statement) is not None
        if type(node).__name__ not in allowed and not is_call and not _is_harmless_hint(node):
            word = _operation(node)
            rule = "no_write" if isinstance(node, _WRITES) else "known_syntax"
            text = f"{word} is not allowed anywhere in a statement"
            yield Finding(rule, text, word, sql_excerpt(node, statement.dialect), position_of(node))


def _is_harmless_hint(node: exp.Expr) -> bool:
    """Return whether `node` is a hint that affects only the plan. Other table hints of SQL Server take locks."""
    if isinstance(node, exp.WithTableHint):
        return all(part.name.upper() in _TABLE_HINTS for part in node.expressions)
    # MAXRECURSION 0 removes the limit.
    return isinstance(node, exp.QueryOption) and node.name.upper() in _OPTIONS and node.text("expression") != "0"


def known_clauses(statement: Statement) -> Iterator[Finding]:
    """Reject parts of a query or table that are not known to only read, such as SETTINGS and FORMAT."""
    for node in statement.nodes:
        allowed = next((names for kind, names in _CLAUSES.items() if isinstance(node, kind)), None)
        for name, value in node.args.items() if allowed is not None else ():
            if value and name not in (allowed or ()):
                word = name.strip("_").replace("_", " ").upper()
                yield Finding("known_syntax", f"{word} is not allowed in a query", word, word, position_of(node))


def _columns_without_source(tree: exp.Select, engine: Engine) -> Iterator[Finding]:
    """Report unquoted columns without a FROM: such a name may be a command or a session variable."""
    inner = {id(node) for query in tree.find_all(exp.Query) if query is not tree for node in query.walk()}
    inner |= {id(node) for function in tree.find_all(exp.Lambda, exp.Comprehension) for node in function.walk()}
    aliases = {output.alias for output in tree.expressions if engine.reuses_aliases and output.alias}
    for column in tree.find_all(exp.Column):
        if id(column) not in inner and isinstance(column.this, exp.Identifier) and not column.this.args.get("quoted"):
            if column.find_ancestor(exp.Lateral, exp.Join) or column.name in aliases:
                continue
            text = f"the column {column.name} comes from no table"
            yield Finding("query_only", text, None, column.name, position_of(column))


def _operation(node: exp.Expr) -> str:
    if isinstance(node, exp.Command):
        return str(node.this).upper()
    if isinstance(node, exp.Lock):
        return "FOR UPDATE" if node.args.get("update") else "FOR SHARE"
    if isinstance(node, exp.Column | exp.Alias):
        return node.name.upper() if isinstance(node, exp.Column) else node.this.name.upper()
    return _OPERATIONS.get(node.key.upper(), node.key.upper())
