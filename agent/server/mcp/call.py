"""A call by an MCP client: its context, the choice of the source, and the rows that the client gets."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcp.server import ServerRequestContext
from mcp_types import CallToolRequestParams

from datasphinx.agent.messages import Language
from datasphinx.agent.server.errors import accepted_language
from datasphinx.agent.server.runnable import ServedGraph, json_bytes
from datasphinx.agent.server.tenants import current_tenant
from datasphinx.agent.services import Services
from datasphinx.agent.types import masked_rows

MAX_ROWS = 200
"""Maximum number of rows in a tool's output, which the client's model reads."""
MAX_ROW_BYTES = 100_000
"""Maximum size of these rows as JSON; the first row is always included."""


@dataclass(frozen=True)
class Call:
    """A tool call and the graph that answers questions. The tenant is that of the current request."""

    context: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    agent: ServedGraph
    report: ServedGraph
    """The graph that writes reports."""

    @cached_property
    def language(self) -> Language:
        """The language of messages: that of the HTTP request, else English."""
        return request_language(self.context)

    @property
    def services(self) -> Services:
        """The services of the tenant."""
        return current_tenant().services


def request_language(context: ServerRequestContext[Any, Any]) -> Language:
    """Return the language that an HTTP request accepts, or English."""
    return accepted_language(context.request.scope) if context.request is not None else "en"


def limited_rows(rows: Sequence[Sequence[Any]], secret: Collection[int]) -> list[list[Any]]:
    """Return the first rows, with masks instead of secret values, because a model reads them."""
    shown, size = list[list[Any]](), 0
    for row in masked_rows(rows[:MAX_ROWS], set(secret)):
        plain = json_bytes(row)
        size += len(plain)
        if shown and size > MAX_ROW_BYTES:
            break
        shown.append(row)
    return shown
