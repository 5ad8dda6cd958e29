"""The tables of the shared database beside those of threads, made by numbered steps."""

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

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


def shared_0002_files(connection: Connection) -> None:
    """Make the table of files, and that of their content in parts, which go with them."""
    metadata = MetaData()
    Table(
        "datasphinx_files",
        metadata,
        Column("owner", String(100), primary_key=True),
        Column("id", String(40), primary_key=True),
        Column("body", Text, nullable=False),
        Column("bytes", BigInteger, nullable=False),
        Column("sha256", String(64), nullable=False),
        Column("kept_at", String(40), nullable=False),
    )
    Table(
        "datasphinx_file_parts",
        metadata,
        Column("owner", String(100), primary_key=True),
        Column("id", String(40), primary_key=True),
        Column("number", Integer, primary_key=True),
        Column("content", LargeBinary, nullable=False),
        ForeignKeyConstraint(["owner", "id"], ["datasphinx_files.owner", "datasphinx_files.id"], ondelete="CASCADE"),
    )
    metadata.create_all(connection)


MIGRATIONS: tuple[Migration, ...] = (shared_0001_counts, shared_0002_files)
"""All steps; the number of each is its place, from 1. One that was released is never changed."""
