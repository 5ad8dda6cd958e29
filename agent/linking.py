"""Schema linking: selection of the source, tables and columns for a question, with few or no model calls."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Protocol

import prompts
from agent.errors import ModelAnswerUnreadable, Terminal
from agent.llm.client import ModelClient
from agent.llm.schemas import ColumnSelection, TableSelection
from agent.record.step import note
from agent.retrieval.index import SchemaIndex
from agent.retrieval.query import sum_frequencies
from agent.schema.describe import describe, describe_compactly, estimate_tokens, quoted_key
from agent.schema.words import content_words, words
from agent.sources.source import Source

_CANDIDATES = 15
_FALLBACK_TABLES = 5
_FALLBACK_COLUMNS = 12


def link_source(question: str, names: Sequence[str], open_source: Callable[[str], Source]) -> str:
    """Return the one of `names` whose source fits `question` best; a choice among several is noted in the audit.

    A source that cannot be opened is skipped, with a note.

    Raises:
        Terminal: no source can be opened; the error is that of the first.
    """
    if len(names) == 1:
        return names[0]
    indexes, errors = {}, []
    for name in names:
        try:
            indexes[name] = open_source(name).index
        except Terminal as error:
            errors.append(error)
            note(f"the source {name} was left out: {str(error).partition('. ')[0]}")
    if not indexes:
        raise errors[0]
    best = choose_source(question, indexes)
    note(f"asked the source {best}, chosen among {', '.join(indexes)}")
    return best


def choose_source(question: str, indexes: Mapping[str, SchemaIndex]) -> str:
    """Return the name of the source with the best table for `question`; the first source wins ties.

    Inverse document frequencies are computed over the tables of all sources, so that a word cannot decide in favour of
    a source only because it is rare there.

    Raises:
        ModelUnreachable, ModelRejected: an embedding endpoint failed.
    """
    frequencies = sum_frequencies([index.frequencies(question) for index in indexes.values()])
    best = {
        name: max(index.scores(question, frequencies=frequencies).values(), default=-inf)
        for name, index in indexes.items()
    }
    return max(best, key=best.__getitem__)


class Linker(Protocol):
    """Selects the tables and columns for a question."""

    def link_tables(self, question: str, source: Source, attempt: int) -> list[str]:
        """Return the keys of the tables that may answer `question`; empty if no table is related to it.

        Each further `attempt`, counted from 1, considers more tables and tolerates more spelling errors. Tables that
        row rules deny are left out.

        Raises:
            ModelUnreachable, ModelRejected, BudgetExceeded: the model's selection is needed and not available.
        """

    def link_columns(self, question: str, source: Source, tables: dict[str, list[str]]) -> dict[str, list[str]]:
        """Return the columns of `tables` that may be needed, always with the join keys.

        Raises:
            ModelUnreachable, ModelRejected, BudgetExceeded: the model's selection is needed and not available.
        """


@dataclass(frozen=True)
class StandardLinker:
    """Returns all of a small schema, and lets a chat model select from a larger one."""

    model: ModelClient
    schema_token_budget: int

    def link_tables(self, question: str, source: Source, attempt: int) -> list[str]:
        """Return all tables of a schema within the token budget, otherwise a selection. See `Linker.link_tables`.

        The model selects among the tables that the index ranks best; tables needed to join them are added. No table of
        a small schema is returned if the question has no word in common with it.
        """
        tables, fuzzy = source.shown_catalog.tables, attempt - 1
        whole = ((key, table.column_names) for key, table in tables.items())
        if len(tables) == 1 or fits_budget(source, whole, self.schema_token_budget):
            return list(tables) if source.index.may_concern(question, fuzzy=fuzzy) else []
        limit = _CANDIDATES * attempt
        ranked = list(islice(filter(tables.__contains__, source.index.rank(question, fuzzy=fuzzy)), limit))
        keys: list[str] = []
        lines: list[str] = []
        for key in filter(tables.__contains__, source.index.with_neighbours(ranked or list(islice(tables, limit)))):
            line = describe_compactly(source.shown_catalog, {key: tables[key].column_names}, str)
            if lines and estimate_tokens("\n".join([*lines, line])) > self.schema_token_budget * attempt:
                break
            lines.append(line)
            keys.append(key)
        messages = prompts.render(
            "select_tables",
            self.model.profile,
            instructions=source.instructions,
            tables="\n".join(lines),
            question=question,
        )
        try:
            selected = {name.lower() for name in self.model.ask(TableSelection, messages).tables}
        except ModelAnswerUnreadable:
            return keys[:_FALLBACK_TABLES]
        connected = source.index.connected([key for key in tables if key.lower() in selected])
        return [key for key in connected if key in tables]

    def link_columns(self, question: str, source: Source, tables: dict[str, list[str]]) -> dict[str, list[str]]:
        """Return all columns within the token budget, otherwise the model's selection. See `Linker.link_columns`.

        If the model's answer cannot be read, columns are selected by common words.
        """
        if fits_budget(source, tables.items(), self.schema_token_budget):
            return tables
        schema = describe(source.shown_catalog, tables, source.database.quote, values=False)
        messages = prompts.render(
            "select_columns", self.model.profile, instructions=source.instructions, schema=schema, question=question
        )
        try:
            selection = self.model.ask(ColumnSelection, messages)
        except ModelAnswerUnreadable:
            return _columns_by_words(question, source, tables)
        names = {(table.table.lower(), name.lower()) for table in selection.tables for name in table.columns}
        return _matching_columns(source, tables, names) or _columns_by_words(question, source, tables)


def fits_budget(source: Source, selection: Iterable[tuple[str, Sequence[str]]], budget: int) -> bool:
    """Return whether a description of the tables and columns in `selection` fits into `budget` tokens.

    Stops at the first table that exceeds the budget, so the time does not depend on the size of the schema.
    """
    tokens = 0
    for key, columns in selection:
        tokens += estimate_tokens(describe(source.shown_catalog, {key: columns}, source.database.quote, values=False))
        if tokens > budget:
            return False
    return True


def _columns_by_words(question: str, source: Source, tables: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return, for each table, the columns that share a word with the question, and the first columns up to 12."""
    question_words = content_words(question)
    selection = {}
    for key, columns in tables.items():
        matches = [column for column in columns if words(column) & question_words]
        keys = source.catalog.tables[key].key_columns
        limit = max(_FALLBACK_COLUMNS, len(matches) + len(keys))
        subset = set(dict.fromkeys([*matches, *keys, *columns][:limit]))
        selection[key] = [column for column in columns if column in subset]
    return selection


def _matching_columns(
    source: Source, tables: dict[str, list[str]], names: set[tuple[str, str]]
) -> dict[str, list[str]]:
    """Return the columns in `names`, which may be quoted as in the prompt, and the join keys of their tables."""
    quote = source.database.quote
    selection = {}
    for key, columns in tables.items():
        table = source.catalog.tables[key]
        column_names = {
            name for table_name, name in names if table_name in {key.lower(), quoted_key(table, quote).lower()}
        }
        matches = {column for column in columns if column_names & {column.lower(), quote(column).lower()}}
        if matches:
            subset = matches | set(table.key_columns)
            selection[key] = [column for column in columns if column in subset]
    return selection
