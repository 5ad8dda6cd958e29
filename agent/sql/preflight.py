"""What can be said of a statement without running it."""

from agent.catalog.schema import Catalog
from agent.errors import NamesUnknown, StatementError, StatementRefused
from agent.sql.guard import check
from agent.sql.names import resolve


def objection(sql: str, catalog: Catalog) -> StatementError | None:
    """Return why `sql` cannot run as it stands: `StatementRefused` by the guard, `NamesUnknown` by the catalog.

    None where nothing speaks against it.
    """
    findings = check(sql, catalog.dialect, catalog.readable)
    if findings:
        return StatementRefused(tuple(map(str, findings)))
    try:
        resolve(sql, catalog)
    except NamesUnknown as error:
        return error
    return None
