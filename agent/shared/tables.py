"""The tables of the shared database beside those of threads, made by numbered steps."""

from sqlalchemy import Column, Connection, MetaData, String, Table, Text

from agent.audit.migrations import Migration, applied_in

applied = applied_in("datasphinx_shared_migrations")
"""Which steps were applied: a number of their own, since the record may be in the same database."""


def shared_0001_counts(connection: Connection) -> None:
    """Make the table of what each tenant has asked and spent."""
    Table(
        "datasphinx_counts",
        MetaData(),
        Column("owner", String(100), primary_key=True),
        Column("counted", Text, nullable=False),
    ).create(connection)


MIGRATIONS: tuple[Migration, ...] = (shared_0001_counts,)
"""All steps; the number of each is its place, from 1. One that was released is never changed."""
