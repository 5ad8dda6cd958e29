"""OpenAI-compatible routes: chat completions and models."""

import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal, Self

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, model_validator
from starlette.concurrency import run_in_threadpool

from datasphinx.agent.server.chat_clients import (
    ChatModel,
    ChatRun,
    Content,
    all_models,
    base_url,
    model_of,
    user_text,
)
from datasphinx.agent.server.errors import DOCUMENTED_OPENAI
from datasphinx.agent.server.routes.events import DATA_STREAM, completion_response, or_stream
from datasphinx.agent.server.runnable import ServedGraph
from datasphinx.agent.server.tenants import current_tenant

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

    @router.post("/chat/completions", response_model=None, responses={200: or_stream(DATA_STREAM)})
    async def complete(request: Request, body: ChatRequest) -> Response:
        """Answer the last message; with `stream`, as server-sent events that end with `data: [DONE]`."""
        tenant = current_tenant()
        model = await run_in_threadpool(model_of, tenant, body.model)
        run = ChatRun(tenant, served[model.graph], model, body.user, base_url(request))
        await run_in_threadpool(run.prepare, [(message.role, message.content) for message in body.messages])
        return await completion_response(request, body.stream, _Completion(run, body), _encode)

    return router


class _Completion:
    """The form of the answer to one request."""

    def __init__(self, run: ChatRun, request: ChatRequest) -> None:
        self._run, self._request = run, request
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": request.model}

    async def whole(self) -> dict[str, Any]:
        pieces = [piece async for piece in self._run.pieces()]
        message = {
            "role": "assistant",
            "content": "".join(piece.content for piece in pieces),
            "reasoning_content": "".join(piece.reasoning for piece in pieces),
            "refusal": None,
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        usage = _usage(pieces[-1].tokens)
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": usage}

    async def events(self) -> AsyncGenerator[tuple[str, Any]]:
        """Yield the chunks of a stream, and `done`."""
        head = {**self._head, "object": "chat.completion.chunk"}
        yield "chunk", {**head, "choices": [_choice({"role": "assistant", "content": ""})]}
        tokens = None
        async with aclosing(self._run.pieces()) as pieces:
            async for piece in pieces:
                delta = {"content": piece.content} if piece.content else {"reasoning_content": piece.reasoning}
                yield "chunk", {**head, "choices": [_choice(delta)]}
                tokens = piece.tokens
        yield "chunk", {**head, "choices": [_choice({}, "stop")]}
        if self._request.stream_options and self._request.stream_options.include_usage:
            yield "chunk", {**head, "choices": [], "usage": _usage(tokens)}
        yield "done", None


def _usage(tokens: tuple[int, int] | None) -> dict[str, int]:
    prompt, completion = tokens or (0, 0)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _describe(model: ChatModel) -> dict[str, Any]:
    return {"id": model.id, "object": "model", "created": _CREATED, "owned_by": "datasphinx", "name": model.name}


def _choice(delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _encode(kind: str, data: bytes) -> bytes:
    return b"data: " + (b"[DONE]" if kind == "done" else data) + b"\n\n"
