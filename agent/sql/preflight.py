"""What can be said of a statement without running it."""

import threading
from collections.abc import Mapping
from types import MappingProxyType
from weakref import ref

from cachetools import LRUCache

from agent.catalog.schema import Catalog
from agent.errors import StatementError, StatementRefused, StatementUnsound
from agent.sql.checks import problems_of
from agent.sql.guard import approve
from agent.sql.names import resolve
from agent.sql.parameters import Value

# A question asks two or three times about the same statement: when it is written, checked, and run.
_sound: LRUCache[tuple[str, int], ref[Catalog]] = LRUCache(maxsize=256)
_lock = threading.Lock()


def approved(sql: str, catalog: Catalog, values: Mapping[str, Value] = MappingProxyType({})) -> str:
    """Return the text that may run in place of `sql`: what the guard has read, written down anew.

    Its parameters stand as `:name`; `values` has what will be bound to them.

    Raises:
        StatementRefused: the guard found something, such as a parameter without a value.
        NamesUnknown: a column does not exist.
        StatementUnsound: types or groups are such that the database would refuse it.
    """
    text, findings = approve(sql, catalog.dialect, catalog.readable, values)
    if findings:
        raise StatementRefused(tuple(map(str, findings)))
    _hold_against(text, catalog)
    return text


def objection(sql: str, catalog: Catalog) -> StatementError | None:
    """Return why `sql` cannot run as it stands; None where nothing speaks against it."""
    try:
        approved(sql, catalog)
    except StatementError as error:
        return error
    return None


def _hold_against(sql: str, catalog: Catalog) -> None:
    """Raise what speaks against `sql` by the columns of `catalog`; a statement is found sound once."""
    # A catalog may be large, and is not kept by this. Another one may come to have the same id.
    key = (sql, id(catalog))
    with _lock:
        known = _sound.get(key)
    if known and known() is catalog:
        return
    query = resolve(sql, catalog)
    if query is None and catalog.dialect == "postgres":
        # There a name that is no column may be a function of the row.
        raise StatementUnsound(("its names cannot be resolved; write it with simpler subqueries and aliases",))
    problems = problems_of(query)
    if problems:
        raise StatementUnsound(problems)
    with _lock:
        _sound[key] = ref(catalog)
