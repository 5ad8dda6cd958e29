"""Worker threads for questions, which mostly wait for a model or a database."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")

MAX_QUESTIONS = 256
"""Questions that run at once in the process; further ones wait for a thread."""

_QUESTIONS = ThreadPoolExecutor(MAX_QUESTIONS, "datasphinx-question")
_CLOSING = ThreadPoolExecutor(16, "datasphinx-closing")
"""Separate worker threads for closing runs, so that abandoned runs stop even if all other workers are busy."""


async def iterate_in_thread(iterate: Callable[[], Iterator[T]], close: Callable[[], None]) -> AsyncGenerator[T]:
    """Yield the items of `iterate`, which runs in one worker thread, in the context of the caller.

    If the generator is closed or cancelled before the last item, `close` is called in another thread, and the iterator
    is closed at its next item.
    """
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[tuple[T] | BaseException | None]()
    is_closed = False

    def put(item: tuple[T] | BaseException | None) -> None:
        # The event loop may have been closed before the thread ends.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(queue.put_nowait, item)

    def work() -> None:
        try:
            for item in () if is_closed else iterate():
                if is_closed:
                    break
                put((item,))
        except BaseException as error:
            put(error)
        else:
            put(None)

    _QUESTIONS.submit(copy_context().run, work)
    has_ended = False
    try:
        while (item := await queue.get()) is not None:
            if isinstance(item, BaseException):
                has_ended = True
                raise item
            yield item[0]
        has_ended = True
    finally:
        if not has_ended:
            is_closed = True
            # Shielded: the work must be closed even if this coroutine is cancelled again.
            await asyncio.shield(loop.run_in_executor(_CLOSING, close))
