"""How long the last questions of a tenant took, from which the time of the next one is estimated."""

from collections import deque
from collections.abc import AsyncGenerator, Hashable, Mapping
from contextlib import aclosing
from statistics import median
from typing import Any

from cachetools import LRUCache

_COUNTED = 5
"""Questions whose median is the estimate."""
_LEAST = 2
_MAX_KINDS = 200


class Durations:
    """The durations of the last answers by graph, source and effort; all have the model of the tenant.

    Use it in the event loop only.
    """

    def __init__(self) -> None:
        self._last: LRUCache[Hashable, deque[float]] = LRUCache(maxsize=_MAX_KINDS)

    def expected_ms(self, kind: Hashable) -> int | None:
        """Return the median of the last answers of this kind in milliseconds; None after fewer than two."""
        known = self._last.get(kind, ())
        return round(median(known)) if len(known) >= _LEAST else None

    def add(self, kind: Hashable, latency_ms: float) -> None:
        """Add an answer; of many kinds, the one that was not asked about for longest is forgotten."""
        self._last.setdefault(kind, deque(maxlen=_COUNTED)).append(latency_ms)

    async def told(
        self, events: AsyncGenerator[tuple[str, Any]], graph: str, body: Mapping[str, Any]
    ) -> AsyncGenerator[tuple[str, Any]]:
        """Yield the events of a run with input `body`; the first `started` has the expected time, if it is known."""
        is_reply = "clarification_answer" in body or "feedback" in body
        kind = (graph, body.get("source"), *body.get("datasets", ()), body.get("effort"), is_reply)
        expected = self.expected_ms(kind)
        async with aclosing(events):
            async for name, data in events:
                if name == "started" and expected is not None:
                    data, expected = {**data, "expected_ms": expected}, None
                if name == "output" and data["audit"]["llm_calls"] and not (data["error"] or data["clarification"]):
                    self.add(kind, data["audit"]["latency_ms"])
                yield name, data
