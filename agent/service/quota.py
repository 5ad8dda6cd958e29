"""How much a tenant may ask: questions a minute, tokens and US dollars a day, over all processes of a machine."""

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from agent.audit.step import ModelCall
from agent.errors import LimitReached
from agent.service_settings import TenantSettings

_MINUTE_S = 60
_DAY_S = 86_400


class Quota:
    """Counts in a file, which one process writes at a time, so that the count is exact whoever asks at once."""

    def __init__(self, folder: Path, allowed: TenantSettings, clock: Callable[[], float] = time.time) -> None:
        """Count in `folder`, which is made at first use; `clock` gives seconds since 1970."""
        self._folder, self._allowed, self._clock = folder, allowed, clock

    def admit(self, questions: int) -> None:
        """Count so many questions that are asked now, all of them or none.

        Raises:
            LimitReached: the tenant has to wait.
        """
        allowed = self._allowed
        if allowed.questions_per_minute is allowed.tokens_per_day is allowed.usd_per_day is None:
            return
        with self._counted() as count:
            now = self._clock()
            self._check_day(count, now)
            if allowed.questions_per_minute is None:
                return
            asked = count["asked"]
            if len(asked) + questions > allowed.questions_per_minute:
                # So many have to be over a minute old before these fit; more than fit at all never do.
                wait_for = min(len(asked), max(len(asked) + questions - allowed.questions_per_minute, 1))
                until = asked[wait_for - 1] + _MINUTE_S if wait_for else now + _MINUTE_S
                raise _reached(f"{allowed.questions_per_minute} questions a minute", until - now)
            asked += [now] * questions

    def spend(self, call: ModelCall) -> None:
        """Count a call of the model."""
        if self._allowed.tokens_per_day is self._allowed.usd_per_day is None:
            return
        with self._counted() as count:
            count["tokens"] += call["prompt_tokens"] + call["completion_tokens"]
            count["usd"] += call["cost_usd"] or 0

    def _check_day(self, count: dict[str, Any], now: float) -> None:
        allowed, tomorrow = self._allowed, _DAY_S - now % _DAY_S
        if allowed.tokens_per_day is not None and count["tokens"] >= allowed.tokens_per_day:
            raise _reached(f"{allowed.tokens_per_day} tokens a day", tomorrow)
        if allowed.usd_per_day is not None and count["usd"] >= allowed.usd_per_day:
            raise _reached(f"{allowed.usd_per_day:g} US dollars a day", tomorrow)

    @contextmanager
    def _counted(self) -> Iterator[dict[str, Any]]:
        """Give what is counted of this minute and this day, to be changed; it is kept unless the block raises."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / "quota.json"
        with FileLock(self._folder / "quota.lock", mode=0o600):
            # What others have counted while this one waited is earlier than now.
            count, now = _read(path), self._clock()
            day = int(now // _DAY_S)
            if count["day"] != day:
                count |= {"day": day, "tokens": 0, "usd": 0.0}
            count["asked"] = [moment for moment in count["asked"] if abs(now - moment) < _MINUTE_S]
            yield count
            unfinished = path.with_suffix(".new")
            unfinished.write_text(json.dumps(count), encoding="utf-8")
            os.replace(unfinished, path)


def _read(path: Path) -> dict[str, Any]:
    try:
        count: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {"day": -1, "tokens": 0, "usd": 0.0, "asked": []}
    return count


def _reached(limit: str, seconds: float) -> LimitReached:
    return LimitReached(limit, max(1, math.ceil(seconds)))
