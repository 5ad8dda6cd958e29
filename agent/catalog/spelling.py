"""Names that are spelt almost as a question has it, or cut short."""

from collections import defaultdict
from collections.abc import Iterable

from rapidfuzz import fuzz, process, utils

_CUTOFFS = {1: 75.0, 2: 65.0}
_SHORTEST_WORD = 4
_SHORTEST_PREFIX = {1: 4, 2: 3}
_MOST = 3


class Spelling:
    """The words of names by their first letter, which a slip of the pen seldom hits."""

    def __init__(self, names: Iterable[str]) -> None:
        """Keep `names`."""
        self._by_letter: dict[str, list[str]] = defaultdict(list)
        for name in names:
            self._by_letter[name[0]].append(name)

    def near(self, word: str, degree: int) -> list[str]:
        """Return the names that `word` may stand for: its beginnings, else up to three that are spelt almost so.

        `degree` is 1 or above: at 1 names are 75 % alike (by insertions and deletions, as rapidfuzz's `ratio` has it)
        or are beginnings of four letters, above that 65 % and three letters.
        """
        degree = min(degree, max(_CUTOFFS))
        if len(word) < _SHORTEST_WORD:
            return []
        names = self._by_letter.get(word[0], [])
        shortened = [name for name in names if len(name) >= _SHORTEST_PREFIX[degree] and word.startswith(name)]
        if shortened:
            return shortened
        found = process.extract(word, names, scorer=fuzz.ratio, limit=_MOST, score_cutoff=_CUTOFFS[degree])
        return [name for name, _, _ in found]


def nearest(name: str, known: Iterable[str], cutoff: float) -> tuple[str, ...]:
    """Return up to three of `known` that are spelt most like `name`, in whatever case, best first and each once.

    `cutoff` is how much they have to be alike, from 0 to 100 by rapidfuzz's `WRatio`.
    """
    found = process.extract(
        name, list(known), scorer=fuzz.WRatio, processor=utils.default_process, score_cutoff=cutoff, limit=_MOST
    )
    return tuple(dict.fromkeys(match for match, _, _ in found))
