"""The guard: rules over the syntax tree that decide whether a statement may reach a database.

Every rule is a function from the parsed statement to findings; a statement with no finding may run. A rule that sees a
forbidden operation names it as a stop word, so that SQL generation can be told which word to leave out.
"""

import logging
from collections.abc import Collection, Mapping
from functools import lru_cache
from time import monotonic
from types import MappingProxyType
from typing import NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from agent.catalog.schema import ReadableNames
from agent.sql.dialects import faithful, loses_literals, print_statement
from agent.sql.effort import bounded_joins, bounded_recursion
from agent.sql.finding import Finding, GuardTimeout, Rule, Statement
from agent.sql.functions import calls_in_text, harmless_functions, harmless_types, no_attribute_calls
from agent.sql.lexical import check_length, check_tokens
from agent.sql.parameters import Value, with_literals
from agent.sql.sizes import bounded_rows, bounded_widths
from agent.sql.sources import catalog_tables, no_bare_table_lists, no_system_columns
from agent.sql.syntax import known_clauses, known_syntax, query_only, single_statement

__all__ = ["RULES", "Finding", "Statement", "approve", "check", "parse", "stop_words"]

# sqlglot warns when it parses a statement only as a command; here that is a finding, not a warning.
logging.getLogger("sqlglot").setLevel(logging.ERROR)
_log = logging.getLogger(__name__)

RULES: tuple[Rule, ...] = (
    single_statement,
    query_only,
    known_syntax,
    known_clauses,
    harmless_functions,
    no_attribute_calls,
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
"""How often a statement is printed until its text stays the same."""
_MAX_SECONDS = 5.0
"""Time for the rules on one statement, far above what the largest statement takes on an idle machine."""


class _Reading(NamedTuple):
    """A statement as it was tokenized and parsed."""

    tokens: tuple[Token, ...]
    trees: tuple[exp.Expr, ...]


def parse(sql: str, dialect: str) -> tuple[exp.Expr, ...]:
    """Return the statements in `sql`, for the caller alone; none for white space and comments.

    Raises:
        ValueError: it cannot be parsed; the text says where.
    """
    return tuple(tree.copy() for tree in _read(sql, dialect).trees)


@lru_cache(maxsize=256)
def _tokens(sql: str, dialect: str) -> tuple[Token, ...]:
    """Return the tokens of `sql`.

    Raises:
        ValueError: a string, a quoted name or a comment has no end.
    """
    try:
        return tuple(faithful(dialect).tokenize(sql))
    except SqlglotError as error:
        raise ValueError(str(error).splitlines()[0]) from error


@lru_cache(maxsize=256)
def _read(sql: str, dialect: str) -> _Reading:
    tokens = _tokens(sql, dialect)
    try:
        trees = faithful(dialect).parser().parse(list(tokens), sql)
    except SqlglotError as error:
        details = getattr(error, "errors", None)
        first = details[0] if details else {"description": str(error).splitlines()[0]}
        where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
        raise ValueError(f"{first['description']}{where}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return _Reading(tokens, tuple(tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)))


def check(sql: str, dialect: str, names: ReadableNames | Collection[str] | None) -> tuple[Finding, ...]:
    """Return the findings against running `sql`; none when it may run.

    `names` are those of the database, as `Catalog.readable` gives them, or only the names of readable tables as the
    engine stores them, in lower case where it ignores case. With None every table is readable that is no system
    catalog.
    """
    return approve(sql, dialect, names)[1]


def approve(
    sql: str,
    dialect: str,
    names: ReadableNames | Collection[str] | None,
    values: Mapping[str, Value] = MappingProxyType({}),
) -> tuple[str, tuple[Finding, ...]]:
    """Return the text that may run in place of `sql`, empty where there are findings, and the findings.

    The text that runs is printed from the syntax tree, parsed and checked again, and prints to the same text: the
    database reads what the rules have seen, whatever comments and spellings the original had. A parameter `:name` is
    judged as its value in `values`; one without a value is refused.
    """
    if not isinstance(names, ReadableNames):
        names = ReadableNames(None if names is None else frozenset(names))
    try:
        return _approve(sql, dialect, names, tuple(values.items()))
    except GuardTimeout:
        return "", (Finding("length", f"checking the statement takes longer than {_MAX_SECONDS:.0f} seconds"),)
    except Exception as error:
        # Whatever the parser trips over, the answer is no: a defect must not open the gate.
        _log.exception("the guard failed on a statement")
        return "", (Finding("parsable", f"the statement cannot be judged ({type(error).__name__})"),)


@lru_cache(maxsize=256)
def _approve(
    sql: str, dialect: str, names: ReadableNames, values: tuple[tuple[str, Value], ...]
) -> tuple[str, tuple[Finding, ...]]:
    deadline = monotonic() + _MAX_SECONDS
    text, before = sql, None
    for _ in range(_MAX_PRINTINGS):
        findings, reading = _check_once(text, dialect, names, values, deadline)
        if findings or reading is None:
            return "", findings
        if before and (
            loses_literals(before.tokens, reading.tokens, before.trees[0])
            or (_has_ties(before) and not _has_ties(reading))
        ):
            return "", (Finding("round_trip", "a part of it would be lost when it is printed"),)
        try:
            printed = print_statement(reading.trees[0], dialect)
        except (SqlglotError, RecursionError, ValueError) as error:
            return "", (Finding("round_trip", f"it cannot be printed: {str(error).splitlines()[0]}"),)
        if printed == text:
            findings = tuple(calls_in_text(reading.tokens, Statement(reading.trees, names, dialect, deadline)))
            return "" if findings else text, findings
        text, before = printed, reading
    return "", (Finding("round_trip", "the statement changes each time it is printed"),)


def _has_ties(reading: _Reading) -> bool:
    """Return whether the statement asks for WITH TIES, which some generators leave out."""
    return any(token.text.upper() == "TIES" for token in reading.tokens)


def stop_words(findings: Collection[Finding]) -> list[str]:
    """Return the forbidden operations among `findings`, each once, in their order."""
    return list(dict.fromkeys(finding.stop_word for finding in findings if finding.stop_word))


def _check_once(
    sql: str, dialect: str, names: ReadableNames, values: tuple[tuple[str, Value], ...], deadline: float
) -> tuple[tuple[Finding, ...], _Reading | None]:
    """Return the findings on `sql` as it is written, and how it reads where there are none."""
    try:
        findings = tuple(check_length(sql)) or tuple(check_tokens(sql, _tokens(sql, dialect), dialect))
        if findings:
            return findings, None
        reading = _read(sql, dialect)
        judged = tuple(with_literals(tree, dict(values)) for tree in reading.trees) if values else reading.trees
        statement = Statement(judged, names, dialect, deadline)
        return tuple(dict.fromkeys(finding for rule in RULES for finding in rule(statement))), reading
    except ValueError as error:
        return (Finding("parsable", f"the statement cannot be parsed: {error}"),), None
    except RecursionError:
        return (Finding("parsable", "the statement is nested too deeply"),), None
