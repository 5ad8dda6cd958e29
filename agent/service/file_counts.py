"""The count of a tenant in a file, for the processes of one machine."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from agent.errors import ThreadsUnavailable
from agent.service.count import Count

_POLL_S = 0.005


class FileCounts:
    """A file that one process writes at a time. Safe to share between threads."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        """Count in `folder`, which is made at first use; `clock` gives seconds since 1970."""
        self._folder, self._clock = folder, clock
        # Threads of this process wait here: those who wait for the file have to look again and again.
        self._turn = threading.Lock()

    @contextmanager
    def counting(self) -> Iterator[tuple[Count, float]]:
        """Give the count and the time, as `Counts` says."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._folder / "quota.json"
            with self._turn, FileLock(self._folder / "quota.lock", mode=0o600, poll_interval=_POLL_S):
                # What others have counted while this one waited is earlier than now.
                now = self._clock()
                count = Count.read(path.read_text(encoding="utf-8") if path.exists() else "", now)
                yield count, now
                unfinished = path.with_suffix(".new")
                unfinished.write_text(count.write(), encoding="utf-8")
                os.replace(unfinished, path)
        except OSError as error:
            raise ThreadsUnavailable(str(self._folder), error.strerror or type(error).__name__) from error
