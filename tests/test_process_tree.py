"""What a process tree holds is counted, so that a leak is seen."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.process_tree import footprint

pytestmark = pytest.mark.process

HOLDS = """
import socket, subprocess, sys, threading
print(flush=True); input()
done = threading.Event()
threading.Thread(target=done.wait).start()
child = subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"], stdin=-1, stdout=-1)
child.stdout.readline()
files, pair = [open(f"{number}", "w") for number in range(3)], socket.socketpair()
memory = bytes(range(256)) * (20 << 12)
print(flush=True); input()
child.communicate(b"\\n"); done.set()
"""


def test_everything_that_is_held_counts(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(command, cwd=tmp_path, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdin and process.stdout
        found = []
        for _ in range(2):
            process.stdout.readline()
            found.append(footprint(process.pid))
            process.stdin.write("\n")
            process.stdin.flush()
    before, held = found
    grown = {name: held[name] - before[name] for name in held}

    assert (grown["processes"], grown["threads"], grown["sockets"]) == (1, 2, 2)
    # Two pipes, one end of each here and one in the child.
    assert grown["files"] >= 3 and grown["other_descriptors"] >= 4
    assert 18 <= grown["memory_mb"] <= 40 and held["workers_mb"] > 0
