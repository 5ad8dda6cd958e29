"""The official MCP client over HTTP, in both generations of the protocol."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitResult

from tests.agent.server.serving import Served

T = TypeVar("T")

HEADERS = {"Accept": "application/json, text/event-stream"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
MODES = ("legacy", "auto")
"""The handshake of protocol versions up to 2025-11-25, and the requests without a session of later ones."""


def talk(
    server: Served,
    script: Callable[[Client], Awaitable[T]],
    *,
    key: str | None = None,
    headers: dict[str, str] | None = None,
    **options: Any,
) -> T:
    """Return the result of `script`, called with a client that is connected to `/mcp`."""
    sent = {**({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})}

    async def run() -> T:
        async with httpx2.AsyncClient(headers=sent, timeout=30, verify=False) as http:
            transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
            async with Client(transport, **options) as client:
                try:
                    return await script(client)
                except MCPError as raised:
                    # The task groups of the client would wrap it.
                    error = raised
            raise error

    return asyncio.run(run())


def call(
    server: Served, tool: str, *, key: str | None = None, mode: str = "auto", user: "User | None" = None, **given: Any
) -> CallToolResult:
    """Return the result of one call of `datasphinx_<tool>`; `user` answers forms."""
    return talk(
        server,
        lambda client: client.call_tool(f"datasphinx_{tool}", given),
        key=key,
        mode=mode,
        elicitation_callback=user,
    )


def content(result: CallToolResult) -> dict[str, Any]:
    """Return the content of a successful call."""
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def code_of(result: CallToolResult) -> str:
    """Return the code of the error of a call."""
    assert result.is_error, result.content
    # A client that validates structured content would lose an error that is not of the tool's output schema.
    holder = result.meta if result.structured_content is None else result.structured_content
    assert holder
    code: str = holder["error"]["code"]
    return code


class User:
    """Answers forms with `replies`, and keeps the forms."""

    def __init__(self, *replies: ElicitResult) -> None:
        self.forms: list[Any] = []
        self._replies = iter(replies)

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.forms.append(params)
        return next(self._replies)
