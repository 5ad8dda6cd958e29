"""Value linking: the stored values that words of a question refer to."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, groupby
from typing import NamedTuple

from datasphinx.agent.retrieval.value_index import ValueIndex, ValueMatch
from datasphinx.agent.schema.catalog import Catalog, ColumnKey
from datasphinx.agent.schema.words import (
    UNIT,
    content_words,
    is_cyrillic,
    is_data_word,
    is_function_word,
    normal_form,
    spelt_words,
    stem,
    words,
)

_MAX_VALUES = 8
_MAX_COLUMNS = 3
_MAX_UNITS = 80
_MAX_SPAN, _MAX_HAN_SPAN = 6, 10
_MAX_SEARCHES = 12
_MIN_FUZZY_SCORE = 0.73
"""Requires five of six letters: `ValueIndex.find` returns at most 0.88 for a text with typing errors."""

_HAN = re.compile(r"[\u3400-\u9fff]")
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|「([^」]+)」|‘([^’]+)’|(?<!\w)'([^']+(?:'\w[^']*)*)'(?!\w)")
_NUMBER_OR_DATE = re.compile(r"\d+([.,:]\d+)*|\d{4}-(0\d|1[0-2])(-\d\d)?")
_PART_END = re.compile(r"[,;:(，；：（]")
_SENTENCE_END = re.compile(r"(?:^|[.!?:;。！？：]\s*)[\"'“«]?$")


@dataclass(frozen=True)
class LinkedValue:
    """A stored value that words of a question refer to."""

    table: str
    column: str
    value: str
    phrase: str = field(default="", compare=False)
    """The words, as spelt in the question."""


class _Span(NamedTuple):
    """Part of the question, from `start` to `end` in characters."""

    text: str
    start: int
    end: int
    units: int
    is_quoted: bool = False
    is_name: bool = False
    """Written as a name: capitalised, and not only because it begins a sentence."""

    def overlaps(self, other: "_Span") -> bool:
        return self.start < other.end and other.start < self.end


def linked_values(question: str, values: ValueIndex, selection: Mapping[str, Sequence[str]]) -> list[LinkedValue]:
    """Return up to 8 values of columns in `selection` that words of `question` refer to, in its order.

    Quoted texts take precedence, then longer phrases; a span that overlaps one already linked is skipped. A phrase must
    name a value in full, in any spelling, number or Russian case; typing errors are accepted only in names and quoted
    texts. Function words, unquoted numbers and dates, and words that name a table or column are not linked.
    """
    spans = _spans(question)
    schema_words = [words(table) | words(column) for table, columns in selection.items() for column in columns]
    matches_by_span: dict[_Span, list[ValueMatch]] = {}
    variants = [_variants(span) for span in spans]
    matches_by_text = values.lookup(chain.from_iterable(variants))
    for span, texts in zip(spans, variants, strict=True):
        matches = [match for text in texts for match in matches_by_text.get(text, ())]
        if matches:
            meant = [match for match in matches if _is_reference(span, match, schema_words, question)]
            _add_matches(span, meant, matches_by_span, selection, question)
    remaining = (
        span for span in spans if _may_be_misspelt(span, schema_words) and not any(map(span.overlaps, matches_by_span))
    )
    for span, _ in zip(remaining, range(_MAX_SEARCHES), strict=False):
        _add_matches(
            span, [m for m in values.find(span.text) if _is_close(span, m)], matches_by_span, selection, question
        )
    links = {
        LinkedValue(match.table, match.column, match.value, span.text): span
        for span in matches_by_span
        for match in matches_by_span[span]
    }
    return sorted(list(links)[:_MAX_VALUES], key=lambda link: links[link].start)


def tables_with_values(question: str, values: ValueIndex) -> list[str]:
    """Return the tables that store a value which words of `question` name in full."""
    matches = values.lookup(chain.from_iterable(map(_variants, _spans(question))))
    return list(dict.fromkeys(match.table for found in matches.values() for match in found))


def coded_values(
    question: str,
    catalog: Catalog,
    meanings: Mapping[ColumnKey, Mapping[str, str]],
    values: ValueIndex,
    selection: Mapping[str, Sequence[str]],
) -> list[LinkedValue]:
    """Return the stored codes in columns of `selection` whose `meanings` are mentioned.

    If "D" means "down", the word "down" refers to the value "D". Of a longer meaning, `question` has to contain the
    words up to its first comma that distinguish it from the others of the column: "private" for "private insurance,
    paid by the month" beside "public insurance". They say as little as "first" alone, so that one of the other words is
    there as well, or they stand beside the name of the column or table, as in "private patients". Of a meaning of
    function words alone, such as "no-show", it has to contain all in order. A code that the column does not have is
    left out, and so is a meaning that only names a table or column.
    """
    question_words = content_words(question)
    schema_words = [words(table) | words(column) for table, columns in selection.items() for column in columns]
    return [
        LinkedValue(key, column.name, code, meaning)
        for key, names in selection.items()
        if (table := catalog.tables.get(key))
        for column in table.columns
        if (key, column.name) in meanings and column.name in names and column.type_class in ("text", "number")
        for code, meaning, meaning_words, others in _distinguished(meanings[key, column.name])
        if (meaning_words <= question_words if meaning_words else _has_phrase(question, meaning))
        and (
            not others
            or others & question_words
            or _are_beside(meaning_words, question, words(key) | words(column.name))
        )
        and not any(meaning_words and meaning_words <= name for name in schema_words)
        and (column.type_class == "number") <= code.isdecimal()
        and values.contains(key, column.name, code) is not False
    ]


def _distinguished(meanings: Mapping[str, str]) -> Iterator[tuple[str, str, frozenset[str], frozenset[str]]]:
    """Yield each code with its meaning, the words of its first part that no other first part has, and the others."""
    parts = {code: _PART_END.split(meaning, maxsplit=1)[0] for code, meaning in meanings.items()}
    counts = Counter(chain.from_iterable(map(content_words, parts.values())))
    for code, part in parts.items():
        own = frozenset(word for word in content_words(part) if counts[word] == 1)
        yield code, meanings[code], own, content_words(part) - own


def _are_beside(meaning_words: frozenset[str], question: str, names: frozenset[str]) -> bool:
    """Return whether one of `meaning_words` stands beside one of `names` in `question`."""
    spans = (_Span(match[0], *match.span(), units=1) for match in UNIT.finditer(question))
    return any(not names.isdisjoint(_neighbours(span, question)) for span in spans if words(span.text) & meaning_words)


def _has_phrase(question: str, meaning: str) -> bool:
    """Return whether `question` has the words of `meaning` up to its first comma, if these are function words alone."""
    part = _PART_END.split(meaning, maxsplit=1)[0]
    phrase, said = (f" {' '.join(map(stem, spelt_words(text)))} " for text in (part, question))
    return not content_words(part) and len(phrase.split()) > 1 and phrase in said


def named_spans(question: str) -> list[tuple[str, bool]]:
    """Return the quoted texts and names in `question`, longest first, with whether they are quoted.

    Names that overlap an earlier span, or begin with a function word such as "the" or "which", are left out.
    """
    spans: list[_Span] = []
    for span in _spans(question):
        is_name = span.is_name and not _is_plain(UNIT.findall(span.text)[0]) and not _HAN.match(span.text)
        if (span.is_quoted or is_name) and not any(map(span.overlaps, spans)):
            spans.append(span)
    return [(span.text, span.is_quoted) for span in spans]


def _add_matches(
    span: _Span,
    matches: Iterable[ValueMatch],
    matches_by_span: dict[_Span, list[ValueMatch]],
    selection: Mapping[str, Sequence[str]],
    question: str,
) -> None:
    """Add the matches of `span` in selected columns to `linked`, at most one per column.

    Does nothing if `span` overlaps a linked span. If more columns contain the value than may be shown, columns whose
    names share words with the question come first.
    """
    best_by_column: dict[tuple[str, str], ValueMatch] = {}
    for match in sorted(matches, key=lambda match: -match.score):
        if match.column in selection.get(match.table, ()):
            best_by_column.setdefault((match.table, match.column), match)
    if not best_by_column or any(map(span.overlaps, matches_by_span)):
        return
    context = words(question[: span.start]) | words(question[span.end :])
    order = {(table, column): n for n, (table, column) in enumerate((t, c) for t in selection for c in selection[t])}

    def rank(match: ValueMatch) -> tuple[float, int, int]:
        shared = 2 * len(words(match.column) & context) + len(words(match.table) & context)
        return -match.score, -shared, order[match.table, match.column]

    matches_by_span[span] = sorted(best_by_column.values(), key=rank)[:_MAX_COLUMNS]


@lru_cache(maxsize=512)
def _spans(question: str) -> tuple[_Span, ...]:
    """Return possible values, best first: quoted texts, then phrases, the longest first."""
    quoted_spans = []
    for match in _QUOTED.finditer(question):
        text = next(filter(None, match.groups()), "")
        if normal_form(text):
            quoted_spans.append(_Span(text, *match.span(match.lastindex or 0), units=len(text.split()), is_quoted=True))
    return (*quoted_spans, *sorted(_runs(question), key=lambda span: (-span.units, span.start)))


def _runs(question: str) -> Iterator[_Span]:
    units = [_unit(match, question) for match in list(UNIT.finditer(question))[:_MAX_UNITS]]
    for first, first_unit in enumerate(units):
        is_plain = True
        for last in range(first, min(first + _MAX_HAN_SPAN, len(units))):
            text = question[first_unit.start : units[last].end]
            run = units[first : last + 1]
            if len(run) > _MAX_SPAN and not _HAN.search(text):
                break
            is_plain = is_plain and units[last].is_plain
            if is_plain and not _is_label(text) or len(run) == 1 and _HAN.fullmatch(text):
                continue
            yield _Span(text, first_unit.start, units[last].end, len(run), is_name=not is_plain and _is_name(run))


def _is_label(text: str) -> bool:
    """Return whether `text` is written as one and has figures, and is neither a number nor a date: "2025/26"."""
    is_one = text[0].isdigit() and text.isascii() and not any(map(str.isspace, text))
    return is_one and not _NUMBER_OR_DATE.fullmatch(text)


class _Unit(NamedTuple):
    """A word, number or Chinese character of the question."""

    start: int
    end: int
    is_plain: bool
    """A number, or a word such as "the" and "average"."""
    begins_name: bool
    """Capitalised, or a number."""
    joins_name: bool
    """May stand inside a name."""
    is_inside_sentence: bool


def _unit(match: re.Match[str], question: str) -> _Unit:
    text = match[0]
    begins_name = text[0].isupper() or text.isdigit()
    return _Unit(
        *match.span(),
        is_plain=_is_plain(text),
        begins_name=begins_name,
        joins_name=begins_name or is_function_word(text),
        is_inside_sentence=not _SENTENCE_END.search(question[: match.start()]),
    )


def _is_plain(unit: str) -> bool:
    return unit.isdigit() or is_function_word(unit.lower()) or is_data_word(unit.lower())


def _is_name(units: Sequence[_Unit]) -> bool:
    return (
        units[0].begins_name
        and units[-1].begins_name
        and all(unit.joins_name for unit in units)
        and any(unit.is_inside_sentence for unit in units)
    )


def _variants(span: _Span) -> list[str]:
    """Return the texts to look up for `span`: the text itself, and its singular and plural."""
    text = span.text
    if text[:-1].isupper() and text.endswith("s"):
        return [text, text[:-1]]
    if span.is_quoted or not text.isascii() or len(text) <= 3:
        return [text]
    endings = (("ies", "y"), ("es", ""), ("s", ""))
    singular = [text.removesuffix(old) + new for old, new in endings if text.endswith(old) and not text.endswith("ss")]
    return [text, *singular, f"{text}s"]


def _is_reference(span: _Span, match: ValueMatch, schema: list[frozenset[str]], question: str) -> bool:
    if span.is_quoted:
        return True
    if match.kind == "label":
        # "Phone orders" have a channel; "customers with a phone" have a number.
        own_words = words(match.table) | words(match.column)
        return not _names_schema(span, schema) or not own_words.isdisjoint(_neighbours(span, question))
    if len(span.text) == 1:
        return span.is_name and match.kind == "exact"
    if match.kind == "abbreviation" and len(span.text) <= 3 and not span.text.isupper() and span.text.isascii():
        return False
    is_own_name = span.is_name or _is_label(span.text)
    return is_own_name and match.kind == "exact" or not _names_schema(span, schema)


def _neighbours(span: _Span, question: str) -> set[str]:
    """Return the stems of the nearest words before and after `span`, without function words."""
    before, after = ([unit for unit in map(str.lower, UNIT.findall(part)) if not is_function_word(unit)]
                     for part in (question[: span.start], question[span.end :]))  # fmt: skip
    return set(map(stem, (*before[-1:], *after[:1])))


def _names_schema(span: _Span, schema: list[frozenset[str]]) -> bool:
    span_words = words(span.text)
    return any(span_words <= name for name in schema)


def _may_be_misspelt(span: _Span, schema: list[frozenset[str]]) -> bool:
    """Return whether `span` is quoted, or is a name or Russian word (which is inflected) outside the schema."""
    if span.is_quoted:
        return True
    is_candidate = span.is_name and len(span.text) > 3 or span.units == 1 and is_cyrillic(span.text)
    return is_candidate and not _names_schema(span, schema)


def _is_close(span: _Span, match: ValueMatch) -> bool:
    if match.kind == "abbreviation":
        return span.is_quoted or span.text.isupper()
    if is_cyrillic(span.text) and _stems(span.text) == _stems(match.value):
        return True
    return (span.is_quoted or span.is_name) and match.score >= _MIN_FUZZY_SCORE


def _stems(text: str) -> list[str]:
    return [stem(word) for word, _ in groupby(normal_form(text).split())]
