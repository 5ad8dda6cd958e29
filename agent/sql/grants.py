"""Privileges of a database account other than read access. All statements are constants that read system catalogs."""

import re
from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from agent.sql.database import Database


@dataclass(frozen=True)
class Grants:
    """Privileges of an account other than read access.

    `beyond_reading` lists those that can change data or settings or access files; `open_to_all` those that every
    account on the server has. `known` is False for engines that do not report privileges.
    """

    beyond_reading: tuple[str, ...] = ()
    open_to_all: tuple[str, ...] = ()
    known: bool = True


_POSTGRES_ROLE = """
SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = current_user"""
_POSTGRES_ROLE_RIGHTS = ("superuser", "CREATEROLE", "CREATEDB", "REPLICATION", "BYPASSRLS")
_POSTGRES_MEMBERSHIPS = """
SELECT rolname FROM pg_roles WHERE rolname IN ('pg_write_all_data', 'pg_write_server_files', 'pg_read_server_files',
'pg_execute_server_program', 'pg_signal_backend', 'pg_maintain', 'pg_checkpoint')
AND pg_has_role(current_user, oid, 'MEMBER') ORDER BY 1"""
_POSTGRES_TABLES = """
SELECT DISTINCT right_name || ' on ' || count(*) OVER (PARTITION BY right_name) || ' tables, such as '
|| first_value(name) OVER (PARTITION BY right_name ORDER BY name)
FROM (SELECT c.oid, n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema') t
CROSS JOIN unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) right_name
WHERE has_table_privilege(t.oid, right_name) ORDER BY 1"""
_POSTGRES_CREATE = """
SELECT 'CREATE in schema ' || nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%'
AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'CREATE')
UNION ALL SELECT 'CREATE in database ' || current_database()
WHERE has_database_privilege(current_database(), 'CREATE') ORDER BY 1"""
_POSTGRES_FUNCTIONS = """
SELECT what FROM (VALUES ('lo_create(oid)', 'large objects (lo_create)'),
('pg_advisory_lock(bigint)', 'advisory locks (pg_advisory_lock)')) v(signature, what)
WHERE has_function_privilege(signature, 'EXECUTE') ORDER BY 1"""

_READING = {"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "SHOW", "SHOW TABLES", "SHOW COLUMNS", "PROCESS"}
_GRANT = re.compile(r"GRANT (?P<rights>.+?) ON (?P<on>.+?) TO ", re.DOTALL)
_GRANTED_ROLE = re.compile(r"GRANT (?P<role>[`'\w][^,]*?) TO ")


def grants_of(database: Database) -> Grants:
    """Return the privileges of the account of `database` other than read access.

    SQLite and DuckDB files are always opened read-only and have none.

    Raises:
        SourceUnreachable, SourceBusy: the database does not answer.
    """
    readers = {"postgres": _postgres_grants, "mysql": _show_grants, "clickhouse": _show_grants}
    if database.kind.in_worker:
        return Grants()
    if database.dialect not in readers:
        return Grants(known=False)
    with database.connect() as connection:
        try:
            return readers[database.dialect](connection)
        except SQLAlchemyError as error:
            raise database.unreachable(error) from error


def _column(connection: Connection, sql: str) -> list[str]:
    return [str(row[0]) for row in connection.execution_options(no_parameters=True).exec_driver_sql(sql)]


def _postgres_grants(connection: Connection) -> Grants:
    flags = connection.exec_driver_sql(_POSTGRES_ROLE).one()
    privileges = [right for right, has in zip(_POSTGRES_ROLE_RIGHTS, flags, strict=True) if has]
    if "superuser" not in privileges:
        privileges += [f"member of {role}" for role in _column(connection, _POSTGRES_MEMBERSHIPS)]
        privileges += _column(connection, _POSTGRES_TABLES) + _column(connection, _POSTGRES_CREATE)
    return Grants(tuple(privileges), tuple(_column(connection, _POSTGRES_FUNCTIONS)))


def _show_grants(connection: Connection) -> Grants:
    lines = _column(connection, "SHOW GRANTS")
    # Names of granted roles, with the quotes of the server.
    roles = [match["role"] for line in lines if " ON " not in line and (match := _GRANTED_ROLE.match(line))]
    lines += [line for role in roles for line in _column(connection, f"SHOW GRANTS FOR {role}")]
    privileges = [f"{right} on {on}" for line in lines for right, on in beyond_reading(line)]
    open_to_all = ("named locks (GET_LOCK)",) if connection.dialect.name in {"mysql", "mariadb"} else ()
    return Grants(tuple(dict.fromkeys(privileges)), open_to_all)


def beyond_reading(line: str) -> list[tuple[str, str]]:
    """Return the privileges other than read access in one line of SHOW GRANTS, each with its object.

    >>> beyond_reading("GRANT SELECT, INSERT (a, b) ON `shop`.* TO `app`@`%`")
    [('INSERT', '`shop`.*')]
    """
    match = _GRANT.match(line)
    if not match:
        return []
    rights = [re.sub(r"\s*\(.*?\)", "", right).strip().upper() for right in re.split(r",(?![^(]*\))", match["rights"])]
    grant_option = ["GRANT OPTION"] if "WITH GRANT OPTION" in line.upper() else []
    return [(right, match["on"]) for right in [*rights, *grant_option] if right not in _READING]
