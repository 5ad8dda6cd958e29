"""Detection of columns and stored values that a word of a question may mean, without the model.

A detected ambiguity does not imply that its readings differ in their results.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from datasphinx.agent.retrieval.linked_values import LinkedValue, named_spans
from datasphinx.agent.retrieval.value_index import ValueIndex, ValueMatch
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.describe import Selection
from datasphinx.agent.schema.words import content_words, normal_form, stem, words
from datasphinx.agent.sources.source import Source

_MAX_CANDIDATES = 4
_UNMENTIONED_WORD_PENALTY = 0.5
"""Subtracted for each word of a column name that the question does not contain: full matches score highest."""
_SEARCH_LIMIT = 20
_MAX_AMBIGUITIES = 6


@dataclass(frozen=True)
class Ambiguity:
    """A phrase of a question that may mean several columns or stored values."""

    type: str
    """AmbTableColumn or AmbValue."""
    phrase: str
    candidates: tuple[str, ...]
    """The columns as `table.column`, stored values as `table.column = 'value'`."""


class _ColumnMatch(NamedTuple):
    score: float
    table: Table
    column: Column


def ambiguous_columns(question: str, catalog: Catalog, selection: Selection) -> Iterator[Ambiguity]:
    """Yield each word of `question` that matches several columns equally well, with these columns.

    A column scores one point for each question word in its name or its table's, minus a penalty for each other word of
    its name. Not ambiguous: key columns, columns joined by foreign keys, words that name a table, and columns of equal
    name whose tables are all named in the question.
    """
    question_words = words(question)
    tables = [catalog.tables[key] for key in selection if key in catalog.tables]
    table_words = {word for table in tables for word in words(table.name)}
    seen: set[frozenset[str]] = set()
    for word in sorted(content_words(question) - table_words, key=lambda word: _position(word, question)):
        matches = [
            _column_match(table, column, question_words)
            for table in tables
            for column in table.columns
            if word in words(column.name) and column.name in selection[table.key]
            if column.name not in table.key_columns
        ]
        best_score = max((match.score for match in matches), default=0.0)
        best = [match for match in matches if match.score == best_score]
        names = frozenset(f"{match.table.key}.{match.column.name}" for match in best)
        type_classes = {match.column.type_class for match in best}
        if len(names) < 2 or len(type_classes) > 1 or names in seen:
            continue
        column_names = {match.column.name.lower() for match in best}
        if len(column_names) == 1 and all(words(match.table.name) & question_words for match in best):
            continue
        first = best[0]
        key = (first.table.key, first.column.name)
        if all(catalog.are_equivalent(key, (match.table.key, match.column.name)) for match in best):
            continue
        seen.add(names)
        candidates = [f"{match.table.key}.{match.column.name}" for match in best][:_MAX_CANDIDATES]
        yield Ambiguity("AmbTableColumn", _original_word(word, question), tuple(candidates))


def _column_match(table: Table, column: Column, question_words: Set[str]) -> _ColumnMatch:
    column_words, table_words = words(column.name), words(table.name)
    unmentioned = column_words - question_words - table_words
    score = len((column_words | table_words) & question_words) - _UNMENTIONED_WORD_PENALTY * len(unmentioned)
    return _ColumnMatch(score, table, column)


def _original_word(stemmed: str, question: str) -> str:
    """Return the first word of `question` with the stem `stemmed`; the stem itself if there is none."""
    original = re.findall(r"[^\W\d_]+", question)
    return next((word for word in original if stem(word.lower()) == stemmed), stemmed)


def _position(stemmed: str, question: str) -> int:
    return question.find(_original_word(stemmed, question)) % (len(question) + 1)


def ambiguous_values(question: str, source: Source, selection: Selection) -> Iterator[Ambiguity]:
    """Yield each phrase that matches several stored values, with these as `table.column = 'value'`.

    A value stored in several columns is ambiguous unless the question names exactly one of the columns or foreign keys
    join them. A name that equals no value is ambiguous if several values of one column contain its words or, if the
    name is quoted, are spelled similarly.
    """
    by_phrase: dict[str, list[LinkedValue]] = {}
    for link in source.linked_values(question, selection):
        by_phrase.setdefault(link.phrase, []).append(link)
    for phrase, links in by_phrase.items():
        best = _best_links(links, question, source.catalog)
        if len(best) > 1:
            yield _value_ambiguity(phrase, best)
    linked = {phrase.casefold() for phrase in by_phrase}
    for phrase, is_quoted in named_spans(question):
        if not any(phrase.casefold() in other or other in phrase.casefold() for other in linked):
            matches = _matches_in_one_column(phrase, source.values, selection, include_similar=is_quoted)
            if len(matches) > 1:
                yield _value_ambiguity(phrase, matches)


def _best_links(links: list[LinkedValue], question: str, catalog: Catalog) -> list[LinkedValue]:
    """Return one link for each group of equivalent columns, limited to the columns that the question names best."""
    distinct: list[LinkedValue] = []
    for link in links:
        key = (link.table, link.column)
        if not any(catalog.are_equivalent(key, (other.table, other.column)) for other in distinct):
            distinct.append(link)
    question_words = words(question.replace(links[0].phrase, " "))
    scores = [
        2 * len(words(link.column) & question_words) + len(words(link.table) & question_words) for link in distinct
    ]
    return [link for link, score in zip(distinct, scores, strict=True) if score == max(scores)]


def _matches_in_one_column(
    phrase: str, values: ValueIndex, selection: Selection, *, include_similar: bool
) -> list[ValueMatch]:
    """Return the values of the best-matching column that contain all words of `phrase`.

    With `include_similar`, similarly spelled values if none contains all words.
    """
    phrase_words = set(normal_form(phrase).split())
    matches = [match for match in values.find(phrase, _SEARCH_LIMIT) if match.column in selection.get(match.table, ())]
    containing = [match for match in matches if phrase_words <= set(normal_form(match.value).split())]
    candidates = containing or (matches if include_similar else [])
    first = candidates[0] if candidates else None
    return [match for match in candidates if first and (match.table, match.column) == (first.table, first.column)]


def _value_ambiguity(phrase: str, matches: Sequence[LinkedValue | ValueMatch]) -> Ambiguity:
    candidates = [f"{match.table}.{match.column} = {match.value!r}" for match in matches[:_MAX_CANDIDATES]]
    return Ambiguity("AmbValue", phrase, tuple(candidates))


def find_ambiguities(question: str, source: Source, selection: Selection) -> list[Ambiguity]:
    """Return at most six ambiguities of `question` over the columns in `selection`: values, then columns.

    Words that the business knowledge defines are not ambiguous.
    """
    matches = source.knowledge.knowledge.matches(question) if source.knowledge.knowledge.hash else []
    for match in reversed(matches):
        if any(source.knowledge.is_valid(item) for item in match.items):
            question = f"{question[: match.start]} {question[match.end :]}"
    by_values = ambiguous_values(question, source, selection)
    by_columns = ambiguous_columns(question, source.catalog, selection)
    return [*by_values, *by_columns][:_MAX_AMBIGUITIES]
