"""The file of threads stays open, and no file that is not that one does."""

import gc
import os
import sqlite3
from pathlib import Path

import pytest

from datasphinx.agent.conversation.sqlite_threads import SqliteThreads
from datasphinx.agent.errors import Unavailable


def times_open(path: Path) -> int:
    """Return how often this process has a file of this name open, also one that is deleted."""
    links = (Path("/proc/self/fd") / each for each in os.listdir("/proc/self/fd"))
    return sum(os.readlink(link).startswith(str(path)) for link in links if link.is_symlink())


def test_a_file_that_cannot_be_used_is_not_kept_open(tmp_path: Path) -> None:
    threads = SqliteThreads(tmp_path)
    threads.path.write_bytes(b"no database at all" * 1000)
    for _ in range(3):
        with pytest.raises(Unavailable), threads.saver():
            pass
    assert times_open(threads.path) == 0


def test_a_file_that_was_put_in_its_place_is_used_and_the_old_one_let_go(tmp_path: Path) -> None:
    threads, other = SqliteThreads(tmp_path), SqliteThreads(tmp_path / "other")
    for each in (threads, other):
        with each.saver():
            pass
    before = times_open(threads.path)
    os.replace(other.path, threads.path)
    with threads.saver() as saver:
        assert list(saver.list(None)) == []
    assert times_open(threads.path) <= before


@pytest.mark.heavy
def test_a_view_of_an_owner_keeps_the_file_open_and_closes_it(tmp_path: Path) -> None:
    view = SqliteThreads(tmp_path).for_owner("one")
    gc.collect()
    with view.saver() as saver:
        connection = saver.conn
    assert connection.execute("SELECT 1").fetchone() == (1,)
    del view, saver
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
