"""The conversations that a user has had, with their titles."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from typing_extensions import TypedDict

from datasphinx.agent.conversation.threads import Threads
from datasphinx.agent.errors import NotFound, ThreadBusy

MAX_TITLE_CHARS = 200
_MAX_TEXT_CHARS = 20_000
"""Limit of the questions of one conversation that a search reads."""
_COLUMNS = "thread_id, graph, title, updated"
_OWN = "owner = ? AND user_id = ? AND thread_id = ?"


class ListedThread(TypedDict):
    """A conversation: its thread, the graph that answers, its title, and the time of the last run (ISO 8601, UTC).

    A thread that a client has created has no graph before its first run.
    """

    thread_id: str
    graph: str
    title: str
    updated: str


class ThreadList:
    """The list of one user. All methods raise `Unavailable` if the store cannot be used."""

    def __init__(self, threads: Threads, user: str) -> None:
        """List threads of the store `threads` that `user` has used; users of one owner have separate lists."""
        self._threads, self._user = threads, user

    def add(self, thread_id: str, graph: str, question: str | None, title: str = "") -> None:
        """Add the thread, or move it to the front; all questions are searched.

        Without a `title`, the first question is the title; a thread that has one keeps it.
        """
        text = _storable(question or "").strip()
        rows = self._threads.rows(
            f"SELECT questions, title FROM conversations WHERE {_OWN}", (self._threads.owner, self._user, thread_id)
        )
        if rows:
            questions = f"{rows[0][0]}\n{text}".strip()[:_MAX_TEXT_CHARS]
            changed = (graph, rows[0][1] or _title(title or text), questions, time.time())
            self._change(thread_id, "graph = ?, title = ?, questions = ?, updated = ?", *changed)
            return
        told = (_title(title or text), text[:_MAX_TEXT_CHARS], time.time())
        self._threads.rows(
            "INSERT INTO conversations (owner, user_id, thread_id, graph, title, questions, updated)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (self._threads.owner, self._user, thread_id, graph, *told),
        )

    def find(self, text: str, limit: int) -> list[ListedThread]:
        """Return up to `limit` conversations whose title or questions contain `text`, the last used first."""
        found = self._threads.rows(
            f"SELECT {_COLUMNS}, questions FROM conversations WHERE owner = ? AND user_id = ? ORDER BY updated DESC",
            (self._threads.owner, self._user),
        )
        # Not in SQL: the lower() of SQLite knows English letters only.
        needle = text.strip().casefold()
        return [_listed(row) for row in found if needle in f"{row[2]}\n{row[4]}".casefold()][:limit]

    def get(self, thread_id: str) -> ListedThread:
        """Return a conversation. Raise NotFound if the user has no such conversation."""
        return _listed(self._row(thread_id))

    def rename(self, thread_id: str, title: str) -> ListedThread:
        """Set the title, and return the conversation. Raise NotFound if the user has no such conversation."""
        self._change(thread_id, "title = ?", _title(title))
        return self.get(thread_id)

    def delete(self, thread_id: str) -> None:
        """Delete the conversation, and its thread unless it is in the list of another user.

        Raises:
            NotFound: the user has no such conversation.
            ThreadBusy: a run on the thread is in progress.
        """
        graph = self._row(thread_id)[1]
        key = self._threads.key(graph, thread_id)
        with self._threads.lock(key) as is_locked:
            if not is_locked:
                raise ThreadBusy(thread_id)
            others = self._threads.rows(
                "SELECT user_id FROM conversations WHERE owner = ? AND thread_id = ? AND user_id <> ?",
                (self._threads.owner, thread_id, self._user),
            )
            if not others:
                with self._threads.saver() as saver:
                    saver.delete_thread(key)
            self._threads.rows(f"DELETE FROM conversations WHERE {_OWN}", (self._threads.owner, self._user, thread_id))

    def _row(self, thread_id: str) -> Sequence[str]:
        rows = self._threads.rows(
            f"SELECT {_COLUMNS} FROM conversations WHERE {_OWN}", (self._threads.owner, self._user, thread_id)
        )
        if not rows:
            raise NotFound("thread_unknown", thread_id=thread_id)
        return rows[0]

    def _change(self, thread_id: str, assignments: str, *values: object) -> None:
        self._threads.rows(
            f"UPDATE conversations SET {assignments} WHERE {_OWN}",
            (*values, self._threads.owner, self._user, thread_id),
        )


def _title(text: str) -> str:
    return " ".join(_storable(text).split())[:MAX_TITLE_CHARS]


def _storable(text: str) -> str:
    """Return `text` without NUL, which PostgreSQL cannot store."""
    return text.replace("\0", " ")


def _listed(row: Sequence[str]) -> ListedThread:
    updated = datetime.fromtimestamp(float(row[3]), UTC).isoformat(timespec="milliseconds")
    return {"thread_id": row[0], "graph": row[1], "title": row[2], "updated": updated}
