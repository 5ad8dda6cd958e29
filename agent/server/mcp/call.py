"""A call by an MCP client: its context, the choice of the source, and the rows that the client gets."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcp.server import ServerRequestContext
from mcp_types import CallToolRequestParams

from agent.core.cancellation import Cancellation
from agent.errors import InputInvalid, SourceNotFound
from agent.messages import Language, Message
from agent.server.background import cancellable
from agent.server.errors import accepted_language
from agent.server.runnable import PlainJSON, ServedGraph
from agent.server.tenants import current_tenant
from agent.services import Services
from agent.sources.names import source_label
from agent.sources.source import Source
from agent.types import masked_rows

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


def resolve_source(services: Services, name: str | None) -> str:
    """Return the source that a client means by `name`, one of those that the tool `sources` lists.

    Raises:
        SourceNotFound: the name is not listed.
        InputInvalid: there is no name, although several sources are listed.
    """
    sources = {source_label(choice, services.settings): choice for choice in services.choices}
    sources = {**{configured: configured for configured in services.settings.sources}, **sources}
    if name is None and len(services.choices) == 1:
        return services.choices[0]
    choices = ", ".join(sources)
    if name is None:
        raise InputInvalid("source", Message("one_of", choices=choices))
    if name not in sources:
        raise SourceNotFound(name[:200], Message("only_configured_sources", choices=choices))
    return sources[name]


async def open_source(services: Services, name: str | None) -> Source:
    """Return the source that a client means by `name`.

    Raises:
        DatasphinxError: as for `resolve_source` and `Services.source`.
    """
    key = resolve_source(services, name)

    def work(_: Cancellation) -> Source:
        return services.source(key)

    return await cancellable(work)


def limited_rows(rows: Sequence[Sequence[Any]], secret: Collection[int]) -> list[list[Any]]:
    """Return the first rows, with masks instead of secret values, because a model reads them."""
    shown, size = list[list[Any]](), 0
    for row in masked_rows(rows[:MAX_ROWS], set(secret)):
        plain = PlainJSON().dumps(row)
        size += len(plain)
        if shown and size > MAX_ROW_BYTES:
            break
        shown.append(row)
    return shown
