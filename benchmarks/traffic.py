"""An hour of a team's traffic in five minutes, and what it leaves behind: `python -m benchmarks.traffic`.

Questions, follow-ups, questions back, files, replays, charts, the page, monitors, clients that go away, wrong keys and
wrong bodies go to one `datasphinx serve` on loopback, over a model that takes its time. What the process and those that
it has started hold, and the files that lie in its folders, is looked at in silence: after a first part of the traffic,
half-way, and in the end. What has grown by more than is allowed, or an answer that is wrong, makes the exit code 1.
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from pydantic import SecretStr

from benchmarks.traffic_actions import AN_HOUR, Action, Person, answer
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.server.keys import hash_of, new_key
from datasphinx.agent.settings import SourceSettings, load_settings
from datasphinx.agent.sources.source import open_source
from tests.support.process_tree import footprint
from tests.support.server_process import ServerProcess, server_process
from tests.support.slow_model import SlowModel

ALLOWED = {
    "processes": 1, "threads": 8, "files": 4, "sockets": 6, "other_descriptors": 4, "memory_mb": 25, "workers_mb": 40,
    "files_kept": 0,
}  # fmt: skip
"""By how much each may grow between the first look and the last."""

_FIRST_PART = 0.25
_AT_ONCE = 12
_STEADY_S = 2.0
_SILENT_WITHIN_S = 30.0
_RUNNING = "datasphinx_running{"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures as one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.traffic", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="How long it takes.")
    parser.add_argument("--hours", type=float, default=1, help="How many hours' traffic it is.")
    parser.add_argument("--database", help="URL of a PostgreSQL database for threads, files and record; else SQLite.")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measured(Path(folder), given.minutes * 60, given.hours, given.database))
    print(json.dumps(figures, indent=2))
    raise SystemExit(1 if figures["wrong"] or figures["leaks"] else 0)


async def measured(folder: Path, seconds: float, hours: float, database: str | None = None) -> dict[str, Any]:
    """Return the figures of so many hours' traffic in about so many seconds, in which `leaks` is what has grown."""
    cache, key = folder / "cache", new_key()
    (folder / "temporary").mkdir()
    # With samples of all tables in the cache, the prompts of a question and of its replay are the same.
    shop = SourceSettings(url=SecretStr(shop_url(cache)))
    open_source(shop, load_settings().statement_limits, cache_dir=cache, profile_budget_s=60).close()
    async with SlowModel(answer, 0.1) as model:
        settings = {
            "DATASPHINX_CACHE_DIR": str(cache),
            "DATASPHINX_LLM_BASE_URL": model.base_url,
            "DATASPHINX_LLM_MODEL": "slow",
            "DATASPHINX_LLM_STRUCTURED_OUTPUT": "json_schema",
            "DATASPHINX_API_KEYS": json.dumps({"team": hash_of(key)}),
            "DATASPHINX_OPERATE_KEYS": json.dumps([hash_of(key)]),
            "DATASPHINX_TENANTS": json.dumps({"team": {"questions_per_minute": 10_000, "tokens_per_day": 10**12}}),
            "TMPDIR": str(folder / "temporary"),
        }
        if database:
            settings |= {"DATASPHINX_THREADS_URL": database, "DATASPHINX_RECORD_URL": database}
        with server_process(folder, settings) as server:
            return await _Traffic(server, folder, key, model).go(_planned(hours), seconds)


def _planned(hours: float) -> list[Action]:
    """Return what is done, in an order that is always the same; it begins with a few of each kind."""
    planned = [action for action, times in AN_HOUR.items() for _ in range(max(2, round(times * hours)))]
    random.Random(1).shuffle(planned)
    return [*AN_HOUR] * 3 + planned


class _Traffic:
    """Traffic to one server."""

    def __init__(self, server: ServerProcess, folder: Path, key: str, model: SlowModel) -> None:
        self._server, self._folder, self._key, self._model = server, folder, key, model
        self._files: list[set[str]] = []
        self._wrong: Counter[str] = Counter()
        self._requests = 0

    async def go(self, planned: list[Action], seconds: float) -> dict[str, Any]:
        first = round(len(planned) * _FIRST_PART)
        half = (first + len(planned)) // 2
        looks, started, spent = [await self._look()], time.monotonic(), self._server.cpu_s()
        for part in (planned[:first], planned[first:half], planned[half:]):
            await self._send(part, seconds * len(part) / len(planned))
            looks.append(await self._look())
        grown = {name: looks[-1][name] - looks[1][name] for name in ALLOWED}
        # Pools open their connections when the load asks for them, up to twelve; a leak grows with each question.
        grown["sockets"] = looks[-1]["sockets"] - max(look["sockets"] for look in looks[1:-1])
        return {
            "actions": dict(Counter(action.__name__ for action in planned)),
            "requests": self._requests,
            "model_calls": self._model.calls,
            "seconds": round(time.monotonic() - started),
            "cpu_s": round(self._server.cpu_s() - spent),
            "wrong": dict(self._wrong),
            **dict(zip(("before", "after_first_part", "half_way", "in_the_end"), looks, strict=True)),
            "grown": grown,
            "allowed": ALLOWED,
            "leaks": {name: by for name, by in grown.items() if by > ALLOWED[name]},
            "new_files": sorted(self._files[-1] - self._files[1]),
        }

    async def _send(self, actions: Sequence[Action], seconds: float) -> None:
        """Begin `actions` evenly over the time, and wait for their ends."""
        places, started = asyncio.Semaphore(_AT_ONCE), time.monotonic()
        async with httpx.AsyncClient(base_url=self._server.url, timeout=60, verify=False) as http:
            person = Person(http, self._server.port, self._key, self._model.delay_s / 2)
            async with asyncio.TaskGroup() as tasks:
                for number, action in enumerate(actions):
                    await asyncio.sleep(started + seconds * number / len(actions) - time.monotonic())
                    await places.acquire()
                    task = tasks.create_task(self._do(action, person, hash((id(actions), number)) % 10**9))
                    task.add_done_callback(lambda _: places.release())
            self._requests += person.requests

    async def _do(self, action: Action, person: Person, number: int) -> None:
        try:
            await action(person, number)
        except (AssertionError, httpx.HTTPError, OSError, asyncio.IncompleteReadError, LookupError) as error:
            self._wrong[f"{action.__name__}: {type(error).__name__}: {str(error)[:300]}"] += 1

    async def _look(self) -> dict[str, int]:
        """Return what the server holds when nothing goes on any more."""
        until = time.monotonic() + _SILENT_WITHIN_S
        # One connection for all of it, which counts each time.
        async with httpx.AsyncClient(base_url=self._server.url, verify=False) as http:
            found, since = await self._held(http), time.monotonic()
            while time.monotonic() < until and time.monotonic() - since < _STEADY_S:
                await asyncio.sleep(0.1)
                again = await self._held(http)
                if any(again[name] != found[name] for name in again if not name.endswith("_mb")):
                    since = time.monotonic()
                found = again
        self._files.append(self._kept())
        return found

    async def _held(self, http: httpx.AsyncClient) -> dict[str, int]:
        metrics = (await http.get("/metrics", headers={"X-API-Key": self._key})).text
        running = sum(float(line.split()[-1]) for line in metrics.splitlines() if line.startswith(_RUNNING))
        return {"running": int(running), **footprint(self._server.process.pid), "files_kept": len(self._kept())}

    def _kept(self) -> set[str]:
        folders = [self._folder / name for name in ("data", "cache", "temporary")]
        files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(self._folder).as_posix() for path in files}


if __name__ == "__main__":
    main()
