"""Deletion of threads that have not been used for a time, and of old events of the record."""

from datetime import UTC, datetime

from datasphinx.agent.conversation.sqlite_threads import SqliteThreads
from datasphinx.agent.conversation.threads import LINK, Threads, open_threads
from datasphinx.agent.record.store import Store, open_store, sqlite_url
from datasphinx.agent.settings import Settings

DAY_S = 86_400
_UUID_EPOCH = 0x01B21DD213814000
"""The start of the Unix epoch in the time of a UUID: units of 100 ns since 15 October 1582."""
_OLD = "SELECT thread_id FROM checkpoints {} GROUP BY thread_id HAVING max(checkpoint_id) < ?"


def prune_threads(settings: Settings, before: float) -> int:
    """Delete the threads of all tenants whose last run ended before `before`, in seconds since 1970; return how many.

    Threads with a run in progress are kept.
    """
    if settings.threads_url:
        return _prune(open_threads(settings), before)
    # Each tenant has a file of its own.
    files = sorted(settings.data_dir.rglob(SqliteThreads.FILE_NAME))
    return sum(_prune(SqliteThreads(file.parent), before) for file in files)


def prune_record(settings: Settings, before: float) -> int:
    """Delete the events of all tenants before `before`, in seconds since 1970; return how many."""
    time = datetime.fromtimestamp(before, UTC).isoformat(timespec="microseconds")
    if settings.record_url:
        return open_store(settings).prune(time)
    return sum(Store(sqlite_url(file.parent)).prune(time) for file in sorted(settings.data_dir.rglob("record.sqlite")))


def _prune(threads: Threads, before: float) -> int:
    # The ids of checkpoints are UUIDs of version 6.
    digits = f"{int(before * 10_000_000) + _UUID_EPOCH:015x}"
    limit = f"{digits[:8]}-{digits[8:12]}-6{digits[12:]}"
    found = [key for (key,) in threads.rows(_OLD.format(""), (limit,))]
    deleted = sum(_delete(threads, key, limit) for key in found)
    if deleted:
        _prune_links(threads)
    # Those that a client has created and never used.
    threads.rows("DELETE FROM conversations WHERE graph = '' AND updated < ?", (before,))
    return deleted


def _delete(threads: Threads, key: str, limit: str) -> bool:
    """Delete a thread with its entries in the lists of users, unless it is in use; return whether it was deleted."""
    with threads.lock(key) as is_locked:
        # A run may have ended since the search.
        if not is_locked or not threads.rows(_OLD.format("WHERE thread_id = ?"), (key, limit)):
            return False
        with threads.saver() as saver:
            saver.delete_thread(key)
        threads.rows("DELETE FROM conversations WHERE thread_id = ?", (_id_of(key),))
    return True


def _prune_links(threads: Threads) -> None:
    """Delete the links of chat clients to threads that do not exist."""
    keys = [key for (key,) in threads.rows("SELECT thread_id FROM checkpoints WHERE checkpoint_id = ?", (LINK,))]
    links = [(key, threads.link_of(key)) for key in keys]
    # A thread is stored before its first link, so this finds the threads of all these links.
    existing = {_id_of(key) for (key,) in threads.rows("SELECT DISTINCT thread_id FROM checkpoints", ())}
    for key, link in links:
        if link and link.thread_id not in existing:
            with threads.saver() as saver:
                saver.delete_thread(key)


def _id_of(key: str) -> str:
    return key.rpartition("-")[2]
