"""Graph of tables and foreign keys: adjacent tables, and paths that connect tables."""

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from datasphinx.agent.retrieval.arrays import Arrays
from datasphinx.agent.schema.catalog import Catalog

_DECAY = 0.8
_HOPS = 2
_MAX_PATH = 4
_MAX_VISITED = 2_000


class JoinGraph:
    """Foreign keys of a catalog as undirected edges. Tables are numbered in the catalog's order."""

    def __init__(self, catalog: Catalog) -> None:
        """Read the foreign keys; those to tables outside the catalog are ignored."""
        neighbours = _read_edges(catalog)
        counts = np.array([len(others) for others in neighbours], np.int64)
        self._set_edges(
            list(catalog.tables), counts, np.array([other for others in neighbours for other in others], np.int64)
        )

    @classmethod
    def of_arrays(cls, keys: Sequence[str], arrays: Arrays) -> "JoinGraph":
        """Return the graph stored by `arrays`; `keys` are the table keys of the catalog."""
        graph = cls.__new__(cls)
        graph._set_edges(list(keys), arrays["join_counts"], arrays["joined"])
        return graph

    def arrays(self) -> Arrays:
        """Return the graph as arrays for a file, without the table keys."""
        return {"join_counts": self._counts, "joined": self._others}

    @property
    def neighbourhood_sizes(self) -> NDArray[np.float32]:
        """Approximate number of tables within two joins of each table, itself included."""
        sizes = np.ones(len(self.keys), np.float32)
        np.add.at(sizes, np.repeat(np.arange(len(self.keys)), self._counts), self.degrees[self._others])
        return sizes

    def propagate(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return `rows` (features by tables) with each value propagated over up to two joins, times 0.8 a join.

        A table keeps the highest of its own value and its neighbours'. This is max-product propagation; PageRank would
        add up values and favour hubs.
        """
        width = len(self.keys)
        best = rows.ravel().copy()
        reached = np.flatnonzero(best)
        for _ in range(_HOPS):
            reached = self._step(best, reached, width)
        return best.reshape(rows.shape)

    def neighbours(self, key: str) -> list[str]:
        """Return the keys of the tables joined to `key` by a foreign key, sorted."""
        number = self._numbers.get(key)
        return [] if number is None else sorted(self.keys[other] for other in self._neighbours(number))

    def connecting_tables(self, keys: Sequence[str]) -> list[str]:
        """Return the additional tables needed to join `keys`: those on shortest paths between them.

        Each key is connected to the preceding ones by a path of at most four joins; a key without such a path is left
        unconnected. (The shortest-path heuristic for Steiner trees, Takahashi and Matsuyama 1980.)
        """
        numbers = [self._numbers[key] for key in keys if key in self._numbers]
        connected: set[int] = set(numbers[:1])
        path_tables: list[int] = []
        for number in numbers[1:]:
            path = [] if number in connected else self._path(number, connected)
            path_tables += [step for step in path if step not in connected and step not in numbers]
            connected.update([number, *path])
        return [self.keys[number] for number in dict.fromkeys(path_tables)]

    def _path(self, start: int, goals: set[int]) -> list[int]:
        """Return the numbers of the tables between `start` and the nearest of `goals`."""
        predecessors: dict[int, tuple[int, int]] = {start: (start, 0)}
        queue = deque([start])
        while queue and len(predecessors) < _MAX_VISITED:
            number = queue.popleft()
            if number in goals:
                path = []
                while number != start:
                    number = predecessors[number][0]
                    path.append(number)
                return path[:-1]
            depth = predecessors[number][1] + 1
            for other in self._neighbours(number) if depth <= _MAX_PATH else ():
                if other not in predecessors:
                    predecessors[other] = (number, depth)
                    queue.append(other)
        return []

    def _step(self, best: NDArray[np.float32], reached: NDArray[np.int64], width: int) -> NDArray[np.int64]:
        """Propagate the values at `reached` over one join, in place, and return the positions that changed.

        `best` holds rows of `width` values one after the other.
        """
        tables = reached % width
        counts = self._counts[tables]
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        others = self._others[np.repeat(self._starts[tables], counts) + offsets]
        targets = np.repeat(reached - tables, counts) + others
        propagated = np.repeat(best[reached] * np.float32(_DECAY), counts)
        is_better = propagated > best[targets]
        np.maximum.at(best, targets[is_better], propagated[is_better])
        changed: NDArray[np.int64] = targets[is_better]
        return changed

    def _set_edges(self, keys: list[str], counts: NDArray[np.int64], others: NDArray[np.int64]) -> None:
        self.keys, self._counts, self._others = keys, counts, others
        self._numbers = {key: number for number, key in enumerate(keys)}
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self.degrees = counts.astype(np.float32)

    def _neighbours(self, number: int) -> list[int]:
        numbers: list[int] = self._others[self._starts[number] : self._starts[number + 1]].tolist()
        return numbers


def _read_edges(catalog: Catalog) -> list[list[int]]:
    """Return, for each table, the sorted numbers of the tables joined to it by a foreign key."""
    numbers = {key: number for number, key in enumerate(catalog.tables)}
    neighbours: list[set[int]] = [set() for _ in numbers]
    for key, table in catalog.tables.items():
        for foreign_key in table.foreign_keys:
            source, other = numbers[key], numbers.get(foreign_key.target)
            if other is not None and source != other:
                neighbours[source].add(other)
                neighbours[other].add(source)
    return [sorted(others) for others in neighbours]
