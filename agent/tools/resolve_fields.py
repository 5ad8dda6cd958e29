"""Tool: map terms of a question to columns."""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from pydantic import Field
from rapidfuzz import fuzz, utils

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.retrieval.linked_values import linked_values
from datasphinx.agent.retrieval.synonyms import Concept, concepts, overlap
from datasphinx.agent.schema.catalog import Table
from datasphinx.agent.schema.words import is_function_word, words
from datasphinx.agent.sources.source import Source
from datasphinx.agent.tools.tool import Arguments, Outcome, Tool, Workbench

_MAX_MATCHES = 3
_MIN_SCORE = 0.55
_BY_WORDS, _BY_SPELLING, _BY_MEANING, _BY_VALUE = 0.95, 0.9, 0.86, 0.85
_TERM_WEIGHT = 0.6
"""Weight of the share of the term's words that are in the name; the share of the name's words has the rest."""

_MAX_SHARING = 3
"""Number of columns that may share a part of a term."""
_MIN_PART = 3
"""Minimum length of the beginning of a word, in letters; one more for other scripts than Latin."""
_SHOWN_NAMES = 100


class ResolveFields(Arguments):
    """A dataset and terms to look for among its columns."""

    dataset_id: str
    terms: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(min_length=1, max_length=20)] = (
        Field(description="One term for each column to find.")
    )


class Match(NamedTuple):
    """A candidate column for a term, with a score from 0 to 1.

    `by` is the kind of match: `name`, `words`, `spelling`, `meaning`, `value` or `part`.
    """

    column: str
    score: float
    by: str


def resolve_fields(arguments: ResolveFields, bench: Workbench, cancellation: Cancellation) -> Outcome:
    """Return the columns that the terms mean, best first, and for each term up to three of them with their scores.

    If a term means none, its nearest columns and all names are added.

    A term matches a column by its name (1.0), the stems of its words (up to 0.95), its spelling (up to 0.9), the
    meaning of its words in English, Russian or Chinese (up to 0.86), or a value of the column (0.85). Scores of words
    and meanings are 0.6 times the share of the term's words found in the name plus 0.4 times the share of the name's
    words found in the term. A column that shares a word, its beginning or its meaning with the term, while at most two
    others do, has at least 0.55 (`part`), unless both are compounds and it is the last thing of neither: a reason for
    returns is no number of returns. Lower scores are not matches, but the best of them are the nearest columns.

    Raises:
        ToolCallInvalid: the dataset is not among those of the question.
    """
    source, table = bench.table(TOOL.name, arguments.dataset_id)
    candidates = {term: _candidates(term, table, source) for term in dict.fromkeys(arguments.terms)}
    matches = {
        term: [match for match in best if match.score >= _MIN_SCORE][:_MAX_MATCHES] for term, best in candidates.items()
    }
    best_first = sorted((match for best in matches.values() for match in best), key=lambda match: -match.score)
    content: dict[str, Any] = {
        "mapped_columns": list(dict.fromkeys(match.column for match in best_first)),
        "scores": {term: [match._asdict() for match in best] for term, best in matches.items()},
    }
    if not all(matches.values()):
        content["nearest"] = {
            term: [match._asdict() for match in best[:_MAX_MATCHES]]
            for term, best in candidates.items()
            if not matches[term]
        }
        content["columns"] = list(table.column_names[:_SHOWN_NAMES])
    return Outcome(content, sum(map(len, matches.values())))


def _candidates(term: str, table: Table, source: Source) -> list[Match]:
    """Return the best match of each column, best first."""
    best: dict[str, Match] = {}
    # Quotes make the search treat the term as one value.
    quoted = '"' + term.replace('"', " ") + '"'
    values = linked_values(quoted, source.values, {table.key: table.column_names})
    by_value = [Match(value.column, _BY_VALUE, "value") for value in values]
    for match in [
        *_by_part(term, table),
        *_by_meaning(term, table),
        *_by_name(term, table),
        *by_value,
    ]:
        if match.score >= (best[match.column].score if match.column in best else 0.01):
            best[match.column] = match
    return sorted(best.values(), key=lambda match: -match.score)


def _by_name(term: str, table: Table) -> Iterator[Match]:
    folded, term_words = term.strip().casefold(), words(term)
    for name in table.column_names:
        if name.casefold() == folded:
            yield Match(name, 1.0, "name")
            continue
        name_words = words(name)
        if term_words and name_words:
            common = len(term_words & name_words)
            share = _TERM_WEIGHT * common / len(term_words) + (1 - _TERM_WEIGHT) * common / len(name_words)
            yield Match(name, round(_BY_WORDS * share, 2), "words")
        similarity = fuzz.ratio(term, name, processor=utils.default_process) / 100
        yield Match(name, round(_BY_SPELLING * similarity, 2), "spelling")


def _by_part(term: str, table: Table) -> Iterator[Match]:
    """Yield the columns that share a part of the term with few others, a little higher the fewer they are."""
    parts: list[str | Concept] = [*sorted(words(term)), *concepts(term)]
    names = [name for name in table.column_names if not _share_no_head(term, name)]
    for part in parts:
        sharing = [name for name in names if _shares_part(part, name)]
        if len(sharing) <= _MAX_SHARING:
            yield from (Match(name, round(_MIN_SCORE + 0.06 / len(sharing), 2), "part") for name in sharing)


def _shares_part(part: str | Concept, name: str) -> bool:
    """Return whether a word or a meaning of a term, or the beginning of the word, occurs in the name of a column."""
    if isinstance(part, frozenset):
        return any(part & concept for concept in concepts(name))
    least = _MIN_PART if part.isascii() else _MIN_PART + 1
    return any(
        part == word or (min(len(part), len(word)) >= least and (word.startswith(part) or part.startswith(word)))
        for word in words(name)
        if not is_function_word(word)
    )


def _share_no_head(term: str, name: str) -> bool:
    """Return whether a term and a name are compounds, and the last thing of each, its head, is not in the other."""
    first, second = concepts(term), concepts(name)
    is_compound = len(first) > 1 and len(second) > 1
    return is_compound and not overlap(first[-1:], second) and not overlap(second[-1:], first)


def _by_meaning(term: str, table: Table) -> Iterator[Match]:
    term_concepts = concepts(term)
    for name in table.column_names:
        name_concepts = concepts(name)
        share = _TERM_WEIGHT * overlap(term_concepts, name_concepts) + (1 - _TERM_WEIGHT) * overlap(
            name_concepts, term_concepts
        )
        yield Match(name, round(_BY_MEANING * share, 2), "meaning")


TOOL = Tool(
    "resolve_fields",
    "Find the columns that words of the question may mean, also in another language or as a value.",
    ResolveFields,
    resolve_fields,
)
