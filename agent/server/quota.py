"""Quotas of a tenant: questions a minute, tokens and US dollars a day."""

import json
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sqlalchemy import text

from datasphinx.agent.errors import LimitReached, Unavailable
from datasphinx.agent.messages import Message
from datasphinx.agent.record.step import ModelCall
from datasphinx.agent.settings import TenantSettings
from datasphinx.agent.storage.database import SharedDatabase

_MINUTE_S = 60
_DAY_S = 86_400


@dataclass
class UsageCounter:
    """Usage of a tenant: questions of the last minute; tokens and US dollars of one day in UTC.

    All times are in seconds since 1970.
    """

    day: int = -1
    tokens: int = 0
    usd: Decimal = Decimal(0)
    question_times: list[float] = field(default_factory=list)
    """The times of the questions."""

    @classmethod
    def read(cls, written: str, now: float) -> "UsageCounter":
        """Parse the text of `write` without entries outdated at `now`; return a new counter if it is unreadable."""
        try:
            values: dict[str, Any] = json.loads(written)
        except ValueError:
            values = {}
        day = int(now // _DAY_S)
        usage = values if values.get("day") == day else {}
        question_times = [time for time in values.get("asked", ()) if abs(now - time) < _MINUTE_S]
        return cls(day, usage.get("tokens", 0), Decimal(str(usage.get("usd", 0))), question_times)

    def write(self) -> str:
        """Return the counter as JSON text."""
        return json.dumps({"day": self.day, "tokens": self.tokens, "usd": str(self.usd), "asked": self.question_times})

    def admit(self, questions: int, allowed: TenantSettings, now: float) -> None:
        """Count `questions` questions, all or none.

        Raises:
            LimitReached: a limit is reached.
        """
        until_tomorrow = _DAY_S - now % _DAY_S
        if allowed.tokens_per_day is not None and self.tokens >= allowed.tokens_per_day:
            raise _limit_reached(Message("limit_tokens_per_day", count=allowed.tokens_per_day), until_tomorrow)
        if allowed.usd_per_day is not None and self.usd >= Decimal(str(allowed.usd_per_day)):
            raise _limit_reached(Message("limit_dollars_per_day", count=f"{allowed.usd_per_day:g}"), until_tomorrow)
        limit = allowed.questions_per_minute
        if limit is None:
            return
        if len(self.question_times) + questions > limit:
            # The number of earlier questions that have to become a minute old first. If `questions` exceeds the limit,
            # no wait suffices.
            expiring = min(len(self.question_times), max(len(self.question_times) + questions - limit, 1))
            until = self.question_times[expiring - 1] + _MINUTE_S if expiring else now + _MINUTE_S
            raise _limit_reached(Message("limit_questions_per_minute", count=limit), until - now)
        self.question_times += [now] * questions

    def spend(self, call: ModelCall) -> None:
        """Count the tokens and the cost of a model call."""
        self.tokens += call["prompt_tokens"] + call["completion_tokens"]
        self.usd += Decimal(str(call["cost_usd"] or 0))


def _limit_reached(limit: str, seconds: float) -> LimitReached:
    return LimitReached(limit, max(1, math.ceil(seconds)))


# Inserts the row or locks the existing one until the end of the transaction: transactions run one after the other.
_LOCK = text(
    "INSERT INTO datasphinx_counts (owner, counted) VALUES (:owner, '') "
    "ON CONFLICT (owner) DO UPDATE SET owner = excluded.owner RETURNING counted"
)
_WRITE = text("UPDATE datasphinx_counts SET counted = :counted WHERE owner = :owner")


class Quota:
    """Admits questions of a tenant and counts their costs, exactly also across threads, processes and machines.

    The counter is in a row of a table, locked by one transaction at a time. Thread-safe.
    """

    def __init__(self, database: SharedDatabase, owner: str, allowed: TenantSettings) -> None:
        self._database, self._owner, self._allowed = database, owner, allowed
        # Threads of one process wait for this lock, because waiting for that of a SQLite file means polling.
        self._counting = threading.Lock()
        self._lock, self._uncounted = threading.Lock(), list[ModelCall]()

    @contextmanager
    def counting(self) -> Iterator[tuple[UsageCounter, float]]:
        """Lock the counter; return it with the time in seconds since 1970. It is saved unless the block raises."""
        with self._counting, self._database.transaction() as connection:
            stored = connection.execute(_LOCK, {"owner": self._owner}).scalar_one()
            # The time is taken after the lock: counts by others while this one waited are earlier.
            now = time.time()
            counter = UsageCounter.read(stored, now)
            yield counter, now
            connection.execute(_WRITE, {"owner": self._owner, "counted": counter.write()})

    def admit(self, questions: int) -> None:
        """Count `questions` questions at the current time, all or none.

        Raises:
            LimitReached: a limit is reached.
            Unavailable: the counter cannot be read or written.
        """
        allowed = self._allowed
        if allowed.questions_per_minute is allowed.tokens_per_day is allowed.usd_per_day is None:
            return
        with self.counting() as (counter, now):
            counter.admit(questions, allowed, now)

    def spend(self, call: ModelCall) -> None:
        """Count the tokens and the cost of a model call.

        Raises:
            Unavailable: the counter cannot be read or written; the call is counted with the next one.
        """
        if self._allowed.tokens_per_day is self._allowed.usd_per_day is None:
            return
        with self._lock:
            calls, self._uncounted = [*self._uncounted, call], []
        try:
            with self.counting() as (counter, _):
                for uncounted in calls:
                    counter.spend(uncounted)
        except Unavailable:
            with self._lock:
                self._uncounted += calls
            raise
