"""AmbTableColumn: words of a question that fit several columns about equally well."""

import re
from collections.abc import Iterator, Set
from typing import NamedTuple

from agent.catalog.describe import Selection
from agent.catalog.schema import Catalog, Column, Table
from agent.catalog.words import content_words, stem, words
from agent.clarify.same_things import SameThings
from agent.clarify.types import Ambiguity

_MOST_CANDIDATES = 4
_UNSAID = 0.5
"""What a word of a column's name costs that the question does not say: a name that is said in full fits best."""


class _Fit(NamedTuple):
    score: float
    table: Table
    column: Column


def ambiguous_columns(question: str, catalog: Catalog, selection: Selection) -> Iterator[Ambiguity]:
    """Yield each word of `question` with the columns that it fits best, where these are several.

    A column fits by the words that its name, with its table's, shares with the question, less those that it has beyond.
    Keys name no property, and columns that foreign keys join hold the same things, so neither counts; nor does a word
    that names a table, nor columns of one name whose tables the question names all.
    """
    asked, same = words(question), SameThings(catalog)
    tables = [catalog.tables[key] for key in selection if key in catalog.tables]
    named = {word for table in tables for word in words(table.name)}
    seen: set[frozenset[str]] = set()
    for word in sorted(content_words(question) - named, key=lambda word: _place(word, question)):
        fits = [_fit(table, column, asked) for table in tables for column in _properties(table, selection, word)]
        best = max((fit.score for fit in fits), default=0.0)
        found = [fit for fit in fits if fit.score == best]
        names = frozenset(f"{fit.table.key}.{fit.column.name}" for fit in found)
        kinds = {fit.column.type_class for fit in found}
        if len(names) < 2 or len(kinds) > 1 or names in seen:
            continue
        if len({fit.column.name.lower() for fit in found}) == 1 and all(words(fit.table.name) & asked for fit in found):
            continue
        if all(same.hold(found[0].table.key, found[0].column.name, fit.table.key, fit.column.name) for fit in found):
            continue
        seen.add(names)
        shown = [f"{fit.table.key}.{fit.column.name}" for fit in found][:_MOST_CANDIDATES]
        yield Ambiguity(type="AmbTableColumn", phrase=_as_said(word, question), candidates=shown)


def _properties(table: Table, selection: Selection, word: str) -> list[Column]:
    """Return the columns of `table` that have `word` in their name and are no key."""
    chosen, keys = set(selection[table.key]), set(table.key_columns)
    return [
        each for each in table.columns if each.name in chosen and each.name not in keys and word in words(each.name)
    ]


def _fit(table: Table, column: Column, asked: Set[str]) -> _Fit:
    own, tables = words(column.name), words(table.name)
    beyond = own - asked - tables
    return _Fit(len((own | tables) & asked) - _UNSAID * len(beyond), table, column)


def _as_said(stemmed: str, question: str) -> str:
    """Return the word of `question` with this stem as it stands there."""
    said = re.findall(r"[^\W\d_]+", question)
    return next((word for word in said if stem(word.lower()) == stemmed), stemmed)


def _place(stemmed: str, question: str) -> int:
    return question.find(_as_said(stemmed, question)) % (len(question) + 1)
