"""Group commit: what waits for its turn to be written is written in one transaction."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass
class _Entry(Generic[Item]):
    """What one caller brings; once it is done, with the error of the transaction that it was part of."""

    items: Sequence[Item]
    is_done: bool = False
    error: Exception | None = None


class GroupCommit(Generic[Item]):
    """Lets one thread write at a time, for all that wait for it. Safe to share between threads."""

    def __init__(self, write: Callable[[list[Item]], None]) -> None:
        """Take what writes items in a transaction, all of them or none."""
        self._write = write
        self._turn = threading.Lock()
        self._waiting: deque[_Entry[Item]] = deque()

    def put(self, items: Sequence[Item]) -> None:
        """Return when `items` are written.

        Raises:
            Exception: what `write` raised, to each whose items were among those that it was given.
        """
        entry = _Entry(items)
        self._waiting.append(entry)
        with self._turn:
            if not entry.is_done:
                self._write_all([self._waiting.popleft() for _ in range(len(self._waiting))])
        if entry.error:
            raise entry.error

    def _write_all(self, entries: list[_Entry[Item]]) -> None:
        error: Exception | None = None
        try:
            self._write([item for entry in entries for item in entry.items])
        except Exception as failed:
            error = failed
        except BaseException:
            # This thread is stopped; the next one writes for the others.
            self._waiting.extendleft(reversed(entries))
            raise
        for entry in entries:
            entry.is_done, entry.error = True, error
