"""Work that goes on beside the questions: one piece at a time for each name, ended with the process."""

import atexit
import threading
from collections.abc import Callable

_JOIN_S = 5.0
_running: "dict[str, Background]" = {}
_lock = threading.Lock()


class Background:
    """A piece of work in a thread of its own. `error` is what it raised, if it did."""

    def __init__(self, work: Callable[[Callable[[], bool]], None]) -> None:
        """Take `work`, which is given a function that says whether it should stop."""
        self.error: Exception | None = None
        self._work = work
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="datasphinx-catalog", daemon=True)

    @property
    def is_running(self) -> bool:
        """Whether the work has not ended yet."""
        return self._thread.is_alive()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the work to end; return whether it has."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def stop(self, timeout_s: float = _JOIN_S) -> bool:
        """Ask the work to stop and wait for it; return whether it has stopped."""
        self._stopped.set()
        return self.wait(timeout_s)

    def _run(self) -> None:
        try:
            self._work(self._stopped.is_set)
        except Exception as error:  # kept for whoever asks; a thread has nobody to raise to
            self.error = error
        finally:
            with _lock:
                for name in [name for name, each in _running.items() if each is self]:
                    del _running[name]

    def _start(self) -> None:
        self._thread.start()


def start_once(name: str, work: Callable[[Callable[[], bool]], None]) -> Background:
    """Start `work`, or return the piece of work that is running under `name` already."""
    with _lock:
        if name not in _running:
            _running[name] = Background(work)
            _running[name]._start()
        return _running[name]


@atexit.register
def stop_all() -> None:
    """End all work; the process does this when it ends."""
    with _lock:
        running = list(_running.values())
    for each in running:
        each._stopped.set()
    for each in running:
        each.wait(_JOIN_S)
