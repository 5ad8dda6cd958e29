"""Group commit: who waits is written for, and hears what came of it."""

import threading
from collections.abc import Callable

import pytest

from agent.audit.group_commit import GroupCommit

WRITERS = 8


def many_while_one_writes(put: Callable[[str], None], begun: threading.Event, go_on: threading.Event) -> None:
    """Let one writer into its transaction, then others into the line behind it, then all of them to their end."""
    first = threading.Thread(target=put, args=("first",))
    first.start()
    assert begun.wait(10)
    others = [threading.Thread(target=put, args=(str(name),)) for name in range(WRITERS)]
    for other in others:
        other.start()
    go_on.set()
    for each in (first, *others):
        each.join(10)


def test_all_is_written_once_and_in_fewer_transactions_than_there_are_writers() -> None:
    written, begun, go_on = list[list[str]](), threading.Event(), threading.Event()
    group: GroupCommit[str]

    def write(items: list[str]) -> None:
        begun.set()
        assert go_on.wait(10)
        while len(written) == 1 and len(group._waiting) + len(items) < WRITERS:
            threading.Event().wait(0.001)
        written.append(items)

    group = GroupCommit(write)
    many_while_one_writes(lambda item: group.put([item]), begun, go_on)
    assert written[0] == ["first"]
    assert sorted(item for items in written[1:] for item in items) == [str(name) for name in range(WRITERS)]
    assert len(written) <= 3


def test_each_hears_of_the_error_of_its_transaction() -> None:
    heard, begun, go_on = list[str](), threading.Event(), threading.Event()

    def write(items: list[str]) -> None:
        begun.set()
        assert go_on.wait(10)
        raise OSError("no space")

    group = GroupCommit(write)

    def put(item: str) -> None:
        with pytest.raises(OSError, match="no space"):
            group.put([item])
        heard.append(item)

    many_while_one_writes(put, begun, go_on)
    assert len(heard) == WRITERS + 1


def test_what_waits_behind_a_writer_that_is_stopped_is_written_by_the_next() -> None:
    written, stops = list[str](), iter([KeyboardInterrupt()])

    def write(items: list[str]) -> None:
        for stop in stops:
            raise stop
        written.extend(items)

    group = GroupCommit(write)
    with pytest.raises(KeyboardInterrupt):
        group.put(["stopped"])
    group.put(["next"])
    assert written == ["stopped", "next"]
