"""A source: a database with what is known of it."""

from dataclasses import dataclass, replace

from agent.audit.step import current_step
from agent.catalog.index import SchemaIndex
from agent.catalog.reflect import reflect
from agent.catalog.schema import Catalog
from agent.catalog.values import sample_values
from agent.sql.database import Database
from agent.sql.execute import Result, execute
from agent.sql.limits import Limits


@dataclass(frozen=True)
class Source:
    """A database with its catalog, the index over it, and the limits of its statements."""

    database: Database
    catalog: Catalog
    index: SchemaIndex
    timeout_s: float
    row_limit: int

    def execute(self, sql: str) -> Result:
        """Return the rows of `sql`; everything that `agent.sql.execute.execute` says holds."""
        return execute(sql, self.database, self.catalog, Limits(self.timeout_s, self.row_limit))


def open_source(url: str, *, timeout_s: float, row_limit: int) -> Source:
    """Return the source behind `url`, its schema read and its values sampled.

    Raises:
        SourceNotFound, SourceUnreachable, DriverMissing, ConfigurationError: as `Database` says.
    """
    database = Database(url)
    catalog = reflect(database)
    # What the catalog reads belongs to no question, so it stays off the audit of the one that happens to wait for it.
    token = current_step.set(None)
    try:
        catalog = replace(catalog, values=sample_values(database, catalog))
    finally:
        current_step.reset(token)
    return Source(database, catalog, SchemaIndex(catalog), timeout_s, row_limit)
