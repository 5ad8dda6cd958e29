"""Value linking: the stored values that the words of a question mean."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from agent.catalog.normal_form import normal_form
from agent.catalog.value_index import ValueIndex, ValueMatch
from agent.catalog.words import is_cyrillic, is_data_word, is_function_word, stem, words

_MOST_VALUES = 8
_MOST_COLUMNS = 3
_MOST_UNITS = 80
_LONGEST_SPAN, _LONGEST_HAN_SPAN = 6, 10
_MOST_SEARCHES = 12
_LEAST_FUZZY = 0.73
"""Of the 0.88 that `ValueIndex.find` gives at most for a text with errors of typing: five letters in six."""

_UNIT = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|「([^」]+)」|‘([^’]+)’|(?<!\w)'([^']+(?:'\w[^']*)*)'(?!\w)")
_SENTENCE_END = re.compile(r"(?:^|[.!?:;。！？：]\s*)[\"'“«]?$")


@dataclass(frozen=True)
class LinkedValue:
    """A stored value that words of a question mean."""

    table: str
    column: str
    value: str
    phrase: str = field(default="", compare=False)
    """The words, as the question has them."""


@dataclass(frozen=True)
class _Span:
    """Words of the question, from `start` to `end` (characters)."""

    text: str
    start: int
    end: int
    units: int
    is_quoted: bool = False
    is_name: bool = False
    """Written as a name: in capitals where a sentence does not begin."""

    def meets(self, other: "_Span") -> bool:
        return self.start < other.end and other.start < self.end


def linked_values(question: str, values: ValueIndex, selection: Mapping[str, Sequence[str]]) -> list[LinkedValue]:
    """Return up to 8 values of the columns in `selection` that words of `question` mean, in the question's order.

    Quoted texts go first, then longer runs of words; what overlaps one that was found is passed over. A run of words
    has to name a value in full, in whatever spelling, number or Russian case; only names and quoted texts may have
    errors of typing. Words that do not name anything, numbers without quotes, and words that name a table or column
    are no values.
    """
    spans = _spans(question)
    schema = _schema(selection)
    found: dict[_Span, list[ValueMatch]] = {}
    named = values.named(variant for span in spans for variant in _variants(span))
    for span in spans:
        matches = [match for variant in _variants(span) for match in named.get(variant, ())]
        _take(span, [match for match in matches if _is_meant(span, match, schema)], found, selection, question)
    searched = (span for span in spans if _may_be_misspelt(span, schema) and not any(map(span.meets, found)))
    for span, _ in zip(searched, range(_MOST_SEARCHES), strict=False):
        _take(span, [m for m in values.find(span.text) if _is_close(span, m)], found, selection, question)
    links = {
        LinkedValue(match.table, match.column, match.value, span.text): span for span in found for match in found[span]
    }
    kept = list(links)[:_MOST_VALUES]
    return sorted(kept, key=lambda link: links[link].start)


def named_spans(question: str) -> list[tuple[str, bool]]:
    """Return what is quoted in `question`, or written as a name, longest first, and whether it is quoted.

    A name within one that comes before it is left out, and so is one that begins with a word such as "the" or "which".
    """
    spans: list[_Span] = []
    for span in _spans(question):
        is_name = span.is_name and _may_name(_UNIT.findall(span.text)[:1])
        if (span.is_quoted or is_name) and not any(map(span.meets, spans)):
            spans.append(span)
    return [(span.text, span.is_quoted) for span in spans]


def _take(
    span: _Span,
    matches: Iterable[ValueMatch],
    found: dict[_Span, list[ValueMatch]],
    selection: Mapping[str, Sequence[str]],
    question: str,
) -> None:
    """Put the matches of `span` in selected columns into `found`, at most one a column, unless it meets a span there.

    Where more columns have the value than may be shown, those whose names share words with the question come first.
    """
    places: dict[tuple[str, str], ValueMatch] = {}
    for match in sorted(matches, key=lambda match: -match.score):
        if match.column in selection.get(match.table, ()):
            places.setdefault((match.table, match.column), match)
    if not places or any(map(span.meets, found)):
        return
    asked = words(question[: span.start]) | words(question[span.end :])
    order = {(table, column): n for n, (table, column) in enumerate((t, c) for t in selection for c in selection[t])}

    def rank(match: ValueMatch) -> tuple[float, int, int]:
        said = 2 * len(words(match.column) & asked) + len(words(match.table) & asked)
        return -match.score, -said, order[match.table, match.column]

    found[span] = sorted(places.values(), key=rank)[:_MOST_COLUMNS]


def _spans(question: str) -> list[_Span]:
    """Return what may be a value, the likeliest first: quoted texts, then runs of words, the longest first."""
    quoted = []
    for match in _QUOTED.finditer(question):
        text = next(filter(None, match.groups()), "")
        if normal_form(text):
            quoted.append(_Span(text, *match.span(match.lastindex or 0), units=len(text.split()), is_quoted=True))
    return quoted + sorted(_runs(question), key=lambda span: (-span.units, span.start))


def _runs(question: str) -> Iterator[_Span]:
    units = list(_UNIT.finditer(question))[:_MOST_UNITS]
    for first, begin in enumerate(units):
        for last in range(first, min(first + _LONGEST_HAN_SPAN, len(units))):
            text = question[begin.start() : units[last].end()]
            within = units[first : last + 1]
            if len(within) > _LONGEST_SPAN and not _HAN.search(text):
                break
            if _may_name([unit[0] for unit in within]):
                yield _Span(text, begin.start(), units[last].end(), len(within), is_name=_is_name(question, within))


def _may_name(units: Sequence[str]) -> bool:
    """False for numbers, single Chinese characters, and words such as "the" and "average"."""
    if len(units) == 1 and _HAN.fullmatch(units[0]):
        return False
    return not all(unit.isdigit() or is_function_word(unit.lower()) or is_data_word(unit.lower()) for unit in units)


def _is_name(question: str, units: Sequence[re.Match[str]]) -> bool:
    begins = [unit for unit in units if not _SENTENCE_END.search(question[: unit.start()])]
    return bool(begins) and all(
        unit[0][0].isupper() or unit[0].isdigit() or (0 < at < len(units) - 1 and is_function_word(unit[0]))
        for at, unit in enumerate(units)
    )


def _variants(span: _Span) -> list[str]:
    """Return the texts by which the values that `span` means are looked up: itself, and in singular and plural."""
    text = span.text
    if span.is_quoted or not text.isascii() or len(text) <= 3:
        return [text]
    endings = (("ies", "y"), ("es", ""), ("s", ""))
    singular = [text.removesuffix(old) + new for old, new in endings if text.endswith(old) and not text.endswith("ss")]
    return [text, *singular, f"{text}s"]


def _is_meant(span: _Span, match: ValueMatch, schema: list[frozenset[str]]) -> bool:
    if span.is_quoted:
        return True
    if len(span.text) == 1:
        return span.is_name and match.kind == "exact"
    if match.kind == "abbreviation" and len(span.text) <= 3 and not span.text.isupper() and span.text.isascii():
        return False
    return span.is_name and match.kind == "exact" or not _names_schema(span, schema)


def _schema(selection: Mapping[str, Sequence[str]]) -> list[frozenset[str]]:
    """Return the words of each column with those of its table."""
    return [words(table) | words(column) for table, columns in selection.items() for column in columns]


def _names_schema(span: _Span, schema: list[frozenset[str]]) -> bool:
    said = words(span.text)
    return any(said <= name for name in schema)


def _may_be_misspelt(span: _Span, schema: list[frozenset[str]]) -> bool:
    """True for names and quoted texts, and for Russian words, whose endings change; not where the schema has them."""
    if span.is_quoted:
        return True
    is_candidate = span.is_name and len(span.text) > 3 or span.units == 1 and is_cyrillic(span.text)
    return is_candidate and not _names_schema(span, schema)


def _is_close(span: _Span, match: ValueMatch) -> bool:
    if match.kind == "abbreviation":
        return span.is_quoted or span.text.isupper()
    if is_cyrillic(span.text) and _stems(span.text) == _stems(match.value):
        return True
    return (span.is_quoted or span.is_name) and match.score >= _LEAST_FUZZY


def _stems(text: str) -> list[str]:
    return [stem(word) for word, _ in groupby(normal_form(text).split())]
