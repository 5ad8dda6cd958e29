"""Statements over one table of a dataset that tools write themselves: names are quoted, no value stands in them."""

from collections.abc import Sequence

from sqlglot import exp

from agent.catalog.schema import Table
from agent.catalog.source import Source
from agent.sql.dialects import print_statement
from agent.sql.limits import Cancellation
from agent.sql.result import Result


def select(
    columns: Sequence[exp.Expr], table: Table, source: Source, cancellation: Cancellation, limit: int | None = None
) -> Result:
    """Return `columns` of the first `limit` rows of `table`, through the choke point.

    Raises:
        DatasphinxError: as `agent.sql.execute.execute` says.
    """
    query = exp.select(*columns).from_(exp.table_(table.name, db=table.schema, quoted=True))
    if limit is not None:
        query = query.limit(limit)
    return source.execute(print_statement(query, source.catalog.dialect), cancellation)


def column(name: str) -> exp.Expr:
    """Return the column of that name."""
    return exp.column(name, quoted=True)
