"""What one statement may take, and a way to stop it from another thread."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.errors import StatementCancelled

if TYPE_CHECKING:
    from agent.settings import Settings


@dataclass(frozen=True)
class Limits:
    """What one statement may take: seconds, rows and bytes of its result, megabytes of memory in a worker process.

    `max_planned_rows` bounds the rows that a server expects at the widest place of the plan; None: it is not asked.
    """

    timeout_s: float
    row_limit: int
    byte_limit: int = 50_000_000
    memory_mb: int = 1024
    max_planned_rows: float | None = None

    @classmethod
    def of(cls, settings: "Settings") -> "Limits":
        """Return the limits that are set."""
        return cls(
            settings.statement_timeout_s,
            settings.row_limit,
            settings.byte_limit,
            settings.worker_memory_mb,
            settings.max_planned_rows,
        )


class Cancellation:
    """Stops the statements that it was given to, from any thread, now and later."""

    def __init__(self) -> None:
        """Nothing is cancelled yet."""
        self._lock = threading.Lock()
        self._stops: set[Callable[[], None]] = set()
        self.requested = False

    def cancel(self) -> None:
        """Stop what runs; a statement that starts later is refused."""
        with self._lock:
            self.requested = True
            stops = list(self._stops)
        for stop in stops:
            stop()

    def check(self) -> None:
        """Go on where nothing is cancelled.

        Raises:
            StatementCancelled: it is.
        """
        if self.requested:
            raise StatementCancelled()

    @contextmanager
    def calling(self, stop: Callable[[], None]) -> Iterator[None]:
        """Call `stop` where this is cancelled while the block runs.

        Raises:
            StatementCancelled: it was before.
        """
        with self._lock:
            self._stops.add(stop)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._stops.discard(stop)
