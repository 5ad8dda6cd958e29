"""Terms of identifiers: their words, neighbouring words as one, and the words that were written without a gap."""

from collections.abc import Iterable

from agent.catalog.words import han_pairs, spelt_words, stem

_SHORTEST_WHOLE = 6
_SHORTEST_PART = 3
_SHORT_PARTS = frozenset(["id", "no"])
_COMMON = frozenset(
    """account address age amount balance birth city code comment cost count country cust date day desc email end
    first group key last level line list month name nation num number order part phone price qty rate region ship
    size start state status supp time title total type user value year""".split()
)


class Identifiers:
    """Splits identifiers with the words that the schema itself uses apart from each other."""

    def __init__(self, names: Iterable[str]) -> None:
        """Learn the words of `names`."""
        self._known = {word for name in names for word in spelt_words(name) if len(word) >= _SHORTEST_PART} | _COMMON
        self._terms: dict[str, tuple[str, ...]] = {}
        self.spellings: dict[str, str] = {}
        """Stems of single words with one spelling of each."""

    def terms(self, name: str) -> tuple[str, ...]:
        """Return the stems of the words in `name`, then each two neighbours written as one.

        "ShipDate", "ship_date" and, where its parts are words of the schema or common in schemas, "shipdate" have
        the same terms.
        """
        if name not in self._terms:
            self._terms[name] = self._read(name)
        return self._terms[name]

    def words(self, name: str) -> frozenset[str]:
        """Return the stems of the words in `name`, those without a gap split."""
        return frozenset(stem(part) for word in spelt_words(name) for part in self._split(word)).union(han_pairs(name))

    def _read(self, name: str) -> tuple[str, ...]:
        spelt = spelt_words(name)
        parts = [part for word in spelt for part in self._split(word)]
        for word in (*parts, *spelt):
            self.spellings.setdefault(stem(word), word)
        joined = [stem(a + b) for a, b in zip(parts, parts[1:], strict=False)]
        return tuple(dict.fromkeys([*map(stem, parts), *map(stem, spelt), *joined, *han_pairs(name)]))

    def _split(self, word: str) -> list[str]:
        if len(word) < _SHORTEST_WHOLE or word in _COMMON:
            return [word]
        cuts = range(_SHORTEST_PART, len(word) - 1)
        found = [(word[:at], word[at:]) for at in cuts if word[:at] in self._known and self._ends(word[at:])]
        return list(max(found, key=lambda cut: min(map(len, cut)))) if found else [word]

    def _ends(self, part: str) -> bool:
        return part in self._known or part in _SHORT_PARTS
