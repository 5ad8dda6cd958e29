"""A source: a database with what is known of it."""

from dataclasses import dataclass, replace

from agent.audit.step import current_step
from agent.catalog.index import SchemaIndex
from agent.catalog.reflect import reflect
from agent.catalog.schema import Catalog
from agent.catalog.values import sample_values
from agent.errors import AccountCanWrite
from agent.source_settings import SourceSettings
from agent.sql.database import Database
from agent.sql.execute import Result, execute
from agent.sql.grants import grants_of
from agent.sql.limits import Cancellation, Limits

_SHOWN_RIGHTS = 3


@dataclass(frozen=True)
class Source:
    """A database with its catalog, the index over it, and the limits of its statements."""

    database: Database
    catalog: Catalog
    index: SchemaIndex
    limits: Limits

    def execute(self, sql: str, cancellation: Cancellation | None = None) -> Result:
        """Return the rows of `sql`; everything that `agent.sql.execute.execute` says holds."""
        return execute(sql, self.database, self.catalog, self.limits, cancellation=cancellation)


def open_source(settings: SourceSettings, limits: Limits) -> Source:
    """Return the source that `settings` name, its schema read and its values sampled.

    Raises:
        SourceNotFound, SourceUnreachable, DriverMissing, ConfigurationError: as `Database` says.
        AccountCanWrite: the account may do more than read, and that is not allowed.
    """
    database = Database(settings.url.get_secret_value())
    if not settings.allow_writable_account:
        _refuse_writers(database)
    catalog = reflect(database)
    # What the catalog reads belongs to no question, so it stays off the audit of the one that happens to wait for it.
    token = current_step.set(None)
    try:
        catalog = replace(catalog, values=sample_values(database, catalog))
    finally:
        current_step.reset(token)
    return Source(database, catalog, SchemaIndex(catalog), limits)


def _refuse_writers(database: Database) -> None:
    rights = grants_of(database).beyond_reading
    if rights:
        shown = "; ".join(rights[:_SHOWN_RIGHTS])
        more = f" and {len(rights) - _SHOWN_RIGHTS} more" if len(rights) > _SHOWN_RIGHTS else ""
        raise AccountCanWrite(database.name, f"{shown}{more}")
