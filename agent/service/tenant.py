"""Whoever asks: what they may ask, and where what is theirs is kept."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from agent.analyst import build_analyst
from agent.conversation.conversations import Conversations
from agent.conversation.threads import Threads, open_threads
from agent.graph import build_graph
from agent.services import Services


@dataclass(frozen=True)
class Tenant:
    """All that the questions of one tenant go through; a server without keys has one, without a name."""

    name: str
    services: Services
    threads: Threads
    graphs: Mapping[str, Conversations]
    """The graphs on threads, by the name of the graph."""


def open_tenant(name: str, services: Services) -> Tenant:
    """Return the tenant whose questions go through `services`.

    Raises:
        ConfigurationError, DriverMissing: as `open_threads` says.
    """
    threads = open_threads(services.settings)
    graphs = {
        "agent": Conversations(build_graph(services), threads),
        "analyst": Conversations(build_analyst(services), threads),
    }
    return Tenant(name, services, threads, graphs)


_asking: ContextVar[Tenant] = ContextVar("tenant")


def asking() -> Tenant:
    """Return the tenant whose request is being answered."""
    return _asking.get()


def answer_for(tenant: Tenant) -> None:
    """From now on what goes on in this context is for `tenant`."""
    _asking.set(tenant)
