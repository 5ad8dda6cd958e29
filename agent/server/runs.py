"""Runs that clients of the Agent Server protocol and of MCP follow, join and cancel. They belong to the process."""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, Literal

from datasphinx.agent.errors import DatasphinxError, NotFound, ThreadBusy
from datasphinx.agent.server.background import domain_error, time_limit

_MAX_ENDED = 20
"""Runs of a tenant that are kept after their end."""
_IDLE_S = 3600.0
"""Time without runs after which a client that follows a thread has to come again, with valid credentials."""

Status = Literal["running", "success", "error", "interrupted"]
Event = tuple[str, Any]


class Run:
    """A run in a task of its own, and its events."""

    def __init__(self, thread_id: str, assistant: str, message_of: Callable[[DatasphinxError], str]) -> None:
        """Prepare a run on a thread; `message_of` returns the text of an error for the client."""
        self.id, self.thread_id, self.assistant = str(uuid.uuid4()), thread_id, assistant
        self.number = time.time_ns() // 1000
        """The time in microseconds, as the number of the first event: those of later runs have larger ones."""
        self.created_at = datetime.now(UTC).isoformat()
        self.status: Status = "running"
        self.result: Any = None
        """The values at the end, or the error under `__error__`."""
        self.failure: DatasphinxError | None = None
        """The error that ended the run."""
        self._message_of, self._events = message_of, list[Event]()
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the run has not ended."""
        return self.status == "running"

    def start(self, events: AsyncGenerator[Event], seconds: float, shown: Collection[str]) -> None:
        """Take `events` for at most `seconds`; clients get the kinds `shown`, and the last `values` are the result."""
        self._task = asyncio.create_task(self._run(events, seconds, shown))

    async def cancel(self) -> None:
        """Cancel the run, and return when it has ended."""
        if self._task:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def events(self, *, cancels: bool = False) -> AsyncGenerator[Event]:
        """Yield the events from the beginning to the end of the run.

        With `cancels`, the run is cancelled if the generator is closed.
        """
        position = 0
        try:
            while True:
                for event in self._events[position:]:
                    position += 1
                    yield event
                if not self.is_running:
                    return
                async with self._changed:
                    while position == len(self._events) and self.is_running:
                        await self._changed.wait()
        finally:
            if cancels:
                await self.cancel()

    async def wait(self, *, cancels: bool = False) -> Any:
        """Return the result when the run has ended."""
        async with aclosing(self.events(cancels=cancels)) as events:
            async for _ in events:
                pass
        return self.result

    async def _run(self, events: AsyncGenerator[Event], seconds: float, shown: Collection[str]) -> None:
        status: Status = "interrupted"
        try:
            async with time_limit(seconds), aclosing(events):
                async for kind, data in events:
                    self.result = data if kind == "values" else {"__error__": data} if kind == "error" else self.result
                    if kind in shown:
                        await self._add(kind, data)
            failed = self.result is None or "__error__" in self.result
            status = "error" if failed else "interrupted" if self.result.get("__interrupt__") else "success"
        except Exception as error:
            status = "error"
            self.failure = domain_error(error, "[SERVER] a run")
            problem = {"error": self.failure.code, "message": self._message_of(self.failure)}
            self.result = {"__error__": problem}
            await self._add("error", problem)
        finally:
            async with self._changed:
                self.status = status
                self._changed.notify_all()

    async def _add(self, kind: str, data: Any) -> None:
        async with self._changed:
            self._events.append((kind, data))
            self._changed.notify_all()


class Runs:
    """The runs of a tenant by id. Use it in the event loop only."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._added = asyncio.Event()

    def add(self, run: Run) -> None:
        """Add a run. Raise ThreadBusy if another run on its thread is in progress."""
        if self.on(run.thread_id, only_running=True):
            raise ThreadBusy(run.thread_id)
        self._runs[run.id] = run
        self._added.set()
        self._added = asyncio.Event()
        ended = [each.id for each in self._runs.values() if not each.is_running]
        for run_id in ended[:-_MAX_ENDED]:
            del self._runs[run_id]

    async def follow(self, thread_id: str, *, every: bool, until: asyncio.Event) -> AsyncGenerator[Run]:
        """Yield the last run on the thread, or `every` one that is kept, and then each further one.

        It ends when `until` is set and no run is left, or after an hour without one.
        """
        runs = self.on(thread_id)
        last = None if every or not runs[1:] else runs[1]
        while True:
            added, runs = self._added, self.on(thread_id)
            following = runs[: runs.index(last)] if last in runs else runs
            for run in reversed(following):
                yield run
                last = run
            if not following and not await _is_set_first(added, until):
                return

    def get(self, run_id: str, *, thread_id: str | None = None, assistant: str | None = None) -> Run:
        """Return a run, of this thread or assistant if it is given. Raise NotFound if this process has no such run."""
        run = self._runs.get(run_id)
        if run is None or thread_id not in (None, run.thread_id) or assistant not in (None, run.assistant):
            raise NotFound("run_elsewhere", id=run_id)
        return run

    def on(self, thread_id: str, *, only_running: bool = False) -> list[Run]:
        """Return the runs on the thread, newest first."""
        runs = [run for run in self._runs.values() if run.thread_id == thread_id]
        return [run for run in reversed(runs) if run.is_running or not only_running]


async def _is_set_first(event: asyncio.Event, other: asyncio.Event) -> bool:
    """Wait for one of the events, for a limited time; return whether it is the first and not the other one."""
    waiting = [asyncio.create_task(each.wait()) for each in (event, other)]
    try:
        await asyncio.wait(waiting, timeout=_IDLE_S, return_when=asyncio.FIRST_COMPLETED)
        return event.is_set()
    finally:
        for each in waiting:
            each.cancel()
