"""Works on several things at once, in threads that do not keep a stopped process alive."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def in_parallel(work: Callable[[Given], Made], given: Iterable[Given], workers: int) -> Iterator[Made]:
    """Yield what `work` makes of each of `given`, in the order in which they are done; with one worker, one by one.

    What `work` raises is raised here, and nothing more is begun. The threads are daemons: Ctrl-C ends the process
    without waiting for a model.
    """
    if workers == 1:
        yield from map(work, given)
        return
    waiting: queue.SimpleQueue[Given] = queue.SimpleQueue()
    done: queue.SimpleQueue[Made | BaseException] = queue.SimpleQueue()
    count = 0
    for each in given:
        waiting.put(each)
        count += 1
    stopped = threading.Event()

    def run() -> None:
        while not stopped.is_set():
            try:
                each = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put(work(each))
            except BaseException as error:
                stopped.set()
                done.put(error)

    for _ in range(min(workers, count)):
        threading.Thread(target=run, daemon=True).start()
    try:
        for _ in range(count):
            made = done.get()
            if isinstance(made, BaseException):
                raise made
            yield made
    finally:
        stopped.set()
