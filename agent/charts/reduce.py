"""Which of many points, categories or series are kept, so that what is left can still be read."""

from collections.abc import Iterable, Sequence

from agent.charts.cells import Number

MAX_POINTS = 1000
MAX_CATEGORIES = 100


def extremes(values: Sequence[Number | None]) -> set[int]:
    """Return where the least and the greatest value stand, the first of equals; nothing where there is no value."""
    known = [(value, at) for at, value in enumerate(values) if value is not None]
    if not known:
        return set()
    return {min(known)[1], max(known, key=lambda pair: (pair[0], -pair[1]))[1]}


def sampled(count: int, limit: int, keep: Iterable[int] = ()) -> list[int]:
    """Return at most `limit` of `count` indices in order: first, last, those in `keep`, and others evenly spread.

    Where `keep` and the two ends are more than `limit`, they are all returned.
    """
    if count <= limit:
        return list(range(count))
    kept = {0, count - 1, *keep}
    spread = limit - len(kept)
    return sorted(kept | {round((at + 1) * (count - 1) / (spread + 1)) for at in range(spread)})


def largest(weights: Sequence[Number], limit: int) -> list[int]:
    """Return the indices of the `limit` greatest weights, in the order they stand in; of equals the first."""
    return sorted(sorted(range(len(weights)), key=lambda at: -weights[at])[:limit])
