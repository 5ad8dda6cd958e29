"""Validation of a statement without running it: guard, name resolution and static checks."""

import threading
from collections.abc import Mapping
from types import MappingProxyType
from weakref import ref

from cachetools import LRUCache

from agent.errors import StatementError, StatementRefused, StatementUnsound
from agent.messages import Message
from agent.schema.catalog import Catalog
from agent.sql.checks import problems_of
from agent.sql.guard import sanitize
from agent.sql.names import resolve
from agent.sql.parameters import Value

# The same statement is validated two or three times per question: when generated, checked and run.
_valid_statements: LRUCache[tuple[str, int], ref[Catalog]] = LRUCache(maxsize=256)
_lock = threading.Lock()


def validated_sql(sql: str, catalog: Catalog, values: Mapping[str, Value] = MappingProxyType({})) -> str:
    """Validate `sql` and return the text to run instead, regenerated from its parse tree.

    Parameters stay as `:name`; `values` holds the values that will be bound to them.

    Raises:
        StatementRefused: the guard rejects it, for example because a parameter has no value.
        NamesUnknown: a column does not exist or is ambiguous.
        StatementUnsound: the static checks find types or groupings that the database would reject.
    """
    text, findings = sanitize(sql, catalog.dialect, catalog.readable, values)
    if findings:
        raise StatementRefused(tuple(map(str, findings)))
    _check_names_and_types(text, catalog)
    return text


def find_problem(sql: str, catalog: Catalog) -> StatementError | None:
    """Return the error with which `validated_sql` rejects `sql`, or None if it is valid."""
    try:
        validated_sql(sql, catalog)
    except StatementError as error:
        return error
    return None


def _check_names_and_types(sql: str, catalog: Catalog) -> None:
    """Check the names and types in `sql` against `catalog`; successful checks are cached."""
    # The cache holds weak references, since catalogs may be large; the identity check handles reused ids.
    key = (sql, id(catalog))
    with _lock:
        checked = _valid_statements.get(key)
    if checked and checked() is catalog:
        return
    query = resolve(sql, catalog)
    if query is None and catalog.dialect == "postgres":
        # On PostgreSQL a name that is not a column may call a function of the row.
        raise StatementUnsound((Message("names_unresolved"),))
    problems = problems_of(query)
    if problems:
        raise StatementUnsound(problems)
    with _lock:
        _valid_statements[key] = ref(catalog)
