"""`datasphinx source check`: what an account may do beyond reading, and how to make one that may only read."""

from dataclasses import dataclass
from typing import Any

from agent.catalog.source import open_source
from agent.source_settings import SourceSettings
from agent.sql.grants import Grants, grants_of
from agent.sql.limits import Limits

READ_ONLY_ROLES = {
    "postgres": """CREATE ROLE datasphinx LOGIN PASSWORD '...' NOSUPERUSER NOCREATEDB NOCREATEROLE;
GRANT CONNECT ON DATABASE {database} TO datasphinx;
GRANT USAGE ON SCHEMA public TO datasphinx;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO datasphinx;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO datasphinx;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
-- for all accounts, where nobody needs them:
REVOKE EXECUTE ON FUNCTION lo_create(oid), lo_creat(integer), lo_from_bytea(oid, bytea) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION pg_advisory_lock(bigint), pg_advisory_lock(integer, integer) FROM PUBLIC;""",
    "mysql": """CREATE USER 'datasphinx'@'%' IDENTIFIED BY '...';
GRANT SELECT, SHOW VIEW ON `{database}`.* TO 'datasphinx'@'%';""",
    "clickhouse": """CREATE USER datasphinx IDENTIFIED BY '...' SETTINGS readonly = 1;
GRANT SELECT ON {database}.* TO datasphinx;""",
    "trino": """{{"catalogs": [{{"user": "datasphinx", "catalog": ".*", "allow": "read-only"}}]}}
(in the rules file of the coordinator: access-control.name=file)""",
    "spark": """Give the account of the Thrift server read permission alone on the files of the warehouse,
or GRANT SELECT ON DATABASE {database} TO `datasphinx` where an authorizer is set up.""",
}
"""By dialect: how an administrator makes a role that may only read."""


@dataclass(frozen=True)
class SourceCheck:
    """What was found of one source."""

    source: str
    url: str
    dialect: str
    grants: Grants
    advice: str
    tables: int
    warnings: tuple[str, ...]

    @property
    def can_write(self) -> bool:
        """True where the account may do more than read."""
        return bool(self.grants.beyond_reading)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as a JSON object."""
        found = {name: getattr(self, name) for name in ("source", "url", "dialect", "can_write", "advice", "tables")}
        rights = {"beyond_reading": list(self.grants.beyond_reading), "open_to_all": list(self.grants.open_to_all)}
        return {**found, **rights, "known": self.grants.known, "warnings": list(self.warnings)}


def check_source(name: str, settings: SourceSettings, limits: Limits) -> SourceCheck:
    """Return what the account of a source may do, and what it can read; its settings are held against the schema.

    Raises:
        SourceNotFound, SourceUnreachable, SourceBusy, DriverMissing: as `Database` says.
        ConfigurationError, RowRuleParameterMissing: a setting of the source does not fit its schema.
    """
    source = open_source(settings.model_copy(update={"allow_writable_account": True}), limits)
    try:
        database, catalog = source.database, source.catalog
        advice = READ_ONLY_ROLES.get(database.dialect, "").format(database=database.url.database or "DATABASE")
        grants = grants_of(database)
        return SourceCheck(name, database.name, database.dialect, grants, advice, len(catalog.tables), catalog.warnings)
    finally:
        source.close()


def report(check: SourceCheck) -> str:
    """Return what was found as text for a terminal."""
    lines = [f"{check.source}: {check.url} ({check.dialect})"]
    if not check.grants.known:
        lines.append("This engine cannot be asked for its grants. Make sure that the account may only read:")
    elif not check.can_write:
        lines.append("The account may only read." if check.advice else "The file is opened for reading only.")
    else:
        lines += ["Beyond reading the account may:", *[f"  - {right}" for right in check.grants.beyond_reading]]
        lines.append("An account that may only read:")
    if check.advice and (check.can_write or not check.grants.known):
        lines += [f"  {line}" for line in check.advice.splitlines()]
    if check.grants.open_to_all:
        lines.append(f"Open to every account of this server: {', '.join(check.grants.open_to_all)}.")
    lines.append(f"Tables and views that can be asked: {check.tables}.")
    lines += [f"  - {warning}" for warning in check.warnings]
    return "\n".join(lines)
