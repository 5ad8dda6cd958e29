"""Work of requests: blocking work in threads separate from those of questions, time limits, and defects."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import anyio.to_thread

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import DatasphinxError, InternalError, RequestTimeout

T = TypeVar("T")
logger = logging.getLogger("datasphinx")


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


@asynccontextmanager
async def repeated(work: Callable[[], Awaitable[object]], every_s: float, failed: str) -> AsyncIterator[None]:
    """Repeat `work` during the block, first after `every_s` seconds; an error is logged with the text `failed`."""

    async def repeat() -> None:
        while True:
            await asyncio.sleep(every_s)
            try:
                await work()
            except Exception as error:
                logger.warning("%s: %s", failed, type(error).__name__)

    task = asyncio.create_task(repeat())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def time_limit(seconds: float | None) -> AsyncIterator[None]:
    """Limit the time of the block. Raise RequestTimeout if the block took longer than `seconds`."""
    try:
        async with asyncio.timeout(seconds) as timeout:
            yield
    except TimeoutError:
        if seconds is None or not timeout.expired():
            raise
        raise RequestTimeout(seconds) from None


def domain_error(error: Exception, place: str) -> DatasphinxError:
    """Return `error` if it is one of the project, else an internal error for clients: its details are only logged."""
    if isinstance(error, DatasphinxError):
        return error
    defect = InternalError(type(error).__name__, uuid.uuid4().hex)
    logger.error("%s failed trace_id=%s", place, defect.trace_id, exc_info=error)
    return defect
