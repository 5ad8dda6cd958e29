"""AmbValue: words of a question that name several stored values, or a value that is stored nowhere."""

from collections.abc import Iterator

from agent.catalog.describe import Selection
from agent.catalog.linked_values import LinkedValue, linked_values, named_spans
from agent.catalog.normal_form import normal_form
from agent.catalog.schema import Catalog
from agent.catalog.value_index import ValueIndex, ValueMatch
from agent.catalog.words import words
from agent.clarify.same_things import SameThings
from agent.clarify.types import Ambiguity

_MOST_CANDIDATES = 4
_SEARCHED = 20


def ambiguous_values(question: str, values: ValueIndex, catalog: Catalog, selection: Selection) -> Iterator[Ambiguity]:
    """Yield each phrase with the stored values that it may mean, as `table.column = 'value'`, where these are several.

    A value in several columns counts where the question names none of them, or several, and foreign keys do not join
    them. A name that no value has counts where several values of a column hold its words, or, in quotation marks,
    where it is spelt almost as others are.
    """
    same, found = SameThings(catalog), linked_values(question, values, selection)
    by_phrase: dict[str, list[LinkedValue]] = {}
    for link in found:
        by_phrase.setdefault(link.phrase, []).append(link)
    for phrase, links in by_phrase.items():
        rivals = _rivals(links, question, same)
        if len(rivals) > 1:
            yield _of(phrase, [_shown(link.table, link.column, link.value) for link in rivals])
    linked = {phrase.casefold() for phrase in by_phrase}
    for phrase, is_quoted in named_spans(question):
        if not any(phrase.casefold() in known or known in phrase.casefold() for known in linked):
            matches = _holding(phrase, values, selection, anything=is_quoted)
            if len(matches) > 1:
                yield _of(phrase, [_shown(match.table, match.column, match.value) for match in matches])


def _rivals(links: list[LinkedValue], question: str, same: SameThings) -> list[LinkedValue]:
    """Return one of each group of columns that hold the same things, those alone that the question names best."""
    apart: list[LinkedValue] = []
    for link in links:
        if not any(same.hold(link.table, link.column, other.table, other.column) for other in apart):
            apart.append(link)
    asked = words(question.replace(links[0].phrase, " "))
    said = [2 * len(words(link.column) & asked) + len(words(link.table) & asked) for link in apart]
    return [link for link, share in zip(apart, said, strict=True) if share == max(said)]


def _holding(phrase: str, values: ValueIndex, selection: Selection, *, anything: bool) -> list[ValueMatch]:
    """Return the values of one column that hold all the words of `phrase`; with `anything` also those spelt alike."""
    wanted = set(normal_form(phrase).split())
    found = [match for match in values.find(phrase, _SEARCHED) if match.column in selection.get(match.table, ())]
    holding = [match for match in found if wanted <= set(normal_form(match.value).split())]
    chosen = holding or (found if anything else [])
    first = chosen[0] if chosen else None
    return [match for match in chosen if first and (match.table, match.column) == (first.table, first.column)]


def _shown(table: str, column: str, value: str) -> str:
    return f"{table}.{column} = {value!r}"


def _of(phrase: str, candidates: list[str]) -> Ambiguity:
    return Ambiguity(type="AmbValue", phrase=phrase, candidates=candidates[:_MOST_CANDIDATES])
