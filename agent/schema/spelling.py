"""Search for names with a similar spelling, and for abbreviated names."""

from collections import defaultdict
from collections.abc import Iterable

from rapidfuzz import fuzz, process, utils

_CUTOFFS = {1: 75.0, 2: 65.0}
_MIN_WORD_LENGTH = 4
_MIN_PREFIX_LENGTH = {1: 4, 2: 3}
_MAX_MATCHES = 3
_MAX_SHOWN = 12


class NameMatcher:
    """Names grouped by first letter, to match misspelt words. Misspellings seldom change the first letter."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_letter: dict[str, list[str]] = defaultdict(list)
        for name in names:
            self._by_letter[name[0]].append(name)

    def near(self, word: str, degree: int) -> list[str]:
        """Return the names that are prefixes of `word`, or else up to three names with a similar spelling.

        `degree` is at least 1. At 1, prefixes have at least four letters and names a similarity of 75 % (rapidfuzz
        `ratio`, by insertions and deletions); at 2 and above, three letters and 65 %.
        """
        degree = min(degree, max(_CUTOFFS))
        if len(word) < _MIN_WORD_LENGTH:
            return []
        names = self._by_letter.get(word[0], [])
        prefixes = [name for name in names if len(name) >= _MIN_PREFIX_LENGTH[degree] and word.startswith(name)]
        if prefixes:
            return prefixes
        matches = process.extract(word, names, scorer=fuzz.ratio, limit=_MAX_MATCHES, score_cutoff=_CUTOFFS[degree])
        return [name for name, _, _ in matches]


def nearest(name: str, names: Iterable[str], cutoff: float) -> tuple[str, ...]:
    """Return up to three of `names` with the spelling most similar to `name`, ignoring case, best first.

    `cutoff` is the minimum similarity by rapidfuzz's `WRatio`, from 0 to 100.
    """
    matches = process.extract(
        name, list(names), scorer=fuzz.WRatio, processor=utils.default_process, score_cutoff=cutoff, limit=_MAX_MATCHES
    )
    return tuple(dict.fromkeys(match for match, _, _ in matches))


def nearest_or_first(name: str, names: Iterable[str], cutoff: float) -> tuple[str, ...]:
    """Return the names that `nearest` finds; the first twelve if none is similar."""
    known = list(names)
    return nearest(name, known, cutoff) or tuple(known[:_MAX_SHOWN])
