"""What a process tree holds is counted, so that a leak is seen."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from tests.process_tree import footprint


def test_everything_that_is_held_counts(tmp_path: Path) -> None:
    before, done = footprint(os.getpid()), threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    files = [(tmp_path / str(number)).open("w") for number in range(3)]
    pair = socket.socketpair()
    memory = bytearray(os.urandom(1 << 20)) * 20
    try:
        held = footprint(os.getpid())
    finally:
        done.set()
        thread.join()
        child.communicate(b"\n")
        for each in (*files, *pair):
            each.close()
    grown = {name: held[name] - before[name] for name in held}

    assert (grown["processes"], grown["threads"], grown["sockets"]) == (1, 2, 2)
    assert grown["files"] >= 3 and grown["other_descriptors"] >= 1
    assert grown["memory_mb"] >= len(memory) // (1 << 20) - 2
