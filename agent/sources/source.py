"""A data source: a database with its catalog and indexes."""

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from time import time
from types import MappingProxyType
from typing import Any, TypeVar

from cachetools import LRUCache
from sqlglot import exp

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import ConfigurationError, DatasphinxError, Refused, StatementError
from datasphinx.agent.knowledge.knowledge import NO_KNOWLEDGE, Knowledge, Problem
from datasphinx.agent.knowledge.labels import LabelledValues, Labels, labels_of
from datasphinx.agent.knowledge.source_knowledge import NO_SOURCE_KNOWLEDGE, SourceKnowledge
from datasphinx.agent.messages import Message
from datasphinx.agent.retrieval.index import SchemaIndex
from datasphinx.agent.retrieval.linked_values import LinkedValue, linked_values
from datasphinx.agent.retrieval.semantic import Embedder
from datasphinx.agent.retrieval.value_index import ValueIndex, is_spelling
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.describe import Meanings, Selection, compact_lines, estimate_tokens
from datasphinx.agent.schema.secret import unmatched_patterns
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.background import JOIN_S, Background
from datasphinx.agent.sources.cache import file_stamp, fingerprint
from datasphinx.agent.sources.catalog_loader import CatalogLoader
from datasphinx.agent.sources.code_meanings import code_meanings
from datasphinx.agent.sources.files import database_of
from datasphinx.agent.sources.profile import is_personal, is_profiled
from datasphinx.agent.sources.reflect import Progress
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.execute import RowAccess, check, execute
from datasphinx.agent.sql.parameters import Value
from datasphinx.agent.sql.rankings import ending_with_nulls
from datasphinx.agent.sql.remark import Remark
from datasphinx.agent.sql.row_rules import restrict
from datasphinx.agent.sql.time_zones import session_zone, today_in
from datasphinx.agent.sql.validation import remarks_of
from datasphinx.agent.types import Limits, Result

_REFRESH_AFTER_S = 300.0
_SEARCH_S, _SEARCHED_ROWS = 2.0, 500
"""Limits of a search for a text in a column of which not all values are indexed."""
_ACCENTED = frozenset("acdegilnorstuyz%\\")
"""Letters that may have an accent, and characters with a meaning in a pattern."""
_MAX_SHOWN_RIGHTS = 3
_MAX_MEMOIZED = 1024
"""Four values for each of the 256 questions that run at once; with fewer, their model calls compute them again."""

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """A database with its catalog, index and statement limits. Thread-safe."""

    database: Database
    catalog: Catalog
    index: SchemaIndex
    limits: Limits
    loader: CatalogLoader
    """Reads the catalog again."""
    access: RowAccess | None = None
    """Row rules that apply to every statement."""
    background: Background | None = None
    """The background refresh of a cached catalog; its `error` is the reason of a failure."""
    own_instructions: str = ""
    """The operator's text for all prompts about the source."""
    knowledge: SourceKnowledge = NO_SOURCE_KNOWLEDGE
    """The business knowledge about the source."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _memory: LRUCache[Hashable, Any] = field(
        default_factory=partial(LRUCache, _MAX_MEMOIZED), init=False, repr=False, compare=False
    )

    def execute(
        self,
        sql: str,
        cancellation: Cancellation | None = None,
        *,
        parameters: Mapping[str, Value] = MappingProxyType({}),
    ) -> Result:
        """Return the rows of `sql`, its rankings ending with NULL and `parameters` bound, as `execute` does."""
        return execute(
            self.ending_with_nulls(sql),
            self.database,
            self.catalog,
            self.limits,
            parameters=parameters,
            access=self.access,
            cancellation=cancellation,
        )

    def ending_with_nulls(self, sql: str) -> str:
        """Return `sql` with NULL last in its rankings; see `datasphinx.agent.sql.rankings.ending_with_nulls`."""
        return ending_with_nulls(sql, self.catalog)

    def check(self, sql: str) -> str:
        """Return the text that `execute` would run for `sql`, before the row rules are applied, without running it.

        Tables that the row rules deny are treated as unknown, so that no error names their columns.

        Raises:
            RowRuleParameterMissing, RowRuleNotApplied: a row rule rejects it.
        """
        checked_sql = check(self.ending_with_nulls(sql), self.readable_catalog)
        if self.access:
            restrict(checked_sql, self.access.rules, self.access.parameters)
        return checked_sql

    @cached_property
    def time_zone(self) -> str:
        """Time zone of the sessions; "" if it is not known."""
        return session_zone(self.database)

    def today(self) -> date:
        """Return the current date in the time zone of the sessions."""
        return today_in(self.time_zone)

    @property
    def instructions(self) -> str:
        """The text for all prompts about the source: the operator's, and that of the business knowledge."""
        return "\n\n".join(filter(None, (self.own_instructions, self.knowledge.knowledge.instructions)))

    @property
    def base_catalog(self) -> Catalog:
        """The catalog as the database declares it, without the facts of the business knowledge."""
        return self.catalog if self.knowledge is NO_SOURCE_KNOWLEDGE else self.knowledge.base

    def with_knowledge(self, knowledge: Knowledge) -> "Source":
        """Return the source with `knowledge` instead of the present one; its personal columns must be the same."""
        bound = SourceKnowledge.of(knowledge, self.base_catalog)
        changes_joins = self.knowledge.knowledge.changes_joins or knowledge.changes_joins
        index = self.index.with_joins(bound.catalog) if changes_joins else self.index
        source = replace(self, catalog=bound.catalog, index=index, knowledge=bound)
        with self._lock:
            if "_values" in self.__dict__:
                source.__dict__["_values"] = self._values
        return source

    def is_readable(self, key: str) -> bool:
        """Return whether the row rules allow reading the table `key`."""
        return self.access is None or not self.access.rules.denies(key)

    @cached_property
    def shown_catalog(self) -> Catalog:
        """The catalog for prompts: without hidden tables and columns, tables that row rules deny, and keys to them."""
        return self.knowledge.without_hidden(self.readable_catalog)

    @cached_property
    def readable_catalog(self) -> Catalog:
        """The catalog without tables that row rules deny, and without keys to them."""
        if self.access is None or all(map(self.is_readable, self.catalog.tables)):
            return self.catalog
        tables = {}
        for key, table in self.catalog.tables.items():
            if self.is_readable(key):
                foreign_keys = tuple(foreign for foreign in table.foreign_keys if self.is_readable(foreign.target))
                tables[key] = replace(table, foreign_keys=foreign_keys)
        return replace(self.catalog, tables=tables)

    def memoized(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what `compute` returned for `key`, which has to depend on the source and `key` alone.

        The last 1,024 values are kept, so that several model calls about a question render its prompt once.
        """
        with self._lock:
            if key in self._memory:
                value: T = self._memory[key]
                return value
        value = compute()
        with self._lock:
            self._memory[key] = value
        return value

    def warnings_about(self, sql: str) -> tuple[str, ...]:
        """Return the warnings and the doubts of the static checks about `sql`."""
        return tuple(remark.text for remark in self._remarks(sql) if remark.effect != "note")

    def doubts_and_notes(self, sql: str) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """Return what a user should know about the figures of `sql`: the doubts of the static checks, and notes."""
        remarks = self._remarks(sql)
        doubts = tuple(remark.text for remark in remarks if remark.effect == "doubt")
        return doubts, tuple(remark.text for remark in remarks if remark.effect == "note")

    def _remarks(self, sql: str) -> tuple[Remark, ...]:
        return self.memoized(
            ("remarks", sql),
            lambda: remarks_of(
                sql, self.catalog, lambda: self.values, partial(_is_true, self, sql), partial(_stored_spellings, self)
            ),
        )

    def table_list(self, max_tokens: int) -> str:
        """Return a line for each shown table with its name and those of its columns; "" if they exceed `max_tokens`.

        References between tables are included if they fit as well.
        """
        catalog = self.shown_catalog

        def render() -> str:
            for references in (True, False):
                lines = compact_lines(catalog, catalog.tables, self.database.quote, max_tokens, references=references)
                text = "\n".join(lines.values())
                if len(lines) == len(catalog.tables) and estimate_tokens(text) <= max_tokens:
                    return text
            return ""

        return self.memoized(("table list", max_tokens), render)

    def linked_values(self, question: str, selection: Selection) -> tuple[LinkedValue, ...]:
        """Return the stored values of columns in `selection` that words of `question` refer to."""
        with self._lock:
            index = self._values.current()
        key = ("values", index, question, tuple((table, tuple(columns)) for table, columns in selection.items()))
        return self.memoized(key, lambda: tuple(linked_values(question, self.values, selection)))

    def code_meanings(self, keys: Iterable[str]) -> Meanings:
        """Return the meanings of the codes in the tables `keys`, by column, from comments and tables that list them."""
        names, personal = tuple(sorted(keys)), self.knowledge.knowledge.personal

        def execute(sql: str) -> Result:
            return self.memoized(("codes", sql), partial(self.execute, sql))

        return self.memoized(
            ("codes", names), lambda: code_meanings(self.catalog, names, self.database.quote, execute, personal)
        )

    @property
    def values(self) -> ValueIndex:
        """Index of stored values: the cached one, or until there is one, what can be read at once. Finds labels too."""
        with self._lock:
            index = self._values.current()
            return LabelledValues(index, self._labels) if self._labels else index

    def open_columns(self, table: Table) -> list[Column]:
        """Return the columns of a table whose values may be shown: those that are neither secret nor personal."""
        personal = self.knowledge.knowledge.personal
        return [each for each in table.columns if not (each.secret or is_personal(table, each, personal))]

    def check_knowledge(self) -> list[Problem]:
        """Return the mistakes in the business knowledge, found on the schema and the data."""
        return self.knowledge.check(self.execute, self.complete_values)

    def complete_values(self) -> ValueIndex:
        """Return the index of all stored values, after the background work that builds it."""
        values = self.values
        if self._values.background:
            self._values.background.wait()
            values = self.values
        return values

    @cached_property
    def _labels(self) -> Labels:
        return labels_of(self.knowledge.knowledge, self.catalog)

    @cached_property
    def _values(self) -> "_Values":
        return _Values(self.loader, self.catalog)

    @property
    def is_superseded(self) -> bool:
        """Whether background work has since sampled tables for which there was no time when the source was opened."""
        if self._is_profiled:
            return False
        background = self.background
        is_done = background is not None and not background.is_running and background.error is None
        return is_done and self.loader.is_cached

    @cached_property
    def _is_profiled(self) -> bool:
        return is_profiled(self.catalog, self.knowledge.knowledge.personal)

    def refresh(self) -> "Source | None":
        """Return a source with the schema read again; None if the schema is unchanged."""
        catalog = self.loader.reflect()
        if fingerprint(catalog) == fingerprint(self.base_catalog):
            return None
        self.stop_background()
        catalog = self.loader.profile(catalog)
        self.loader.clear_values()
        index = self.loader.index(catalog, self.loader.store(catalog))
        access = self.loader.access(catalog)
        catalog = _mark_denied(catalog, access)
        source = Source(
            self.database,
            catalog,
            index,
            self.limits,
            self.loader,
            access,
            own_instructions=self.own_instructions,
        )
        return source.with_knowledge(self.knowledge.knowledge) if self.knowledge.knowledge.hash else source

    def close(self) -> None:
        """Stop background work and close files and connections."""
        self.stop_background()
        self.release()

    def stop_background(self, timeout_s: float = JOIN_S) -> None:
        """Stop background work, which writes to the cache, and wait up to `timeout_s` seconds for each to end."""
        for background in (self.background, self._values.background):
            if background:
                background.stop(timeout_s)

    def release(self) -> None:
        """Close files and connections, but leave background work running, which other sources may share."""
        with self._lock:
            self._values.close()
        self.database.engine.dispose()


class _Values:
    """The index of a source's stored values: what can be read at once, until background work has built the full one."""

    def __init__(self, loader: CatalogLoader, catalog: Catalog) -> None:
        self.background: Background | None = None
        self._loader, self._catalog = loader, catalog
        self._full: ValueIndex | None = None
        self._first: ValueIndex | None = None

    def current(self) -> ValueIndex:
        self._full = self._full or self._loader.cached_values()
        if self._full:
            return self._full
        if self._first is None:
            self._first = self._loader.read_values(self._catalog)
            self.background = self._loader.start_values(self._catalog)
        return self._first

    def close(self) -> None:
        for index in (self._full, self._first):
            if index:
                index.close()


def _is_true(source: Source, sql: str, remark: Remark) -> bool:
    """Return whether `remark` about `sql` is true of the data, by its probe; also True if that cannot be run."""
    try:
        if remark.least_rows:
            # A run executes its statement once, so this is no further query.
            result = source.execute(sql)
            if len(result["rows"]) < remark.least_rows and not result["truncated"]:
                return False
        return bool(source.execute(remark.probe)["rows"])
    except StatementError:
        return True


def _stored_spellings(source: Source, table: str, column: str, text: str) -> list[str] | None:
    """Return the stored values that differ from `text` in case, blanks at the ends and accents at most.

    None if the engine cannot tell within two seconds.
    """
    name, full = exp.column(column, quoted=True), source.catalog.full_names[table]
    # A letter that may have an accent stands for any character; the values are compared below.
    pattern = "".join("_" if char in _ACCENTED or not char.isascii() else char for char in text.strip().lower())
    spelled = exp.Like(this=exp.Lower(this=exp.Trim(this=name.copy())), expression=exp.Literal.string(pattern))
    query = exp.select(name).distinct().from_(exp.table_(full.name, db=full.schema, quoted=True)).where(spelled)
    limits = replace(source.limits, timeout_s=min(_SEARCH_S, source.limits.timeout_s), row_limit=_SEARCHED_ROWS)
    sql = query.limit(_SEARCHED_ROWS).sql(source.catalog.dialect)
    try:
        result = execute(sql, source.database, source.catalog, limits, access=source.access)
    except DatasphinxError:
        return None
    found = [value for (value, *_) in result["rows"] if isinstance(value, str) and is_spelling(value, text)]
    return found if found or len(result["rows"]) < _SEARCHED_ROWS else None


def open_source(
    settings: SourceSettings,
    limits: Limits,
    *,
    cache_dir: Path | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
    instructions: str = "",
    knowledge: Knowledge = NO_KNOWLEDGE,
    refresh_after_s: float = _REFRESH_AFTER_S,
    profile_budget_s: float = 3.0,
    question: str = "",
) -> Source:
    """Return the source described by `settings`, with the catalog from the cache in `cache_dir` or from the database.

    A cached catalog is read again in the background if it is older than `refresh_after_s` seconds or, for a database
    file, if the file has changed; the next source to be opened uses the new one. `progress` is passed to
    `datasphinx.agent.sources.reflect.reflect`, and `instructions` and `knowledge` are kept for prompts. Sampling an
    uncached database takes about `profile_budget_s` seconds at most, beginning with the tables that fit `question`
    best by their names; with a cache directory, the rest is sampled in the background.

    Raises:
        RowRuleParameterMissing: a parameter of a row rule has no value.
        Refused: the account has rights besides read access, and the settings do not allow this.
    """
    database = database_of(settings)
    if not settings.allow_writable_account:
        _require_read_only(database)
    loader = CatalogLoader(database, settings, cache_dir, embedder, knowledge.personal, question)
    entry = loader.load()
    catalog = entry.catalog if entry else loader.reflect(progress)
    unknown_columns = unmatched_patterns(settings.secret_columns, catalog) if settings.secret_columns else []
    if unknown_columns:
        raise ConfigurationError(
            "DATASPHINX_SOURCES", Message("secret_columns_unknown", columns=", ".join(unknown_columns))
        )
    access = loader.access(catalog)
    if entry is None:
        catalog, index = loader.read_first(catalog, profile_budget_s)
    else:
        index = loader.index(catalog, entry.digest)
    stamp = file_stamp(database)
    is_due = entry is None or stamp != entry.stamp or not 0 <= time() - entry.stored_at <= refresh_after_s
    is_current = entry is None or bool(stamp) and stamp == entry.stamp
    background = loader.start(catalog, is_current=is_current) if is_due and cache_dir else None
    catalog = _mark_denied(catalog, access)
    source = Source(database, catalog, index, limits, loader, access, background, instructions)
    return source.with_knowledge(knowledge) if knowledge.hash else source


def _mark_denied(catalog: Catalog, access: RowAccess | None) -> Catalog:
    denied = frozenset(filter(access.rules.denies, catalog.tables)) if access else frozenset()
    return replace(catalog, denied=denied) if denied else catalog


def _require_read_only(database: Database) -> None:
    rights = database.grants().beyond_reading
    if rights:
        text = "; ".join(rights[:_MAX_SHOWN_RIGHTS])
        further = len(rights) - _MAX_SHOWN_RIGHTS
        raise Refused(
            "account_can_write",
            source=database.name,
            rights=Message("names_and_more", names=text, count=further) if further > 0 else text,
        )
