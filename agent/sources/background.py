"""Background threads: at most one at a time per name, stopped when the process ends."""

import atexit
import threading
from collections.abc import Callable

JOIN_S = 5.0
"""Time, in seconds, to wait for work that is told to stop."""
_DELAY_S = 1.0
"""Time, in seconds, that the question which starts the work has the processor for itself."""
_by_name: "dict[str, Background]" = {}
_lock = threading.Lock()


class Background:
    """Work that runs in a thread of its own, after a second or when somebody waits for it.

    `error` is the exception it raised, or None.
    """

    def __init__(self, work: Callable[[Callable[[], bool]], None]) -> None:
        """Set the work, which receives a function that returns whether to stop."""
        self.error: Exception | None = None
        self._work = work
        self._stopped, self._awaited = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="datasphinx-catalog", daemon=True)

    @property
    def is_running(self) -> bool:
        """True until the work has ended."""
        return self._thread.is_alive()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the work to end; return whether it has ended."""
        self._awaited.set()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def stop(self, timeout_s: float = JOIN_S) -> bool:
        """Tell the work to stop and wait for it; return whether it has ended."""
        self._stopped.set()
        return self.wait(timeout_s)

    def _run(self) -> None:
        try:
            self._awaited.wait(_DELAY_S)
            if not self._stopped.is_set():
                self._work(self._stopped.is_set)
        except Exception as error:  # a thread has no caller to raise to; `error` keeps it
            self.error = error
        finally:
            with _lock:
                for name in [name for name, background in _by_name.items() if background is self]:
                    del _by_name[name]


def start_once(name: str, work: Callable[[Callable[[], bool]], None]) -> Background:
    """Start `work`, or return the work that is already running under `name`."""
    with _lock:
        if name not in _by_name:
            _by_name[name] = Background(work)
            _by_name[name]._thread.start()
        return _by_name[name]


@atexit.register
def stop_all() -> None:
    """Stop all work. Called when the process ends."""
    with _lock:
        backgrounds = list(_by_name.values())
    for background in backgrounds:
        background._stopped.set()
    for background in backgrounds:
        background.wait(JOIN_S)
