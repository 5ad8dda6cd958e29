"""Verified questions: which of them a question is equivalent to, and the statement with its literals.

A question is equivalent to a verified one if both have the same form (`agent.knowledge.question_form`), with the
literals of the question in place of the parameters, and the same meaning by their embeddings. A text is a literal of a
parameter if the column that the statement compares with the parameter contains it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations
from typing import NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
from sqlglot import exp

from agent.knowledge.entries import MetricEntry, Parameter, VerifiedEntry
from agent.knowledge.knowledge import Item, Knowledge, content_words
from agent.knowledge.question_form import (
    Key,
    Literal,
    LiteralKind,
    NamedEntry,
    QuestionForm,
    numbers_and_dates,
    read_question,
)
from agent.retrieval.semantic import Embedder
from agent.retrieval.value_index import ValueIndex, ValueMatch
from agent.schema.catalog import Catalog, ColumnKey
from agent.schema.words import UNIT, is_data_word, is_function_word, normal_form, stem, words
from agent.sql.dialects import print_statement
from agent.sql.guard import parse
from agent.sql.names import resolved_query
from agent.sql.parameters import Value, with_literals

T = TypeVar("T")

MIN_SIMILARITY = 0.6
"""Cosine of the embeddings below which two questions with the same form are not equivalent."""
_MAX_LITERALS = 6
_MAX_TEXTS = 4
_MAX_PHRASE = 6
_MAX_UNITS = 60
_ARTICLES = frozenset(("a", "an", "the", "of"))
_FULL_NAMES = ("exact", "normalised", "label")
"""Kinds of matches in which a phrase names a stored value in full."""


class Verified(NamedTuple):
    """A verified question, with the parameters that its literals stand for."""

    item: Item
    entry: VerifiedEntry
    slots: Mapping[int, str]
    """The name of the parameter by the index of its literal."""
    literals: Sequence[Literal]


_FORMS: "WeakKeyDictionary[Knowledge, Sequence[tuple[Verified, QuestionForm]]]" = WeakKeyDictionary()


@dataclass(frozen=True)
class VerifiedMatch:
    """A verified question that is equivalent to a question, and the literals of that question by parameter."""

    item: Item
    entry: VerifiedEntry
    parameters: Mapping[str, Value]

    def statement(self, dialect: str) -> str:
        """Return the statement with the parameters bound in its syntax tree.

        Raises:
            ValueError: the SQL cannot be parsed.
        """
        (tree,) = parse(self.entry.sql, dialect)
        return print_statement(with_literals(tree, self.parameters), dialect)


@dataclass(frozen=True, eq=False)
class VerifiedIndex:
    """The verified questions about a source, by their forms."""

    knowledge: Knowledge
    catalog: Catalog
    _columns: dict[Item, Mapping[str, ColumnKey]] = field(default_factory=dict, repr=False)
    """The columns that the statement of an entry compares with its parameters, by parameter."""

    def find(
        self,
        question: str,
        values: Callable[[], ValueIndex],
        embedder: Embedder | None,
        is_valid: Callable[[Item], bool],
    ) -> VerifiedMatch | None:
        """Return the verified question that is equivalent to `question`; None if there is none.

        `values` returns the index of stored values. Without an embedder, only the same words are equivalent. Entries
        that are not `is_valid` are skipped.
        """
        if not self._by_key:
            return None
        found = values() if self._has_texts else None
        plain, texts = numbers_and_dates(question), self._texts(question, found)
        if len(plain) > _MAX_LITERALS or len(texts) > _MAX_TEXTS:
            return None
        # A question verified for a certain value precedes one with a parameter in its place.
        for chosen_texts in _subsets(texts):
            literals = _without_overlaps([*chosen_texts, *plain])
            names = self._names(question, literals)
            form = read_question(question, literals, names)
            for chosen in _subsets([at for at, literal in enumerate(literals) if literal.kind != "text"]):
                slots = {at: each.kind for at, each in enumerate(literals) if each.kind == "text" or at in chosen}
                for verified in self._by_key.get(form.key(slots, self._tables), ()):
                    given = [literals[at] for at in slots]
                    parameters = self._bound(verified, given, found)
                    if parameters is None or not is_valid(verified.item):
                        continue
                    if self._is_same_meaning(question, _with_literals(verified, given), embedder):
                        return VerifiedMatch(verified.item, verified.entry, parameters)
        return None

    def equivalents(self) -> Iterator[tuple[Item, Item]]:
        """Yield each verified question that has the form of an earlier one, and that one, which is used instead."""
        for group in self._by_key.values():
            for verified in group[1:]:
                yield verified.item, group[0].item

    def unbound(self, entry: VerifiedEntry) -> list[str]:
        """Return the parameters whose examples the question does not contain."""
        bound = set(_slots(entry, self._question_literals(entry)).values())
        return [name for name in entry.parameters if name not in bound]

    @cached_property
    def _by_key(self) -> Mapping[Key, Sequence[Verified]]:
        index: dict[Key, list[Verified]] = {}
        for verified, form in self._forms():
            kinds: dict[int, LiteralKind] = {at: verified.literals[at].kind for at in verified.slots}
            index.setdefault(form.key(kinds, self._tables), []).append(verified)
        return index

    def _forms(self) -> Sequence[tuple[Verified, QuestionForm]]:
        """Return the verified questions with their forms, read once for all sources that use this knowledge."""
        if self.knowledge not in _FORMS:
            forms = []
            for item in self.knowledge.of_kind("verified"):
                entry = cast(VerifiedEntry, item.entry)
                literals = self._question_literals(entry)
                slots = _slots(entry, literals)
                if len(set(slots.values())) == len(entry.parameters):
                    form = read_question(entry.question, literals, self._names(entry.question, literals))
                    forms.append((Verified(item, entry, slots, literals), form))
            _FORMS[self.knowledge] = forms
        return _FORMS[self.knowledge]

    def _is_same_meaning(self, first: str, second: str, embedder: Embedder | None) -> bool:
        if normal_form(first) == normal_form(second):
            return True
        if embedder is None:
            return False
        one, other = np.asarray(embedder.embed([self._content(text) for text in (first, second)]))
        lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
        return lengths > 0 and float(one @ other) / lengths >= MIN_SIMILARITY

    def _content(self, question: str) -> str:
        """Return the words of `question` that name data, with terms and metrics under their own names.

        Words such as "how many" and "show" would distort the similarity of short questions.
        """
        for match in reversed(self.knowledge.matches(question)):
            if len(match.items) == 1 and match.items[0].kind in ("term", "metric"):
                question = question[: match.start] + match.items[0].name + question[match.end :]
        content = (word for word in normal_form(question).split() if not (is_function_word(word) or is_data_word(word)))
        return " ".join(content) or question

    @cached_property
    def _has_texts(self) -> bool:
        return any(
            verified.literals[at].kind == "text"
            for group in self._by_key.values()
            for verified in group
            for at in verified.slots
        )

    @cached_property
    def _tables(self) -> frozenset[str]:
        return frozenset(word for table in self.catalog.tables.values() for word in words(table.name))

    @cached_property
    def _labels(self) -> Mapping[str, Sequence[str]]:
        """The names of codes, by code."""
        labels: dict[str, list[str]] = {}
        for _, entry in self.knowledge.columns:
            for code, names in entry.labels.items():
                labels.setdefault(code, []).extend(names)
        return labels

    def _question_literals(self, entry: VerifiedEntry) -> list[Literal]:
        """Return the literals of a verified question: numbers, days, and the examples of its text parameters."""
        plain = numbers_and_dates(entry.question)
        texts: list[Literal] = []
        for parameter in entry.parameters.values():
            if parameter.type == "text" and all(parameter.example != literal.value for literal in plain):
                names = [parameter.example, *self._labels.get(parameter.example, ())]
                spans = next(filter(None, (_occurrences(name, entry.question) for name in names)), [])
                texts += [Literal("text", phrase, start, end, parameter.example) for phrase, start, end in spans]
        return _without_overlaps([*texts, *plain])

    def _texts(self, question: str, values: ValueIndex | None) -> list[Literal]:
        """Return the phrases of a question that are stored values or their names, the longest of those that overlap."""
        if values is None:
            return []
        units = list(UNIT.finditer(question))[:_MAX_UNITS]
        runs = [
            (question[first.start() : last.end()], first.start(), last.end())
            for size in range(_MAX_PHRASE, 0, -1)
            for first, last in zip(units, units[size - 1 :], strict=False)
        ]
        found = values.lookup(phrase for phrase, _, _ in runs)
        return _without_overlaps(
            Literal("text", phrase, start, end, phrase)
            for phrase, start, end in runs
            if not phrase.isdecimal()
            if normal_form(phrase) in self._examples or _full_names(phrase, found.get(phrase, ()))
        )

    @cached_property
    def _examples(self) -> frozenset[str]:
        return frozenset(
            normal_form(verified.literals[at].text)
            for group in self._by_key.values()
            for verified in group
            for at in verified.slots
        )

    def _names(self, question: str, literals: Sequence[Literal]) -> list[NamedEntry]:
        """Return the words of `question` that name one term, metric, table or column."""
        names = []
        for match in self.knowledge.matches(question):
            items = {name.item for name in match.names if name.code is None}
            is_free = all(match.end <= literal.start or match.start >= literal.end for literal in literals)
            # Between the words of a name, any other word may change its meaning.
            between = {*UNIT.findall(normal_form(match.phrase))} - {*content_words(match.phrase)} - _ARTICLES
            if len(items) == 1 and is_free and not between:
                (item,) = items
                entry = item.entry
                is_sum = isinstance(entry, MetricEntry) and entry.expression.lstrip().upper().startswith("SUM(")
                if item.kind in ("term", "metric"):
                    token = item.id
                else:
                    token = " ".join(sorted(stem(word) for word in normal_form(item.name.rpartition(".")[2]).split()))
                names.append(NamedEntry(token, match.start, match.end, is_sum))
        return names

    def _bound(
        self, verified: Verified, given: Sequence[Literal], values: ValueIndex | None
    ) -> dict[str, Value] | None:
        """Return the values of the parameters, from the literals in their places; None if one does not fit."""
        bound: dict[str, Value] = {}
        own = list(verified.slots)
        # Literals of one type are in the same order in both questions.
        for kind in ("text", "number", "date"):
            places = [at for at in own if verified.literals[at].kind == kind]
            for at, literal in zip(places, [each for each in given if each.kind == kind], strict=True):
                name = verified.slots[at]
                value = self._value(verified, name, verified.literals[at], literal, values)
                if value is None or bound.setdefault(name, value) != value:
                    return None
        return bound

    def _value(self, verified: Verified, name: str, own: Literal, given: Literal, values: ValueIndex | None) -> Value:
        """Return the value of a parameter for the literal `given`; None if the literal does not fit."""
        parameter: Parameter = verified.entry.parameters[name]
        if given.kind != "text":
            is_fraction = "." in given.value and "." not in parameter.example
            is_year = _is_year(parameter.example) and not _is_year(given.value)
            if is_fraction or (given.kind == "number" and is_year):
                return None
            return parameter.model_copy(update={"example": given.value}).value
        if normal_form(given.text) == normal_form(own.text):
            return parameter.example
        if verified.item not in self._columns:
            self._columns[verified.item] = dict(_compared_columns(verified.entry.sql, self.catalog))
        column = self._columns[verified.item].get(name)
        if column is None or values is None:
            return None
        found = values.lookup([given.text, own.text])
        matches, examples = (_full_names(phrase, found.get(phrase, ())) for phrase in (given.text, own.text))
        stored = {match.value for match in matches if (match.table, match.column) == column}
        # A value of several columns, such as "Georgia", is ambiguous.
        if len(stored) != 1 or not _columns(matches) <= _columns(examples) | {column}:
            return None
        return stored.pop()


def _compared_columns(sql: str, catalog: Catalog) -> Iterator[tuple[str, ColumnKey]]:
    """Yield the parameters of `sql`, each with the column that is compared with it by `=` or IN."""
    query = resolved_query(sql, catalog)
    for scope in query.scopes if query else ():
        for node in scope.find_all(exp.EQ, exp.In):
            parts = [node.this, *(node.expressions if isinstance(node, exp.In) else [node.expression])]
            column = next((found for part in parts if (found := query.column_of(part, scope))), None) if query else None
            for part in parts:
                if column and isinstance(part, exp.Placeholder):
                    yield part.name, (column.table.key, column.column.name)


def _slots(entry: VerifiedEntry, literals: Sequence[Literal]) -> dict[int, str]:
    """Return the parameter for the index of each literal that is its example."""
    slots: dict[int, str] = {}
    for name, parameter in entry.parameters.items():
        for at, literal in enumerate(literals):
            kinds = ("text", "number") if parameter.type == "text" else (parameter.type,)
            example = parameter.example.rstrip("0").rstrip(".") if "." in parameter.example else parameter.example
            if literal.kind in kinds and literal.value in (parameter.example, example):
                slots.setdefault(at, name)
    return dict(sorted(slots.items()))


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdecimal() and 1900 <= int(text) <= 2100


def _columns(matches: Iterable[ValueMatch]) -> set[ColumnKey]:
    return {(match.table, match.column) for match in matches}


def _full_names(phrase: str, matches: Iterable[ValueMatch]) -> list[ValueMatch]:
    """Return the matches that `phrase` names in full; a single letter only as it is written."""
    kinds = ("exact",) if len(phrase) == 1 else _FULL_NAMES
    return [match for match in matches if match.kind in kinds]


def _subsets(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """Yield all subsets, the smallest first."""
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


def _occurrences(name: str, question: str) -> list[tuple[str, int, int]]:
    """Return the phrases of `question` that are `name` in any spelling."""
    wanted = normal_form(name)
    units = list(UNIT.finditer(question))
    size = len(UNIT.findall(name))
    found = []
    for first, last in zip(units, units[size - 1 :], strict=False):
        phrase = question[first.start() : last.end()]
        if wanted and normal_form(phrase) == wanted:
            found.append((phrase, first.start(), last.end()))
    return found


def _without_overlaps(literals: Iterable[Literal]) -> list[Literal]:
    """Return `literals` in the order of the text, without those that overlap a preceding element of `literals`."""
    kept: list[Literal] = []
    for literal in literals:
        if all(literal.end <= other.start or literal.start >= other.end for other in kept):
            kept.append(literal)
    return sorted(kept, key=lambda literal: literal.start)


def _with_literals(verified: Verified, given: Sequence[Literal]) -> str:
    """Return the verified question with the literals of another question in place of its own."""
    text = verified.entry.question
    texts = {kind: [literal.text for literal in given if literal.kind == kind] for kind in ("text", "number", "date")}
    replaced = [(verified.literals[at], texts[verified.literals[at].kind].pop(0)) for at in verified.slots]
    for own, other in reversed(replaced):
        text = text[: own.start] + other + text[own.end :]
    return text
