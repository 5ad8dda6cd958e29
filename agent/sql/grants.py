"""Privileges of the account of a database other than read access."""

from sqlalchemy.exc import SQLAlchemyError

from datasphinx.agent.engines.privileges import Grants
from datasphinx.agent.sql.database import Database


def grants_of(database: Database) -> Grants:
    """Return the privileges of the account of `database` other than read access.

    SQLite and DuckDB files are always opened read-only and have none.

    Raises:
        SourceUnreachable, SourceBusy: the database does not answer.
    """
    if database.kind.in_worker:
        return Grants()
    with database.connect() as connection:
        try:
            return database.kind.grants(connection)
        except SQLAlchemyError as error:
            raise database.unreachable(error) from error
