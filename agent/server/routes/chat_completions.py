"""OpenAI-compatible routes: chat completions and models."""

import re
import time
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal, NamedTuple, Self, cast

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, model_validator
from starlette.concurrency import run_in_threadpool

from datasphinx.agent.conversation.reply import Reply
from datasphinx.agent.conversation.threads import Link
from datasphinx.agent.core.canonical import value_hash
from datasphinx.agent.core.text import valid_text
from datasphinx.agent.server.background import time_limit
from datasphinx.agent.server.chat_clients import (
    ChatModel,
    Content,
    Place,
    all_models,
    base_url,
    input_of,
    markdown_of,
    model_of,
    place_of,
    reasoning_lines,
    text_of,
    user_text,
)
from datasphinx.agent.server.errors import DOCUMENTED_OPENAI
from datasphinx.agent.server.routes.events import DATA_STREAM, event_response
from datasphinx.agent.server.runnable import PlainJSON, ServedGraph
from datasphinx.agent.server.tenants import Tenant, current_tenant

_REASONING = re.compile(r"\s*<(details|think|thinking|reasoning)\b[^>]*>.*?</\1>", re.DOTALL)
"""Reasoning text, which some clients put at the beginning of the assistant's messages."""
_CREATED = int(time.time())


class ChatMessage(BaseModel):
    """A message; `tool_calls`, `name` and other fields are ignored."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content = None


class ResponseFormat(BaseModel):
    """The format of the answer: text."""

    type: Literal["text"]


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool = Field(False, description="Whether a last chunk has the usage.")


class ChatRequest(BaseModel):
    """A conversation whose last message is the user's. Parameters of sampling, and `tools`, are ignored."""

    model: str = Field(description="Id of a model from `/v1/models`.")
    messages: list[ChatMessage] = Field(
        min_length=1,
        description="The conversation; only the texts of the user and the assistant are read.",
    )
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = Field(None, description="Conversations of different users never continue each other.")
    n: Literal[1] | None = None
    response_format: ResponseFormat | None = None
    tool_choice: Literal["none", "auto"] | None = None
    function_call: Literal["none", "auto"] | None = None
    modalities: list[Literal["text"]] | None = None
    logprobs: Literal[False] | None = None

    @model_validator(mode="after")
    def _check_last_message(self) -> Self:
        last = self.messages[-1]
        if last.role != "user":
            raise ValueError("the last message must be the user's")
        user_text(last.content)
        return self


def chat_routes(graphs: Sequence[ServedGraph]) -> APIRouter:
    """Return the OpenAI-compatible routes to `graphs`."""
    router = APIRouter(prefix="/v1", tags=["chat"], responses=DOCUMENTED_OPENAI)
    served = {each.graph: each for each in graphs}

    @router.get("/models")
    async def models() -> dict[str, Any]:
        """The models: `datasphinx` chooses the source by the question; the others are sources and datasets."""
        found = await run_in_threadpool(all_models, current_tenant())
        return {"object": "list", "data": [_describe(model) for model in found]}

    @router.get("/models/{model_id:path}")
    async def model(model_id: str) -> dict[str, Any]:
        """One model."""
        return _describe(await run_in_threadpool(model_of, current_tenant(), model_id))

    @router.post("/chat/completions", response_model=None, responses={200: _COMPLETION})
    async def complete(request: Request, body: ChatRequest) -> Response:
        """Answer the last message; with `stream`, as server-sent events that end with `data: [DONE]`."""
        tenant = current_tenant()
        model = await run_in_threadpool(model_of, tenant, body.model)
        completion = _Completion(tenant, served[model.graph], model, body, base_url(request))
        await run_in_threadpool(completion.find_place)
        completion.check_input()
        await tenant.admit(1)
        seconds = tenant.services.settings.request_timeout_s
        if body.stream:
            return event_response(completion.chunks(), request.scope, seconds, _encode)
        async with time_limit(seconds):
            return Response(PlainJSON().dumps(await completion.whole()), media_type=JSONResponse.media_type)

    return router


_STRING = {"type": "string"}
_COMPLETION: dict[str, Any] = {
    "description": "The completion; with `stream`, its chunks.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["id", "object", "created", "model", "choices", "usage"],
                "properties": {
                    "id": _STRING,
                    "object": {"const": "chat.completion"},
                    "created": {"type": "integer"},
                    "model": _STRING,
                    "choices": {"type": "array", "items": {"type": "object"}},
                    "usage": {"type": "object"},
                },
            }
        },
        **DATA_STREAM["content"],
    },
}


class _Piece(NamedTuple):
    """Text of a step, or the answer with the token usage; the answer is the last piece."""

    reasoning: str = ""
    content: str = ""
    usage: dict[str, int] | None = None


class _Completion:
    """The completion of one request."""

    def __init__(
        self, tenant: Tenant, served: ServedGraph, model: ChatModel, request: ChatRequest, base_url: str
    ) -> None:
        self._tenant, self._served, self._model = tenant, served, model
        self._request, self._base_url = request, base_url
        turns = [(message.role, _normal(text_of(message.content))) for message in request.messages]
        self._turns = [(role, text) for role, text in turns if role in ("user", "assistant") and text]
        self._place: Place | None = None
        self._input: dict[str, Any] = {}
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model.id}

    def find_place(self) -> None:
        """Find the run that ended with the messages before the last one."""
        earlier = self._turns[:-1]
        if any(role == "assistant" for role, _ in earlier):
            self._place = place_of(self._tenant, self._model.graph, self._name(earlier))

    def check_input(self) -> None:
        """Prepare the input of the run.

        Raises:
            RequestValidationError: the last message is empty or too long.
        """
        text = text_of(self._request.messages[-1].content)
        self._input = input_of(self._served, self._model, text, self._place)

    async def whole(self) -> dict[str, Any]:
        """Return the completion."""
        pieces = [piece async for piece in self._pieces()]
        message = {
            "role": "assistant",
            "content": "".join(piece.content for piece in pieces),
            "reasoning_content": "".join(piece.reasoning for piece in pieces),
            "refusal": None,
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": pieces[-1].usage}

    async def chunks(self) -> AsyncGenerator[tuple[str, Any]]:
        """Yield the chunks of a stream, and `done`."""
        head = {**self._head, "object": "chat.completion.chunk"}
        yield "chunk", {**head, "choices": [_choice({"role": "assistant", "content": ""})]}
        usage: dict[str, int] | None = None
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                delta = {"content": piece.content} if piece.content else {"reasoning_content": piece.reasoning}
                yield "chunk", {**head, "choices": [_choice(delta)]}
                usage = piece.usage
        yield "chunk", {**head, "choices": [_choice({}, "stop")]}
        if self._request.stream_options and self._request.stream_options.include_usage:
            yield "chunk", {**head, "choices": [], "usage": usage}
        yield "done", None

    async def _pieces(self) -> AsyncGenerator[_Piece]:
        run_id = self._place.link.run_id if self._place else None
        async with aclosing(self._served.events(self._input, run_id=run_id)) as events:
            async for kind, content in events:
                if kind == "step":
                    for line in reasoning_lines(cast(Mapping[str, Any], content)):
                        yield _Piece(reasoning=line)
                elif kind == "output":
                    reply = cast(Reply, content)
                    if sql := reply["sql"]:
                        # The fence of the code block is longer than those in the statement.
                        fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`+", sql))])
                        yield _Piece(reasoning=f"\n{fence}sql\n{sql}\n{fence}\n")
                    yield await run_in_threadpool(self._answer, reply)

    def _answer(self, reply: Reply) -> _Piece:
        """Return the answer, and link the conversation that it continues with the run.

        A run that was refused is not stored: the conversation continues from the run before.
        """
        text = valid_text(markdown_of(reply, self._base_url))
        link = Link(reply["thread_id"] or "", reply["run_id"]) if "run_id" in reply else None
        link = link or (self._place.link if self._place else None)
        if link:
            self._tenant.threads.link(self._name([*self._turns, ("assistant", _normal(text))]), link)
        prompt, completion = reply["audit"]["prompt_tokens"], reply["audit"]["completion_tokens"]
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        return _Piece(content=text, usage=usage)

    def _name(self, turns: Sequence[tuple[str, str]]) -> str:
        """Return the name of the link to the run that ended with `turns`."""
        return value_hash([self._model.id, self._request.user, turns])


def _describe(model: ChatModel) -> dict[str, Any]:
    return {"id": model.id, "object": "model", "created": _CREATED, "owned_by": "datasphinx", "name": model.name}


def _normal(text: str) -> str:
    """Return the text of a message without reasoning at its beginning and without differences in white space."""
    while reasoning := _REASONING.match(text):
        text = text[reasoning.end() :]
    return " ".join(text.split())


def _choice(delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _encode(kind: str, data: bytes) -> bytes:
    return b"data: " + (b"[DONE]" if kind == "done" else data) + b"\n\n"
