"""Tenants of the server: their services and limits, and the tenant of the current request."""

import threading
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from starlette.concurrency import run_in_threadpool

from agent.analyst import build_analyst
from agent.conversation.conversations import Conversations
from agent.conversation.threads import Threads, open_threads
from agent.errors import ConfigurationError
from agent.graph import build_graph
from agent.llm.client import ModelClient
from agent.messages import Message
from agent.record.credentials import secrets_of
from agent.record.recorder import RECORD_DELAY_S, Recorder
from agent.record.store import Store
from agent.retrieval.semantic import Embedder
from agent.server.keys import hash_of
from agent.server.loads import Loads
from agent.server.quota import FileUsageStore, PostgresUsageStore, Quota
from agent.services import Services
from agent.settings import ModelRole, Settings, TenantSettings
from agent.storage.database import SharedDatabase
from agent.types import EmbeddedOptions

_BUDGETS = ("max_llm_calls", "max_llm_tokens", "max_cost_usd", "max_question_s")


@dataclass(frozen=True)
class Tenant:
    """Services, threads, graphs and quota of one tenant. A server without keys has one tenant, with an empty name."""

    name: str
    services: Services
    threads: Threads
    graphs: Mapping[str, Conversations]
    """The conversations with each graph, by its name."""
    quota: Quota | None = None
    """None: unlimited."""
    loads: Loads = field(default_factory=Loads)

    async def admit(self, questions: int) -> None:
        """Count `questions` questions at the current time.

        Raises:
            LimitReached: a limit is reached.
        """
        quota = self.quota
        if quota:
            await run_in_threadpool(quota.admit, questions)


def open_tenant(name: str, services: Services, server: "Tenant | None" = None, quota: Quota | None = None) -> Tenant:
    """Return a tenant with `services`; `server` is the tenant without a name that shares its resources.

    Raises:
        ConfigurationError, DriverMissing: as for `open_threads`.
    """
    settings = services.settings
    # Tenants share the connections to a thread database, whose number is limited.
    threads = (server.threads if server and settings.threads_url else open_threads(settings)).for_owner(name)
    graphs = {
        "agent": Conversations(build_graph(services), threads),
        "analyst": Conversations(build_analyst(services), threads),
    }
    return Tenant(name, services, threads, graphs, quota)


_current: ContextVar[Tenant] = ContextVar("tenant")
_may_review: ContextVar[bool] = ContextVar("may_review")


def current_tenant() -> Tenant:
    """Return the tenant of the current request."""
    return _current.get()


def has_tenant() -> bool:
    """Return whether the current request has a tenant; requests to public paths may have none."""
    return _current.get(None) is not None


def set_tenant(tenant: Tenant, *, may_review: bool) -> None:
    """Set the tenant of the current context, and whether the request may review proposals."""
    _current.set(tenant)
    _may_review.set(may_review)


def may_review() -> bool:
    """Return whether the current request may review the proposals of its tenant."""
    return _may_review.get()


class TenantServices(Services):
    """Services of a tenant. Data and caches are separate, since they contain values that its row rules admit."""

    def __init__(self, server: Services, name: str, allowed: TenantSettings) -> None:
        """Restrict the services of `server` to those that `allowed` grants the tenant `name`.

        Raises:
            ConfigurationError: the tenant is granted a source that is not configured.
        """
        super().__init__(settings_for(server.settings, name, allowed), any_source=False)
        self._server, self.owner = server, name
        self.today = server.today
        counts = PostgresUsageStore(self.shared, name) if self.shared else FileUsageStore(self.settings.data_dir)
        self.quota = Quota(counts, allowed)

    @cached_property
    def _client(self) -> ModelClient:
        return self._server.model.within(self.settings, self.quota.spend)

    def _connect(self, role: ModelRole) -> ModelClient:
        return self._server.model_of(role).within(self.settings, self.quota.spend)

    @property
    def embedded(self) -> EmbeddedOptions | None:
        """The decoding options of the embedded model; None if another model is configured."""
        return self._server.embedded

    @property
    def shared(self) -> SharedDatabase | None:
        """The database that all processes of the server share."""
        return self._server.shared

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedder of the server."""
        return self._server.embedder

    @cached_property
    def _recorder(self) -> Recorder:
        return Recorder(self.store, secrets_of(self._server.settings), self.owner, delay_s=RECORD_DELAY_S)

    @cached_property
    def store(self) -> Store | None:
        """The record of the server if it is a database, else a separate one of the tenant."""
        return self._server.store if self.settings.record_url else super().store

    def shares_knowledge(self, name: str) -> bool:
        """Return whether other tenants read the knowledge folder of the source `name`."""
        settings = self._server.settings
        others = (
            settings_for(settings, other, settings.tenants.get(other, TenantSettings())).sources
            for other in settings.api_keys
            if other != self.owner
        )
        folder = self.settings_of(name).knowledge
        return any(name in sources and sources[name].knowledge == folder for sources in others)

    def sample_url(self) -> str:
        """Return the URL of the sample database of the server."""
        return self._server.sample_url()


def settings_for(settings: Settings, name: str, allowed: TenantSettings) -> Settings:
    """Return the settings of a tenant.

    Raises:
        ConfigurationError: the tenant is granted, or has knowledge about, a source that is not configured.
    """
    names = tuple(settings.sources) if allowed.sources is None else allowed.sources
    unknown = [source for source in names if source not in settings.sources]
    unknown += [source for source in allowed.knowledge if source not in names]
    if unknown:
        raise ConfigurationError(
            "DATASPHINX_TENANTS", Message("tenant_sources_unknown", name=name, sources=", ".join(unknown))
        )
    sources = {
        source: settings.sources[source].model_copy(
            update={
                "row_parameters": {**settings.sources[source].row_parameters, **allowed.row_parameters},
                "knowledge": allowed.knowledge.get(source, settings.sources[source].knowledge),
            }
        )
        for source in names
    }
    has_default_source = allowed.sources is None or settings.source in names
    own: dict[str, Any] = {
        "sources": sources,
        "source": settings.source if has_default_source else "",
        "data_dir": settings.data_dir / "tenants" / name,
        "cache_dir": settings.cache_dir / "tenants" / name,
    }
    budgets = {budget: value for budget in _BUDGETS if (value := getattr(allowed, budget)) is not None}
    return settings.model_copy(update={**own, **budgets})


class Tenants:
    """The tenants of a server, by API key; each is opened at its first request. Thread-safe."""

    def __init__(self, server: Tenant) -> None:
        """Check the settings of all tenants.

        Raises:
            ConfigurationError: a tenant is granted an unknown source, has a key but no entry in DATASPHINX_TENANTS, or
                shares a key with another.
        """
        settings = server.services.settings
        self._server, self._lock, self._open = server, threading.Lock(), dict[str, Tenant]()
        self._allowed: dict[str, TenantSettings] = {}
        self._names: dict[str, str] = {}
        self._tenants_by_source: dict[str, list[str]] = {}
        for name, hashes in settings.api_keys.items():
            if settings.tenants and name not in settings.tenants:
                raise ConfigurationError("DATASPHINX_TENANTS", Message("tenant_without_entry", name=name))
            self._allowed[name] = settings.tenants.get(name, TenantSettings())
            for source in Services(settings_for(settings, name, self._allowed[name])).choices:
                self._tenants_by_source.setdefault(source, []).append(name)
            for key_hash in hashes:
                if key_hash in self._names:
                    other = self._names[key_hash]
                    raise ConfigurationError("DATASPHINX_API_KEYS", Message("keys_equal", first=other, second=name))
                self._names[key_hash] = name

    def of_key(self, key: str) -> Tenant | None:
        """Return the tenant of `key`, or None."""
        # The lookup is by hash, so its duration reveals nothing about valid keys.
        name = self._names.get(hash_of(key))
        return None if name is None else self._opened(name)

    def by_source(self) -> dict[str, Iterator[Services]]:
        """Return, by source, the services of the tenants that may query it; each is opened when iterated."""
        return {
            source: (self._opened(name).services for name in names) for source, names in self._tenants_by_source.items()
        }

    def _opened(self, name: str) -> Tenant:
        with self._lock:
            if name not in self._open:
                services = TenantServices(self._server.services, name, self._allowed[name])
                self._open[name] = open_tenant(name, services, self._server, services.quota)
            return self._open[name]
