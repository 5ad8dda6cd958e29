"""Schema linking: selection of the source, tables and columns for a question, with few or no model calls."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import inf
from types import MappingProxyType
from typing import NamedTuple, Protocol

from datasphinx import prompts
from datasphinx.agent.errors import DatasphinxError, ModelAnswerUnreadable, Unanswered
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.parse import Answer
from datasphinx.agent.llm.schemas import ColumnSelection, TableSelection
from datasphinx.agent.messages import Message
from datasphinx.agent.record.step import note
from datasphinx.agent.retrieval.index import SchemaIndex
from datasphinx.agent.retrieval.linked_values import tables_with_values
from datasphinx.agent.retrieval.query import parse_question, sum_frequencies
from datasphinx.agent.retrieval.selection import select_columns, select_tables
from datasphinx.agent.schema.catalog import Catalog, ColumnKey
from datasphinx.agent.schema.describe import compact_lines, describe, estimate_tokens, one_line
from datasphinx.agent.schema.spelling import nearest
from datasphinx.agent.schema.words import content_words, words
from datasphinx.agent.sources.source import Source

_CANDIDATES = 15
_COMPACT = 2
"""Share of the token budget that a compact list of all tables may use."""
_DETAILED = 10
"""Maximum number of tables that are ranked to be shown in detail beside a list of all tables."""
_FALLBACK_TABLES = 5
_NAMED_TABLES = 10
_MAX_REASON_CHARS = 300
_PART = re.compile(r'"((?:[^"]|"")+)"|`([^`]+)`|\[([^\]]+)\]|\'([^\']+)\'|([^."`\[\]\']+)')
_COLUMN_LIST = re.compile(r"\s*\([^()]*\)\s*$")
_MIN_SIMILARITY = 75.0
"""Per cent of the letters that a name which does not exist shares with the one that is meant."""


class SourceChoice(NamedTuple):
    """The source that is asked, and the other ones that the question may be about."""

    name: str
    others: dict[str, list[str]]
    """For each, the words of the question that only its tables have; empty if it fits as well as the chosen one."""


def link_source(question: str, names: Sequence[str], open_source: Callable[[str, str], Source]) -> SourceChoice:
    """Return the one of `names` whose source fits `question` best; a choice among several is noted in the audit.

    A source that the question names comes before the others, unless only these have something that it mentions.
    `open_source` returns the source with a name, for a question. One that cannot be opened is skipped, with a note.

    Raises:
        DatasphinxError: no source can be opened; the error is that of the first.
    """
    if len(names) == 1:
        return SourceChoice(names[0], {})
    sources: dict[str, Source] = {}
    errors = []
    for name in names:
        try:
            sources[name] = open_source(name, question)
        except DatasphinxError as error:
            errors.append(error)
            note(f"the source {name} was left out: {str(error).partition('. ')[0]}")
    if not sources:
        raise errors[0]
    asked = content_words(question)
    named = [name for name in sources if words(name) and words(name) <= words(question)]
    spellings = parse_question(question).spellings
    known = {name: asked & _schema_words(source) - words(" ".join(named)) for name, source in sources.items()}
    candidates = [name for name in named if known[name]] or list(sources)
    indexes = {name: sources[name].index for name in candidates}
    expanded = {name: sources[name].knowledge.expanded(question) for name in candidates}
    best = choose_source(question, indexes, expanded)
    others = {}
    for name in sources:
        only_there = known[name] - known[best]
        fits_as_well = name in named or (best not in named and known[name] == known[best] and bool(known[name]))
        if name != best and (only_there or fits_as_well):
            others[name] = sorted(spellings.get(word, word) for word in only_there)
    note(f"asked the source {best}, chosen among {', '.join(sources)}")
    return SourceChoice(best, others)


def _schema_words(source: Source) -> frozenset[str]:
    """Return the stems of the words in the names of the shown tables and columns."""

    def read() -> frozenset[str]:
        selection = source.shown_catalog.selection()
        return words(" ".join(chain(selection, chain.from_iterable(selection.values()))))

    return source.memoized("schema words", read)


def choose_source(
    question: str, indexes: Mapping[str, SchemaIndex], expanded: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the name of the source with the best table for `question`; the first source wins ties.

    `expanded` has the question by source with the names that its business knowledge adds.

    Inverse document frequencies are computed over the tables of all sources, so that a word cannot decide in favour of
    a source only because it is rare there.
    """
    texts = " ".join(dict.fromkeys([question, *expanded.values()]))
    frequencies = sum_frequencies([index.frequencies(texts) for index in indexes.values()])
    best = {
        name: max(index.scores(expanded.get(name, question), frequencies=frequencies).values(), default=-inf)
        for name, index in indexes.items()
    }
    return max(best, key=best.__getitem__)


def off_topic(reason: str, source: Source) -> Unanswered:
    """Return the error with the names of some tables of `source` and `reason`, a message or the sentence of a model."""
    tables = list(source.shown_catalog.tables)
    if isinstance(reason, Message):
        names = ", ".join(tables[:_NAMED_TABLES]) + (", …" if len(tables) > _NAMED_TABLES else "")
        reason = Message("off_topic_because", reason=reason, tables=names)
    else:
        reason = one_line(reason, _MAX_REASON_CHARS)
    return Unanswered("off_topic", reason=reason, tables=tuple(tables[:_NAMED_TABLES]))


@dataclass(frozen=True)
class LinkedTables:
    """The tables for a question, or the reason why there are none."""

    keys: list[str]
    """Empty if no table is related to the question."""
    reason: str = ""
    """What the tables lack, in the words of the model."""
    is_final: bool = False
    """Whether another attempt would give the same outcome, because the model saw all tables."""
    list_tokens: int = 0
    """Above 0 if prompts list the other tables as well, so that a statement may use any: the limit of that list."""


class Linker(Protocol):
    """Selects the tables and columns for a question."""

    def link_tables(
        self, question: str, source: Source, attempt: int, known: Collection[str] = (), reason: str = ""
    ) -> LinkedTables:
        """Return the tables that may answer `question`, with the shown tables of the last answer, `known`.

        Each further `attempt`, counted from 1, considers more tables and tolerates more spelling errors; `reason` is
        why the last one failed. Tables that row rules deny are left out.
        """

    def link_columns(self, question: str, source: Source, tables: dict[str, list[str]]) -> dict[str, list[str]]:
        """Return the columns of `tables` that may be needed, always with the join keys."""


@dataclass(frozen=True)
class StandardLinker:
    """Returns all of a small schema, and lets a chat model select from a larger one."""

    model: ModelClient
    schema_token_budget: int

    def link_tables(
        self, question: str, source: Source, attempt: int, known: Collection[str] = (), reason: str = ""
    ) -> LinkedTables:
        """Return all tables of a schema within the token budget, otherwise a selection. See `Linker.link_tables`.

        If a compact list of all tables fits into twice the token budget, prompts contain this list, and the tables that
        the index ranks best are returned, within the budget, without a model call. Otherwise the model selects among
        the best-ranked tables. Tables that store a value of the question, and those needed to join them, are added.
        A name that matches no table stands for the one with the nearest spelling.
        """
        catalog = source.shown_catalog
        tables, fuzzy = catalog.tables, attempt - 1
        whole = ((key, table.column_names) for key, table in tables.items())
        if len(tables) == 1 or fits_budget(source, whole, self.schema_token_budget):
            return LinkedTables(list(tables))
        list_tokens = _COMPACT * self.schema_token_budget
        if source.table_list(list_tokens):
            return LinkedTables(self._best_tables(question, source, known), list_tokens=list_tokens)
        limit, named = _CANDIDATES * attempt, [*known, *_named_tables(question, source)]
        expanded = source.knowledge.expanded(question)
        by_words = islice(filter(tables.__contains__, source.index.rank(expanded, fuzzy=fuzzy)), limit)
        ranked = list(dict.fromkeys([*named, *by_words]))
        related = source.index.with_neighbours(ranked or list(islice(tables, limit)))
        candidates = list(filter(tables.__contains__, related))
        lines = compact_lines(catalog, candidates, source.database.quote, self.schema_token_budget * attempt)
        keys = list(lines)
        earlier = f"\n\nThe last choice did not answer it: {one_line(reason, _MAX_REASON_CHARS)}" if reason else ""
        variables = {"tables": "\n".join(lines.values()), "question": question, "reason": earlier}
        try:
            answer = self._select(TableSelection, "select_tables", source, variables)
        except ModelAnswerUnreadable:
            return LinkedTables(list(dict.fromkeys([*named, *keys[:_FALLBACK_TABLES]])))
        selected = {key for name in answer.tables for key in _meant_tables(name, tables, catalog)}
        selected.update(named, _tables_of_values(question, source) if selected else ())
        connected = source.index.connected([key for key in tables if key in selected])
        is_final = not selected and len(keys) == len(tables)
        return LinkedTables([key for key in connected if key in tables], answer.reason, is_final)

    def link_columns(self, question: str, source: Source, tables: dict[str, list[str]]) -> dict[str, list[str]]:
        """Return all columns within the token budget, otherwise the model's selection. See `Linker.link_columns`.

        If its answer cannot be read, columns are selected without it.
        """
        if fits_budget(source, tables.items(), self.schema_token_budget):
            return tables
        variables = {
            "schema": describe(source.shown_catalog, tables, source.database.quote, values=False),
            "question": question,
        }
        try:
            answer = self._select(ColumnSelection, "select_columns", source, variables)
            selected = set(_selected_columns(answer, source, tables))
        except ModelAnswerUnreadable:
            selected = set()
        if not selected:
            return select_columns(source.knowledge.expanded(question), source, tables)
        named = source.knowledge.relevant(question).columns
        selected.update((key, column) for key, column in named if column in tables.get(key, ()))
        return _with_keys(selected, source, tables)

    def _best_tables(self, question: str, source: Source, known: Collection[str]) -> list[str]:
        """Return `known`, the tables of stored values, the best-ranked ones and those that connect them.

        Of the latter, as many as fit into the budget, and the first one whatever its size. Misspelt words match, since
        there is no further attempt.
        """
        tables = source.shown_catalog.tables
        expanded = source.knowledge.expanded(question)
        by_words = islice(filter(tables.__contains__, source.index.rank(expanded, fuzzy=1)), _DETAILED)
        needed = [*known, *_tables_of_values(question, source)]
        ranked = list(dict.fromkeys([*needed, *_named_tables(question, source), *by_words]))
        best: list[str] = []
        budget = self.schema_token_budget
        for key in filter(tables.__contains__, source.index.connected(ranked or list(islice(tables, _DETAILED)))):
            tokens = _description_tokens(source, key, tables[key].column_names)
            if not best or key in needed or tokens <= budget:
                best.append(key)
                budget -= tokens
        return best

    def _select(self, schema: type[Answer], prompt: str, source: Source, variables: Mapping[str, str]) -> Answer:
        messages = prompts.render(prompt, instructions=source.instructions, **variables)
        return self.model.ask(schema, messages)


@dataclass(frozen=True)
class IndexLinker:
    """Selects tables and columns by words and stored values, without a model."""

    def link_tables(
        self, question: str, source: Source, attempt: int, known: Collection[str] = (), reason: str = ""
    ) -> LinkedTables:
        """Return at most 10 tables. See `Linker.link_tables`."""
        tables = source.shown_catalog.tables
        expanded = source.knowledge.expanded(question)
        selected = {*known, *select_tables(expanded, source, attempt), *_named_tables(question, source)}
        return LinkedTables([key for key in tables if key in selected])

    def link_columns(self, question: str, source: Source, tables: dict[str, list[str]]) -> dict[str, list[str]]:
        """Return at most 16 columns of each table."""
        return select_columns(source.knowledge.expanded(question), source, tables)


def _named_tables(question: str, source: Source) -> list[str]:
    """Return the shown tables of the terms, metrics and synonyms in `question`."""
    shown = source.shown_catalog.tables
    return [key for key in source.knowledge.relevant(question).tables if key in shown]


def _tables_of_values(question: str, source: Source) -> list[str]:
    """Return the shown tables of the stored values in `question`: for each phrase, the one that fits best."""
    tables = source.shown_catalog.tables
    stored = (key for key in tables_with_values(question, source.values) if key in tables)
    selection = {key: tables[key].column_names for key in stored}
    best: dict[str, str] = {}
    for link in source.linked_values(question, selection) if selection else ():
        best.setdefault(link.phrase, link.table)
    return list(dict.fromkeys(best.values()))


def fits_budget(source: Source, selection: Iterable[tuple[str, Sequence[str]]], budget: int) -> bool:
    """Return whether a description of the tables and columns in `selection` fits into `budget` tokens.

    Stops at the first table that exceeds the budget, so the time does not depend on the size of the schema.
    """
    tokens = 0
    for key, columns in selection:
        tokens += _description_tokens(source, key, columns)
        if tokens > budget:
            return False
    return True


def _description_tokens(source: Source, key: str, columns: Sequence[str]) -> int:
    return source.memoized(
        ("tokens", key, tuple(columns)),
        lambda: estimate_tokens(describe(source.shown_catalog, {key: columns}, source.database.quote, values=False)),
    )


def _meant_tables(name: str, keys: Iterable[str], catalog: Catalog) -> list[str]:
    """Return those of the tables `keys` that `name` refers to, or the one with the nearest spelling, if any."""
    found = matching_tables(name, catalog) or nearest(name, keys, _MIN_SIMILARITY)[:1]
    return [key for key in found if key in keys]


def _selected_columns(answer: ColumnSelection, source: Source, tables: dict[str, list[str]]) -> Iterator[ColumnKey]:
    """Yield the columns that the model selected; a name that does not exist stands for the nearest one."""
    for table in answer.tables:
        for key in _meant_tables(table.table, tables, source.shown_catalog):
            for name in table.columns:
                exact = matching_column(name, tables[key])
                yield from (
                    (key, column) for column in ([exact] if exact else nearest(name, tables[key], _MIN_SIMILARITY)[:1])
                )


def _with_keys(columns: set[ColumnKey], source: Source, tables: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return `columns` by table, with the join keys of their tables, in the order of `tables`."""
    selected_tables = {key for key, _ in columns}
    selection = {}
    for key in filter(selected_tables.__contains__, tables):
        join_keys = source.catalog.tables[key].key_columns
        selection[key] = [column for column in tables[key] if (key, column) in columns or column in join_keys]
    return selection


def matching_tables(name: str, catalog: Catalog) -> list[str]:
    """Return the keys of the tables that `name` refers to: none, one, or several of different schemas.

    Case, quotes of any dialect, white space and a list of columns after the name are ignored. The schema may be
    missing, or given for a table of the default schema.

    >>> from datasphinx.agent.schema.catalog import Table
    >>> matching_tables('public."Orders"(id, total)', Catalog("postgres", {"orders": Table("orders", ())}))
    ['orders']
    """
    for text in dict.fromkeys((name, _COLUMN_LIST.sub("", name))):
        parts = _parts(text)
        exact = catalog.key_of(text.strip()) or catalog.key_of(".".join(parts))
        if exact:
            return [exact]
        keys = list(catalog.keys_named(parts[-1])) if parts else []
        schema = parts[-2] if len(parts) > 1 else None
        in_schema = [key for key in keys if schema and (catalog.full_names[key].schema or "").lower() == schema]
        if keys:
            return in_schema or [key for key in keys if not catalog.full_names[key].schema] or keys
    return []


def matching_column(name: str, columns: Iterable[str]) -> str | None:
    """Return the one of `columns` that `name` refers to, ignoring case, quotes, white space and a table before it."""
    by_name = {column.lower(): column for column in columns}
    parts = _parts(name)
    return by_name.get(name.strip().lower()) or (by_name.get(parts[-1]) if parts else None)


def _parts(name: str) -> list[str]:
    """Return the parts of a qualified name in lower case, without quotes."""
    groups = (next(filter(None, match.groups()), "") for match in _PART.finditer(name.strip()))
    return [part.replace('""', '"').strip().lower() for part in groups if part.strip()]
