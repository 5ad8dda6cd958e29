"""The knowledge of a source: entries that fit its catalog, and those that a question refers to."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from datasphinx.agent.core.text import question_key
from datasphinx.agent.knowledge.check import Run, problems_in_data, shared_names, static_problems
from datasphinx.agent.knowledge.entries import ChoiceEntry, MetricEntry, TermEntry, VerifiedEntry
from datasphinx.agent.knowledge.knowledge import NO_KNOWLEDGE, Item, Knowledge, Match, Problem
from datasphinx.agent.knowledge.overlay import forbidden_joins, with_knowledge, without_hidden
from datasphinx.agent.knowledge.references import (
    Definition,
    Unresolved,
    column_or_none,
    definition_of,
    find_column,
    find_table,
)
from datasphinx.agent.knowledge.verified import VerifiedMatch
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.schema.words import normal_form
from datasphinx.agent.sql.validation import ValueLookup

_MAX_REASON_CHARS = 300


@dataclass(frozen=True)
class NamedDefinition:
    """A term or metric that a text names by `phrase`."""

    item: Item
    entry: TermEntry | MetricEntry
    definition: Definition | None
    phrase: str


@dataclass(frozen=True)
class AmbiguousWord:
    """Words of a question that name several terms or metrics, of which none was chosen."""

    phrase: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class RelevantKnowledge:
    """What a question refers to."""

    definitions: tuple[NamedDefinition, ...] = ()
    ambiguous_words: tuple[AmbiguousWord, ...] = ()
    mentions: tuple[Match, ...] = ()
    """Phrases that name tables, columns or codes."""
    tables: tuple[str, ...] = ()
    """The tables of the terms, metrics and synonyms."""
    columns: tuple[tuple[str, str], ...] = ()
    """The columns that the SQL and the synonyms name."""
    chosen: tuple[tuple[str, Item], ...] = ()
    """Words that several entries share, and the entry that an answer of the user chose."""


@dataclass(frozen=True, eq=False)
class SourceKnowledge:
    """Knowledge with the catalog of its source. Entries are checked against the catalog when a question names them."""

    knowledge: Knowledge
    base: Catalog
    """The catalog as the database declares it."""
    catalog: Catalog
    """The catalog with descriptions and declared joins."""
    _checked: dict[Item, tuple[Problem, ...]] = field(default_factory=dict, repr=False)
    _failed: dict[Item, Problem] = field(default_factory=dict, repr=False)
    _example_statements: dict[Item, str] = field(default_factory=dict, repr=False)
    """The statements of verified queries with the examples of their parameters."""

    @classmethod
    def of(cls, knowledge: Knowledge, catalog: Catalog) -> "SourceKnowledge":
        """Return `knowledge` for a source with `catalog`."""
        return cls(knowledge, catalog, with_knowledge(catalog, knowledge))

    def problems_of(self, item: Item) -> tuple[Problem, ...]:
        """Return the errors in an entry that are found without querying the database; they are computed once."""
        if item not in self._checked:
            problems = static_problems(item, self.catalog)
            if isinstance(item.entry, ChoiceEntry):
                problems += tuple(self._choice_problems(item, item.entry))
            self._checked[item] = problems
        failure = self._failed.get(item)
        return self._checked[item] if failure is None else (*self._checked[item], failure)

    def _choice_problems(self, item: Item, entry: ChoiceEntry) -> Iterator[Problem]:
        names = [each.name for match in self.knowledge.matches(item.name) for each in match.items
                 if each.kind in ("term", "metric")]  # fmt: skip
        if normal_form(entry.means) not in map(normal_form, names):
            suggestion = f"Valid: {', '.join(f'`{name}`' for name in names)}." if names else ""
            text = f"choice `{item.name}`: no term or metric `{entry.means}` has this name"
            yield Problem(item.place, text, suggestion)

    def check_new(self, item: Item, run: Run, values: Callable[[], ValueLookup]) -> list[Problem]:
        """Return the errors in an entry that is not in the files yet, without warnings."""
        name = normal_form(item.name)
        for existing in self.knowledge.items:
            if existing.kind == item.kind and normal_form(existing.name) == name:
                return [Problem(item.place, f"{item.kind} `{item.name}` is already defined at {existing.place}")]
        problems = self.problems_of(item)
        if all(problem.is_warning for problem in problems):
            problems = (*problems_in_data(item, self.catalog, run, values),)
        return [problem for problem in problems if not problem.is_warning]

    def is_valid(self, item: Item) -> bool:
        """Return whether an entry fits the catalog and its statement has not failed; warnings are ignored."""
        return all(problem.is_warning for problem in self.problems_of(item))

    def report_failure(self, place: str, reason: str) -> None:
        """Report the failure of the verified query at `place`, which is not used until the source is reopened."""
        for item in self.knowledge.of_kind("verified"):
            if str(item.place) == place:
                text = f"verified `{item.name}`: its statement failed: {one_line(reason, _MAX_REASON_CHARS)}"
                self._failed[item] = Problem(item.place, text)

    def find_verified(self, question: str) -> VerifiedMatch | None:
        """Return the first verified query whose question is equal to `question` after normalisation; None without."""
        return self._verified.get(question_key(question))

    @cached_property
    def verified_queries(self) -> Mapping[str, Callable[[], str | None]]:
        """By verified question, a function for its statement with the examples of its parameters.

        The function returns None if the statement is not valid.
        """
        return {match.entry.question: partial(self._with_examples, match) for match in self._verified.values()}

    def _with_examples(self, match: VerifiedMatch) -> str | None:
        if not self.is_valid(match.item):
            return None
        if match.item not in self._example_statements:
            self._example_statements[match.item] = match.statement(self.catalog.dialect)
        return self._example_statements[match.item]

    @cached_property
    def _verified(self) -> Mapping[str, VerifiedMatch]:
        found: dict[str, VerifiedMatch] = {}
        for item, entry in self.knowledge.entries(VerifiedEntry):
            found.setdefault(question_key(entry.question), VerifiedMatch(item, entry))
        return found

    def problems(self, budget_s: float) -> tuple[list[Problem], int]:
        """Return the errors found so far, without warnings, and the number of entries that were not checked yet.

        Entries are checked for about `budget_s` seconds; the next call goes on.
        """
        deadline = time.monotonic() + budget_s
        found, unchecked = list(self.knowledge.problems), 0
        for item in self.knowledge.used:
            if item in self._checked or time.monotonic() < deadline:
                found += [problem for problem in self.problems_of(item) if not problem.is_warning]
            else:
                unchecked += 1
        return found, unchecked

    def check(self, run: Run, values: Callable[[], ValueLookup]) -> list[Problem]:
        """Return all errors and warnings, also for proposals, sorted by file and line.

        `run` executes a statement, and `values` returns the index of stored values.
        """
        found = [*self.knowledge.problems, *shared_names(self.knowledge)]
        for item, entry in self.knowledge.entries(VerifiedEntry):
            first = self._verified[question_key(entry.question)].item
            if item is not first:
                text = f"verified `{item.name}`: its question is equal to the one at {first.place}, which is used"
                found.append(Problem(item.place, text, is_warning=True))
        for item in self.knowledge.items:
            found += self.problems_of(item)
            if self.is_valid(item):
                found += problems_in_data(item, self.catalog, run, values)
        return sorted(found, key=lambda problem: problem.place)

    def without_hidden(self, catalog: Catalog) -> Catalog:
        """Return `catalog` without hidden tables and columns."""
        return without_hidden(catalog, self.knowledge)

    def relevant(self, question: str, answers: Sequence[str] = ()) -> RelevantKnowledge:
        """Return what `question` refers to.

        `answers` to clarifying questions decide between entries with the same name.
        """
        text = "\n".join([question, *answers])
        chosen = {normal_form(answer) for answer in answers}
        definitions: list[NamedDefinition] = []
        ambiguous: list[AmbiguousWord] = []
        mentions: list[Match] = []
        for match in self.knowledge.matches(text):
            items = [item for item in match.items if self.is_valid(item)]
            meanings = [item for item in items if item.kind in ("term", "metric")]
            if len(meanings) > 1:
                preferred = self.knowledge.choices.get(normal_form(match.phrase))
                meanings = (
                    [item for item in meanings if normal_form(item.name) in chosen]
                    or [item for item in meanings if normal_form(item.name) == preferred]
                    or meanings
                )
            if len(meanings) > 1:
                ambiguous.append(AmbiguousWord(match.phrase, tuple(meanings)))
            elif meanings:
                definitions.append(self.named_definition(meanings[0], match.phrase))
            valid = tuple(name for name in match.names if name.item in items and name.item.kind in ("table", "column"))
            if valid:
                mentions.append(replace(match, names=valid))
        # An answer names its entry again.
        settled = {each.item for each in definitions}
        answered = [(word.phrase, item) for word in ambiguous for item in word.items if item in settled]
        ambiguous = [word for word in ambiguous if settled.isdisjoint(word.items)]
        definitions = list({each.item: each for each in reversed(definitions)}.values())[::-1]
        meant = [*definitions, *(self.named_definition(item) for word in ambiguous for item in word.items)]
        tables = dict.fromkeys(
            [*(key for each in meant for key in self._tables_of(each)), *self._named_tables(mentions)]
        )
        return RelevantKnowledge(
            tuple(definitions),
            tuple(ambiguous),
            tuple(mentions),
            tuple(tables),
            tuple(self._columns(definitions, mentions)),
            tuple(answered),
        )

    def named_definition(self, item: Item, phrase: str | None = None) -> NamedDefinition:
        """Return the definition of a term or metric; `phrase` is by default its name."""
        entry = item.entry
        assert isinstance(entry, TermEntry | MetricEntry), "other entries have no definition"
        return NamedDefinition(item, entry, definition_of(entry, self.catalog), phrase or item.name)

    def metric(self, name: str) -> Definition:
        """Return the definition of the metric called `name`. Raise Unresolved if there is none, or no chosen one."""
        for each in self.relevant(name).definitions:
            if each.item.kind == "metric" and each.definition and normal_form(each.phrase) == normal_form(name):
                return each.definition
        raise Unresolved(f"there is no metric `{name}`")

    def expanded(self, question: str) -> str:
        """Return `question` followed by the names of the tables and columns that its words refer to."""
        relevant = self.relevant(question)
        codes = [name.item.name for match in relevant.mentions for name in match.names if name.code]
        names = [*relevant.tables, *(f"{table}.{column}" for table, column in relevant.columns), *codes]
        return " ".join(dict.fromkeys([question, *names])) if names else question

    @cached_property
    def forbidden_joins(self) -> list[tuple[tuple[str, str | None], tuple[str, str | None]]]:
        """Return the ends of the joins that must not be used."""
        return forbidden_joins(self.base, self.knowledge)

    def _tables_of(self, named: NamedDefinition) -> Sequence[str]:
        if named.definition:
            return named.definition.tables
        return [find_table(name, self.catalog) for name in named.entry.tables]

    def _named_tables(self, mentions: Iterable[Match]) -> Iterator[str]:
        for match in mentions:
            for name in match.names:
                if name.item.kind == "table":
                    yield find_table(name.item.name, self.catalog)
                elif name.code is None:
                    yield find_column(name.item.name, self.catalog)[0]

    def _columns(self, definitions: Iterable[NamedDefinition], mentions: Iterable[Match]) -> Iterator[tuple[str, str]]:
        found: dict[tuple[str, str], None] = {}
        for each in definitions:
            entry = each.entry
            own = [entry.date_column, *entry.dimensions] if isinstance(entry, MetricEntry) else []
            for column in (*filter(None, own), *(each.definition.column_names if each.definition else ())):
                if place := column_or_none(column, self.catalog):
                    found[place] = None
        for match in mentions:
            for name in match.names:
                if name.item.kind == "column":
                    found[find_column(name.item.name, self.catalog)] = None
        yield from found


NO_SOURCE_KNOWLEDGE = SourceKnowledge(NO_KNOWLEDGE, Catalog("sqlite", {}), Catalog("sqlite", {}))
