"""Iterators in a worker thread, as an event loop sees them."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import aclosing
from contextvars import ContextVar

import pytest

from datasphinx.agent.core.worker_threads import iterate_in_thread

_WITHIN_S = 30

language = ContextVar("language", default="en")


def not_closed() -> None:
    raise AssertionError("the iterator ends by itself")


def test_items_come_in_order_from_another_thread_in_the_context_of_the_caller() -> None:
    def items() -> Iterator[object]:
        yield threading.current_thread() is threading.main_thread()
        yield language.get()

    async def read() -> list[object]:
        language.set("ru")
        return [item async for item in iterate_in_thread(items, not_closed)]

    assert asyncio.run(read()) == [False, "ru"]


def test_an_error_follows_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise LookupError("no second item")

    async def read() -> list[int]:
        seen = []
        with pytest.raises(LookupError, match="no second item"):
            async for item in iterate_in_thread(items, not_closed):
                seen.append(item)
        return seen

    assert asyncio.run(read()) == [1]


def test_a_closed_generator_calls_close_and_ends_the_iterator() -> None:
    let_go, has_ended = threading.Event(), threading.Event()

    def items() -> Iterator[int]:
        try:
            yield 1
            assert let_go.wait(_WITHIN_S)
            yield 2
        finally:
            has_ended.set()

    async def read_one() -> int:
        async with aclosing(iterate_in_thread(items, let_go.set)) as generator:
            return await anext(generator)

    assert asyncio.run(read_one()) == 1
    assert has_ended.wait(_WITHIN_S)
