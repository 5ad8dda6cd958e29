"""`datasphinx source check`: rights of an account besides read access, and how to create a read-only account."""

from dataclasses import dataclass
from typing import Any

from agent.settings import SourceSettings
from agent.sources.source import open_source
from agent.sql.grants import Grants, grants_of
from agent.types import Limits

READ_ONLY_ROLES = {
    "postgres": """CREATE ROLE datasphinx LOGIN PASSWORD '...' NOSUPERUSER NOCREATEDB NOCREATEROLE;
GRANT CONNECT ON DATABASE {database} TO datasphinx;
GRANT USAGE ON SCHEMA public TO datasphinx;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO datasphinx;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO datasphinx;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
-- for all accounts, if these functions are not needed:
REVOKE EXECUTE ON FUNCTION lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_advisory_lock(bigint), pg_advisory_lock(integer, integer) FROM PUBLIC;""",
    "mysql": """CREATE USER 'datasphinx'@'%' IDENTIFIED BY '...';
GRANT SELECT, SHOW VIEW ON `{database}`.* TO 'datasphinx'@'%';""",
    "clickhouse": """CREATE USER datasphinx IDENTIFIED BY '...' SETTINGS readonly = 1;
GRANT SELECT ON {database}.* TO datasphinx;""",
    "trino": """{{"catalogs": [{{"user": "datasphinx", "catalog": ".*", "allow": "read-only"}}]}}
(in the rules file of the coordinator: access-control.name=file)""",
    "redshift": """CREATE USER datasphinx PASSWORD '...';
GRANT USAGE ON SCHEMA public TO datasphinx;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO datasphinx;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO datasphinx;""",
    "snowflake": """CREATE ROLE datasphinx;
GRANT USAGE ON WAREHOUSE ... TO ROLE datasphinx;
GRANT USAGE ON DATABASE {database} TO ROLE datasphinx;
GRANT USAGE ON ALL SCHEMAS IN DATABASE {database} TO ROLE datasphinx;
GRANT SELECT ON ALL TABLES IN DATABASE {database} TO ROLE datasphinx;
CREATE USER datasphinx DEFAULT_ROLE = datasphinx TYPE = SERVICE RSA_PUBLIC_KEY = '...';
GRANT ROLE datasphinx TO USER datasphinx;""",
    "bigquery": """Give a service account the roles roles/bigquery.jobUser on the project
and roles/bigquery.dataViewer on the dataset {database}, and no other role.""",
    "databricks": """GRANT USE CATALOG ON CATALOG ... TO `datasphinx`;
GRANT USE SCHEMA, SELECT ON SCHEMA ... TO `datasphinx`;""",
    "tsql": """CREATE LOGIN datasphinx WITH PASSWORD = '...';
CREATE USER datasphinx FOR LOGIN datasphinx;
ALTER ROLE db_datareader ADD MEMBER datasphinx;""",
    "spark": """Give the account of the Thrift server read-only permission on the files of the warehouse,
or GRANT SELECT ON DATABASE {database} TO `datasphinx` if an authorizer is configured.""",
}
"""Statements that create a read-only role, by dialect."""


@dataclass(frozen=True)
class SourceCheck:
    """Result of checking one source."""

    source: str
    url: str
    dialect: str
    grants: Grants
    advice: str
    tables: int
    warnings: tuple[str, ...]

    @property
    def can_write(self) -> bool:
        """True if the account has rights besides read access."""
        return bool(self.grants.beyond_reading)

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        facts = {name: getattr(self, name) for name in ("source", "url", "dialect", "can_write", "advice", "tables")}
        rights = {"beyond_reading": list(self.grants.beyond_reading), "open_to_all": list(self.grants.open_to_all)}
        return {**facts, **rights, "known": self.grants.known, "warnings": list(self.warnings)}


def check_source(name: str, settings: SourceSettings, limits: Limits) -> SourceCheck:
    """Return the rights of a source's account and its readable tables; validates its settings against the schema.

    Raises:
        SourceNotFound, SourceUnreachable, SourceBusy, DriverMissing: as for `Database`.
        ConfigurationError, RowRuleParameterMissing: a setting of the source does not match its schema.
    """
    source = open_source(settings.model_copy(update={"allow_writable_account": True}), limits)
    try:
        database, catalog = source.database, source.catalog
        # Snowflake's URL has the schema after the database.
        name_of_database = (database.url.database or "DATABASE").partition("/")[0]
        advice = READ_ONLY_ROLES.get(database.dialect, "").format(database=name_of_database)
        grants = grants_of(database)
        return SourceCheck(name, database.name, database.dialect, grants, advice, len(catalog.tables), catalog.warnings)
    finally:
        source.close()


def format_report(check: SourceCheck) -> str:
    """Return the result as text for a terminal."""
    lines = [f"{check.source}: {check.url} ({check.dialect})"]
    if not check.grants.known:
        lines.append("This engine does not report grants. Make sure that the account has read access only:")
    elif not check.can_write:
        lines.append("The account has read access only." if check.advice else "The file is opened read-only.")
    else:
        lines += [
            "The account has these rights besides read access:",
            *[f"  - {right}" for right in check.grants.beyond_reading],
        ]
        lines.append("To create an account with read access only:")
    if check.advice and (check.can_write or not check.grants.known):
        lines += [f"  {line}" for line in check.advice.splitlines()]
    if check.grants.open_to_all:
        lines.append(f"Granted to every account on this server: {', '.join(check.grants.open_to_all)}.")
    lines.append(f"Readable tables and views: {check.tables}.")
    lines += [f"  - {warning}" for warning in check.warnings]
    return "\n".join(lines)
