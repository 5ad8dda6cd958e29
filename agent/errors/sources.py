"""Errors of a source: its URL, its driver, its server, its account."""

from dataclasses import dataclass

from agent.errors.base import Terminal


@dataclass(eq=False)
class SourceNotFound(Terminal):
    """The named source does not exist."""

    code = "source_not_found"
    source: str
    reason: str


@dataclass(eq=False)
class SourcesNotTogether(Terminal):
    """One question cannot reach both sources: their engines differ, or one is a database and the other a file."""

    code = "sources_not_together"
    first: str
    second: str


@dataclass(eq=False)
class SourceEmpty(Terminal):
    """The source has no table that the account can see."""

    code = "source_empty"
    source: str


@dataclass(eq=False)
class SourceUnreachable(Terminal):
    """The database of a source does not answer."""

    code = "source_unreachable"
    source: str
    reason: str


@dataclass(eq=False)
class SourceBusy(Terminal):
    """All `places` connections or worker processes of a database stayed in use."""

    code = "source_busy"
    source: str
    places: int


@dataclass(eq=False)
class AccountCanWrite(Terminal):
    """The account of a source may do more than read, and nobody has allowed that."""

    code = "account_can_write"
    source: str
    rights: str


@dataclass(eq=False)
class DriverMissing(Terminal):
    """An optional package is not installed; `extra` brings it."""

    code = "driver_missing"
    package: str
    extra: str
