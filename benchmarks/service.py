"""How the server bears load: `python -m benchmarks.service`, all on loopback, and over within minutes.

Many questions at once go to `datasphinx serve` over a model that takes a second for each call, and then a follow-up on
each of their threads. Each question asks for an order of its own, whose number has to come back on its own thread both
times. The ideal time of a question is that of its calls.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any

from benchmarks.common import percentile_95
from datasphinx.agent.sample.shop import shop_path
from tests.conftest import NO_AMBIGUITY, VALID
from tests.support.server_process import SERVE, ServerProcess, ask, free_port, server_process
from tests.support.slow_model import SlowModel

_WARM_UP = 3


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures as one JSON object; exit code 1 where an answer is lost or not its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--questions", type=int, default=200, help="How many are asked at once.")
    parser.add_argument("--processes", type=int, default=1, help="Servers on one store, asked in turn.")
    parser.add_argument("--seconds-per-call", type=float, default=1.0, help="What a call of the model takes.")
    parser.add_argument("--database", help="URL of a PostgreSQL database for threads and record; else SQLite.")
    parser.add_argument("--bare", action="store_true", help="Ask a graph of two calls over LangServe instead.")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(
            measured(
                Path(folder),
                given.questions,
                given.processes,
                given.seconds_per_call,
                database=given.database,
                bare=given.bare,
            )
        )
    print(json.dumps(figures, indent=2))
    raise SystemExit(1 if any(figures[asked]["wrong"] for asked in ("questions", "follow_ups")) else 0)


def answer(schema: str, prompt: str) -> dict[str, Any]:
    """Return what the model says: the statement for the order that the question names."""
    if schema == "GeneratedSQL":
        order = re.findall(r"status of order (\d+)", prompt)[-1]
        sql = f"SELECT order_id, status FROM orders WHERE order_id = {order}"
        return {"sql": sql, "assumptions": [], "off_topic": False}
    return VALID if schema == "SQLValidation" else NO_AMBIGUITY


async def measured(
    folder: Path, questions: int, processes: int, delay_s: float, *, database: str | None = None, bare: bool = False
) -> dict[str, Any]:
    """Return the figures of `questions` at once, and of a follow-up on each of their threads."""
    cache = folder / "cache"
    shop_path(cache)
    async with SlowModel(answer, 0) as model:
        settings = {
            "DATASPHINX_CACHE_DIR": str(cache),
            "DATASPHINX_DATA_DIR": str(folder / "data"),
            "DATASPHINX_LLM_BASE_URL": model.base_url,
            "DATASPHINX_LLM_MODEL": "slow",
            "DATASPHINX_ENABLE_SQL_VALIDATION": "true",
        }
        if database:
            settings |= {"DATASPHINX_THREADS_URL": database, "DATASPHINX_RECORD_URL": database}
        with ExitStack() as stack:
            servers = [
                stack.enter_context(server_process(folder / f"server_{number}", settings, *_command(bare)))
                for number in range(processes)
            ]
            for order in range(_WARM_UP * processes):
                await _asked(servers[order % processes], order + 1)
            model.delay_s = delay_s
            return await _loaded(servers, model, questions, with_follow_ups=not bare)


def _command(bare: bool) -> tuple[Sequence[str], int]:
    """Return what starts a server, and the port where it will listen; 0 where its log tells."""
    port = free_port() if bare else 0
    return ((sys.executable, "-m", "benchmarks.bare_graph", str(port)) if bare else SERVE), port


async def _loaded(
    servers: Sequence[ServerProcess], model: SlowModel, questions: int, *, with_follow_ups: bool
) -> dict[str, Any]:
    """Return the figures of servers that are warm; who answers a follow-up is another than who answered before."""
    ports, orders = cycle(servers), range(100, 100 + questions)
    spent = _cpu_s(servers)
    first = await asyncio.gather(*(_asked(next(ports), order) for order in orders))
    spent = _cpu_s(servers) - spent
    next(ports)
    threads = zip(orders, [each["thread_id"] for each in first], strict=True) if with_follow_ups else ()
    again = await asyncio.gather(*(_asked(next(ports), order, thread_id) for order, thread_id in threads))
    return {
        "cpus": os.cpu_count(),
        "processes": len(servers),
        "questions": _figures(first, model.delay_s),
        "follow_ups": _figures(again, model.delay_s),
        "model_calls_at_once": model.most_at_once,
        "cpu_ms_per_question": round(spent / questions * 1000, 1),
        "server_most_mb": [server.most_memory_mb() for server in servers],
        "workers_mb": [server.workers_mb() for server in servers],
    }


def _cpu_s(servers: Sequence[ServerProcess]) -> float:
    return sum(server.cpu_s() for server in servers)


async def _asked(server: ServerProcess, order: int, thread_id: str | None = None) -> dict[str, Any]:
    """Return how long an answer took, what it cost, and whether it is the right one on the right thread."""
    started = time.perf_counter()
    given = {"thread_id": thread_id, "question": "as a table"} if thread_id else {}
    output = await ask(server.port, **({"question": f"What is the status of order {order}?"} | given))
    tables, on_thread = output["tables"], output["thread_id"]
    return {
        "seconds": time.perf_counter() - started,
        "calls": output["audit"]["llm_calls"],
        "thread_id": on_thread,
        "status": output["error"]["code"] if output["error"] else output["status"],
        "right": bool(tables) and tables[0]["rows"][0][0] == order and on_thread == (thread_id or on_thread),
    }


def _figures(asked: Sequence[dict[str, Any]], delay_s: float) -> dict[str, Any]:
    """Return percentiles in seconds, and as multiples of the ideal where calls were made."""
    if not asked:
        return {"asked": 0, "wrong": {}}
    seconds = [each["seconds"] for each in asked]
    shares = [each["seconds"] / (each["calls"] * delay_s) for each in asked if each["calls"]]
    wrong = [each["status"] for each in asked if not each["right"]]
    figures = {
        "asked": len(asked),
        "wrong": {status: wrong.count(status) for status in set(wrong)},
        "threads": len({each["thread_id"] for each in asked}),
        "calls": sum(each["calls"] for each in asked),
        "p50_s": round(statistics.median(seconds), 2),
        "p95_s": round(percentile_95(seconds), 2),
    }
    if shares:
        figures |= {
            "p50_of_ideal": round(statistics.median(shares), 2),
            "p95_of_ideal": round(percentile_95(shares), 2),
        }
    return figures


if __name__ == "__main__":
    main()
