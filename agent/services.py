"""What the nodes work with: settings, the model, the sources. Everything is made at first use, once."""

import hashlib
import json
import threading
from collections.abc import Callable
from functools import cached_property

from cachetools import LRUCache, TTLCache
from langchain_core.language_models.chat_models import BaseChatModel
from sqlalchemy import URL

from agent.catalog.source import Source, open_source
from agent.errors import SourceNotFound
from agent.models.client import ModelClient
from agent.settings import Settings, load_settings
from agent.state import Validation

SAMPLE = "sample"
"""The name of the sample shop among the sources."""

_CATALOG_TTL_S = 300


class Services:
    """Settings, model and sources of one graph. Safe to share between threads."""

    def __init__(
        self, settings: Settings | None = None, *, model: BaseChatModel | None = None, any_source: bool = True
    ) -> None:
        """Take `model` instead of the configured one; with `any_source` off a question cannot bring its own URL."""
        self._given_settings = settings
        self._given_model = model
        self._any_source = any_source
        self._lock = threading.RLock()
        self._sources: TTLCache[str, Source] = TTLCache(maxsize=64, ttl=_CATALOG_TTL_S)
        self._validations: LRUCache[str, Validation] = LRUCache(maxsize=1000)

    @cached_property
    def settings(self) -> Settings:
        """The settings; read from the environment where none were given."""
        return self._given_settings or load_settings()

    @property
    def model(self) -> ModelClient:
        """The client of the model; connected at first use."""
        with self._lock:
            return self._client

    @cached_property
    def _client(self) -> ModelClient:
        if self._given_model is not None:
            return ModelClient(self._given_model, self.settings, name=self._given_model._llm_type)
        from agent.models.chat import connect_model

        return connect_model(self.settings)

    def source(self, name: str | None = None) -> Source:
        """Return the source with this name or URL; without one the configured source, or the sample shop.

        Raises:
            SourceNotFound, SourceUnreachable, DriverMissing, ConfigurationError: as `Database` says.
        """
        wanted = name or self.settings.source or SAMPLE
        if not self._any_source and wanted not in {self.settings.source, SAMPLE}:
            raise SourceNotFound(wanted, "only the configured source may be asked here")
        with self._lock:
            if wanted not in self._sources:
                self._sources[wanted] = self._open(wanted)
            return self._sources[wanted]

    def _open(self, wanted: str) -> Source:
        url = self._sample_url() if wanted == SAMPLE else wanted
        return open_source(url, timeout_s=self.settings.statement_timeout_s, row_limit=self.settings.row_limit)

    def _sample_url(self) -> str:
        from agent.sample.shop import shop_path

        path = str(shop_path(self.settings.cache_dir))
        return URL.create("sqlite", database=path).render_as_string()

    def validation(self, key: tuple[str, str, str], judge: Callable[[], Validation]) -> Validation:
        """Return the judgement for (statement, question, schema) from the cache, else from `judge`; errors pass."""
        digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()
        with self._lock:
            known = self._validations.get(digest)
        if known is None:
            known = judge()
            with self._lock:
                self._validations[digest] = known
        return known
