"""Short and long names of countries, currencies, languages, months, weekdays and US states.

The names are those of the Unicode CLDR in English, Russian and Chinese, as included in Babel.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from datasphinx.agent.messages import LANGUAGES
from datasphinx.agent.schema.words import is_cyrillic, normal_form, stem

_STATES = """AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware|
DC District of Columbia|FL Florida|GA Georgia|HI Hawaii|ID Idaho|IL Illinois|IN Indiana|IA Iowa|KS Kansas|KY Kentucky|
LA Louisiana|ME Maine|MD Maryland|MA Massachusetts|MI Michigan|MN Minnesota|MS Mississippi|MO Missouri|MT Montana|
NE Nebraska|NV Nevada|NH New Hampshire|NJ New Jersey|NM New Mexico|NY New York|NC North Carolina|ND North Dakota|
OH Ohio|OK Oklahoma|OR Oregon|PA Pennsylvania|PR Puerto Rico|RI Rhode Island|SC South Carolina|SD South Dakota|
TN Tennessee|TX Texas|UT Utah|VT Vermont|VA Virginia|WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming"""
_OTHER_NAMES = (
    ("US", "USA", "United States of America", "America", "США", "Соединенные Штаты Америки", "Америка"),
    ("GB", "UK", "Great Britain", "Britain", "Великобритания", "Англия"),
    ("RU", "Russian Federation", "Российская Федерация", "РФ"),
    ("CN", "People's Republic of China", "PRC", "КНР"),
    ("AE", "UAE", "ОАЭ"),
    ("KR", "Korea", "Республика Корея"),
    ("NL", "Holland", "Голландия"),
    ("CZ", "Czech Republic", "Чешская Республика"),
)
"""Common names that are missing from the CLDR."""

_MINOR_WORDS = {"of", "the", "and", "for", "in", "on", "и", "в", "на", "по"}
_CODE_LENGTH = 2
_USES = [(use, width) for use in ("format", "stand-alone") for width in ("wide", "abbreviated")]


def other_names(text: str) -> tuple[str, ...]:
    """Return the other names, in normal form, of the country, currency etc. that `text` names: "tx" for "Texas".

    A code of two letters must be in capitals, because "in" and "or" are words as well as states. Russian names are
    recognised in every grammatical case.
    """
    form = normal_form(text)
    if len(form) <= _CODE_LENGTH and form.isascii() and not text.strip().isupper():
        return ()
    groups = _groups().get(form) or (_groups_by_stems().get(_stems(form), ()) if is_cyrillic(form) else ())
    return tuple(sorted({name for group in groups for name in group if name != form}))


def acronym(form: str) -> str | None:
    """Return the initials of a text in normal form, without minor words; None for fewer than three words.

    >>> acronym("united states of america")
    'usa'
    """
    words = [word for word in form.split() if word not in _MINOR_WORDS]
    return "".join(word[0] for word in words) if 3 <= len(words) <= 8 else None


@lru_cache(maxsize=1)
def _groups() -> dict[str, tuple[frozenset[str], ...]]:
    groups: dict[str, list[frozenset[str]]] = defaultdict(list)
    states = (state.split(" ", 1) for state in _STATES.replace("\n", "").split("|"))
    for names in (*states, *_cldr()):
        group = frozenset(form for form in map(normal_form, names) if form)
        for form in group:
            groups[form].append(group)
    return {form: tuple(form_groups) for form, form_groups in groups.items()}


@lru_cache(maxsize=1)
def _groups_by_stems() -> dict[str, tuple[frozenset[str], ...]]:
    """Return the groups of Russian names by the stems of their words, without stems shared by several groups."""
    by_stems: dict[str, set[tuple[frozenset[str], ...]]] = defaultdict(set)
    for form, groups in _groups().items():
        if is_cyrillic(form) and len(form) > _CODE_LENGTH:
            by_stems[_stems(form)].add(groups)
    return {stems: next(iter(candidates)) for stems, candidates in by_stems.items() if len(candidates) == 1}


def _stems(form: str) -> str:
    return " ".join(map(stem, form.split()))


def _cldr() -> Iterator[Iterable[str]]:
    from babel import Locale

    locales = [Locale(language) for language in LANGUAGES]
    others = {code: names for code, *names in _OTHER_NAMES}
    long_codes = _long_codes()
    for code, names in _by_code([dict(locale.territories) for locale in locales]):
        if len(code) == 2 and code.isalpha():
            yield [code, *long_codes[code], *others.get(code, ()), *names]
    for code, names in _by_code([dict(locale.currencies) for locale in locales]):
        yield [code, *names]
    for code, names in _by_code([dict(locale.languages) for locale in locales]):
        if len(code) in {2, 3}:
            yield [code, *names]
    for calendars in ([locale.months for locale in locales], [locale.days for locale in locales]):
        for number in calendars[0]["format"]["wide"]:
            yield [calendar[use][width][number] for calendar in calendars for use, width in _USES]


def _by_code(names: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield each code with its name in every language that has one."""
    for code in names[0]:
        yield code, [language[code] for language in names if code in language]


def _long_codes() -> dict[str, list[str]]:
    """Return three-letter country codes by two-letter code."""
    from babel.core import get_global

    codes: dict[str, list[str]] = defaultdict(list)
    for code, targets in get_global("territory_aliases").items():
        if len(code) == 3 and code.isalpha() and len(targets) == 1:
            codes[targets[0]].append(code)
    return codes
