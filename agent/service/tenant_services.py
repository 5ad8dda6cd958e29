"""What the questions of one tenant work with: the server's model, and sources and folders of its own."""

from functools import cached_property
from typing import Any

from agent.audit.known_secrets import secrets_of
from agent.audit.record import Recorder
from agent.audit.store import Store
from agent.catalog.semantic import Embedder
from agent.errors import ConfigurationError
from agent.models.client import ModelClient
from agent.models.embedded import EmbeddedOptions
from agent.service.file_counts import FileCounts
from agent.service.postgres_counts import PostgresCounts
from agent.service.quota import Quota
from agent.service_settings import TenantSettings
from agent.services import Services
from agent.settings import Settings
from agent.shared.database import SharedDatabase

_BUDGETS = ("max_llm_calls", "max_llm_tokens", "max_cost_usd", "max_question_s")


class TenantServices(Services):
    """Services of a tenant. What is kept, caches of values that row rules let through too, lies in its own folders."""

    def __init__(self, server: Services, name: str, allowed: TenantSettings) -> None:
        """Take what the server has, as far as the tenant is allowed it.

        Raises:
            ConfigurationError: the tenant is given a source that is not configured.
        """
        super().__init__(settings_for(server.settings, name, allowed), any_source=False)
        self._server, self.owner = server, name
        self.today = server.today
        counts = PostgresCounts(self.shared, name) if self.shared else FileCounts(self.settings.data_dir)
        self.quota = Quota(counts, allowed)

    @cached_property
    def _client(self) -> ModelClient:
        return self._server.model.within(self.settings, self.quota.spend)

    @property
    def embedded(self) -> EmbeddedOptions | None:
        """How the embedded model is decoded; None where another model answers."""
        return self._server.embedded

    @property
    def shared(self) -> SharedDatabase | None:
        """The database that all processes of the server share."""
        return self._server.shared

    @cached_property
    def _embedder(self) -> Embedder | None:
        return self._server._embedder

    @cached_property
    def _recorder(self) -> Recorder:
        return Recorder(self.store, secrets_of(self._server.settings), self.owner)

    @cached_property
    def store(self) -> Store | None:
        """The record: the server's, over the same connections, where it is a database for all tenants."""
        return self._server.store if self.settings.record_url else super().store

    def _sample_url(self) -> str:
        return self._server._sample_url()


def settings_for(settings: Settings, name: str, allowed: TenantSettings) -> Settings:
    """Return the settings as they hold for a tenant.

    Raises:
        ConfigurationError: the tenant is given a source that is not configured.
    """
    names = tuple(settings.sources) if allowed.sources is None else allowed.sources
    unknown = [source for source in names if source not in settings.sources]
    if unknown:
        raise ConfigurationError("DATASPHINX_TENANTS", f"{name}: there is no source {', '.join(unknown)}")
    sources = {
        source: settings.sources[source].model_copy(
            update={"row_parameters": {**settings.sources[source].row_parameters, **allowed.row_parameters}}
        )
        for source in names
    }
    is_asked = allowed.sources is None or settings.source in names
    own: dict[str, Any] = {
        "sources": sources,
        "source": settings.source if is_asked else "",
        "data_dir": settings.data_dir / "tenants" / name,
        "cache_dir": settings.cache_dir / "tenants" / name,
    }
    budgets = {budget: value for budget in _BUDGETS if (value := getattr(allowed, budget)) is not None}
    return settings.model_copy(update={**own, **budgets})
