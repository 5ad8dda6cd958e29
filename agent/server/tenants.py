"""Tenants of the server: their services and limits, and the tenant and the roles of the current request."""

import threading
import weakref
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, cast, get_args

from cachetools import LRUCache
from starlette.concurrency import run_in_threadpool

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.connect import Models
from datasphinx.agent.conversation.conversations import Conversations
from datasphinx.agent.conversation.thread_list import ThreadList
from datasphinx.agent.conversation.threads import Threads, open_threads
from datasphinx.agent.core.canonical import value_hash
from datasphinx.agent.core.locked_property import locked_property
from datasphinx.agent.errors import ConfigurationError, NotFound
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.record.credentials import secrets_of
from datasphinx.agent.record.recorder import RECORD_DELAY_S, Recorder
from datasphinx.agent.record.store import Store, sqlite_url
from datasphinx.agent.report.graph import build_report
from datasphinx.agent.retrieval.semantic import Embedder
from datasphinx.agent.server.durations import Durations
from datasphinx.agent.server.keys import hash_of
from datasphinx.agent.server.quota import Quota
from datasphinx.agent.server.runs import Runs
from datasphinx.agent.services import Services
from datasphinx.agent.settings import ModelRole, Role, Settings, SourceSettings, TenantSettings
from datasphinx.agent.storage.boards import BoardStore
from datasphinx.agent.storage.database import SharedDatabase
from datasphinx.agent.types import EmbeddedOptions

_MAX_OPEN_USERS = 100
"""Users with row parameters of their own whose services are kept open; the least recently used are closed."""
_HASH_CHARS = 32

ALL_ROLES: frozenset[Role] = frozenset(get_args(Role))


class Identity(NamedTuple):
    """The sender of a request, by its API key or token."""

    tenant: str
    roles: frozenset[Role]
    row_parameters: Mapping[str, str | int | float] | None = None
    """The row parameters in the claims of a token; None if those of the tenant apply."""
    user: str | None = ""
    """The user of a token, empty for API keys; None if the token names no user."""


@dataclass(frozen=True)
class Tenant:
    """Services, threads, graphs and quota of one tenant, or of its users with the same row parameters.

    A server without keys and tokens has one tenant, with an empty name.
    """

    name: str
    """The owner of threads, files and runs."""
    services: Services
    threads: Threads
    graphs: Mapping[str, Conversations]
    """The conversations with each graph, by its name."""
    boards: BoardStore
    """The boards of the tenant, which all its users read."""
    quota: Quota | None = None
    """None: unlimited."""
    durations: Durations = field(default_factory=Durations)
    runs: Runs = field(default_factory=Runs)

    async def admit(self, questions: int) -> None:
        """Count `questions` questions at the current time. Raise LimitReached if a limit is reached."""
        quota = self.quota
        if quota:
            await run_in_threadpool(quota.admit, questions)

    def graph_of(self, thread_id: str) -> str:
        """Return the name of the graph that answers on a stored thread. Raise NotFound without such a thread."""
        graph = self.threads.graph_of(thread_id, tuple(self.graphs))
        if graph is None:
            raise NotFound("thread_unknown", thread_id=thread_id)
        return graph

    def stored_run(self, thread_id: str, run_id: str) -> "StoredRun":
        """Return a run of a stored thread. Raise NotFound if the tenant has no such run."""
        graph = self.graph_of(thread_id)
        key = self.threads.key(graph, thread_id)
        run = self.threads.run(key, run_id)
        if run is None:
            raise NotFound("run_unknown", run_id=run_id)
        return StoredRun(graph, key, run.checkpoint["channel_values"])


class StoredRun(NamedTuple):
    """A run of a stored thread: the name of its graph, the key of the thread, and the state at its end."""

    graph: str
    key: str
    state: Mapping[str, Any]


def open_tenant(name: str, services: Services, server: "Tenant | None" = None) -> Tenant:
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
        "report": Conversations(build_report(services), threads),
    }
    # One database for all tenants, in which the schedule finds the boards that are due.
    database = (
        server.boards.database if server else services.shared or SharedDatabase(sqlite_url(settings.data_dir, "boards"))
    )
    quota = services.quota if isinstance(services, TenantServices) else None
    return Tenant(name, services, threads, graphs, BoardStore(database, services.tenant), quota)


_current: ContextVar[Tenant] = ContextVar("tenant")
_roles: ContextVar[frozenset[Role]] = ContextVar("roles", default=frozenset())
_user: ContextVar[str | None] = ContextVar("user", default=None)


def current_tenant() -> Tenant:
    """Return the tenant of the current request."""
    return _current.get()


def set_tenant(tenant: Tenant, roles: frozenset[Role], user: str | None = None) -> None:
    """Set the tenant, the roles and the user of the current context; without a user there is no list of threads."""
    _current.set(tenant)
    _roles.set(roles)
    _user.set(user)


def current_list() -> ThreadList | None:
    """Return the list of conversations of the user of the current request; None for tokens without a user."""
    user = _user.get()
    return None if user is None else ThreadList(current_tenant().threads, user)


def has_role(role: Role) -> bool:
    """Return whether the current request has `role`; requests to public paths may have none."""
    return role in _roles.get()


class TenantModels(Models):
    """The models of the server, with the limits and the quota of a tenant."""

    def __init__(self, server: Models, settings: Settings, quota: Quota) -> None:
        """Create the models of a tenant with `settings`."""
        super().__init__(settings)
        self._server, self._quota = server, quota

    def new_client(self, role: ModelRole | None) -> ModelClient:
        """Return the client of the server, within the limits of the tenant."""
        return self._server.of(role).within(self.settings, self._quota.spend)

    @property
    def embedded(self) -> EmbeddedOptions | None:
        """The decoding options of the embedded model; None if another model is configured."""
        return self._server.embedded

    def _with_settings(self, name: str, settings: Settings) -> Models:
        return TenantModels(self._server.named(name), settings, self._quota)


class TenantServices(Services):
    """Services of a tenant. Data and caches are separate, since they contain values that its row rules admit."""

    def __init__(self, server: Services, name: str, allowed: TenantSettings) -> None:
        """Restrict the services of `server` to those that `allowed` grants the tenant `name`.

        Raises:
            ConfigurationError: the tenant is granted a source that is not configured.
        """
        super().__init__(settings_for(server.settings, name, allowed), any_source=False)
        self._server, self.tenant, self.owner = server, name, name
        self.today = server.today
        database = self.shared or SharedDatabase(sqlite_url(self.settings.data_dir, "quota"))
        self.quota = Quota(database, name, allowed)

    @locked_property
    def models(self) -> Models:
        """The models of the server, within the limits of the tenant."""
        return TenantModels(self._server.models, self.settings, self.quota)

    @property
    def shared(self) -> SharedDatabase | None:
        """The database that all processes of the server share."""
        return self._server.shared

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedder of the server."""
        return self._server.embedder

    @locked_property
    def recorder(self) -> Recorder:
        """The writer of the event log of the tenant."""
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
            for other in tenant_names(settings)
            if other != self.tenant
        )
        folder = self.settings_of(name).knowledge
        return any(name in sources and sources[name].knowledge == folder for sources in others)

    def sample_url(self) -> str:
        """Return the URL of the sample database of the server."""
        return self._server.sample_url()


class UserServices(TenantServices):
    """Services of the users of a tenant with the same row parameters in their tokens.

    Data and caches are separate from those of other users. The quota, the record and the proposals are the tenant's.
    """

    def __init__(self, services: TenantServices, row_parameters: Mapping[str, str | int | float]) -> None:
        """Restrict the `services` of the tenant to rows that `row_parameters` admit."""
        own = f"users/{_hash_of(row_parameters)}"
        settings = services.settings
        self._server, self._tenant_services, self._row_parameters = services._server, services, row_parameters
        update = {
            "sources": self._sources_of_tenant(),
            "data_dir": settings.data_dir / own,
            "cache_dir": settings.cache_dir / own,
        }
        Services.__init__(self, settings.model_copy(update=update), any_source=False)
        self.tenant, self.owner = services.tenant, owner_of(services.tenant, row_parameters)
        self.today, self.quota = services.today, services.quota

    @cached_property
    def store(self) -> Store | None:
        """The record of the tenant."""
        return self._tenant_services.store

    def adopt_sources(self) -> None:
        """Use the sources that the tenant has now."""
        self.replace_sources(self._sources_of_tenant())

    def _sources_of_tenant(self) -> dict[str, SourceSettings]:
        settings = self._tenant_services.settings
        # A parameter without a claim has no value, not the one of the source or tenant.
        names = settings.oidc.row_parameters if settings.oidc else {}
        return {
            name: source.model_copy(
                update={
                    "row_parameters": {
                        **{each: value for each, value in source.row_parameters.items() if each not in names},
                        **self._row_parameters,
                    }
                }
            )
            for name, source in settings.sources.items()
        }


def owner_of(tenant: str, row_parameters: Mapping[str, str | int | float] | None) -> str:
    """Return the owner of the threads, files and runs of users with these row parameters; it is no tenant's name."""
    return tenant if row_parameters is None else f"{tenant}@{_hash_of(row_parameters)}"


def _hash_of(row_parameters: Mapping[str, str | int | float]) -> str:
    return value_hash(row_parameters)[:_HASH_CHARS]


def tenant_names(settings: Settings) -> list[str]:
    """Return the tenants that keys and tokens can name."""
    names = list(settings.api_keys)
    if settings.oidc:
        names += [settings.oidc.tenant] if settings.oidc.tenant else []
        names += settings.tenants if settings.oidc.tenant_claim else []
    return list(dict.fromkeys(names))


def settings_for(settings: Settings, name: str, allowed: TenantSettings) -> Settings:
    """Return the settings of a tenant.

    Raises:
        ConfigurationError: the tenant is granted, or has knowledge about, a source that is not configured.
    """
    names = tuple(settings.sources) if allowed.sources is None else allowed.sources
    unknown = [source for source in names if source not in settings.sources]
    unknown += [source for source in allowed.knowledge if source not in names]
    if unknown:
        raise ConfigurationError("DATASPHINX_TENANTS", f"{name}: there is no source {', '.join(unknown)}")
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
    update = {
        "sources": sources,
        "source": settings.source if has_default_source else "",
        "data_dir": settings.data_dir / "tenants" / name,
        "cache_dir": settings.cache_dir / "tenants" / name,
    }
    return settings.model_copy(update=update)


class Tenants:
    """The tenants of a server, and their users with own row parameters. Each is opened at its first request.

    Thread-safe.
    """

    def __init__(self, server: Tenant) -> None:
        """Check the settings of all tenants.

        Raises:
            ConfigurationError: a tenant is granted an unknown source, has a key or tokens but no entry in
                DATASPHINX_TENANTS, or shares a key with another.
        """
        settings = server.services.settings
        self._server, self._lock, self._open = server, threading.Lock(), dict[str, Tenant]()
        self._users: LRUCache[str, Tenant] = LRUCache(maxsize=_MAX_OPEN_USERS)
        self._allowed: dict[str, TenantSettings] = {}
        self._identities: dict[str, Identity] = {}
        for name in tenant_names(settings):
            if settings.tenants and name not in settings.tenants:
                raise ConfigurationError("DATASPHINX_TENANTS", f"{name} has keys or tokens, but no entry here")
            self._allowed[name] = settings.tenants.get(name, TenantSettings())
            for key_hash in settings.api_keys.get(name, ()):
                if key_hash in self._identities:
                    other = self._identities[key_hash].tenant
                    raise ConfigurationError("DATASPHINX_API_KEYS", f"{other} and {name} have the same key")
                roles: dict[Role, tuple[str, ...]] = {"review": settings.review_keys, "operate": settings.operate_keys}
                own_roles = (role for role, hashes in roles.items() if key_hash in hashes)
                self._identities[key_hash] = Identity(name, frozenset({"ask", *own_roles}))
        self._tenants_by_source = _by_source(self._settings_of_tenants(settings))

    def replace_sources(self, sources: Mapping[str, SourceSettings]) -> None:
        """Use `sources` as the configured sources of the server, its tenants and their users.

        Raises:
            ConfigurationError: the settings of a tenant name another source. Nothing is replaced.
        """
        services = self._server.services
        with self._lock:
            update = {"sources": dict(sources)}
            settings = self._settings_of_tenants(services.settings.model_copy(update=update))
            services.replace_sources(sources)
            for name, tenant in self._open.items():
                tenant.services.replace_sources(settings[name].sources)
            for users in self._users.values():
                cast(UserServices, users.services).adopt_sources()
            self._tenants_by_source = _by_source(settings)

    def _settings_of_tenants(self, settings: Settings) -> dict[str, Settings]:
        return {name: settings_for(settings, name, allowed) for name, allowed in self._allowed.items()}

    @property
    def names(self) -> Mapping[str, object]:
        """The names of all tenants."""
        return self._allowed

    def of_key(self, key: str) -> Identity | None:
        """Return the tenant and the roles of an API key, or None."""
        # The lookup is by hash, so its duration reveals nothing about valid keys.
        return self._identities.get(hash_of(key))

    def open(self, identity: Identity) -> Tenant:
        """Return the tenant of `identity`, or its users with the same row parameters.

        The services of users are closed when others have been used since, and no request uses them.
        """
        with self._lock:
            tenant = self._opened(identity.tenant)
            if identity.row_parameters is None:
                return tenant
            owner = owner_of(identity.tenant, identity.row_parameters)
            users = self._users.get(owner)
            if users is None:
                services = UserServices(cast(TenantServices, tenant.services), identity.row_parameters)
                users = self._users[owner] = open_tenant(owner, services, self._server)
                # Requests in progress have references to the tenant.
                weakref.finalize(users, services.close).atexit = False
            return users

    def by_source(self) -> dict[str, Iterator[Services]]:
        """Return, by source, the services that may query it: those of open users, and of tenants, opened as needed."""
        with self._lock:
            users = [tenant.services for tenant in self._users.values()]
        return {
            source: chain((each for each in users if source in each.choices), self._services_of(names))
            for source, names in self._tenants_by_source.items()
        }

    def _services_of(self, names: list[str]) -> Iterator[Services]:
        for name in names:
            with self._lock:
                tenant = self._opened(name)
            yield tenant.services

    def _opened(self, name: str) -> Tenant:
        if name not in self._open:
            services = TenantServices(self._server.services, name, self._allowed[name])
            self._open[name] = open_tenant(name, services, self._server)
        return self._open[name]


def _by_source(settings: Mapping[str, Settings]) -> dict[str, list[str]]:
    """Return the names of the tenants by source, from the settings of each tenant."""
    tenants: dict[str, list[str]] = {}
    for name, own in settings.items():
        for source in Services(own).choices:
            tenants.setdefault(source, []).append(name)
    return tenants
