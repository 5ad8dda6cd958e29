"""What a tenant has asked in the last minute and spent today, and whether it may ask more."""

import json
import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agent.audit.step import ModelCall
from agent.errors import LimitReached
from agent.service_settings import TenantSettings

_MINUTE_S = 60
_DAY_S = 86_400


@dataclass
class Count:
    """Questions of the last minute; tokens and US dollars of one day of UTC, each as exact as its parts.

    `now` is everywhere in seconds since 1970.
    """

    day: int = -1
    tokens: int = 0
    usd: Decimal = Decimal(0)
    asked: list[float] = field(default_factory=list)
    """When each of the questions was asked."""

    @classmethod
    def read(cls, text: str, now: float) -> "Count":
        """Return what `write` has written, as far as it counts now; nothing is counted where it cannot be read."""
        try:
            kept: dict[str, Any] = json.loads(text)
        except ValueError:
            kept = {}
        day = int(now // _DAY_S)
        spent = kept if kept.get("day") == day else {}
        asked = [moment for moment in kept.get("asked", ()) if abs(now - moment) < _MINUTE_S]
        return cls(day, spent.get("tokens", 0), Decimal(str(spent.get("usd", 0))), asked)

    def write(self) -> str:
        """Return it as text."""
        return json.dumps({"day": self.day, "tokens": self.tokens, "usd": str(self.usd), "asked": self.asked})

    def admit(self, questions: int, allowed: TenantSettings, now: float) -> None:
        """Count so many questions, all of them or none.

        Raises:
            LimitReached: the tenant has to wait.
        """
        self._check_day(allowed, _DAY_S - now % _DAY_S)
        most = allowed.questions_per_minute
        if most is None:
            return
        if len(self.asked) + questions > most:
            # So many have to be over a minute old before these fit; more than fit at all never do.
            wait_for = min(len(self.asked), max(len(self.asked) + questions - most, 1))
            until = self.asked[wait_for - 1] + _MINUTE_S if wait_for else now + _MINUTE_S
            raise _reached(f"{most} questions a minute", until - now)
        self.asked += [now] * questions

    def spend(self, call: ModelCall) -> None:
        """Count a call of the model."""
        self.tokens += call["prompt_tokens"] + call["completion_tokens"]
        self.usd += Decimal(str(call["cost_usd"] or 0))

    def _check_day(self, allowed: TenantSettings, tomorrow: float) -> None:
        if allowed.tokens_per_day is not None and self.tokens >= allowed.tokens_per_day:
            raise _reached(f"{allowed.tokens_per_day} tokens a day", tomorrow)
        if allowed.usd_per_day is not None and self.usd >= Decimal(str(allowed.usd_per_day)):
            raise _reached(f"{allowed.usd_per_day:g} US dollars a day", tomorrow)


def _reached(limit: str, seconds: float) -> LimitReached:
    return LimitReached(limit, max(1, math.ceil(seconds)))
