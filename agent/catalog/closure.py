"""Tables and the foreign keys between them as a graph: who is near, and what it takes to join."""

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.catalog.archive import Arrays, check_numbers, flat
from agent.catalog.schema import Catalog

_DECAY = 0.8
_HOPS = 2
_LONGEST_PATH = 4
_MOST_VISITED = 2_000


class JoinGraph:
    """Foreign keys of a catalog, read in both directions. Tables are numbered in the catalog's order."""

    def __init__(self, catalog: Catalog) -> None:
        """Read the keys; those that point out of the catalog join nothing."""
        joined = _read(catalog)
        counts = np.array([len(others) for others in joined], np.int64)
        self._take(list(catalog.tables), counts, np.array([other for others in joined for other in others], np.int64))

    @classmethod
    def of_arrays(cls, keys: Sequence[str], arrays: Arrays) -> "JoinGraph":
        """Return what `arrays` was called on; `keys` are those of the catalog.

        Raises:
            UNUSABLE: these are arrays of another catalog.
        """
        counts = flat(arrays, "join_counts", np.int64, len(keys))
        others = flat(arrays, "joined", np.int64, int(counts.sum()))
        check_numbers(counts, len(keys) + 1)
        check_numbers(others, len(keys))
        graph = cls.__new__(cls)
        graph._take(list(keys), counts, others)
        return graph

    def arrays(self) -> Arrays:
        """Return the graph as arrays, for a file, without the keys."""
        return {"join_counts": self._counts, "joined": self._others}

    @property
    def surroundings(self) -> NDArray[np.float32]:
        """For each table about how many are within two joins of it, itself included."""
        around = np.ones(len(self.keys), np.float32)
        np.add.at(around, np.repeat(np.arange(len(self.keys)), self._counts), self.degrees[self._others])
        return around

    def spread(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return `rows` (what by table) where a table has the best of its own and 0.8 of its neighbours', twice over.

        What a question says is then counted for all tables that can be joined to say it, the nearer the more. It is
        max-product propagation; PageRank would add up, and favour hubs.
        """
        width = len(self.keys)
        best = rows.ravel().copy()
        reached = np.flatnonzero(best)
        for _ in range(_HOPS):
            reached = self._step(best, reached, width)
        return best.reshape(rows.shape)

    def neighbours(self, key: str) -> list[str]:
        """Return the tables that a foreign key joins to `key`, in the order of their names."""
        number = self._numbers.get(key)
        return [] if number is None else sorted(self.keys[other] for other in self._neighbours(number))

    def bridges(self, keys: Sequence[str]) -> list[str]:
        """Return the tables that have to come along so that `keys` can be joined: those on shortest paths between them.

        Each key is joined to the ones before it by a path of at most four joins; it stays alone where there is none.
        (The shortest-path heuristic for Steiner trees, Takahashi and Matsuyama 1980.)
        """
        numbers = [self._numbers[key] for key in keys if key in self._numbers]
        joined: set[int] = set(numbers[:1])
        between: list[int] = []
        for number in numbers[1:]:
            path = [] if number in joined else self._path(number, joined)
            between += [step for step in path if step not in joined and step not in numbers]
            joined.update([number, *path])
        return [self.keys[number] for number in dict.fromkeys(between)]

    def _path(self, start: int, goals: set[int]) -> list[int]:
        """Return the numbers between `start` and the nearest of `goals`."""
        before: dict[int, tuple[int, int]] = {start: (start, 0)}
        waiting = deque([start])
        while waiting and len(before) < _MOST_VISITED:
            number = waiting.popleft()
            if number in goals:
                return _walk_back(number, start, before)
            depth = before[number][1] + 1
            for other in self._neighbours(number) if depth <= _LONGEST_PATH else ():
                if other not in before:
                    before[other] = (number, depth)
                    waiting.append(other)
        return []

    def _step(self, best: NDArray[np.float32], reached: NDArray[np.int64], width: int) -> NDArray[np.int64]:
        """Carry the values at `reached` over one join into `best`, rows of `width` end to end; return what changed."""
        tables = reached % width
        counts = self._counts[tables]
        inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        others = self._others[np.repeat(self._starts[tables], counts) + inside]
        places = np.repeat(reached - tables, counts) + others
        carried = np.repeat(best[reached] * np.float32(_DECAY), counts)
        better = carried > best[places]
        np.maximum.at(best, places[better], carried[better])
        changed: NDArray[np.int64] = places[better]
        return changed

    def _take(self, keys: list[str], counts: NDArray[np.int64], others: NDArray[np.int64]) -> None:
        self.keys, self._counts, self._others = keys, counts, others
        self._numbers = {key: number for number, key in enumerate(keys)}
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self.degrees = counts.astype(np.float32)

    def _neighbours(self, number: int) -> list[int]:
        found: list[int] = self._others[self._starts[number] : self._starts[number + 1]].tolist()
        return found


def _read(catalog: Catalog) -> list[list[int]]:
    """Return by table the numbers of those that a foreign key joins to it, in order."""
    numbers = {key: number for number, key in enumerate(catalog.tables)}
    joined: list[set[int]] = [set() for _ in numbers]
    for key, table in catalog.tables.items():
        for foreign_key in table.foreign_keys:
            one, other = numbers[key], numbers.get(foreign_key.target)
            if other is not None and one != other:
                joined[one].add(other)
                joined[other].add(one)
    return [sorted(others) for others in joined]


def _walk_back(number: int, start: int, before: dict[int, tuple[int, int]]) -> list[int]:
    path = []
    while number != start:
        number = before[number][0]
        path.append(number)
    return path[:-1]
