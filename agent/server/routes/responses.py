"""OpenAI-compatible route: responses, which OpenAI's Agents SDK uses by default."""

import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal, Self

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, model_validator
from starlette.concurrency import run_in_threadpool

from datasphinx.agent.server.chat_clients import ChatRun, Content, base_url, model_of, user_text
from datasphinx.agent.server.errors import DOCUMENTED_OPENAI
from datasphinx.agent.server.routes.events import completion_response, named_event, or_stream, stream_of
from datasphinx.agent.server.runnable import ServedGraph
from datasphinx.agent.server.tenants import current_tenant


class InputItem(BaseModel):
    """A message; items of other types, such as calls of tools, are ignored."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: Content = None


class TextFormat(BaseModel):
    """The format of the answer: text."""

    type: Literal["text"] = "text"


class TextOptions(BaseModel):
    """Options of the text."""

    format: TextFormat | None = None


class ResponseRequest(BaseModel):
    """A message of the user, with the conversation before it or the id of the response that it continues.

    Instructions, parameters of sampling and `tools` are ignored.
    """

    model: str = Field(description="Id of a model from `/v1/models`.")
    input: str | list[InputItem] = Field(description="The message, or the conversation; its last message is answered.")
    previous_response_id: str | None = Field(None, description="Id of the response that the message continues.")
    stream: bool | None = None
    user: str | None = Field(None, description="Conversations of different users never continue each other.")
    store: bool | None = Field(None, description="False: no later request names this response.")
    text: TextOptions | None = None
    tool_choice: Literal["none", "auto"] | None = None
    background: Literal[False] | None = None
    conversation: None = None

    @property
    def messages(self) -> list[tuple[str, Content]]:
        """The role and the content of each message."""
        if isinstance(self.input, str):
            return [("user", self.input)]
        return [(item.role, item.content) for item in self.input if item.type == "message" and item.role]

    @model_validator(mode="after")
    def _check_last_message(self) -> Self:
        if not self.messages or self.messages[-1][0] != "user":
            raise ValueError("the last message must be the user's")
        user_text(self.messages[-1][1])
        return self


def responses_routes(graphs: Sequence[ServedGraph]) -> APIRouter:
    """Return the route of responses to `graphs`."""
    router = APIRouter(prefix="/v1", tags=["chat"], responses=DOCUMENTED_OPENAI)
    served = {each.graph: each for each in graphs}

    @router.post("/responses", response_model=None, responses={200: or_stream(stream_of())})
    async def respond(request: Request, body: ResponseRequest) -> Response:
        """Answer the last message; with `stream`, as server-sent events that end with `response.completed`."""
        tenant = current_tenant()
        model = await run_in_threadpool(model_of, tenant, body.model)
        response = _Response(ChatRun(tenant, served[model.graph], model, body.user, base_url(request)), body)
        await run_in_threadpool(response.prepare)
        return await completion_response(request, body.stream, response, _encode)

    return router


class _Response:
    """The form of the answer to one request: an item with the steps as reasoning, and one with the message."""

    def __init__(self, run: ChatRun, request: ResponseRequest) -> None:
        self._run, self._request = run, request
        number = uuid.uuid4().hex
        self._id, self._reasoning_id, self._message_id = f"resp_{number}", f"rs_{number}", f"msg_{number}"
        self._created = int(time.time())

    def prepare(self) -> None:
        """Prepare the run. Raise NotFound if there is no response with the id of the previous one."""
        names = () if self._request.store is False else (self._id,)
        self._run.prepare(self._request.messages, after=self._request.previous_response_id, names=names)

    async def whole(self) -> dict[str, Any]:
        async with aclosing(self.events()) as events:
            async for _, event in events:
                last = event
        response: dict[str, Any] = last["response"]
        return response

    async def events(self) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
        """Yield the events of a stream, each with its type."""
        number = 0
        async with aclosing(self._events()) as events:
            async for kind, content in events:
                yield kind, {"type": kind, "sequence_number": number, **content}
                number += 1

    async def _events(self) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
        started = self._response("in_progress", [])
        yield "response.created", {"response": started}
        yield "response.in_progress", {"response": started}

        reasoning, text, tokens = "", "", (0, 0)
        item = {"item_id": self._reasoning_id, "output_index": 0}
        summary = {**item, "summary_index": 0}
        yield "response.output_item.added", {"output_index": 0, "item": self._reasoning()}
        yield "response.reasoning_summary_part.added", {**summary, "part": _summary("")}
        async with aclosing(self._run.pieces()) as pieces:
            async for piece in pieces:
                if piece.reasoning:
                    reasoning += piece.reasoning
                    yield "response.reasoning_summary_text.delta", {**summary, "delta": piece.reasoning}
                text, tokens = text + piece.content, piece.tokens or tokens
        yield "response.reasoning_summary_text.done", {**summary, "text": reasoning}
        yield "response.reasoning_summary_part.done", {**summary, "part": _summary(reasoning)}
        thought = self._reasoning(reasoning)
        yield "response.output_item.done", {"output_index": 0, "item": thought}

        part = {"item_id": self._message_id, "output_index": 1, "content_index": 0}
        yield "response.output_item.added", {"output_index": 1, "item": self._message("in_progress")}
        yield "response.content_part.added", {**part, "part": _text("")}
        yield "response.output_text.delta", {**part, "delta": text, "logprobs": []}
        yield "response.output_text.done", {**part, "text": text, "logprobs": []}
        yield "response.content_part.done", {**part, "part": _text(text)}
        message = self._message("completed", _text(text))
        yield "response.output_item.done", {"output_index": 1, "item": message}
        yield "response.completed", {"response": self._response("completed", [thought, message], tokens)}

    def _response(
        self, status: str, output: list[dict[str, Any]], tokens: tuple[int, int] | None = None
    ) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "model": self._request.model,
            "previous_response_id": self._request.previous_response_id,
            "output": output,
            "usage": _usage(*tokens) if tokens else None,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": False,
            "store": self._request.store is not False,
            "text": {"format": {"type": "text"}},
            "tool_choice": "none",
            "tools": [],
        }

    def _reasoning(self, *texts: str) -> dict[str, Any]:
        return {"id": self._reasoning_id, "type": "reasoning", "summary": [_summary(text) for text in texts]}

    def _message(self, status: str, *parts: dict[str, Any]) -> dict[str, Any]:
        head = {"id": self._message_id, "type": "message", "role": "assistant", "status": status}
        return {**head, "content": [*parts]}


def _summary(text: str) -> dict[str, Any]:
    return {"type": "summary_text", "text": text}


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _usage(prompt: int, completion: int) -> dict[str, Any]:
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + completion,
    }


def _encode(kind: str, data: bytes) -> bytes:
    return named_event("error" if kind == "problem" else kind, data)
