"""Names of months, weekdays and quarters in the languages of the product, from CLDR."""

from collections.abc import Iterable, Iterator
from functools import cache

from babel import Locale

from datasphinx.agent.messages import LANGUAGES


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
            yield {_plain(name): place for form in cycle.values() for place, name in form.get(width, {}).items()}


def _plain(name: str) -> str:
    return name.strip(" .").casefold()
