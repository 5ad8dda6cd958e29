"""Short and long names of one thing: countries, currencies, languages, months, weekdays, states of the USA.

The names are those of the Unicode CLDR in English, Russian and Chinese, as Babel carries them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from agent.catalog.normal_form import normal_form
from agent.catalog.words import is_cyrillic, stem

_LANGUAGES = ("en", "ru", "zh")
_STATES = """AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware|
DC District of Columbia|FL Florida|GA Georgia|HI Hawaii|ID Idaho|IL Illinois|IN Indiana|IA Iowa|KS Kansas|KY Kentucky|
LA Louisiana|ME Maine|MD Maryland|MA Massachusetts|MI Michigan|MN Minnesota|MS Mississippi|MO Missouri|MT Montana|
NE Nebraska|NV Nevada|NH New Hampshire|NJ New Jersey|NM New Mexico|NY New York|NC North Carolina|ND North Dakota|
OH Ohio|OK Oklahoma|OR Oregon|PA Pennsylvania|PR Puerto Rico|RI Rhode Island|SC South Carolina|SD South Dakota|
TN Tennessee|TX Texas|UT Utah|VT Vermont|VA Virginia|WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming"""
_ALSO = (
    ("US", "USA", "United States of America", "America", "США", "Соединенные Штаты Америки", "Америка"),
    ("GB", "UK", "Great Britain", "Britain", "Великобритания", "Англия"),
    ("RU", "Russian Federation", "Российская Федерация", "РФ"),
    ("CN", "People's Republic of China", "PRC", "КНР"),
    ("AE", "UAE", "ОАЭ"),
    ("KR", "Korea", "Республика Корея"),
    ("NL", "Holland", "Голландия"),
    ("CZ", "Czech Republic", "Чешская Республика"),
)
"""Names in use that the CLDR does not give."""

_SMALL_WORDS = {"of", "the", "and", "for", "in", "on", "и", "в", "на", "по"}
_SHORT = 2
_USES = [(use, width) for use in ("format", "stand-alone") for width in ("wide", "abbreviated")]


def other_names(text: str) -> tuple[str, ...]:
    """Return other names, in normal form, of what `text` names: for "Texas" among them "tx"; none where none are known.

    A code of two letters counts only in capitals, since "in" and "or" are words before they are states. Russian names
    are known in every case.
    """
    form = normal_form(text)
    if len(form) <= _SHORT and form.isascii() and not text.strip().isupper():
        return ()
    groups = _groups().get(form) or (_declined().get(_stems(form), ()) if is_cyrillic(form) else ())
    return tuple(sorted({name for group in groups for name in group if name != form}))


def acronym(form: str) -> str | None:
    """Return the initials of a text in normal form, small words left out; None for fewer than three words."""
    words = [word for word in form.split() if word not in _SMALL_WORDS]
    return "".join(word[0] for word in words) if 3 <= len(words) <= 8 else None


@lru_cache(maxsize=1)
def _groups() -> dict[str, tuple[frozenset[str], ...]]:
    found: dict[str, list[frozenset[str]]] = defaultdict(list)
    for names in (*_states(), *_cldr()):
        group = frozenset(form for form in map(normal_form, names) if form)
        for form in group:
            found[form].append(group)
    return {form: tuple(groups) for form, groups in found.items()}


@lru_cache(maxsize=1)
def _declined() -> dict[str, tuple[frozenset[str], ...]]:
    """The groups of Russian names by the stems of their words; one that several names share leads to none of them."""
    found: dict[str, set[tuple[frozenset[str], ...]]] = defaultdict(set)
    for form, groups in _groups().items():
        if is_cyrillic(form) and len(form) > _SHORT:
            found[_stems(form)].add(groups)
    return {stems: next(iter(groups)) for stems, groups in found.items() if len(groups) == 1}


def _stems(form: str) -> str:
    return " ".join(map(stem, form.split()))


def _states() -> Iterator[tuple[str, str]]:
    for line in _STATES.replace("\n", "").split("|"):
        code, name = line.split(" ", 1)
        yield code, name


def _cldr() -> Iterator[Iterable[str]]:
    from babel import Locale

    locales = [Locale(language) for language in _LANGUAGES]
    also = {code: names for code, *names in _ALSO}
    long_codes = _long_codes()
    for code, names in _by_code([dict(locale.territories) for locale in locales]):
        if len(code) == 2 and code.isalpha():
            yield [code, *long_codes[code], *also.get(code, ()), *names]
    for code, names in _by_code([dict(locale.currencies) for locale in locales]):
        yield [code, *names]
    for code, names in _by_code([dict(locale.languages) for locale in locales]):
        if len(code) in {2, 3}:
            yield [code, *names]
    for calendars in ([locale.months for locale in locales], [locale.days for locale in locales]):
        for number in calendars[0]["format"]["wide"]:
            yield [calendar[use][width][number] for calendar in calendars for use, width in _USES]


def _by_code(names: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Each code with its name in every language that has one."""
    for code in names[0]:
        yield code, [each[code] for each in names if code in each]


def _long_codes() -> dict[str, list[str]]:
    """Codes of countries of three letters, by the code of two."""
    from babel.core import get_global

    found: dict[str, list[str]] = defaultdict(list)
    for code, targets in get_global("territory_aliases").items():
        if len(code) == 3 and code.isalpha() and len(targets) == 1:
            found[targets[0]].append(code)
    return found
