"""Schema linking without a model: which tables the words of a question meet."""

import math
from collections import defaultdict
from difflib import get_close_matches

from agent.catalog.schema import Catalog, Table
from agent.catalog.words import asks_for_data, content_words, words

_WEIGHTS = {"table": 3.0, "column": 2.0, "comment": 1.0, "value": 1.0}
_FUZZY_CUTOFF = 0.75
_SHORTEST_PREFIX = 4


class SchemaIndex:
    """An index of the words in names, comments and sampled values of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        """Index `catalog`; a word weighs by the best place it stands in, and less the more tables have it."""
        self._weights: dict[str, dict[str, float]] = defaultdict(dict)
        for key, table in catalog.tables.items():
            for word, weight in _table_words(catalog, table).items():
                self._weights[word][key] = weight
        self._names = [word for word, tables in self._weights.items() if max(tables.values()) > _WEIGHTS["value"]]
        self._is_latin = 2 * sum(word.isascii() for word in self._weights) > len(self._weights)
        self._tables = len(catalog.tables)
        self._neighbours = _neighbours(catalog)

    def rank(self, question: str, *, fuzzy: bool = False) -> list[str]:
        """Return the keys of the tables that words of `question` meet, best first.

        With `fuzzy`, names that are spelt almost so, or cut short, are met too. The score of a table is the sum of
        weight times inverse document frequency over the words it meets.
        """
        scores: dict[str, float] = defaultdict(float)
        for word in content_words(question):
            for known in self._matches(word, fuzzy):
                frequency = math.log(1 + self._tables / len(self._weights[known]))
                for key, weight in self._weights[known].items():
                    scores[key] += weight * frequency
        return [key for key, _ in sorted(scores.items(), key=lambda item: (-item[1], item[0]))]

    def may_concern(self, question: str, *, fuzzy: bool = False) -> bool:
        """False where no word of `question` meets the catalog and nothing in its wording asks for data.

        A question in another script than the catalog's can meet nothing, so that nothing follows from it.
        """
        asked = content_words(question)
        foreign = self._is_latin and not any(word.isascii() for word in asked)
        return bool(foreign or asks_for_data(question) or self.rank(question, fuzzy=fuzzy))

    def with_neighbours(self, keys: list[str]) -> list[str]:
        """Return `keys` followed by the tables that foreign keys join to any of them."""
        joined = [other for key in keys for other in self._neighbours.get(key, ())]
        return list(dict.fromkeys([*keys, *joined]))

    def _matches(self, word: str, fuzzy: bool) -> list[str]:
        if word in self._weights:
            return [word]
        if not fuzzy or len(word) <= 3:
            return []
        names = [known for known in self._names if known[0] == word[0]]
        shortened = [known for known in names if len(known) >= _SHORTEST_PREFIX and word.startswith(known)]
        return shortened or get_close_matches(word, names, n=3, cutoff=_FUZZY_CUTOFF)


def _table_words(catalog: Catalog, table: Table) -> dict[str, float]:
    found: dict[str, float] = {}

    def add(text: str | None, place: str) -> None:
        for word in words(text or ""):
            found[word] = max(found.get(word, 0.0), _WEIGHTS[place])

    add(table.name, "table")
    add(table.comment, "comment")
    for column in table.columns:
        add(column.name, "column")
        add(column.comment, "comment")
        for value in catalog.values.get((table.key, column.name), ()):
            add(value[:200], "value")
    return found


def _neighbours(catalog: Catalog) -> dict[str, set[str]]:
    joined: dict[str, set[str]] = defaultdict(set)
    for key, table in catalog.tables.items():
        for foreign_key in table.foreign_keys:
            if foreign_key.target in catalog.tables:
                joined[key].add(foreign_key.target)
                joined[foreign_key.target].add(key)
    return joined
