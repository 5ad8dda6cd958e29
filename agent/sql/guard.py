"""The guard: rules over the syntax tree that decide whether a statement may reach a database.

Every rule is a function from the parsed statement to findings; a statement with no finding may run. A rule that sees a
forbidden operation names it as a stop word, so that SQL generation can be told which word to leave out.
"""

import logging
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

# sqlglot warns when it parses a statement only as a command; here that is a finding, not a warning.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Finding:
    """Why a statement is refused. `stop_word` is the forbidden operation, where there is one."""

    rule: str
    explanation: str
    stop_word: str | None = None

    def __str__(self) -> str:
        return f"{self.rule}: {self.explanation}"


@dataclass(frozen=True)
class Statement:
    """A parsed statement with the names of the tables that it may read, in lower case."""

    trees: tuple[exp.Expr, ...]
    tables: frozenset[str]

    @property
    def nodes(self) -> Iterator[exp.Expr]:
        """Every node of every tree."""
        return (node for tree in self.trees for node in tree.walk())


Rule = Callable[[Statement], Iterator[Finding]]

_WRITES: tuple[type[exp.Expr], ...] = (
    exp.DDL,
    exp.DML,
    exp.Alter,
    exp.Analyze,
    exp.Attach,
    exp.Cache,
    exp.Command,
    exp.Commit,
    exp.Copy,
    exp.Detach,
    exp.Drop,
    exp.Export,
    exp.Grant,
    exp.Install,
    exp.Into,
    exp.Kill,
    exp.LoadData,
    exp.Lock,
    exp.Merge,
    exp.Pragma,
    exp.Refresh,
    exp.Revoke,
    exp.Rollback,
    exp.Set,
    exp.Transaction,
    exp.TruncateTable,
    exp.Uncache,
    exp.Use,
)
_FUNCTION_PREFIXES = (
    "pg_",
    "lo_",
    "dblink",
    "xp_",
    "sys_",
    "utl_",
    "dbms_",
    "load_",
    "read_",
    "query_to_",
    "table_to_",
    "database_to_",
)
_FUNCTIONS = frozenset(
    """benchmark current_setting currval edit fts3_tokenizer get_lock master_pos_wait nextval randomblob readfile
    release_lock set_config setval sleep sleep_ms write_log writefile zeroblob""".split()
)
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)
_ROW_SOURCES = (exp.GenerateSeries, exp.JSONTable, exp.Unnest)
_ROW_FUNCTIONS = {"json_each", "json_tree"}


def parse(sql: str, dialect: str) -> tuple[exp.Expr, ...]:
    """Return the statements in `sql`; none for white space and remarks.

    Raises:
        ValueError: it cannot be parsed; the text says where.
    """
    try:
        trees = sqlglot.parse(sql, dialect=dialect)
        return tuple(tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon))
    except SqlglotError as error:
        details = getattr(error, "errors", None)
        first = details[0] if details else {"description": str(error).splitlines()[0]}
        where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
        raise ValueError(f"{first['description']}{where}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def single_statement(statement: Statement) -> Iterator[Finding]:
    """Exactly one statement."""
    if not statement.trees:
        yield Finding("single_statement", "there is no statement")
    elif len(statement.trees) > 1:
        yield Finding("single_statement", f"exactly one statement is allowed, not {len(statement.trees)}")


def query_only(statement: Statement) -> Iterator[Finding]:
    """The statement is a SELECT, a set operation or a WITH around one."""
    for tree in statement.trees:
        if not isinstance(tree, _QUERIES):
            word = _operation(tree)
            yield Finding("query_only", f"only a query may run, not {word}", word)


def no_write(statement: Statement) -> Iterator[Finding]:
    """Nothing in the tree writes, locks or configures."""
    for node in statement.nodes:
        if isinstance(node, _WRITES):
            word = _operation(node)
            yield Finding("no_write", f"{word} is not allowed anywhere in a statement", word)


def harmless_functions(statement: Statement) -> Iterator[Finding]:
    """No function that reads files, reaches a network, sleeps, locks or configures."""
    for node in statement.nodes:
        if isinstance(node, exp.Func):
            name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
            if name in _FUNCTIONS or name.startswith(_FUNCTION_PREFIXES):
                yield Finding("harmless_functions", f"the function {name} is not allowed", name.upper())


def catalog_tables(statement: Statement) -> Iterator[Finding]:
    """Every table is in the catalog, is a common table expression in sight, or unfolds a value into rows."""
    for node in statement.nodes:
        if not isinstance(node, exp.Table) or _makes_rows(node.this):
            continue
        key = ".".join(part.name for part in node.parts).lower()
        if key not in statement.tables and not _names_cte(node):
            yield Finding("catalog_tables", f"the table {key or node.sql()} is not in the catalog")


RULES: tuple[Rule, ...] = (single_statement, query_only, no_write, harmless_functions, catalog_tables)


def check(sql: str, dialect: str, tables: Collection[str]) -> tuple[Finding, ...]:
    """Return what speaks against running `sql`; nothing when it may run.

    `tables` are the names of readable tables in lower case, as `Catalog.readable` gives them.
    """
    try:
        trees = parse(sql, dialect)
    except ValueError as error:
        return (Finding("parsable", f"the statement cannot be parsed: {error}"),)
    statement = Statement(trees, frozenset(tables))
    try:
        return tuple(dict.fromkeys(finding for rule in RULES for finding in rule(statement)))
    except RecursionError:
        return (Finding("parsable", "the statement is nested too deeply"),)


def stop_words(findings: Collection[Finding]) -> list[str]:
    """Return the forbidden operations among `findings`, each once, in their order."""
    return list(dict.fromkeys(finding.stop_word for finding in findings if finding.stop_word))


def _operation(node: exp.Expr) -> str:
    if isinstance(node, exp.Command):
        return str(node.this).upper()
    if isinstance(node, exp.Lock):
        return "FOR UPDATE" if node.args.get("update") else "FOR SHARE"
    return {"TRUNCATETABLE": "TRUNCATE", "LOADDATA": "LOAD DATA"}.get(node.key.upper(), node.key.upper())


def _makes_rows(source: exp.Expr | str) -> bool:
    return isinstance(source, _ROW_SOURCES) or (
        isinstance(source, exp.Anonymous) and source.name.lower() in _ROW_FUNCTIONS
    )


def _names_cte(table: exp.Table) -> bool:
    """True where `table` is a name that a WITH in sight defines: an enclosing one, and before the place of use."""
    if len(table.parts) != 1:
        return False
    child: exp.Expr = table
    ancestor = table.parent
    inside: exp.CTE | None = None
    while ancestor is not None:
        if isinstance(child, exp.CTE) and isinstance(ancestor, exp.With):
            inside = child
        clause = ancestor.args.get("with_")
        if clause is not None and _defines(clause, table.name, inside if clause is child else None):
            return True
        child, ancestor = ancestor, ancestor.parent
    return False


def _defines(clause: exp.With, name: str, inside: exp.CTE | None) -> bool:
    for cte in clause.expressions:
        if cte is inside and not clause.recursive:
            return False
        if cte.alias.lower() == name.lower():
            return True
        if cte is inside:
            return False
    return False
