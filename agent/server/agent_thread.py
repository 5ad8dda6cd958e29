"""A thread as clients of the Agent Server protocol see it: its states, with messages, interrupts and UI messages."""

import uuid
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

from langgraph.checkpoint.base import CheckpointTuple

from datasphinx.agent.answers.markdown import SHORT_TABLE_ROWS
from datasphinx.agent.clarify.human_interrupt import human_interrupt
from datasphinx.agent.conversation.conversations import ASKS, BEGINNING, UPDATED
from datasphinx.agent.conversation.reply import Reply, reply_of, status_of
from datasphinx.agent.conversation.thread_list import ListedThread
from datasphinx.agent.errors import NotFound
from datasphinx.agent.server.runnable import plain_json
from datasphinx.agent.server.tenants import current_list, current_tenant
from datasphinx.agent.state import messages_of

MAX_STATES = 1000
"""Maximum number of states of a thread that are listed."""
_ASSISTANTS = uuid.UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
"""The namespace in which the Agent Server makes the id of an assistant from the name of its graph."""
_ANSWERS_WITH_UI = 20
"""Of how many answers of a conversation, the last ones, a state has UI messages."""


def assistant_id_of(graph: str) -> str:
    """Return the id of the assistant for a graph."""
    return str(uuid.uuid5(_ASSISTANTS, graph))


def metadata_of(graph: str) -> dict[str, str]:
    """Return the metadata of threads and states of a graph."""
    return {"graph_id": graph, "assistant_id": assistant_id_of(graph)} if graph else {}


def is_pending(run: CheckpointTuple | None) -> bool:
    """Return whether a state has an input that has not run yet."""
    return run is not None and run.metadata.get("source") == UPDATED


def message_id(state: Mapping[str, Any], run_id: str) -> str:
    """Return the id of the message with the answer of a run; without messages, that of the run."""
    answers = [message for message in messages_of(state.get("messages") or []) if message.type == "ai"]
    return (answers[-1].id if answers else None) or run_id


def runs_elsewhere(thread_id: str) -> bool:
    """Return whether another process has a run on a thread of the current tenant, which may be its first one."""
    tenant, stored_id = current_tenant(), uuid.UUID(thread_id).hex
    keys = (tenant.threads.key(graph, stored_id) for graph in tenant.graphs)
    return any(tenant.threads.is_locked_elsewhere(key) for key in keys)


class AgentThread:
    """A thread of the current tenant. Ids of the protocol have dashes, those of the store have none.

    Attributes:
        id: the id of the protocol.
        stored_id: the id of the store.
        graph: the graph that answers on the thread; empty if the thread has no runs, or does not exist.
    """

    def __init__(self, thread_id: str, listed: ListedThread | None = None) -> None:
        """Look the thread up; `listed` is its entry in the list of the user, if it is known."""
        self.stored_id = uuid.UUID(thread_id).hex
        self.id = str(uuid.UUID(thread_id))
        self._tenant = current_tenant()
        self._threads = self._tenant.threads
        self.graph = self._threads.graph_of(self.stored_id, tuple(self._tenant.graphs)) or ""
        self._key = self._threads.key(self.graph, self.stored_id)
        if listed:
            self.listed = listed

    @classmethod
    def existing(cls, thread_id: str) -> Self:
        """Return a thread that has runs, or that the user has created. Raise NotFound if there is no such thread."""
        thread = cls(thread_id)
        if not thread.graph and not thread.listed and current_list():
            raise NotFound("thread_unknown", thread_id=thread_id)
        return thread

    @cached_property
    def listed(self) -> ListedThread | None:
        """The entry of the thread in the list of the user, if it has one."""
        listed = current_list()
        try:
            return listed.get(self.stored_id) if listed else None
        except NotFound:
            return None

    def state(self, checkpoint_id: str | None = None) -> CheckpointTuple | None:
        """Return the last state, None without one, or that with an id. Raise NotFound if there is none with it."""
        if checkpoint_id is None:
            return self._threads.last(self._key) if self.graph else None
        found = self._threads.run(self._key, checkpoint_id)
        if found is None:
            raise NotFound("run_unknown", run_id=checkpoint_id)
        return found

    def states(self) -> list[CheckpointTuple]:
        """Return the last states, newest first."""
        return self._threads.runs(self._key, MAX_STATES) if self.graph else []

    def question_after(self, checkpoint_id: str) -> dict[str, Any] | None:
        """Return the question of the newest run that continues from a state, as an input; None if there is none."""
        for run in self.states():
            if _parent(run) == checkpoint_id:
                said = messages_of(run.checkpoint["channel_values"].get("messages") or [])
                asked = [message for message in said if message.type == "human"]
                return {"messages": asked[-1:]} if asked else None
        return None

    def checkpoint(self, checkpoint_id: str | None) -> dict[str, Any]:
        """Return the name of a state of the thread."""
        return {"thread_id": self.id, "checkpoint_ns": "", "checkpoint_id": checkpoint_id}

    def body(self, run: CheckpointTuple | None) -> dict[str, Any]:
        """Return a state: the values that outputs have, the messages, and the open clarifying question."""
        state, metadata, values, run_id, parent = dict[str, Any](), dict[str, Any](), dict[str, Any](), None, None
        asked, following = list[dict[str, Any]](), list[str]()
        if run:
            state, run_id, parent = run.checkpoint["channel_values"], run.checkpoint["id"], _parent(run)
            metadata = {**run.metadata, **metadata_of(self.graph), "thread_id": self.id}
            shown = {"question": state.get("question"), "messages": state.get("messages") or []}
            values = {**shown, **reply_of(state, self.stored_id, run_id), "ui": self._ui_messages(run)}
            if is_pending(run):
                following = ["begin"]
            elif question := state.get("clarification"):
                following, asked = [ASKS], [{"id": run_id, "value": human_interrupt(question)}]
        task = {"id": run_id, "name": ASKS, "path": [], "interrupts": asked}
        task |= dict.fromkeys(("error", "checkpoint", "state", "result"))
        return plain_json(
            {
                "values": values,
                "next": following,
                "tasks": [task] if asked else [],
                "interrupts": asked,
                "checkpoint": self.checkpoint(run_id),
                "metadata": metadata,
                "created_at": run.checkpoint["ts"] if run else None,
                "parent_checkpoint": self.checkpoint(parent) if parent else None,
            }
        )

    def description(self) -> dict[str, Any]:
        """Return the thread with its values and status."""
        last, listed = self.state(), self.listed
        state = self.body(last)
        asked = {task["id"]: task["interrupts"] for task in state["tasks"]}
        status = "busy" if self._tenant.runs.on(self.id, only_running=True) else "interrupted" if asked else "idle"
        if status == "idle" and last and status_of(last.checkpoint["channel_values"]) == "error":
            status = "error"
        times = dict.fromkeys(("created_at", "updated_at"), listed["updated"] if listed else state["created_at"])
        metadata = metadata_of(self.graph or (listed["graph"] if listed else ""))
        shown = {"values": state["values"] or None, "status": status, "interrupts": asked, "metadata": metadata}
        return {"thread_id": self.id, **times, "config": {}, **shown}

    def _ui_messages(self, run: CheckpointTuple) -> list[dict[str, Any]]:
        """Return the tables and charts of the conversation up to a run, each for the message of its answer."""
        found: list[dict[str, Any]] = []
        at: CheckpointTuple | None = run
        for _ in range(_ANSWERS_WITH_UI):
            if at is None:
                break
            state, run_id = at.checkpoint["channel_values"], at.checkpoint["id"]
            own = _ui_of(reply_of(state, self.stored_id, run_id), run_id, message_id(state, run_id))
            # A state that was updated has the values of the one before.
            found = found if is_pending(at) else own + found
            parent = _parent(at)
            # Without messages, no earlier answer is shown.
            has_earlier = state.get("messages") and parent and parent != BEGINNING
            at = self._threads.run(self._key, parent) if has_earlier and parent else None
        return found


def _parent(run: CheckpointTuple) -> str:
    """Return the id of the state from which a run continues."""
    parent: str | None = (run.parent_config or {}).get("configurable", {}).get("checkpoint_id")
    return parent or BEGINNING


def _ui_of(reply: Reply, run_id: str, message: str) -> list[dict[str, Any]]:
    """Return UI messages for the table, if rows are the answer, and the charts of an answer."""
    tables = reply.get("tables") or [] if reply.get("output_type") == "dataframe" else []
    parts = [
        (
            "table",
            f"{run_id}-table",
            {"columns": table["columns"], "rows": table["rows"][:SHORT_TABLE_ROWS], "row_count": len(table["rows"])},
        )
        for table in tables[:1]
    ]
    parts += [
        ("chart", chart["id"], {**chart, "image": f"/charts/{chart['id']}.png", "alt": reply["answer"]})
        for chart in reply.get("charts") or []
    ]
    return [
        {"type": "ui", "id": ui_id, "name": name, "props": props, "metadata": {"message_id": message}}
        for name, ui_id, props in parts
    ]
