"""Errors of one statement."""

from dataclasses import dataclass

from agent.errors.base import Retryable, Terminal


class StatementError(Retryable):
    """A statement did not run."""


@dataclass(eq=False)
class StatementRefused(StatementError):
    """The guard refused a statement; `findings` says by which rules."""

    code = "statement_refused"
    findings: tuple[str, ...]


@dataclass(eq=False)
class NamesUnknown(StatementError):
    """A statement names tables or columns that the catalog does not have."""

    code = "names_unknown"
    unknown: str


@dataclass(eq=False)
class StatementUnsound(StatementError):
    """The database would refuse a statement: types that do not meet, columns that are not grouped."""

    code = "statement_unsound"
    problems: tuple[str, ...]


@dataclass(eq=False)
class StatementFailed(StatementError):
    """The database refused a statement; `kind` is one of `agent.sql.failures.Kind`.

    `reason` is what the database said; of a source with row rules the class of the error and its position.
    """

    code = "statement_failed"
    reason: str
    kind: str = "other"


@dataclass(eq=False)
class StatementTimeout(StatementError):
    """A statement was stopped at its time limit, in seconds."""

    code = "statement_timeout"
    seconds: float


@dataclass(eq=False)
class StatementTooCostly(StatementError):
    """The server expects `rows` rows at the widest place of the plan, where `limit` are allowed.

    Of a source with row rules `rows` is `limit`: the estimate counts hidden rows.
    """

    code = "statement_too_costly"
    rows: float
    limit: float


@dataclass(eq=False)
class StatementCancelled(Terminal):
    """A statement was stopped because somebody asked for it."""

    code = "statement_cancelled"


@dataclass(eq=False)
class PermissionDenied(Terminal):
    """The database does not let the account of this source read what a statement needs."""

    code = "permission_denied"
    source: str
    reason: str


@dataclass(eq=False)
class SystemCatalogRefused(Terminal):
    """A statement reads the engine's own tables, which no other try at the statement would make permitted."""

    code = "system_catalog_refused"
    names: str


@dataclass(eq=False)
class NotPermitted(Terminal):
    """A row rule closes `table` to whoever asks; that is not the same as a table without rows."""

    code = "not_permitted"
    table: str


@dataclass(eq=False)
class RowRuleParameterMissing(Terminal):
    """The row rule of `table` compares with `parameter`, for which no value was given."""

    code = "row_rule_parameter_missing"
    table: str
    parameter: str


@dataclass(eq=False)
class RowRuleNotApplied(Terminal):
    """A statement refers to `table` in a way that its row rule cannot be put on, so that it does not run."""

    code = "row_rule_not_applied"
    table: str
    reason: str
