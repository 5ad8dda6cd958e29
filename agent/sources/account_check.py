"""`datasphinx source check`: rights of an account besides read access, and how to create a read-only account."""

from dataclasses import dataclass
from typing import Any

from datasphinx.agent.engines.privileges import Grants
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import open_source
from datasphinx.agent.types import Limits


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
        ConfigurationError, RowRuleParameterMissing: a setting of the source does not match its schema.
    """
    source = open_source(settings.model_copy(update={"allow_writable_account": True}), limits)
    try:
        database, catalog = source.database, source.catalog
        # Snowflake's URL has the schema after the database.
        name_of_database = (database.url.database or "DATABASE").partition("/")[0]
        advice = database.kind.read_only_account.format(database=name_of_database)
        grants = database.grants()
        return SourceCheck(
            name, database.name, database.kind.dialect, grants, advice, len(catalog.tables), catalog.warnings
        )
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
