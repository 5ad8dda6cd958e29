"""How much a tenant may ask: questions a minute, tokens and US dollars a day."""

import threading
from contextlib import AbstractContextManager
from typing import Protocol

from agent.audit.step import ModelCall
from agent.errors import ThreadsUnavailable
from agent.service.count import Count
from agent.service_settings import TenantSettings


class Counts(Protocol):
    """Where the count of a tenant is kept."""

    def counting(self) -> AbstractContextManager[tuple[Count, float]]:
        """Give the count and the time, in seconds since 1970, to one at a time; kept unless the block raises.

        Raises:
            ThreadsUnavailable: it cannot be read or kept.
        """


class Quota:
    """Admits questions and counts what they cost: exactly, whoever asks at once and wherever."""

    def __init__(self, counts: Counts, allowed: TenantSettings) -> None:
        """Take where the count is kept, and how far it may go."""
        self._counts, self._allowed = counts, allowed
        self._lock, self._owed = threading.Lock(), list[ModelCall]()

    def admit(self, questions: int) -> None:
        """Count so many questions that are asked now, all of them or none.

        Raises:
            LimitReached: the tenant has to wait.
            ThreadsUnavailable: the count cannot be read or kept.
        """
        allowed = self._allowed
        if allowed.questions_per_minute is allowed.tokens_per_day is allowed.usd_per_day is None:
            return
        with self._counts.counting() as (count, now):
            count.admit(questions, allowed, now)

    def spend(self, call: ModelCall) -> None:
        """Count a call of the model.

        Raises:
            ThreadsUnavailable: the count cannot be read or kept; the call is counted with the next one.
        """
        if self._allowed.tokens_per_day is self._allowed.usd_per_day is None:
            return
        with self._lock:
            calls, self._owed = [*self._owed, call], []
        try:
            with self._counts.counting() as (count, _):
                for each in calls:
                    count.spend(each)
        except ThreadsUnavailable:
            with self._lock:
                self._owed += calls
            raise
