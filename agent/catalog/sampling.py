"""Statements that the catalog asks of its own accord: small, within a time budget, through the choke point."""

import time
from collections.abc import Callable

from agent.audit.step import current_step
from agent.catalog.describe import quoted_key
from agent.catalog.schema import Catalog, Column, Table
from agent.errors import DatasphinxError, SourceUnreachable
from agent.sql.database import Database
from agent.sql.execute import RowAccess, execute
from agent.sql.limits import Limits
from agent.sql.result import Result

LONGEST_VALUE = 200
"""Characters of a text that are read; longer texts are prose, which nobody looks up by value."""

_PLAIN_TEXT = ("char", "text", "clob", "string")
_STATEMENT_TIMEOUT_S = 1.0


class Sampler:
    """Asks a database about itself until a time budget is spent or `stop` says so. One thread at a time."""

    def __init__(
        self,
        database: Database,
        catalog: Catalog,
        *,
        access: RowAccess | None = None,
        budget_s: float,
        timeout_s: float = _STATEMENT_TIMEOUT_S,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take `budget_s` seconds for all statements together and `timeout_s` for each, with the rules of `access`."""
        self._access = access
        self.dialect = catalog.dialect
        self.warnings: list[str] = []
        self._database, self._default = database, catalog.default_schema
        self._deadline, self._timeout_s = time.monotonic() + budget_s, timeout_s
        self._stop, self._gone = stop, False

    @property
    def is_spent(self) -> bool:
        """True where no more may be asked: out of time, told to stop, or the database has gone away."""
        return self._gone or time.monotonic() > self._deadline or self._stop()

    def ask(self, sql: str, table: Table, rows: int) -> Result | None:
        """Return up to `rows` rows of `sql`, a query of `table` alone; None where there is no answer in time.

        The statement is in no question's audit, since it belongs to none.
        """
        if self.is_spent:
            return None
        catalog = Catalog(self.dialect, {table.key: table}, self._default)
        timeout_s = max(0.05, min(self._timeout_s, self._deadline - time.monotonic()))
        token = current_step.set(None)
        try:
            return execute(sql, self._database, catalog, Limits(timeout_s, rows), access=self._access)
        except SourceUnreachable:
            self._gone = True
        except DatasphinxError as error:
            # Its text may quote a value; its code cannot.
            self.warnings.append(f"{table.key[:80]!a} is not sampled: {error.code}")
        finally:
            current_step.reset(token)
        return None

    def name(self, table: Table) -> str:
        """Return `table` as SQL names it."""
        return quoted_key(table, self._database.quote)

    def column(self, column: Column) -> str:
        """Return the name of `column` as SQL writes it."""
        return self._database.quote(column.name)

    def beginning(self, column: Column) -> str:
        """Return an expression for the value of `column`, long texts cut."""
        name = self.column(column)
        return f"SUBSTRING({name}, 1, {LONGEST_VALUE})" if is_plain_text(column) else name

    def is_short(self, column: Column) -> str:
        """Return a condition that is true of values that are not NULL and not too long."""
        name = self.column(column)
        length = "CHAR_LENGTH" if self.dialect == "mysql" else "LENGTH"
        cut = f" AND {length}({name}) <= {LONGEST_VALUE}" if is_plain_text(column) else ""
        return f"{name} IS NOT NULL{cut}"


def is_plain_text(column: Column) -> bool:
    """Return whether functions of text apply to `column`; they do not to an enumeration or a UUID."""
    return any(word in column.type.lower() for word in _PLAIN_TEXT)
