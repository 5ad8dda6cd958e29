"""Names of months, weekdays and quarters in the languages of the product and their regional forms, from CLDR."""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache

from babel import Locale

from datasphinx.agent.messages import LANGUAGES

_MIN_LETTERS = 3
"""Fewer letters are no common abbreviation of a month or weekday."""
_MAX_CHARS = 40
_MAX_NAMES = 400
"""Number of names up to which they are compared: more are no periods that a table or chart shows."""
_REGIONS = {"de": ("de_AT",), "zh": ("zh_Hant",)}
"""Regional forms with names of their own: reading all regions of the languages takes most of a second."""
_KINDS = ("months", "days", "quarters")
_WORDS = re.compile(r"[^\s,;:()?!]+")
_HAN, _HAN_CHARS = re.compile("[\u3400-\u9fff]"), 6
_FULL_YEAR = r"(?P<year>(?:19|20)\d\d)"


def calendar_places(names: Iterable[str]) -> dict[str, int] | None:
    """Return the order of names that are all months, weekdays or quarters of one language, or all such with a year.

    Numbered periods may be written with a part of the words of CLDR or with more, and at most half of the names may be
    other abbreviations. The numbers are the places in the cycle, or increase over the years. None for other texts.

    >>> calendar_places(["Mar", "Jan"]), calendar_places(["10月份", "9月份"]), calendar_places(["Mar", "Monday"])
    ({'Mar': 3, 'Jan': 1}, {'10月份': 10, '9月份': 9}, None)
    >>> calendar_places(["Q1 2025", "Q4 2024"]), calendar_places(["Jan", "Mrz", "Dez"])
    ({'Q1 2025': 202501, 'Q4 2024': 202404}, {'Jan': 1, 'Mrz': 3, 'Dez': 12})
    """
    texts = dict.fromkeys(names)
    if not texts or len(texts) > _MAX_NAMES or any(not text or len(text) > _MAX_CHARS for text in texts):
        return None
    parts = {text: _without_year(text) for text in texts}
    if len({year is None for year, _ in parts.values()}) > 1:
        return None
    words = dict.fromkeys(word for _, word in parts.values())
    places = next((found for cycle in _cycles() if (found := cycle.places(words))), None)
    return places and {text: (year or 0) * 100 + places[word] for text, (year, word) in parts.items()}


def may_be_calendar_name(text: str) -> bool:
    """Return whether `text` alone could be among names that `calendar_places` orders."""
    _, word = _without_year(text)
    return 0 < len(text) <= _MAX_CHARS and any(cycle.place(word) is not None for cycle in _cycles())


def dated_periods(text: str) -> dict[tuple[date, date], str]:
    """Return the words of each month or quarter with a year that `text` names, by its first and last day.

    >>> dated_periods("Umsatz im März 2026")
    {(datetime.date(2026, 3, 1), datetime.date(2026, 3, 31)): 'März 2026'}
    """
    found: dict[tuple[date, date], str] = {}
    for words in dict.fromkeys(_with_a_year(text)):
        period = _period(*_without_year(words))
        if period and len(words) < len(found.get(period, text + " ")):
            found[period] = words
    return found


def _with_a_year(text: str) -> Iterator[str]:
    """Yield each year in `text` with up to two words beside it, or with some of the Chinese characters behind it.

    Words that are not within the length of a name are cut off, so that long texts take time in proportion.
    """
    for match in re.finditer(rf"(?<!\d){_FULL_YEAR}(?!\d)", text):
        start, end = match.span()
        before, after = _WORDS.findall(text[max(0, start - _MAX_CHARS) : start])[-2:], text[end : end + _MAX_CHARS]
        behind = _WORDS.findall(after)[:2]
        yield from (" ".join([*before[at:], match[0]]) for at in range(len(before)))
        yield from (" ".join([match[0], *behind[:count]]) for count in range(1, len(behind) + 1))
        yield from (match[0] + after[:count] for count in range(2, _HAN_CHARS + 1) if _HAN.match(after))


def _period(year: int | None, name: str) -> tuple[date, date] | None:
    """Return the first and last day of the month or quarter `name` of `year`; None for other names."""
    for cycle in _cycles():
        count = max(cycle.names.values())
        # The numbers of days end with 6.
        months = 12 // count if count in {4, 12} else 0
        place = cycle.place(name) if name in cycle.names or _numbered(name) else None
        if year and months and place:
            end = place * months
            return date(year, end - months + 1, 1), date(year, end, monthrange(year, end)[1])
    return None


@dataclass(frozen=True)
class _Cycle:
    """Months, weekdays or quarters of a language: places by name, and the letters around the numbers of names."""

    names: Mapping[str, int]
    affixes: frozenset[str]

    def places(self, words: Iterable[str]) -> dict[str, int] | None:
        """Return the places of words that all are names, at most half of them abbreviations; None otherwise."""
        found: dict[str, int] = {}
        for word in words:
            place = self.place(word)
            if place is None:
                return None
            found[word] = place
        abbreviated = sum(word not in self.names and _numbered(word) is None for word in found)
        return found if len(found) >= 2 * abbreviated else None

    def place(self, word: str) -> int | None:
        """Return the place of a name, of a number with the letters of names, or of the one name it abbreviates."""
        if word in self.names:
            return self.names[word]
        if numbered := _numbered(word):
            number, letters = numbered
            is_known = number <= max(self.names.values()) and any(_is_affix(letters, known) for known in self.affixes)
            return number if is_known else None
        is_long = len(word) >= _MIN_LETTERS and word.isalpha()
        abbreviated = {place for name, place in self.names.items() if is_long and _abbreviates(word, name)}
        return abbreviated.pop() if len(abbreviated) == 1 else None


@cache
def _cycles() -> tuple[_Cycle, ...]:
    return tuple(_cycle(names) for language in LANGUAGES for names in _names_of(language))


def _cycle(names: Iterable[tuple[str, int]]) -> _Cycle:
    places: dict[str, set[int]] = {}
    for name, place in names:
        # The beginnings of names, such as `янв` and `сен`, are names too.
        ends = range(_MIN_LETTERS, len(name)) if name.isalpha() and name[0].lower() != name[0].upper() else ()
        for part in (name, *(name[:end] for end in ends)):
            places.setdefault(part, set()).add(place)
    unique = {name: min(found) for name, found in places.items() if len(found) == 1}
    numbered = ((numbered, place) for name, place in unique.items() if (numbered := _numbered(name)))
    return _Cycle(unique, frozenset(letters for (number, letters), place in numbered if number == place))


def _names_of(language: str) -> Iterator[set[tuple[str, int]]]:
    """Yield the names of months, weekdays and quarters in a language and its regions."""
    locales = [Locale.parse(name) for name in (language, *_REGIONS.get(language, ()))]
    for kind in _KINDS:
        yield {
            (_plain(name), place)
            for locale in locales
            for form in getattr(locale, kind).values()
            for width in ("wide", "abbreviated")
            for place, name in form.get(width, {}).items()
        }


def _abbreviates(word: str, name: str) -> bool:
    """Return whether `word` has the first letter of `name` and others of it in their order."""
    if len(word) >= len(name) or word[0] != name[0]:
        return False
    letters = iter(name)
    return all(letter in letters for letter in word)


def _is_affix(letters: str, known: str) -> bool:
    """Return whether `letters` are those of CLDR, most of them from a word on, or begin with those of Chinese."""
    has_words = known.lower() != known.upper()
    return (
        letters == known
        or known.endswith(letters)
        and len(known) <= 2 * len(letters)
        or (not has_words and letters.startswith(known))
    )


def _numbered(word: str) -> tuple[int, str] | None:
    """Return the one number of a word, in digits, Roman or Chinese numerals, and the letters around it."""
    numbers = _numeral_pattern().findall(word)
    if len(numbers) != 1:
        return None
    rest = word.replace(numbers[0], "", 1)
    letters = "".join(filter(str.isalpha, rest))
    return (_numerals()[numbers[0]], letters) if letters and not any(map(str.isdigit, rest)) else None


@cache
def _numerals() -> dict[str, int]:
    """Return the numbers from 1 to 12 by their digits and their Roman and Chinese numerals."""
    chinese = {name.removesuffix("月"): place for place, name in Locale("zh").months["format"]["wide"].items()}
    roman = {unicodedata.normalize("NFKC", chr(0x215F + place)).casefold(): place for place in range(1, 13)}
    digits = {f"{place:0{width}}": place for width in (1, 2) for place in range(1, 13)}
    return {**chinese, **roman, **digits}


@cache
def _numeral_pattern() -> re.Pattern[str]:
    longest_first = sorted(_numerals(), key=len, reverse=True)
    digits, roman, chinese = (
        "|".join(word for word in longest_first if test(word))
        for test in (str.isdecimal, str.isascii, lambda word: not word.isascii())
    )
    letters = "|".join(word for word in roman.split("|") if word.isalpha())
    return re.compile(rf"(?<!\d)(?:{digits})(?!\d)|\b(?:{letters})\b|(?:{chinese})")


@cache
def _year_patterns() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a year before and after a name, with what CLDR writes after a year: `年`, `г`."""
    patterns = (str(Locale(language).datetime_skeletons["yMMM"].pattern) for language in LANGUAGES)
    after = (found[0] for each in patterns if (found := re.search(r"y((?:'[^']+'|[^a-zA-Z'])+)", each)))
    signs = "|".join(sorted({sign for each in after if (sign := re.sub(r"[y'\s.]", "", each))}))
    year = rf"(?<!\d){_FULL_YEAR}(?!\d)\s*(?:{signs})?"
    return re.compile(rf"\W*{year}\W*(?P<name>\w.*)"), re.compile(rf"(?P<name>.*?)\W*{year}\W*")


def _without_year(text: str) -> tuple[int | None, str]:
    """Return the year that a text begins or ends with, or None, and the rest of the text in plain form."""
    plain = _plain(text)
    match = next((match for pattern in _year_patterns() if (match := pattern.fullmatch(plain))), None)
    return (int(match["year"]), _plain(match["name"])) if match else (None, plain)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip(" .").casefold()
