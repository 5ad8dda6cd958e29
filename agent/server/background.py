"""Blocking work in threads, separate from the threads of questions."""

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

from agent.core.cancellation import Cancellation

T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    """Return the result of `work`, run in a worker thread; if cancelled, the thread finishes unattended."""
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


async def cancellable(work: Callable[[Cancellation], T]) -> T:
    """Return the result of `work`, whose `Cancellation` is cancelled with this coroutine."""
    stop = Cancellation()
    try:
        return await run_in_thread(lambda: work(stop))
    finally:
        stop.cancel()
