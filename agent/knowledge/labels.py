"""Stored values with the names that knowledge gives to codes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from datasphinx.agent.knowledge.entries import ColumnEntry
from datasphinx.agent.knowledge.knowledge import Knowledge
from datasphinx.agent.knowledge.references import column_or_none
from datasphinx.agent.retrieval.value_index import ValueIndex, ValueMatch
from datasphinx.agent.schema.catalog import Catalog, ColumnKey
from datasphinx.agent.schema.words import normal_form, stem

_SCORE = 0.99
"""Score of a label: below an exact match, above any other match."""

Labels = Mapping[tuple[str, ...], Sequence[ValueMatch]]
"""Stored codes by the stems of their labels."""


def labels_of(knowledge: Knowledge, catalog: Catalog) -> Labels:
    """Return the stored codes of the columns of `catalog` by the stems of their labels."""
    labels: dict[tuple[str, ...], list[ValueMatch]] = defaultdict(list)
    for item, entry in knowledge.entries(ColumnEntry):
        if place := column_or_none(item.name, catalog):
            for code, names in entry.labels.items():
                for name in names:
                    labels[_key(name)].append(ValueMatch(*place, code, _SCORE, "label"))
    labels.pop((), None)
    return labels


def meanings_of(knowledge: Knowledge, catalog: Catalog) -> Mapping[ColumnKey, Mapping[str, str]]:
    """Return the first name of each code by the columns of `catalog`."""
    meanings: dict[ColumnKey, dict[str, str]] = {}
    for item, entry in knowledge.entries(ColumnEntry):
        if place := column_or_none(item.name, catalog):
            meanings[place] = {code: names[0] for code, names in entry.labels.items() if names}
    return meanings


class LabelledValues(ValueIndex):
    """An index of stored values that also finds codes by their names, before all else."""

    def __init__(self, values: ValueIndex, labels: Labels) -> None:
        """Share the connection of `values`, and what was looked up there."""
        vars(self).update(vars(values))
        self._labels = labels

    def find(self, text: str, limit: int = 10) -> list[ValueMatch]:
        """Return the values that `text` may refer to. See `ValueIndex.find`."""
        return [*self._labels.get(_key(text), ()), *super().find(text, limit)][:limit]

    def lookup(self, texts: Iterable[str]) -> dict[str, list[ValueMatch]]:
        """Return the values that each text names in full. See `ValueIndex.lookup`."""
        texts = list(texts)
        found = super().lookup(texts)
        for text in texts:
            if codes := self._labels.get(_key(text)):
                found[text] = [*codes, *found.get(text, ())]
        return found


@lru_cache(maxsize=10_000)
def _key(text: str) -> tuple[str, ...]:
    return tuple(map(stem, normal_form(text).split()))
