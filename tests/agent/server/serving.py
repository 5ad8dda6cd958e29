"""A real server on a free port of loopback, over the scripted model, with a client."""

import asyncio
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import uvicorn

from datasphinx.agent.llm.scripted import Scripted, ScriptedModel
from datasphinx.agent.server.app import create_app
from datasphinx.agent.server.connections import LimitedProtocol
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.conftest import VALID

ASKED = {"question": "How many orders were placed?"}
COUNT = {"sql": "SELECT COUNT(*) AS orders FROM orders", "assumptions": [], "off_topic": False}
_STARTS_WITHIN_S = 10


class Served(NamedTuple):
    """A running server: a client, and what is behind."""

    http: httpx.Client
    model: ScriptedModel
    services: Services

    @property
    def url(self) -> str:
        return str(self.http.base_url).rstrip("/")

    def post(self, path: str, **body: Any) -> httpx.Response:
        """Send `body` as JSON; unlike httpx, in ASCII, which can say what UTF-8 cannot."""
        return self.http.post(path, content=json.dumps(body))

    def invoke(self, graph: str = "agent", **given: Any) -> dict[str, Any]:
        """Return the output of one question."""
        response = self.post(f"/{graph}/invoke", input=given)
        assert response.status_code == 200, response.text
        return response.json()["output"]


class _Server(uvicorn.Server):
    """Uvicorn without its pauses of 100 ms, in which it reads `should_exit` and waits for connections to close."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        await super().startup(sockets)
        self.ready.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._stopped.wait()

    async def shutdown(self, sockets: Any = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:
            await asyncio.sleep(0.001)
        await self.lifespan.shutdown()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)


@contextmanager
def running(app: Any) -> Iterator[str]:
    """Yield the URL of a server for `app`."""
    server = _Server(uvicorn.Config(app, port=0, log_config=None, ws="none", http=LimitedProtocol))
    thread = threading.Thread(target=server.run, name="server")
    thread.start()
    try:
        assert server.ready.wait(_STARTS_WITHIN_S)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.stop()
        thread.join()


@contextmanager
def serving(
    cache_dir: Path, answers: Mapping[str, Iterable[Scripted]] | None = None, **settings: Any
) -> Iterator[Served]:
    """Yield a server whose model gives `answers`, the last one again and again; left out, it counts the orders."""
    model = ScriptedModel({"GeneratedSQL": [COUNT], "SQLValidation": [VALID], **(answers or {})}, repeat_last=True)
    services = Services(load_settings(cache_dir=cache_dir, **settings), model=model, any_source=False)
    # Without TLS a client need not read the certificates of all authorities first.
    with running(create_app(services)) as base, httpx.Client(base_url=base, timeout=30, verify=False) as http:
        yield Served(http, model, services)
