"""Services of a graph: settings, model, sources, datasets and event log, each created once, at first use."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import date
from functools import cached_property
from pathlib import Path

from cachetools import TTLCache
from langchain_core.language_models.chat_models import BaseChatModel
from pydantic import SecretStr

from datasphinx.agent.connect import ModelRoles, Models, open_embedder
from datasphinx.agent.core.redact import without_password
from datasphinx.agent.core.result_cache import ResultCache
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.datasets.source import DatasetSources
from datasphinx.agent.errors import (
    ConfigurationError,
    DriverMissing,
    SourceNotFound,
    Unanswered,
)
from datasphinx.agent.examples.selection import ExampleSelector, StoredExamples
from datasphinx.agent.examples.store import ExampleStore
from datasphinx.agent.generation.validations import Validations
from datasphinx.agent.generation.verified import KnowledgeQueries, VerifiedSelector
from datasphinx.agent.knowledge.folder import KnowledgeFolder
from datasphinx.agent.knowledge.knowledge import NO_KNOWLEDGE, Knowledge
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.messages import Message
from datasphinx.agent.record.credentials import secrets_of
from datasphinx.agent.record.proposals import ProposalStore
from datasphinx.agent.record.recorder import RECORD_DELAY_S, Recorder
from datasphinx.agent.record.step import current_step
from datasphinx.agent.record.store import Store, open_store, sqlite_url
from datasphinx.agent.record.waiting import report_waiting
from datasphinx.agent.retrieval.semantic import Embedder
from datasphinx.agent.sample.knowledge import SAMPLE_KNOWLEDGE
from datasphinx.agent.settings import Settings, SourceSettings, load_settings
from datasphinx.agent.sources.names import SAMPLE, source_settings
from datasphinx.agent.sources.reflect import Progress
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.storage.database import SharedDatabase
from datasphinx.agent.types import EmbeddedOptions, Limits

_CATALOG_TTL_S = 300
_STOP_S = 30.0
"""Maximum time to wait for the end of the background work on a source, in seconds."""
_MAX_RUNS, _RUN_TTL_S = 256, 600
"""Limits of the kept results of runs that did not end."""
_MANY_TABLES = 200
"""Number of tables from which the reading of a schema is reported as a wait."""
_MAX_TABLES_RELOADED = 1000
"""A larger schema is only reloaded in the background, not while a question waits."""


class Services:
    """Settings, model and sources of one graph. Thread-safe."""

    tenant = ""
    """The tenant, if there are several. Proposals are its own."""
    owner = ""
    """The owner of threads, files and runs: the tenant, or its users with the same row parameters."""
    is_replay = False
    """Whether a recorded run is repeated, which must have no effects."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        model: BaseChatModel | ModelClient | None = None,
        embedded: EmbeddedOptions | None = None,
        any_source: bool = True,
        progress: Progress | None = None,
        opening: Callable[[str, SourceSettings], None] = lambda name, settings: None,
        recorder: Recorder | None = None,
        today: Callable[[], date] = date.today,
        logprobs: bool = False,
    ) -> None:
        """Create services for `settings`, by default those of the environment.

        Args:
            settings: the settings.
            model: used instead of the configured models of all roles.
            embedded: decoding options of the embedded model; with `model`, that model is treated as the embedded one.
            any_source: whether a question may name any database URL or file path.
            progress: called with the number of tables read and the total while a schema is read.
            opening: called with the name and the settings of a source before it is opened.
            recorder: used instead of the configured event log.
            today: returns the current date.
            logprobs: measure the likelihood of answers if the endpoint supports it.
        """
        self._progress, self._opening = progress, opening
        self._settings_override = settings
        self._model, self._embedded, self._logprobs = model, embedded, logprobs
        self._any_source = any_source
        self._lock = threading.RLock()
        self._open_locks: dict[str, threading.Lock] = {}
        self._sources: TTLCache[str, Source] = TTLCache(maxsize=64, ttl=_CATALOG_TTL_S)
        self._knowledge_folders: dict[str, KnowledgeFolder] = {}
        self.dataset_sources = DatasetSources()
        self.validations = Validations()
        self._results: TTLCache[str, ResultCache] = TTLCache(_MAX_RUNS, _RUN_TTL_S)
        self._run_knowledge: TTLCache[tuple[str, str], Knowledge] = TTLCache(_MAX_RUNS, _RUN_TTL_S)
        self._recorder_override = recorder
        self.today = today
        self._with_models: dict[str, Services] = {}

    @cached_property
    def settings(self) -> Settings:
        """The settings, read from the environment at first use if none were passed."""
        return self._settings_override or load_settings()

    @property
    def recorder(self) -> Recorder:
        """The writer of the event log; its database is opened by the first question."""
        with self._lock:
            return self._recorder

    @cached_property
    def _recorder(self) -> Recorder:
        if self._recorder_override:
            return self._recorder_override
        return Recorder(self.store, secrets_of(self.settings), delay_s=RECORD_DELAY_S)

    @cached_property
    def store(self) -> Store | None:
        """The event log, connected at first use; None if it is disabled."""
        return open_store(self.settings) if self.settings.record else None

    def results_of(self, trace_id: str) -> ResultCache:
        """Return the results of the statements of a run, kept until `forget_results`, at most ten minutes."""
        with self._lock:
            return self._results.setdefault(trace_id, ResultCache())

    def forget_results(self, trace_id: str) -> None:
        """Forget the results of the statements of a run."""
        with self._lock:
            self._results.pop(trace_id, None)

    @property
    def models(self) -> Models:
        """The models of all roles."""
        with self._lock:
            return self._models

    @cached_property
    def _models(self) -> Models:
        return Models(self.settings, self._model, self._embedded, logprobs=self._logprobs)

    @property
    def model(self) -> ModelClient:
        """The client of the model for all roles without their own; connected at first use. See `Models.of`."""
        return self.models.of()

    @property
    def roles(self) -> ModelRoles:
        """The implementations of the model's tasks."""
        return self.models.roles

    def with_model(self, name: str) -> "Services":
        """Return these services with the model `name` for all roles; they share sources and event log.

        Raises:
            InputInvalid: see `Models.named`.
        """
        models = self.models.named(name)
        with self._lock:
            if name not in self._with_models:
                # Opened before the copy, so that both have the same.
                _ = self.recorder
                services = copy(self)
                services.settings, services._models, services.validations = models.settings, models, Validations()
                self._with_models[name] = services
            return self._with_models[name]

    @property
    def min_confidence(self) -> float:
        """The confidence below which an answer is a draft."""
        setting = self.settings.min_confidence
        return self.roles.confidence.threshold if setting is None else setting

    @property
    def min_spec_confidence(self) -> float:
        """The same for answers of the analyst."""
        setting = self.settings.min_confidence
        return self.roles.spec_confidence.threshold if setting is None else setting

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedder for tables and examples; None if none is available."""
        return open_embedder(self.settings)

    @cached_property
    def examples(self) -> ExampleSelector:
        """The selection of few-shot examples for a question."""
        return StoredExamples(ExampleStore(self.settings.data_dir), self.embedder, self.settings.shots)

    @cached_property
    def verified(self) -> VerifiedSelector:
        """The selection of the verified query that answers a question."""
        return KnowledgeQueries()

    def proposals(self, name: str) -> ProposalStore:
        """Return the proposals for the business knowledge about this source.

        They are in the database of the record or, without a record, in a file in the knowledge folder of the source.

        Raises:
            SourceNotFound: see `settings_of`.
            ConfigurationError: there is neither a record nor a knowledge folder.
        """
        folder = self.settings_of(name).knowledge
        if self.store is None and folder is None:
            raise ConfigurationError(f"DATASPHINX_SOURCES: {name}.knowledge", Message("setting_missing"))
        return ProposalStore(self.store or Store(sqlite_url(folder, "proposals") if folder else ""), self.tenant)

    def of_part(self, part_id: str) -> "Services":
        """Return the services for a question of a report: these."""
        return self

    @property
    def any_source(self) -> bool:
        """Whether a question may name any database URL or file path."""
        return self._any_source

    @property
    def registry(self) -> Registry:
        """The stored files and datasets; their folder is created at first use."""
        with self._lock:
            return self._registry

    @cached_property
    def _registry(self) -> Registry:
        from datasphinx.agent.datasets.shared_registry import open_registry

        # A caller that may name any path works on this machine; there, the registry is a local folder.
        shared = None if self.any_source else self.shared
        return open_registry(self.settings, shared, self.owner)

    def datasets(self, dataset_ids: Sequence[str]) -> Source:
        """Return the source with these datasets.

        Raises:
            DatasphinxError: see `open_datasets`.
        """
        return self.dataset_sources.source(self.registry, dataset_ids, self.limits)

    @cached_property
    def shared(self) -> SharedDatabase | None:
        """The database shared by all processes of a server; None if they only share the data directory."""
        url = self.settings.threads_url
        return SharedDatabase(url.get_secret_value()) if url else None

    @property
    def choices(self) -> tuple[str, ...]:
        """The names of the sources among which one is chosen if a question names none; at least one."""
        names = tuple(self.settings.sources)
        return (self.settings.source,) if self.settings.source else names or (SAMPLE,)

    def source(self, name: str | None = None, question: str = "") -> Source:
        """Return the source with this name or URL, by default the first of `choices`.

        If its database has not been read yet, the tables that `question` mentions are sampled first.

        Raises:
            SourceNotFound, SourceUnreachable, DriverMissing, ConfigurationError: see `Database`.
            Refused: the account has more than read access, and the settings do not allow that.
        """
        key = name or self.choices[0]
        with self._lock:
            source = self._sources.get(key)
        if source and not source.is_superseded and (updated := self._with_current_knowledge(key, source)):
            return updated
        # An unknown source gets no lock.
        self.settings_of(key)
        with self._lock:
            open_lock = self._open_locks.setdefault(key, threading.Lock())
        # Only questions to the same source wait while it is opened.
        with open_lock:
            with self._lock:
                source = self._sources.get(key)
            return source if source and not source.is_superseded else self._open(key, question)

    def source_with_tables(self, name: str | None, question: str = "") -> Source:
        """Return the source for `question`, as `source` does; the schema is reloaded if it was empty when it was read.

        Raises:
            Unanswered: the source has no table.
        """
        source = self.source(name, question)
        if not source.catalog.tables:
            source = self.refresh(name) or source
        if not source.catalog.tables:
            raise Unanswered("source_empty", source=source.database.name)
        return source

    def settings_of(self, name: str) -> SourceSettings:
        """Return the settings of the source with this name or URL.

        Raises:
            SourceNotFound: it is neither a name nor a URL, or it may not be queried here.
        """
        if name == SAMPLE and SAMPLE not in self.settings.sources:
            return SourceSettings(url=SecretStr(self.sample_url()), knowledge=SAMPLE_KNOWLEDGE)
        return source_settings(name, self.settings, any_source=self.any_source)

    def today_of(self, source: Source) -> date:
        """Return the current date for `source`: the reference date of its business knowledge, or in its time zone."""
        calendar = source.knowledge.knowledge.calendar
        if calendar and calendar.reference_date:
            return calendar.reference_date
        return source.today() if self.today == date.today else self.today()

    def instructions(self, name: str | None) -> str:
        """Return the operator's text for prompts about this source; without a name, that for all sources.

        Raises:
            SourceNotFound: see `settings_of`.
        """
        own_text = self.settings_of(name).instructions if name else ""
        return "\n\n".join(filter(None, (self.settings.instructions, own_text)))

    def knowledge(self, name: str | None = None) -> Knowledge:
        """Return the business knowledge about this source, by default the first of `choices`, as its files are now.

        All nodes of a run use the knowledge as its files were in the first one.

        Raises:
            SourceNotFound: see `settings_of`.
            DriverMissing: the package `pyyaml` is not installed. The sample shop then has no knowledge.
        """
        key = name or self.choices[0]
        step = current_step.get()
        if step is None:
            return self._read_knowledge(key)
        run = step.previous_audit["trace_id"], key
        with self._lock:
            knowledge = self._run_knowledge.get(run)
        if knowledge is None:
            knowledge = self._read_knowledge(key)
            with self._lock:
                self._run_knowledge[run] = knowledge
        return knowledge

    def _read_knowledge(self, key: str) -> Knowledge:
        with self._lock:
            folder = self._knowledge_folders.get(key)
        if folder is None:
            is_sample = key == SAMPLE and SAMPLE not in self.settings.sources
            # The settings of the sample build its database.
            path = SAMPLE_KNOWLEDGE if is_sample else self.settings_of(key).knowledge
            if path is None:
                return NO_KNOWLEDGE
            with self._lock:
                folder = self._knowledge_folders.setdefault(
                    key, KnowledgeFolder(path, f"knowledge/{path.name}" if is_sample else None)
                )
        try:
            return folder.current()
        except DriverMissing:
            if key in self.settings.sources:
                raise
            return NO_KNOWLEDGE

    def knowledge_folder(self, name: str) -> Path:
        """Return the folder into which business knowledge about the configured source `name` is written.

        Raises:
            ConfigurationError: the source has no setting `knowledge`, or is not configured.
        """
        source = self.settings.sources.get(name)
        if source is None or source.knowledge is None:
            raise ConfigurationError(f"DATASPHINX_SOURCES: {name}.knowledge", Message("setting_missing"))
        return source.knowledge

    def shares_knowledge(self, name: str) -> bool:
        """Return whether other tenants read the knowledge folder of the source `name`."""
        return False

    def knowledge_hashes(self, name: object) -> dict[str, str]:
        """Return the hash of the business knowledge by source, for the source `name` or for all that may be chosen.

        Sources without knowledge, and those that do not exist, are left out.
        """
        hashes = {}
        for each in ([name] if isinstance(name, str) else []) if name else self.choices:
            with suppress(SourceNotFound, DriverMissing):
                hashes[without_password(each)] = self.knowledge(each).hash
        return {each: value for each, value in hashes.items() if value}

    def _with_current_knowledge(self, key: str, source: Source) -> Source | None:
        """Return `source` with the knowledge in its files now; None if the source has to be opened again."""
        knowledge, present = self.knowledge(key), source.knowledge.knowledge
        if knowledge.hash == present.hash:
            return source
        # Values of personal columns must not stay in the cached samples and indexes.
        updated = source.with_knowledge(knowledge) if knowledge.personal == present.personal else None
        with self._lock:
            if updated:
                self._sources[key] = updated
            else:
                self._sources.pop(key, None)
        if updated is None:
            # It would write the values of the new personal columns into the cache.
            source.stop_background(_STOP_S)
        return updated

    def _open(self, key: str, question: str) -> Source:
        sources, settings = self.settings.sources, self.settings_of(key)
        self._opening(key, settings)
        source = open_source(
            settings,
            self.limits,
            cache_dir=self.settings.cache_dir,
            embedder=self.embedder,
            progress=self._report_progress,
            instructions=self.instructions(key),
            knowledge=self.knowledge(key),
            question=question,
        )
        with self._lock:
            # The sources may have been replaced meanwhile.
            if self.settings.sources is sources:
                self._sources[key] = source
        return source

    def _report_progress(self, done: int, total: int) -> None:
        if self._progress:
            self._progress(done, total)
        if total >= _MANY_TABLES:
            report_waiting("reading_schema", done=done, total=total)

    def replace_sources(self, sources: Mapping[str, SourceSettings]) -> None:
        """Use `sources` as the configured sources for all later questions; those that have changed are opened again."""
        with self._lock:
            before = self.settings.sources
            self.settings = self.settings.model_copy(update={"sources": dict(sources)})
            for name in {*before, *sources}:
                if before.get(name) != sources.get(name):
                    self._sources.pop(name, None)
                    self._knowledge_folders.pop(name, None)
            self._with_models.clear()

    def refresh(self, name: str | None = None) -> Source | None:
        """Reload the schema of a source for all later questions, and return the source; None if nothing changed.

        Raises:
            SourceUnreachable: the database does not respond.
        """
        source = self.source(name)
        refreshed = source.refresh() if len(source.catalog.tables) <= _MAX_TABLES_RELOADED else None
        if refreshed:
            with self._lock:
                self._sources[name or self.choices[0]] = refreshed
        return refreshed

    def close(self) -> None:
        """Close the files and connections of all sources; the services cannot be used afterwards."""
        with self._lock:
            sources = list(self._sources.values())
            self._sources.clear()
        for source in sources:
            source.release()
        self.dataset_sources.close()

    @property
    def limits(self) -> Limits:
        """The limits of one statement."""
        return self.settings.statement_limits

    def sample_url(self) -> str:
        """Return the URL of the sample database, which is created at first use."""
        from datasphinx.agent.sample.shop import shop_url

        return shop_url(self.settings.cache_dir)
