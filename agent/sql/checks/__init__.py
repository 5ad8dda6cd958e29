"""Static checks of a statement, at no call of a model and none to the database.

A problem is what the database would refuse; a warning is what whoever judges the statement should know. Each check is
a function from the resolved statement to remarks.
"""

import logging
from collections.abc import Callable

from agent.catalog.schema import Catalog
from agent.sql.checks.grouping import grouping
from agent.sql.checks.joins import keyless_joins, products
from agent.sql.checks.literals import KnownValues, compares_text, literals
from agent.sql.checks.remark import Check, Remark
from agent.sql.checks.types import comparisons, sums_of_text
from agent.sql.guard import parse
from agent.sql.resolved import Resolved, resolved

__all__ = ["CHECKS", "Remark", "problems_of", "warnings_of"]

_log = logging.getLogger(__name__)

CHECKS: tuple[Check, ...] = (sums_of_text, comparisons, grouping, keyless_joins, products)


def problems_of(query: Resolved | None) -> tuple[str, ...]:
    """Return why the database would refuse `query`; nothing where that is not sure."""
    return tuple(remark.text for remark in _remarks(query) if remark.is_problem) if query else ()


def warnings_of(sql: str, catalog: Catalog, values: Callable[[], KnownValues] | None = None) -> tuple[str, ...]:
    """Return what is doubtful in one parsable query, nothing where it cannot be followed.

    `values` gives the index of stored values; it is called only where a literal could be looked up.
    """
    (tree,) = parse(sql, catalog.dialect)
    query = resolved(tree, catalog)
    if query is None:
        return ()
    found = [remark for remark in _remarks(query) if not remark.is_problem]
    return tuple(dict.fromkeys(remark.text for remark in [*found, *_about_literals(query, values)]))


def _remarks(query: Resolved) -> list[Remark]:
    try:
        return list(dict.fromkeys(remark for check in CHECKS for remark in check(query)))
    except Exception:
        # What a check trips over is left to the database: a defect here must not stop a statement.
        _log.exception("the static checks failed on a statement")
        return []


def _about_literals(query: Resolved, values: Callable[[], KnownValues] | None) -> list[Remark]:
    if values is None or not compares_text(query):
        return []
    try:
        return list(literals(query, values()))
    except Exception:
        # The index may have to be read from a database that does not answer just now.
        _log.exception("the literals of a statement could not be looked up")
        return []
