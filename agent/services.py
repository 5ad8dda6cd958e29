"""Services of a graph: settings, model, sources, datasets and event log, each created once, at first use."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import date
from functools import cached_property

from langchain_core.language_models.chat_models import BaseChatModel
from pydantic import SecretStr

from datasphinx.agent.connect import ModelRoles, Models
from datasphinx.agent.core.locked_property import locked_property
from datasphinx.agent.core.redact import without_password
from datasphinx.agent.core.result_cache import RunResults
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.datasets.source import DatasetSources
from datasphinx.agent.errors import DriverMissing, SourceNotFound, Unanswered
from datasphinx.agent.examples.selection import ExampleSelector, VerifiedExamples
from datasphinx.agent.generation.estimator import ConfidenceEstimator
from datasphinx.agent.generation.validations import Validations
from datasphinx.agent.generation.verified import KnowledgeQueries, RecordedQueries
from datasphinx.agent.knowledge.folder import KnowledgeFolder
from datasphinx.agent.knowledge.knowledge import Knowledge
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.record.credentials import secrets_of
from datasphinx.agent.record.recorder import RECORD_DELAY_S, Recorder
from datasphinx.agent.record.store import Store, open_store
from datasphinx.agent.record.waiting import report_waiting
from datasphinx.agent.retrieval.semantic import Embedder, packaged_embedder
from datasphinx.agent.sample.knowledge import SAMPLE_KNOWLEDGE
from datasphinx.agent.settings import Settings, SourceSettings, load_settings
from datasphinx.agent.sources.names import SAMPLE, source_settings
from datasphinx.agent.sources.open_sources import OpenSources
from datasphinx.agent.sources.reflect import Progress
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.storage.database import SharedDatabase
from datasphinx.agent.types import EmbeddedOptions

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
        """
        self._progress, self._opening = progress, opening
        if settings:
            self.settings = settings
        self._model, self._embedded = model, embedded
        self.any_source = any_source
        self._lock = threading.RLock()
        self._open_sources = OpenSources(self._open, self._knowledge_folder)
        self.dataset_sources = DatasetSources()
        self.validations = Validations()
        self.results = RunResults()
        self.verified: KnowledgeQueries | RecordedQueries = KnowledgeQueries()
        if recorder:
            self.recorder = recorder
        self.today = today
        self._with_models: dict[str, Services] = {}

    @cached_property
    def settings(self) -> Settings:
        """The settings, read from the environment at first use if none were passed."""
        return load_settings()

    @locked_property
    def recorder(self) -> Recorder:
        """The writer of the event log; its database is opened by the first question."""
        return Recorder(self.store, secrets_of(self.settings), delay_s=RECORD_DELAY_S)

    @cached_property
    def store(self) -> Store | None:
        """The event log, connected at first use; None if it is disabled."""
        return open_store(self.settings) if self.settings.record else None

    @locked_property
    def models(self) -> Models:
        """The models of all roles."""
        return Models(self.settings, self._model, self._embedded)

    @property
    def roles(self) -> ModelRoles:
        """The implementations of the model's tasks."""
        return self.models.roles

    def with_model(self, name: str) -> "Services":
        """Return these services with the model `name` for all roles; they share sources and event log."""
        models = self.models.named(name)
        with self._lock:
            if name not in self._with_models:
                # Opened before the copy, so that both have the same.
                _ = self.recorder
                services = copy(self)
                services.settings, services.models, services.validations = models.settings, models, Validations()
                self._with_models[name] = services
            return self._with_models[name]

    def threshold(self, estimator: ConfidenceEstimator) -> float:
        """Return the confidence of `estimator` below which an answer is a draft."""
        setting = self.settings.min_confidence
        return estimator.threshold if setting is None else setting

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedder for the index of tables; None if none is available."""
        return packaged_embedder()

    @cached_property
    def examples(self) -> ExampleSelector:
        """The selection of few-shot examples for a question."""
        return VerifiedExamples()

    def of_part(self, part_id: str) -> "Services":
        """Return the services for a question of a report: these."""
        return self

    @locked_property
    def registry(self) -> Registry:
        """The stored files and datasets; their folder is created at first use."""
        from datasphinx.agent.datasets.shared_registry import open_registry

        # A caller that may name any path works on this machine; there, the registry is a local folder.
        shared = None if self.any_source else self.shared
        return open_registry(self.settings, shared, self.owner)

    def datasets(self, dataset_ids: Sequence[str]) -> Source:
        """Return the source with these datasets."""
        return self.dataset_sources.source(self.registry, dataset_ids, self.settings.statement_limits)

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
            Refused: the account has more than read access, and the settings do not allow that.
        """
        return self._open_sources.source(name or self.choices[0], question)

    def source_with_tables(self, name: str | None, question: str = "") -> Source:
        """Return the `source`, whose schema is read again if it was empty. Raise Unanswered if it has no table."""
        source = self.source(name, question)
        if not source.catalog.tables:
            source = self.refresh(name) or source
        if not source.catalog.tables:
            raise Unanswered("source_empty", source=source.database.name)
        return source

    def settings_of(self, name: str) -> SourceSettings:
        """Return the settings of this source. Raise SourceNotFound for neither a name nor a URL that is allowed."""
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
        """Return the operator's text for prompts about this source; without a name, that for all sources."""
        own_text = self.settings_of(name).instructions if name else ""
        return "\n\n".join(filter(None, (self.settings.instructions, own_text)))

    def knowledge(self, name: str | None = None) -> Knowledge:
        """Return the business knowledge about this source, by default the first of `choices`, as its files are now.

        All nodes of a run use the knowledge as its files were in the first one.

        Raises:
            DriverMissing: the package `pyyaml` is not installed. The sample shop then has no knowledge.
        """
        return self._open_sources.knowledge(name or self.choices[0])

    def _knowledge_folder(self, key: str) -> KnowledgeFolder | None:
        if key == SAMPLE and SAMPLE not in self.settings.sources:
            # The settings of the sample build its database.
            return KnowledgeFolder(SAMPLE_KNOWLEDGE, f"knowledge/{SAMPLE_KNOWLEDGE.name}", is_optional=True)
        path = self.settings_of(key).knowledge
        return KnowledgeFolder(path) if path else None

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

    def _open(self, key: str, knowledge: Knowledge, question: str) -> Source:
        settings = self.settings_of(key)
        self._opening(key, settings)
        return open_source(
            settings,
            self.settings.statement_limits,
            cache_dir=self.settings.cache_dir,
            embedder=self.embedder,
            progress=self._report_progress,
            instructions=self.instructions(key),
            knowledge=knowledge,
            question=question,
        )

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
            self._open_sources.forget(name for name in {*before, *sources} if before.get(name) != sources.get(name))
            self._with_models.clear()

    def refresh(self, name: str | None = None) -> Source | None:
        """Reload the schema of a source for all later questions, and return the source; None if nothing changed."""
        source = self.source(name)
        refreshed = source.refresh() if len(source.catalog.tables) <= _MAX_TABLES_RELOADED else None
        if refreshed:
            self._open_sources.put(name or self.choices[0], refreshed)
        return refreshed

    def close(self) -> None:
        """Close the files and connections of all sources; the services cannot be used afterwards."""
        self._open_sources.close()
        self.dataset_sources.close()

    def sample_url(self) -> str:
        """Return the URL of the sample database, which is created at first use."""
        from datasphinx.agent.sample.shop import shop_url

        return shop_url(self.settings.cache_dir)
