"""Names of months, weekdays and quarters in the languages of the product, from CLDR."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from babel import Locale

from datasphinx.agent.messages import LANGUAGES

_MIN_LETTERS = 3
"""Fewer letters are no common abbreviation of a month or weekday."""


def calendar_places(names: Iterable[str]) -> dict[str, int] | None:
    """Return the place of each name in its cycle if all are months, weekdays or quarters in one form; else None.

    >>> calendar_places(["Mar", "Jan"]), calendar_places(["10月", "9月"]), calendar_places(["Mar", "Monday"])
    ({'Mar': 3, 'Jan': 1}, {'10月': 10, '9月': 9}, None)
    """
    plain = {name: _plain(name) for name in names}
    places = next((cycle for cycle in _cycles() if cycle.keys() >= set(plain.values())), None) if plain else None
    return places and {name: places[word] for name, word in plain.items()}


@cache
def _cycles() -> tuple[dict[str, int], ...]:
    return tuple(cycle for language in LANGUAGES for cycle in _cycles_of(Locale(language)))


def _cycles_of(locale: Locale) -> Iterator[dict[str, int]]:
    for cycle in (locale.months, locale.days, locale.quarters):
        for width in ("wide", "abbreviated"):
            names = [(_plain(name), place) for form in cycle.values() for place, name in form.get(width, {}).items()]
            yield dict(names)
            if width == "wide":
                yield _beginnings(names)


def _beginnings(names: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Return the places of the beginnings of at least three letters that only one name has: `янв`, `сен`, `sept`."""
    places: dict[str, set[int]] = {}
    for name, place in names:
        for end in range(_MIN_LETTERS, len(name) + 1):
            places.setdefault(name[:end], set()).add(place)
    return {start: place for start, (place, *others) in places.items() if not others and start.isalpha()}


def _plain(name: str) -> str:
    return name.strip(" .").casefold()
