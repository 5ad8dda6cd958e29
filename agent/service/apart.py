"""Work that waits for a database or a disk, in threads apart from those of the questions."""

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

from agent.sql.limits import Cancellation

Given = TypeVar("Given")


async def apart(work: Callable[[], Given]) -> Given:
    """Return what `work` gives. Where nobody waits for it any more it goes on to its end, and holds nobody up."""
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


async def cancellable(work: Callable[[Cancellation], Given]) -> Given:
    """Return what `work` gives; where nobody waits for it any more it is cancelled."""
    stop = Cancellation()
    try:
        return await apart(lambda: work(stop))
    finally:
        stop.cancel()
