"""What a process and all that it has started hold at a moment, as Linux tells it."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def footprint(pid: int) -> dict[str, int]:
    """Return counts over the tree, and the megabytes of `pid` and of those below.

    Files, sockets (with those that listen) and pipes are open descriptors; other kinds, such as those of epoll, are
    counted too.
    """
    below = list(_below(pid))
    kinds: Counter[str] = Counter()
    for each in (pid, *below):
        kinds.update(_descriptors(each))
    return {
        "processes": len(below) + 1,
        "threads": sum(len(list(Path(f"/proc/{each}/task").glob("*"))) for each in (pid, *below)),
        "files": kinds["files"],
        "sockets": kinds["sockets"],
        "other_descriptors": kinds["other"],
        "memory_mb": megabytes(pid),
        "workers_mb": sum(map(megabytes, below)),
    }


def megabytes(pid: int) -> int:
    """Return the memory of one process that is in use now and is its own; 0 where it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        sizes = dict(re.findall(r"(RssAnon|RssShmem):\s+(\d+)", Path(f"/proc/{pid}/status").read_text()))
        return sum(map(int, sizes.values())) >> 10
    return 0


def _below(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            for child in map(int, task.read_text().split()):
                yield child
                yield from _below(child)


def _descriptors(pid: int) -> Iterator[str]:
    for each in Path(f"/proc/{pid}/fd").glob("*"):
        with suppress(FileNotFoundError, PermissionError):
            target = os.readlink(each)
            yield "files" if target.startswith("/") else "sockets" if target.startswith("socket:") else "other"
