"""Work that waits for a database or a disk, in threads apart from those of the questions."""

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

Given = TypeVar("Given")


async def apart(work: Callable[[], Given]) -> Given:
    """Return what `work` gives. Where nobody waits for it any more it goes on to its end, and holds nobody up."""
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
