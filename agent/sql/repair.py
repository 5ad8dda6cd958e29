"""Repair of a statement without a model: names that can mean only one thing, and the syntax of another dialect."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from agent.catalog.schema import Catalog
from agent.sql.dialects import print_statement
from agent.sql.guard import approve, parse
from agent.sql.name_repair import mend_names
from agent.sql.preflight import objection
from agent.sql.same import same_form
from agent.sql.sources import system_names
from agent.sql.translate import is_foreign, readings, written

_log = logging.getLogger(__name__)

_REPAIRABLE = {"parsable", "round_trip", "harmless_functions", "known_syntax", "catalog_tables"}
"""Rules of the guard that a statement of another dialect, or with a misspelt name, runs into."""


@dataclass(frozen=True)
class Repair:
    """A statement that can run in place of another, and in words what was done."""

    sql: str
    how: str


def repair(sql: str, catalog: Catalog, *, was_refused: bool = False) -> Repair | None:
    """Return a repair of `sql` that the guard, the catalog and the static checks accept; None where none is sure.

    The first that is accepted is taken: with its names mended, then read as another dialect, in a fixed order. Where
    nothing speaks against `sql` there is none, unless `was_refused` says that the database has refused it.
    """
    try:
        return _repair(sql, catalog, was_refused)
    except Exception:
        # Whatever the parser trips over, the statement can still go back to the model.
        _log.exception("the repair of a statement failed")
        return None


def _repair(sql: str, catalog: Catalog, was_refused: bool) -> Repair | None:
    text, findings = approve(sql, catalog.dialect, catalog.readable)
    if any(finding.rule not in _REPAIRABLE for finding in findings) or system_names(findings):
        return None
    if not (was_refused or is_foreign(sql, catalog.dialect) or objection(sql, catalog)):
        return None
    before = same_form(text or sql, catalog.dialect)
    for found in _candidates(sql, catalog):
        if objection(found.sql, catalog) is None and same_form(found.sql, catalog.dialect) != before:
            return found
    return None


def _candidates(sql: str, catalog: Catalog) -> Iterator[Repair]:
    for dialect, tree in readings(sql, catalog.dialect):
        text = written(tree, catalog.dialect)
        how = [] if dialect == catalog.dialect else [f"read as {dialect}"]
        if text:
            yield Repair(text, "; ".join(how) or "rewritten")
            yield from _with_names(text, how, catalog)


def _with_names(sql: str, how: list[str], catalog: Catalog) -> Iterator[Repair]:
    tree = _parsed(sql, catalog.dialect)
    changes = mend_names(tree, catalog) if tree is not None else []
    if tree is not None and changes:
        yield Repair(print_statement(tree, catalog.dialect), "; ".join([*how, *(f"took {each}" for each in changes)]))


def _parsed(sql: str, dialect: str) -> exp.Expr | None:
    try:
        (tree,) = parse(sql, dialect)
    except ValueError:
        return None
    return tree
