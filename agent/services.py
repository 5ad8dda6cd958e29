"""What the nodes work with: settings, the model, the sources. Everything is made at first use, once."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property

from cachetools import TTLCache
from langchain_core.language_models.chat_models import BaseChatModel
from pydantic import SecretStr

from agent.audit.known_secrets import secrets_of
from agent.audit.record import Recorder
from agent.audit.store import Store, open_store
from agent.catalog.reflect import Progress
from agent.catalog.semantic import Embedder
from agent.catalog.source import Source, open_source
from agent.datasets.limits import LoadProgress
from agent.datasets.opened import OpenedDatasets
from agent.datasets.registry import Registry
from agent.datasets.shared_registry import open_registry
from agent.embedder import open_embedder
from agent.examples.choose import Choice, Examples
from agent.examples.store import ExampleStore
from agent.models.client import ModelClient
from agent.models.embedded import EmbeddedOptions
from agent.named_sources import SAMPLE, source_settings
from agent.settings import Settings, load_settings
from agent.shared.database import SharedDatabase
from agent.source_settings import SourceSettings
from agent.sql.limits import Limits
from agent.state import Validation
from agent.validations import Validations

_CATALOG_TTL_S = 300
_MOST_TABLES_READ_AT_ONCE = 1000
"""A larger schema is not read again while a question waits, but in the background."""


class Services:
    """Settings, model and sources of one graph, for `owner` where there are several. Safe to share between threads."""

    owner = ""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        model: BaseChatModel | ModelClient | None = None,
        embedded: EmbeddedOptions | None = None,
        any_source: bool = True,
        progress: Progress | None = None,
        loading: LoadProgress = lambda stage, share: None,
        recorder: Recorder | None = None,
        registry: Registry | None = None,
        examples: Choice | None = None,
        validations: Mapping[str, Validation] | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        """Take `model` instead of the configured one; with `any_source` off a question cannot bring its own URL.

        `embedded` says how the embedded model is decoded; together with `model` it makes that one such a model.
        `progress` hears of tables read and tables in all while a schema is read, `loading` of a file's stages.
        `recorder`, `registry`, `examples`, `validations` (judgements that are known, by their keys) and `today` are for
        a replay: they stand for the record and the files that the settings name, what is kept, an empty cache, and the
        calendar.
        """
        self._progress = progress
        self.loading = loading
        self._given_settings = settings
        self._given_model = model
        self._embedded = embedded
        self._any_source = any_source
        self._lock = threading.RLock()
        self._opening: dict[str, threading.Lock] = {}
        self._sources: TTLCache[str, Source] = TTLCache(maxsize=64, ttl=_CATALOG_TTL_S)
        self.opened = OpenedDatasets()
        self.validations = Validations(validations or {})
        self._given_recorder, self._given_registry, self._given_examples = recorder, registry, examples
        self.today = today

    @cached_property
    def settings(self) -> Settings:
        """The settings; read from the environment where none were given."""
        return self._given_settings or load_settings()

    @property
    def recorder(self) -> Recorder:
        """What records the questions; the database of the record is opened by the first of them."""
        with self._lock:
            return self._recorder

    @cached_property
    def _recorder(self) -> Recorder:
        if self._given_recorder:
            return self._given_recorder
        return Recorder(self.store, secrets_of(self.settings))

    @cached_property
    def store(self) -> Store | None:
        """The record, which is connected at first use; None where none is kept."""
        return open_store(self.settings) if self.settings.record else None

    @property
    def model(self) -> ModelClient:
        """The client of the model; connected at first use."""
        with self._lock:
            return self._client

    @cached_property
    def _client(self) -> ModelClient:
        if isinstance(self._given_model, ModelClient):
            return self._given_model
        if self._given_model is not None:
            name = self._given_model._llm_type
            return ModelClient(self._given_model, self.settings, name=name, embedded=self._embedded)
        from agent.models.chat import connect_model

        return connect_model(self.settings, self.embedded)

    @property
    def embedded(self) -> EmbeddedOptions | None:
        """How the embedded model is decoded; None where another model answers."""
        if isinstance(self._given_model, ModelClient):
            return self._given_model.embedded
        if self._embedded or self._given_model is not None or not self.settings.uses_embedded_model:
            return self._embedded
        return EmbeddedOptions(candidates=self.settings.embedded_candidates)

    @cached_property
    def _embedder(self) -> Embedder | None:
        return open_embedder(self.settings)

    @cached_property
    def examples(self) -> Choice:
        """What chooses few-shot examples for a question."""
        settings = self.settings
        return self._given_examples or Examples(ExampleStore(settings.data_dir), self._embedder, settings.shots)

    @property
    def any_source(self) -> bool:
        """Whether a question may bring a database's URL or a file's path of its own."""
        return self._any_source

    @property
    def registry(self) -> Registry:
        """The files and datasets that are kept; their folder is made at first use."""
        with self._lock:
            return self._registry

    @cached_property
    def _registry(self) -> Registry:
        # Who may name files by their paths has them on this machine.
        shared = None if self.any_source else self.shared
        return self._given_registry or open_registry(self.settings, shared, self.owner)

    def datasets(self, dataset_ids: Sequence[str]) -> Source:
        """Return the source with these datasets, opened now or before; a statement has the time of a tool's call.

        Raises:
            DatasphinxError: as `open_datasets` says.
        """
        limits = replace(self.limits, timeout_s=min(self.limits.timeout_s, self.settings.tool_timeout_s))
        return self.opened.source(self.registry, dataset_ids, limits)

    @cached_property
    def shared(self) -> SharedDatabase | None:
        """The database that all processes of a server share; None where they have the data directory alone."""
        url = self.settings.threads_url
        return SharedDatabase(url.get_secret_value()) if url else None

    @property
    def choices(self) -> tuple[str, ...]:
        """The names of the sources that a question is put to when it names none; one is no choice."""
        named = tuple(self.settings.sources)
        return (self.settings.source,) if self.settings.source else named or (SAMPLE,)

    def source(self, name: str | None = None) -> Source:
        """Return the source with this name or URL; without one the first of `choices`.

        Raises:
            SourceNotFound, SourceUnreachable, DriverMissing, ConfigurationError: as `Database` says.
            AccountCanWrite: the account may do more than read, and that is not allowed.
        """
        wanted = name or self.choices[0]
        with self._lock:
            known = self._sources.get(wanted)
        if known:
            return known
        settings = self.settings_of(wanted)
        with self._lock:
            opening = self._opening.setdefault(wanted, threading.Lock())
        # Only those who ask the same source wait for it.
        with opening:
            with self._lock:
                known = self._sources.get(wanted)
            return known or self._open(wanted, settings)

    def settings_of(self, wanted: str) -> SourceSettings:
        """Return what is set for the source with this name or URL.

        Raises:
            SourceNotFound: it is neither, or it may not be asked here.
        """
        if wanted == SAMPLE and SAMPLE not in self.settings.sources:
            return SourceSettings(url=SecretStr(self._sample_url()))
        return source_settings(wanted, self.settings, any_source=self.any_source)

    def _open(self, wanted: str, settings: SourceSettings) -> Source:
        source = open_source(
            settings, self.limits, cache_dir=self.settings.cache_dir, embedder=self._embedder, progress=self._progress
        )
        with self._lock:
            self._sources[wanted] = source
        return source

    def refreshed(self, name: str | None = None) -> Source | None:
        """Return the source with its schema read again, from now on for everybody; None where it is as it was.

        Raises:
            SourceUnreachable: the database does not answer.
        """
        source = self.source(name)
        changed = source.refreshed() if len(source.catalog.tables) <= _MOST_TABLES_READ_AT_ONCE else None
        if changed:
            with self._lock:
                self._sources[name or self.choices[0]] = changed
        return changed

    def close(self) -> None:
        """Let go of the files and connections of all sources; nothing may be asked any more."""
        with self._lock:
            sources = list(self._sources.values())
        for source in sources:
            source.let_go()
        self.opened.close()

    @property
    def limits(self) -> Limits:
        """What one statement may take."""
        return Limits.of(self.settings)

    def _sample_url(self) -> str:
        from agent.sample.shop import shop_url

        return shop_url(self.settings.cache_dir)
