"""The guard: rules on the syntax tree that decide whether a statement may run.

Each rule is a function from a parsed statement to findings; a statement without findings may run. Rules report
forbidden operations as stop words; the prompt of the next attempt forbids these.
"""

import logging
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from time import thread_time
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from datasphinx.agent.engines import engine_of
from datasphinx.agent.errors import PackageConflict
from datasphinx.agent.schema.catalog import ReadableNames
from datasphinx.agent.sql.dialects import exact_dialect, lost_words, print_statement, with_negations
from datasphinx.agent.sql.guard.cost import bounded_joins, bounded_recursion, bounded_rows, bounded_widths
from datasphinx.agent.sql.guard.finding import Finding, GuardTimeout, Rule, Statement
from datasphinx.agent.sql.guard.functions import (
    calls_in_text,
    harmless_functions,
    harmless_types,
    no_attribute_calls,
    no_user_casts,
)
from datasphinx.agent.sql.guard.lexical import check_length, check_printed, check_tokens
from datasphinx.agent.sql.guard.syntax import known_clauses, known_syntax, query_only, single_statement
from datasphinx.agent.sql.guard.tables import catalog_tables, listed_sources, no_bare_table_lists, no_system_columns
from datasphinx.agent.sql.parameters import Value, with_literals

__all__ = ["RULES", "Finding", "Statement", "sanitize", "check", "parse", "shared_nodes", "shared_trees", "stop_words"]

E = TypeVar("E", bound=exp.Expr)

# sqlglot logs a warning for a statement that it cannot parse fully; the guard reports a finding instead.
logging.getLogger("sqlglot").setLevel(logging.ERROR)
_log = logging.getLogger(__name__)

RULES: tuple[Rule, ...] = (
    single_statement,
    query_only,
    known_syntax,
    known_clauses,
    harmless_functions,
    no_attribute_calls,
    no_user_casts,
    harmless_types,
    listed_sources,
    catalog_tables,
    no_bare_table_lists,
    no_system_columns,
    bounded_rows,
    bounded_widths,
    bounded_recursion,
    bounded_joins,
)

_MAX_CACHED = 512
"""The statement of the model, and the printed one, of each of the 256 questions that run at once."""
_MAX_PRINTINGS = 4
"""Maximum number of times a statement is printed until its text no longer changes."""
_MAX_SECONDS = 5.0
"""Limit of CPU time for checking a statement, several times the time for the largest statement."""


class _Parsed(NamedTuple):
    """Tokens and trees of a statement, and all nodes of these."""

    tokens: tuple[Token, ...]
    trees: tuple[exp.Expr, ...]
    nodes: tuple[exp.Expr, ...]


def parse(sql: str, dialect: str) -> tuple[exp.Expr, ...]:
    """Return the statements in `sql` as trees of the caller; none for comments. Raise ValueError with the position."""
    return tuple(tree.copy() for tree in _parse(sql, dialect).trees)


@lru_cache(maxsize=_MAX_CACHED)
def shared_trees(sql: str, dialect: str) -> tuple[exp.Expr, ...]:
    """Return the statements in `sql` as `parse` does, as trees that all callers share and must not modify.

    Nodes must not become children of new nodes either, which would change their parents. The guard has its own trees.
    Negated comparisons are in the form of `with_negations`, so the trees are for reading, not for printing.
    """
    trees = parse(sql, dialect)
    is_negated = any(node.args.get("negate") for node in _parse(sql, dialect).nodes)
    return tuple(map(with_negations, trees)) if is_negated else trees


def shared_nodes(sql: str, dialect: str, *kinds: type[E]) -> Iterator[E]:
    """Return the nodes of these kinds in `shared_trees`, breadth first; the trees are walked once."""
    return (node for node in _nodes(sql, dialect) if isinstance(node, kinds))


@lru_cache(maxsize=_MAX_CACHED)
def _nodes(sql: str, dialect: str) -> tuple[exp.Expr, ...]:
    return tuple(node for tree in shared_trees(sql, dialect) for node in tree.walk())


@lru_cache(maxsize=_MAX_CACHED)
def _tokens(sql: str, dialect: str) -> tuple[Token, ...]:
    """Return the tokens of `sql`. Raise ValueError if a string, quoted name or comment is not terminated."""
    try:
        return tuple(exact_dialect(dialect).tokenize(sql))
    except SqlglotError as error:
        raise ValueError(str(error).splitlines()[0]) from error


@lru_cache(maxsize=_MAX_CACHED)
def _parse(sql: str, dialect: str) -> _Parsed:
    tokens = _tokens(sql, dialect)
    try:
        trees = exact_dialect(dialect).parser().parse(list(tokens), sql)
    except SqlglotError as error:
        details = getattr(error, "errors", None)
        first = details[0] if details else {"description": str(error).splitlines()[0]}
        where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
        raise ValueError(f"{first['description']}{where}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    found = tuple(tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon))
    nodes = tuple(node for tree in found for node in tree.walk())
    for node in nodes:
        if node._meta:
            node._meta = _Meta(node.meta)
    return _Parsed(tokens, found, nodes)


class _Meta(dict[str, Any]):
    """Where and how a node was written. Copies of a node share the values, which stay as they are."""

    def __deepcopy__(self, memo: Any) -> "_Meta":
        return _Meta(self)


def check(sql: str, dialect: str, names: ReadableNames | Collection[str] | None) -> tuple[Finding, ...]:
    """Return the reasons not to run `sql`; empty if it may run.

    `names` are the readable names of the database (`Catalog.readable`), or only the names of readable tables as the
    engine stores them, in lower case if it ignores case. None permits all tables except those of system catalogs.
    """
    return sanitize(sql, dialect, names)[1]


def sanitize(
    sql: str,
    dialect: str,
    names: ReadableNames | Collection[str] | None,
    values: Mapping[str, Value] = MappingProxyType({}),
) -> tuple[str, tuple[Finding, ...]]:
    """Return the text to run instead of `sql`, empty if there are findings, and the findings.

    The text is printed from the syntax tree, parsed and checked again until it no longer changes. The database
    therefore receives exactly the checked text, without the comments and spellings of the original. A parameter `:name`
    is checked as its value in `values`; a parameter without a value is rejected.
    """
    if not isinstance(names, ReadableNames):
        names = ReadableNames(None if names is None else frozenset(names))
    arguments = sql, dialect, names, tuple(values.items())
    try:
        try:
            return _sanitize(*arguments)
        except GuardTimeout:
            # The time for which a virtual machine was suspended may count as CPU time of a thread, so check again.
            return _sanitize(*arguments)
    except GuardTimeout:
        return "", (Finding("length", f"checking the statement takes over {_MAX_SECONDS:.0f} seconds of CPU time"),)
    except PackageConflict:
        raise
    except Exception as error:
        # Fail closed: an unexpected error in the guard rejects the statement.
        _log.exception("the guard failed on a statement")
        return "", (Finding("parsable", f"the statement could not be checked ({type(error).__name__})"),)


@lru_cache(maxsize=_MAX_CACHED)
def _sanitize(
    sql: str, dialect: str, names: ReadableNames, values: tuple[tuple[str, Value], ...]
) -> tuple[str, tuple[Finding, ...]]:
    deadline = thread_time() + _MAX_SECONDS
    text, before = sql, None
    for _ in range(_MAX_PRINTINGS):
        findings, parsed = _check_once(text, dialect, names, values, deadline)
        if findings or parsed is None:
            return "", findings
        lost = lost_words(before.tokens, parsed.tokens, before.trees[0], dialect) if before else ()
        if lost:
            return "", (Finding("round_trip", f"the part {lost[0]} of the statement is not supported", None, lost[0]),)
        try:
            printed = print_statement(parsed.trees[0], dialect)
        except (SqlglotError, RecursionError, ValueError) as error:
            return "", (Finding("round_trip", f"it cannot be printed: {str(error).splitlines()[0]}"),)
        if printed == text:
            statement = Statement(parsed.trees, names, dialect, deadline, walked=parsed.nodes)
            findings = (*check_printed(text, parsed.tokens), *calls_in_text(parsed.tokens, statement))
            return "" if findings else text, findings
        text, before = printed, parsed
    return "", (Finding("round_trip", "the statement changes each time it is printed"),)


def stop_words(findings: Collection[Finding]) -> list[str]:
    """Return the distinct forbidden operations among `findings`, in order."""
    return list(dict.fromkeys(finding.stop_word for finding in findings if finding.stop_word))


def _check_once(
    sql: str, dialect: str, names: ReadableNames, values: tuple[tuple[str, Value], ...], deadline: float
) -> tuple[tuple[Finding, ...], _Parsed | None]:
    """Return the findings on the text `sql`, and its tokens and trees if there are none."""
    try:
        findings = tuple(check_length(sql)) or tuple(check_tokens(sql, _tokens(sql, dialect), engine_of(dialect)))
        if findings:
            return findings, None
        parsed = _parse(sql, dialect)
        trees = tuple(with_literals(tree, dict(values)) for tree in parsed.trees) if values else parsed.trees
        statement = Statement(trees, names, dialect, deadline, walked=() if values else parsed.nodes)
        return tuple(dict.fromkeys(finding for rule in RULES for finding in rule(statement))), parsed
    except ValueError as error:
        return (Finding("parsable", f"the statement cannot be parsed: {error}"),), None
    except RecursionError:
        return (Finding("parsable", "the statement is nested too deeply"),), None
