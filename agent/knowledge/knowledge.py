"""Immutable collection of knowledge entries, with lookup of the entries that a text mentions."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar

from datasphinx.agent.knowledge.entries import (
    AnyEntry,
    CalendarEntry,
    ChoiceEntry,
    ColumnEntry,
    Entry,
    ForbiddenJoinEntry,
    InstructionEntry,
    JoinEntry,
    MetricEntry,
    TableEntry,
    TermEntry,
)
from datasphinx.agent.messages import language_of
from datasphinx.agent.schema.words import german_stem, is_function_word, normal_form, stem

Kind = Literal[
    "table", "column", "join", "forbidden_join", "term", "metric", "choice", "calendar", "instruction", "verified"
]  # fmt: skip
OneEntry = TypeVar("OneEntry", bound=Entry)

_HAN = re.compile(r"[\u3400-\u9fff]")
_UNIT = re.compile(r"[\u3400-\u9fff]|[^\W\d_\u3400-\u9fff]+|\d+")
"""A word, a number, or a Chinese character; `FY2025` is a word and a number."""
_AFTER_APOSTROPHE = frozenset("st")
"""Letters that are function words only after an apostrophe: "the shop's", but not "S accounts"."""
_PREFIX = 3
"""Letters of a word in a key of the index. A word and its stem have the same first letters, so that building the index
stems no word; candidates are compared by their stems."""


class Place(NamedTuple):
    """A line of a file, counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Problem:
    """An error in an entry or a file, or a warning. An entry with a warning is used."""

    place: Place
    message: str
    suggestion: str = ""
    is_warning: bool = False

    def __str__(self) -> str:
        kind = "warning: " if self.is_warning else ""
        return f"{self.place}: {kind}{self.message}{f'. {self.suggestion}' if self.suggestion else ''}"

    def as_json(self) -> dict[str, object]:
        """Return the problem as a JSON object."""
        severity = "warning" if self.is_warning else "error"
        return {
            "file": self.place.file,
            "line": self.place.line,
            "severity": severity,
            "message": self.message,
            "suggestion": self.suggestion,
        }


@dataclass(frozen=True, eq=False)
class Item:
    """An entry with its kind, name and place. The name of a column is `table.column`."""

    kind: Kind
    name: str
    entry: AnyEntry
    place: Place

    @property
    def id(self) -> str:
        """A text that identifies the entry among those of its source."""
        return f"{self.kind}:{self.name}"

    @property
    def key(self) -> str:
        """The id without distinctions of case and, for terms and metrics, of accents and separators."""
        name = normal_form(self.name) if self.kind in ("term", "metric") else self.name.lower()
        return f"{self.kind}:{name or self.name}"

    @property
    def is_used(self) -> bool:
        """Whether the entry is used in answers: it is not a proposal."""
        return self.entry.origin != "proposal"


class EntryName(NamedTuple):
    """A name of an entry or, with `code`, of a code in a column."""

    item: Item
    code: str | None = None


@dataclass(frozen=True)
class Match:
    """Words of a text, from `start` to `end` in characters, and the entries that they name."""

    phrase: str
    start: int
    end: int
    names: tuple[EntryName, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        """The entries without duplicates."""
        return tuple(dict.fromkeys(name.item for name in self.names))


class _Unit(NamedTuple):
    word: str
    start: int
    end: int


_Key = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The entries of a source."""

    items: tuple[Item, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Errors found while reading the files; the entries or files concerned are skipped."""
    hash: str = ""
    """SHA-256 of the files that could be read; empty if the source has no knowledge folder."""

    @cached_property
    def used(self) -> tuple[Item, ...]:
        """The entries that are not proposals."""
        return tuple(item for item in self.items if item.is_used)

    def of_kind(self, kind: Kind) -> list[Item]:
        """Return the used entries of a kind, in the order of the files."""
        return [item for item in self.used if item.kind == kind]

    def entries(self, kind: type[OneEntry]) -> list[tuple[Item, OneEntry]]:
        """Return the used entries of a type, each with its item, in the order of the files."""
        return self._by_type.get(kind, [])

    @cached_property
    def _by_type(self) -> Mapping[type[Entry], list[tuple[Item, Any]]]:
        groups: dict[type[Entry], list[tuple[Item, Any]]] = defaultdict(list)
        for item in self.used:
            groups[type(item.entry)].append((item, item.entry))
        return groups

    @cached_property
    def choices(self) -> Mapping[str, str]:
        """By words in normal form, the name in normal form of the entry that they mean."""
        return {normal_form(item.name): normal_form(entry.means) for item, entry in self.entries(ChoiceEntry)}

    @cached_property
    def changes_joins(self) -> bool:
        """Whether any join is declared or forbidden."""
        return bool(self.entries(JoinEntry) or self.entries(ForbiddenJoinEntry))

    @cached_property
    def calendar(self) -> CalendarEntry | None:
        """The calendar, if one is defined."""
        return next((entry for _, entry in self.entries(CalendarEntry)), None)

    @cached_property
    def instructions(self) -> str:
        """The text for all prompts about the source."""
        return "\n".join(entry.text for _, entry in self.entries(InstructionEntry))

    @cached_property
    def personal(self) -> frozenset[str]:
        """The columns whose values are never sampled, as `table.column` in lower case."""
        return frozenset(item.name.lower() for item, entry in self.entries(ColumnEntry) if entry.personal)

    def matches(self, text: str) -> list[Match]:
        """Return the phrases of `text` that name entries, sorted by position.

        Phrases do not overlap; a longer phrase takes precedence over a shorter one.
        Words match in every number and grammatical case, and in any order; function words are ignored.
        """
        units = _content_units(text)
        taken: set[int] = set()
        matches = []
        for size in self._sizes:
            for at in range(len(units) - size + 1):
                window = range(at, at + size)
                run = units[at : at + size]
                candidates = self._index.get(_key([unit.word for unit in run]), ())
                if not candidates or not taken.isdisjoint(window):
                    continue
                asked = [unit.word for unit in run]
                names = tuple(name for name, words in candidates if _same_words(words, asked, text))
                if names:
                    taken.update(window)
                    start, end = run[0].start, run[-1].end
                    matches.append(Match(text[start:end], start, end, names))
        return sorted(matches, key=lambda match: match.start)

    def shared_names(self) -> Iterator[tuple[str, list[Item]]]:
        """Yield each name shared by several used terms or metrics, in normal form, with these entries."""
        for candidates in self._index.values():
            names = [(name, words) for name, words in candidates if name.item.kind in ("term", "metric")]
            while names:
                first, words = names[0]
                same = [name for name, other in names if _same_words(words, other)]
                names = [(name, other) for name, other in names if not _same_words(words, other)]
                items = list(dict.fromkeys(name.item for name in same))
                if len(items) > 1:
                    yield " ".join(words), items

    @cached_property
    def _index(self) -> Mapping[_Key, Sequence[tuple[EntryName, tuple[str, ...]]]]:
        index: dict[_Key, list[tuple[EntryName, tuple[str, ...]]]] = defaultdict(list)
        for item in self.used:
            for text, code in names_of(item):
                words = content_words(text)
                if words:
                    index[_key(words)].append((EntryName(item, code), words))
        return index

    @cached_property
    def _sizes(self) -> list[int]:
        return sorted({len(key) for key in self._index}, reverse=True)


NO_KNOWLEDGE = Knowledge()


def names_of(item: Item) -> Iterator[tuple[str, str | None]]:
    """Yield the names by which a text can refer to the entry and, for names of a code, the code."""
    entry = item.entry
    if isinstance(entry, TermEntry | MetricEntry):
        yield item.name, None
    if isinstance(entry, TermEntry | MetricEntry | TableEntry | ColumnEntry):
        yield from ((synonym, None) for synonym in entry.synonyms)
    if isinstance(entry, ColumnEntry):
        yield from ((label, code) for code, labels in entry.labels.items() for label in labels)


def content_words(text: str) -> tuple[str, ...]:
    """Return the words and Chinese characters of `text` in normal form, without function words."""
    return tuple(unit.word for unit in _content_units(text))


def _content_units(text: str) -> list[_Unit]:
    is_capitals = text.isupper() and len(text.split()) > 1
    units = (_Unit(normal_form(match[0]), *match.span()) for match in _UNIT.finditer(text))
    return [unit for unit in units if unit.word and not _is_function_word(unit, text, is_capitals)]


def _is_function_word(unit: _Unit, text: str, is_capitals: bool) -> bool:
    """Return whether a word is no content: "by", but not the abbreviation in "BY" and "by2024"."""
    if not is_function_word(unit.word):
        return False
    if unit.word in _AFTER_APOSTROPHE:
        return text[unit.start - 1 : unit.start] in ("'", "’")
    spelt = text[unit.start : unit.end]
    is_abbreviation = len(spelt) > 1 and spelt.isupper() and not is_capitals
    return not is_abbreviation and not text[unit.end : unit.end + 1].isdigit()


def _key(words: Sequence[str]) -> _Key:
    return tuple(sorted(word[:_PREFIX] for word in words))


def _same_words(first: Sequence[str], second: Sequence[str], text: str = "") -> bool:
    """Return whether two names, of which the second may be from `text`, have the same words in any form and order."""
    if any(_HAN.match(word) for word in first):
        return list(first) == list(second)
    stems = [sorted(map(_stem, words)) for words in (first, second)]
    if stems[0] == stems[1] or not text:
        return stems[0] == stems[1]
    german = [sorted(map(german_stem, words)) for words in stems]
    # Only in a German text, since the German stem of "customer" is "custom". Recognising one takes half a second once.
    return german[0] == german[1] and language_of(text) == "de"


def _stem(word: str) -> str:
    """Return the stem of `word`, the same for all cases of Russian nouns in -ал.

    Snowball takes some of their endings for a past tense: "канала" becomes "кана", but "каналов" becomes "канал".
    """
    stemmed = stem(word)
    return stemmed[:-1] if stemmed.endswith(("ал", "ял")) else stemmed
