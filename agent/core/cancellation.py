"""Stop running statements from another thread."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from datasphinx.agent.errors import StatementCancelled


class Cancellation:
    """Cancels all work that shares this object, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stop_functions: set[Callable[[], None]] = set()
        self.requested = False

    def __reduce__(self) -> tuple[type["Cancellation"], tuple[()]]:
        """Pickle it as a new object: LangGraph's server stores the configuration of a run, which contains it."""
        return Cancellation, ()

    def cancel(self) -> None:
        """Call the registered stop functions; later calls of `check` and `calling` raise an error."""
        with self._lock:
            self.requested = True
            stops = list(self._stop_functions)
        for stop in stops:
            stop()

    def check(self) -> None:
        """Raise StatementCancelled if `cancel` was called."""
        if self.requested:
            raise StatementCancelled()

    @contextmanager
    def calling(self, stop: Callable[[], None]) -> Iterator[None]:
        """Call `stop` if `cancel` is called during the block."""
        with self._lock:
            self._stop_functions.add(stop)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._stop_functions.discard(stop)
