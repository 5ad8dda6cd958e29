"""Whoever asks: what they may ask, and where what is theirs is kept."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool

from agent.analyst import build_analyst
from agent.conversation.conversations import Conversations
from agent.conversation.threads import Threads, open_threads
from agent.graph import build_graph
from agent.service.quota import Quota
from agent.services import Services


@dataclass(frozen=True)
class Tenant:
    """All that the questions of one tenant go through; a server without keys has one, without a name."""

    name: str
    services: Services
    threads: Threads
    graphs: Mapping[str, Conversations]
    """The graphs on threads, by the name of the graph."""
    quota: Quota | None = None
    """How much it may ask; None: as much as it likes."""

    async def admit(self, questions: int) -> None:
        """Count so many questions that are asked now.

        Raises:
            LimitReached: the tenant has to wait.
        """
        quota = self.quota
        if quota:
            await run_in_threadpool(quota.admit, questions)


def open_tenant(name: str, services: Services, server: "Tenant | None" = None, quota: Quota | None = None) -> Tenant:
    """Return the tenant whose questions go through `services`; one of several, where there is a `server` for all.

    Raises:
        ConfigurationError, DriverMissing: as `open_threads` says.
    """
    settings = services.settings
    # A database for all is reached over the same connections: it has no hundred for each tenant.
    threads = (server.threads if server and settings.threads_url else open_threads(settings)).of(name)
    graphs = {
        "agent": Conversations(build_graph(services), threads),
        "analyst": Conversations(build_analyst(services), threads),
    }
    return Tenant(name, services, threads, graphs, quota)


_asking: ContextVar[Tenant] = ContextVar("tenant")


def asking() -> Tenant:
    """Return the tenant whose request is being answered."""
    return _asking.get()


def somebody_asks() -> bool:
    """Return whether the request is a tenant's; what is open to everybody may be nobody's."""
    return _asking.get(None) is not None


def answer_for(tenant: Tenant) -> None:
    """From now on what goes on in this context is for `tenant`."""
    _asking.set(tenant)
