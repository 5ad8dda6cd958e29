"""Commands on a pseudo-terminal."""

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

WITHIN_S = 30
"""Seconds after which a command that shows nothing has failed."""


class Terminal:
    """A command of `datasphinx` as it runs on a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        command = [str(Path(sys.executable).with_name("datasphinx")), *arguments]
        self._ours, theirs = os.openpty()
        environment = os.environ | {"TERM": "dumb", "COLUMNS": "120"}

        def begin() -> None:
            # What is started in the background of a shell does not hear Ctrl-C, nor does what it starts.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.login_tty(theirs)

        self.process = subprocess.Popen(command, env=environment, preexec_fn=begin, pass_fds=(theirs,))
        os.close(theirs)
        self.shown = ""

    def until(self, wanted: str, after: str = "") -> str:
        """Read until `wanted` is shown after the text `after`, and return the text shown since the call."""
        begin = len(self.shown)
        while wanted not in self.shown[begin:].partition(after)[2] if after else wanted not in self.shown[begin:]:
            assert self._read(), self.shown
        return self.shown[begin:]

    def type(self, typed: str) -> None:
        os.write(self._ours, typed.encode())

    def leave_by(self, key: str) -> int:
        """Return the exit code. A signal that comes just before a program reads is heard with the next key alone."""
        for _ in range(10):
            self.type(key)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(WITHIN_S / 10)
                break
        return self.end()

    def end(self) -> int:
        """Return the exit code."""
        while self._read():
            pass
        return self.process.wait(WITHIN_S)

    def close(self) -> None:
        os.close(self._ours)
        self.process.kill()
        self.process.wait()

    def _read(self) -> bool:
        poll = select.poll()
        poll.register(self._ours, select.POLLIN | select.POLLHUP)
        assert poll.poll(WITHIN_S * 1000), self.shown
        try:
            read = os.read(self._ours, 4096)
        except OSError:
            return False
        self.shown += read.decode().replace("\r\n", "\n")
        return bool(read)
