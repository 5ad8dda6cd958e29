"""How an engine keeps the tables of this project: the record, and the threads of conversations."""

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine


class Store:
    """What differs between engines, with the behaviour of most as the default."""

    is_file: ClassVar[bool] = False
    """Whether the record can be a file of it."""
    keeps_threads: ClassVar[bool] = False
    """Whether servers can store conversations in it."""
    commits_ddl: ClassVar[bool] = False
    """Whether each CREATE TABLE commits the transaction, so that only a named lock excludes others."""
    lock: ClassVar[str] = ""
    """Statement that waits for other transactions with the same `{number}`; empty if the first write does so."""

    def arguments(self, connect_s: int, response_s: int) -> dict[str, Any]:
        """Return arguments of the driver with these time limits."""
        return {}

    def transaction_limits(self, seconds: int) -> str:
        """Return statements that limit the statements and locks of a transaction; empty if the driver does so."""
        return ""

    def long_text(self) -> "TypeEngine[str]":
        """Return the type of SQLAlchemy for long texts."""
        from sqlalchemy import Text

        return Text()
