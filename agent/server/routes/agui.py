"""Route: a question as events of the Agent User Interaction Protocol (AG-UI, version 1.0)."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal, cast

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import from_json, to_json
from starlette.concurrency import run_in_threadpool

from datasphinx.agent.answers.progress import step_line
from datasphinx.agent.conversation.reply import Reply
from datasphinx.agent.conversation.threads import Link
from datasphinx.agent.core.canonical import value_hash
from datasphinx.agent.core.text import valid_text
from datasphinx.agent.errors import Conflict, DatasphinxError, InputInvalid
from datasphinx.agent.messages import Message
from datasphinx.agent.record.step import Audit
from datasphinx.agent.record.waiting import StartEvent
from datasphinx.agent.server.chat_clients import (
    DEFAULT_MODEL,
    ChatModel,
    Part,
    base_url,
    input_of,
    markdown_of,
    model_of,
    place_of,
    user_text,
)
from datasphinx.agent.server.errors import new_router
from datasphinx.agent.server.routes.events import DATA_STREAM, EventStream, event_response
from datasphinx.agent.server.runnable import ServedGraph
from datasphinx.agent.server.tenants import Tenant, current_tenant

_VERSION = "1.0"
_MAX_ID_CHARS = 500
_NOT_IN_STATE = {"value", "audit", "run_id"}
"""The fields of an output that a state snapshot does not contain."""


class _Wire(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class RunMessage(_Wire):
    """A message of the conversation."""

    role: str
    content: str | list[Part] | dict[str, Any] | None = None


class ResumeEntry(_Wire):
    """The answer to an interrupt."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class RunInput(_Wire):
    """The input of a run (`RunAgentInput`). Its `state`, `tools` and `context` are ignored."""

    thread_id: str = Field(min_length=1, max_length=_MAX_ID_CHARS, description="The conversation, named by the client.")
    run_id: str = Field(min_length=1, max_length=_MAX_ID_CHARS, description="The run, named by the client.")
    messages: list[RunMessage] = Field(description="The conversation; only the last message of the user is read.")
    resume: list[ResumeEntry] | None = Field(None, description="The answer to the clarifying question of the last run.")
    forwarded_props: Any = Field(None, description="An object with the id of a `model` from /v1/models.")

    @property
    def model(self) -> str:
        """The id of the model to ask."""
        props = self.forwarded_props
        model = props.get("model") if isinstance(props, dict) else None
        return DEFAULT_MODEL if model is None else str(model)

    def last_text(self) -> str | None:
        """Return the text of the last message; None if it is not the user's.

        Raises:
            InputInvalid: the message has parts other than text.
        """
        last = self.messages[-1] if self.messages else None
        if last is None or last.role != "user":
            return None
        if isinstance(last.content, dict):
            raise InputInvalid("messages", Message("empty_or_not_text"))
        try:
            return user_text(last.content)
        except ValueError as error:
            raise InputInvalid("messages", str(error)) from None


def agui_routes(graphs: Sequence[ServedGraph]) -> APIRouter:
    """Return the AG-UI route to `graphs`."""
    router = new_router(tags=["chat"])
    served = {each.graph: each for each in graphs}

    @router.post("/agui", response_class=EventStream, responses={200: DATA_STREAM})
    async def agui(request: Request, body: RunInput) -> EventStream:
        """Answer the user's last message, or continue with the answer to a clarifying question."""
        tenant = current_tenant()
        model = await run_in_threadpool(model_of, tenant, body.model)
        run = _Run(tenant, served[model.graph], model, body, base_url(request))
        await run_in_threadpool(run.prepare)
        if run.input:
            await tenant.admit(1)
        return event_response(run.events(), request.scope, tenant.services.settings.request_timeout_s, _encode)

    return router


class _Run:
    """A run on the thread that is linked with the client's thread id."""

    def __init__(self, tenant: Tenant, served: ServedGraph, model: ChatModel, body: RunInput, base_url: str) -> None:
        self._tenant, self._served, self._model = tenant, served, model
        self._body, self._base_url = body, base_url
        self._name, self._cancelled_name = (
            value_hash(["agui", part, model.id, body.thread_id]) for part in ("last", "cancelled")
        )
        self._is_linked = False
        self._error: DatasphinxError | None = None
        self.input: dict[str, Any] | None = None
        """The input of the graph; None if no graph is asked."""

    def prepare(self) -> None:
        """Set the input, or the error of a resume entry, which is an event of the run.

        Raises:
            InputInvalid: there is neither a message of the user nor a resume entry.
        """
        threads = self._tenant.threads
        place = place_of(self._tenant, self._model.graph, self._name)
        self._is_linked = place is not None
        if place and place.clarification and threads.linked(self._cancelled_name) == place.link:
            place = place._replace(clarification=None)
        text = self._body.last_text()
        if self._body.resume:
            (entry,) = self._body.resume if len(self._body.resume) == 1 else (None,)
            if entry is None or place is None or not place.clarification or entry.interrupt_id != place.link.run_id:
                self._error = Conflict("nothing_asked")
                return
            if entry.status == "cancelled":
                threads.link(self._cancelled_name, place.link)
                place = place._replace(clarification=None)
                if text is None:
                    return
            elif isinstance(entry.payload, str | int) and not isinstance(entry.payload, bool):
                text = str(entry.payload)
            else:
                self._error = InputInvalid("resume", Message("empty_or_not_text"))
                return
        elif text is None:
            raise InputInvalid("messages", Message("no_question"))
        self.input = input_of(self._served, self._model, text or "", place)

    async def events(self) -> AsyncGenerator[tuple[str, Any]]:
        """Yield the events of the run.

        Raises:
            Conflict, InputInvalid: the resume entry does not answer the open clarifying question.
        """
        ids = {"threadId": self._body.thread_id, "runId": self._body.run_id}
        yield _event("RUN_STARTED", **ids, protocolVersion=_VERSION)
        if self._error:
            raise self._error
        if self.input is None:
            yield _event("RUN_FINISHED", **ids, outcome={"type": "cancelled"})
            return
        async with aclosing(self._served.events(self.input)) as events:
            async for kind, content in events:
                if kind == "started":
                    yield _event("STEP_STARTED", stepName=cast(StartEvent, content)["node"])
                elif kind == "step":
                    for node, update in cast(Mapping[str, Any], content).items():
                        line = step_line(node, update)
                        yield _event("STEP_FINISHED", stepName=node, metadata={"line": line.plain if line else ""})
                elif kind == "output":
                    for event in await run_in_threadpool(self._output, cast(Reply, content), ids):
                        yield event
                else:
                    yield _event("CUSTOM", name=kind, value=content)

    def _output(self, reply: Reply, ids: Mapping[str, str]) -> list[tuple[str, Any]]:
        """Return the last events of the run, and link the client's thread with the run."""
        run_id, error, asked = reply.get("run_id"), reply["error"], reply["clarification"]
        # After an error, the clarifying question of the linked run is still open.
        if run_id and not (error and self._is_linked):
            self._tenant.threads.link(self._name, Link(reply["thread_id"] or "", run_id))
        state = {name: value for name, value in reply.items() if name not in _NOT_IN_STATE}
        events = [_event("STATE_SNAPSHOT", snapshot={**state, "trace_id": reply["audit"]["trace_id"]})]
        usage = _usage(reply["audit"])
        if error:
            return [*events, _event("RUN_ERROR", message=error["message"], code=error["code"], usage=usage)]
        text = valid_text(markdown_of(reply, self._base_url))
        message = {"messageId": f"{self._body.run_id}-answer"}
        events += [
            _event("TEXT_MESSAGE_START", **message, role="assistant"),
            _event("TEXT_MESSAGE_CONTENT", **message, delta=text),
            _event("TEXT_MESSAGE_END", **message),
        ]
        outcome: dict[str, Any] = {"type": "success"}
        if asked and run_id:
            interrupt = {"id": run_id, "reason": "input_required", "message": text, "responseSchema": _ANSWER_SCHEMA}
            outcome = {"type": "interrupt", "interrupts": [interrupt]}
            events.append(_event("CUSTOM", name="clarification", value=asked))
        return [*events, _event("RUN_FINISHED", **ids, outcome=outcome, usage=usage)]


_ANSWER_SCHEMA = {"type": "string", "description": "The number or the label of an option, or an answer in own words."}


def _usage(audit: Audit) -> list[dict[str, Any]]:
    """Return the tokens of the run by model."""
    totals: dict[str, list[int]] = {}
    for call in (call for step in audit["steps"] for call in step["calls"]):
        total = totals.setdefault(call["model"], [0, 0])
        total[0] += call["prompt_tokens"]
        total[1] += call["completion_tokens"]
    return [
        {"model": model, "inputTokens": prompt, "outputTokens": completion, "totalTokens": prompt + completion}
        for model, (prompt, completion) in totals.items()
    ]


def _event(kind: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return kind, {"type": kind, **fields}


def _encode(kind: str, data: bytes) -> bytes:
    if kind == "problem":
        problem = from_json(data)
        data = to_json(_event("RUN_ERROR", message=problem["detail"], code=problem["code"])[1])
    return b"data: " + data + b"\n\n"
