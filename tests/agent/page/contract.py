"""The routes that the page speaks to beside LangServe's, each in its simplest form."""

import io
from collections.abc import AsyncIterator
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from sse_starlette import EventSourceResponse

from agent.analyst import build_analyst
from agent.conversation.conversations import Conversations
from agent.conversation.reply import refusal
from agent.conversation.threads import open_threads
from agent.errors import DatasphinxError
from agent.graph import build_graph
from agent.served_graph import PlainJSON
from agent.services import Services
from agent.terminal_steps import step_line


def add_contract(app: FastAPI, services: Services) -> None:
    """Add events, files, datasets and sources to `app`."""
    threads = open_threads(services.settings)
    graphs = {"agent": build_graph(services), "analyst": build_analyst(services)}
    conversations = {name: Conversations(graph, threads) for name, graph in graphs.items()}

    @app.post("/{graph}/events")
    async def events(graph: str, request: Request) -> EventSourceResponse:
        return EventSourceResponse(_events(conversations[graph], await request.json()))

    @app.post("/files", status_code=201)
    async def files(request: Request) -> JSONResponse:
        name, content = _uploaded(request.headers["content-type"], await request.body())
        try:
            file_id = services.registry.add_stream(io.BytesIO(content), name)
            dataset = services.registry.create(file_id).to_json()
        except DatasphinxError as error:
            return JSONResponse({"title": "Wrong", "detail": error.message("en"), "code": error.code}, 415)
        return JSONResponse({"file_id": file_id, "name": name, "bytes": len(content), "datasets": [dataset]}, 201)

    @app.get("/datasets")
    def datasets() -> dict[str, Any]:
        return {"datasets": [each.to_json() for each in services.registry.datasets()]}

    @app.get("/sources")
    def sources() -> dict[str, Any]:
        return {"sources": [{"name": name, "dialect": "sqlite"} for name in services.settings.sources]}


async def _events(conversation: Conversations, given: dict[str, Any]) -> AsyncIterator[dict[str, str]]:
    thread_id = given.pop("thread_id", None)
    try:
        async for kind, each in conversation.astream(given, thread_id):
            if kind == "output":
                yield {"event": "output", "data": PlainJSON().dumps(each).decode()}
                continue
            for node, update in each.items():
                line, (step,) = step_line(node, update), update["audit"]["steps"]
                shown = {"node": node, "line": line.plain if line else "", "latency_ms": step["latency_ms"]}
                yield {"event": "step", "data": PlainJSON().dumps(shown).decode()}
    except DatasphinxError as error:
        yield {"event": "output", "data": PlainJSON().dumps(refusal(error, given, thread_id)).decode()}


def _uploaded(content_type: str, body: bytes) -> tuple[str, bytes]:
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    (part,) = message.iter_parts()
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    return str(part.get_filename()), content
