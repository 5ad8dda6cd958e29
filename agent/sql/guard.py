"""The guard: rules over the syntax tree that decide whether a statement may reach a database.

Every rule is a function from the parsed statement to findings; a statement with no finding may run. A rule that sees a
forbidden operation names it as a stop word, so that SQL generation can be told which word to leave out.
"""

import logging
from collections.abc import Collection, Mapping
from functools import lru_cache
from types import MappingProxyType

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agent.sql.dialects import faithful, literals_in, print_statement
from agent.sql.effort import bounded_joins, bounded_recursion
from agent.sql.finding import Finding, Rule, Statement
from agent.sql.functions import harmless_functions, harmless_types
from agent.sql.lexical import check_text
from agent.sql.parameters import Value, with_literals
from agent.sql.sizes import bounded_rows, bounded_widths
from agent.sql.sources import catalog_tables, no_bare_table_lists, no_system_columns
from agent.sql.syntax import known_syntax, query_only, single_statement

__all__ = ["RULES", "Finding", "Statement", "approve", "check", "parse", "stop_words"]

# sqlglot warns when it parses a statement only as a command; here that is a finding, not a warning.
logging.getLogger("sqlglot").setLevel(logging.ERROR)
_log = logging.getLogger(__name__)

RULES: tuple[Rule, ...] = (
    single_statement,
    query_only,
    known_syntax,
    harmless_functions,
    harmless_types,
    catalog_tables,
    no_bare_table_lists,
    no_system_columns,
    bounded_rows,
    bounded_widths,
    bounded_recursion,
    bounded_joins,
)

_MAX_PRINTINGS = 4
"""How often a statement is written down until its text stays the same."""


def parse(sql: str, dialect: str) -> tuple[exp.Expr, ...]:
    """Return the statements in `sql`, for the caller alone; none for white space and remarks.

    Raises:
        ValueError: it cannot be parsed; the text says where.
    """
    try:
        return tuple(tree.copy() for tree in _parsed(sql, dialect))
    except SqlglotError as error:
        details = getattr(error, "errors", None)
        first = details[0] if details else {"description": str(error).splitlines()[0]}
        where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
        raise ValueError(f"{first['description']}{where}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


@lru_cache(maxsize=256)
def _parsed(sql: str, dialect: str) -> tuple[exp.Expr, ...]:
    trees = sqlglot.parse(sql, dialect=faithful(dialect))
    return tuple(tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon))


def check(sql: str, dialect: str, tables: Collection[str] | None) -> tuple[Finding, ...]:
    """Return what speaks against running `sql`; nothing when it may run.

    `tables` are the names of readable tables in lower case, as `Catalog.readable` gives them; with None every table is
    readable that is no system catalog.
    """
    return approve(sql, dialect, tables)[1]


def approve(
    sql: str, dialect: str, tables: Collection[str] | None, values: Mapping[str, Value] = MappingProxyType({})
) -> tuple[str, tuple[Finding, ...]]:
    """Return the text that may run in place of `sql`, empty where anything speaks against it, and what does.

    What was checked is printed, parsed and checked again, and printed to the same text: what the database reads is
    what the rules have seen, whatever remarks and spellings the original had. A parameter `:name` is judged as its
    value in `values`; one without a value is refused.
    """
    try:
        return _approve(sql, dialect, None if tables is None else frozenset(tables), tuple(values.items()))
    except Exception as error:
        # Whatever the parser trips over, the answer is no: a defect must not open the gate.
        _log.exception("the guard failed on a statement")
        return "", (Finding("parsable", f"the statement cannot be judged ({type(error).__name__})"),)


@lru_cache(maxsize=256)
def _approve(
    sql: str, dialect: str, readable: frozenset[str] | None, values: tuple[tuple[str, Value], ...]
) -> tuple[str, tuple[Finding, ...]]:
    findings, trees = _check_once(sql, dialect, readable, values)
    written = sql
    for _ in range(_MAX_PRINTINGS):
        if findings:
            return "", findings
        before = written
        try:
            written = print_statement(trees[0], dialect)
        except (SqlglotError, RecursionError, ValueError) as error:
            return "", (Finding("round_trip", f"it cannot be written down: {str(error).splitlines()[0]}"),)
        if literals_in(written, dialect) < literals_in(before, dialect):
            return "", (Finding("round_trip", "a part of it would get lost when it is written down"),)
        if written == before:
            return written, ()
        findings, trees = _check_once(written, dialect, readable, values)
    return "", findings or (Finding("round_trip", "the statement changes each time it is written down"),)


def stop_words(findings: Collection[Finding]) -> list[str]:
    """Return the forbidden operations among `findings`, each once, in their order."""
    return list(dict.fromkeys(finding.stop_word for finding in findings if finding.stop_word))


def _check_once(
    sql: str, dialect: str, tables: frozenset[str] | None, values: tuple[tuple[str, Value], ...]
) -> tuple[tuple[Finding, ...], tuple[exp.Expr, ...]]:
    findings = tuple(check_text(sql, dialect))
    if findings:
        return findings, ()
    try:
        trees = parse(sql, dialect)
        judged = tuple(with_literals(tree, dict(values)) for tree in trees) if values else trees
        statement = Statement(judged, tables, dialect)
        return tuple(dict.fromkeys(finding for rule in RULES for finding in rule(statement))), trees
    except ValueError as error:
        return (Finding("parsable", f"the statement cannot be parsed: {error}"),), ()
    except RecursionError:
        return (Finding("parsable", "the statement is nested too deeply"),), ()
