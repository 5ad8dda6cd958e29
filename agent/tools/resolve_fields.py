"""Tool: map terms of a question to columns."""

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from pydantic import Field
from rapidfuzz import fuzz, utils

from agent.core.cancellation import Cancellation
from agent.retrieval.linked_values import linked_values
from agent.retrieval.synonyms import concepts, overlap
from agent.schema.catalog import Table
from agent.schema.words import words
from agent.sources.source import Source
from agent.tools.tool import Arguments, Outcome, Tool, Workbench

_MAX_MATCHES = 3
_MIN_SCORE = 0.55
_BY_WORDS, _BY_SPELLING, _BY_MEANING, _BY_VALUE = 0.95, 0.9, 0.86, 0.85
_TERM_WEIGHT = 0.6
"""Weight of the share of the term's words that are in the name; the share of the name's words has the rest."""

_SHOWN_NAMES = 100


class ResolveFields(Arguments):
    """A dataset and terms to look for among its columns."""

    dataset_id: str = Field(description="The id of a dataset of this question.")
    terms: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(min_length=1, max_length=20)] = (
        Field(description="Words of the question, one term for each column to find.")
    )


class Match(NamedTuple):
    """A candidate column for a term, with a score from 0 to 1.

    `by` is the kind of match: `name`, `words`, `spelling`, `meaning` or `value`.
    """

    column: str
    score: float
    by: str


def resolve_fields(arguments: ResolveFields, bench: Workbench, cancellation: Cancellation) -> Outcome:
    """Return up to three columns with scores for each term, best first; if a term has none, also the column names.

    A term matches a column by its name (1.0), the stems of its words (up to 0.95), its spelling (up to 0.9), the
    meaning of its words in English, Russian or Chinese (up to 0.86), or a value of the column (0.85). Scores of words
    and meanings are 0.6 times the share of the term's words found in the name plus 0.4 times the share of the name's
    words found in the term. Scores below 0.55 are dropped.

    Raises:
        ToolCallInvalid: the dataset is not among those of the question.
        DatasphinxError: an error of `Workbench.table` or `agent.sql.execute.execute`.
    """
    source, table = bench.table(TOOL.name, arguments.dataset_id)
    matches = {term: _matches(term, table, source) for term in dict.fromkeys(arguments.terms)}
    content: dict[str, Any] = {
        "mapped_columns": {term: [match._asdict() for match in best] for term, best in matches.items()}
    }
    if not all(matches.values()):
        content["columns"] = list(table.column_names[:_SHOWN_NAMES])
    return Outcome(content, sum(map(len, matches.values())))


def _matches(term: str, table: Table, source: Source) -> list[Match]:
    best: dict[str, Match] = {}
    # Quotes make the search treat the term as one value.
    quoted = '"' + term.replace('"', " ") + '"'
    values = linked_values(quoted, source.values, {table.key: table.column_names})
    by_value = [Match(value.column, _BY_VALUE, "value") for value in values]
    for match in [*_by_meaning(term, table), *_by_name(term, table), *by_value]:
        if match.score >= max(_MIN_SCORE, best[match.column].score if match.column in best else 0):
            best[match.column] = match
    return sorted(best.values(), key=lambda match: -match.score)[:_MAX_MATCHES]


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
    "Find the columns that words of the question may mean, with scores: in another language, or as a value, too.",
    ResolveFields,
    resolve_fields,
)
