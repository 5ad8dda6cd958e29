"""Detection of stored values that words of a question may mean, without the model.

A detected ambiguity does not imply that its readings differ in their results.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from datasphinx.agent.retrieval.linked_values import LinkedValue, named_spans
from datasphinx.agent.retrieval.value_index import ValueIndex, ValueMatch
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.schema.describe import Selection
from datasphinx.agent.schema.words import normal_form, words
from datasphinx.agent.sources.source import Source

_MAX_CANDIDATES = 4
_SEARCH_LIMIT = 20


@dataclass(frozen=True)
class Ambiguity:
    """A phrase of a question that may mean several stored values."""

    phrase: str
    candidates: tuple[str, ...]
    """The values as `table.column = 'value'`."""


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
    return Ambiguity(phrase, tuple(candidates))


def first_ambiguity(question: str, source: Source, selection: Selection) -> Ambiguity | None:
    """Return the first ambiguity of `question` over the columns in `selection`; None if there is none.

    Words that the business knowledge defines are not ambiguous.
    """
    matches = source.knowledge.knowledge.matches(question) if source.knowledge.knowledge.hash else []
    for match in reversed(matches):
        if any(source.knowledge.is_valid(item) for item in match.items):
            question = f"{question[: match.start]} {question[match.end :]}"
    return next(ambiguous_values(question, source, selection), None)
