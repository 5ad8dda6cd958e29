"""Waiting for what another thread or process brings about."""

import time
from collections.abc import Callable
from typing import Any


def eventually(holds: Callable[[], Any], within_s: float = 60, seen: Callable[[], Any] = lambda: "") -> None:
    """Return as soon as `holds` says so; an AssertionError with what is `seen` then where it does not in time."""
    until = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < until, f"it did not come about in time {seen()}"
        time.sleep(0.02)
