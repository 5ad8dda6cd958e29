import threading

import pytest

from datasphinx.agent.evals.experiments.run import in_parallel


def test_as_many_are_at_work_at_once_as_is_allowed_and_no_more() -> None:
    together, most, at_work = threading.Barrier(3, timeout=10), 0, 0
    lock = threading.Lock()

    def work(number: int) -> int:
        nonlocal most, at_work
        with lock:
            at_work += 1
            most = max(most, at_work)
        together.wait()
        with lock:
            at_work -= 1
        return number * 2

    assert sorted(in_parallel(work, range(6), 3)) == [0, 2, 4, 6, 8, 10]
    assert most == 3


def test_one_worker_is_this_thread_and_keeps_the_order() -> None:
    threads = []

    def work(number: int) -> int:
        threads.append(threading.current_thread())
        return number

    assert list(in_parallel(work, [3, 1, 2], 1)) == [3, 1, 2]
    assert set(threads) == {threading.current_thread()}


def test_what_a_worker_raises_is_raised_and_nothing_more_is_begun() -> None:
    begun = []

    def work(number: int) -> int:
        begun.append(number)
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk"):
        list(in_parallel(work, range(50), 2))
    assert len(begun) <= 2


def test_nothing_given_is_nothing_made() -> None:
    assert list(in_parallel(str, [], 4)) == []
