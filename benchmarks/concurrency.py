"""Concurrent questions compared with a bare graph of two model calls: `python -m benchmarks.concurrency`.

For each number of questions, in this process' children (`ainvoke`) and over HTTP (one server process), the 95th
percentile of the time per question is divided by that of the bare graph, measured in turn in the same run. The model
takes a second per call; a question of datasphinx needs two calls as well. The target is a ratio of at most 1.5.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.bare_graph import two_calls
from benchmarks.common import percentile_95
from benchmarks.service import answer, measured
from datasphinx.agent.graph import build_graph
from datasphinx.agent.sample.shop import shop_path
from tests.support.server_process import ROOT
from tests.support.slow_model import SlowModel

_TARGET = 1.5
_READY = "ready"
_WARM_UP = 3


def main() -> None:
    """Print a table: milliseconds of CPU time, 95th percentiles and their ratio, each the median over the rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, nargs="+", default=[50, 200], help="How many are asked at once.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds-per-call", type=float, default=1.0)
    parser.add_argument("--child", choices=["bare", "datasphinx"], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        asyncio.run(_ask_in_process(given.child, given.questions[0]))
        return
    print(f"| questions | where | bare p95, s | datasphinx p95, s | ratio (target {_TARGET}) | CPU ms: bare, own |")
    print("|---|---|---|---|---|---|")
    for questions in given.questions:
        for where, measure in (("in process", _in_process), ("over HTTP", _over_http)):
            rounds = [
                [measure(system, questions, given.seconds_per_call) for system in ("bare", "datasphinx")]
                for _ in range(given.rounds)
            ]
            ratio = statistics.median(own["p95_s"] / bare["p95_s"] for bare, own in rounds)
            (bare_s, own_s), (bare_ms, own_ms) = (
                [statistics.median(pair[system][key] for pair in rounds) for system in (0, 1)]
                for key in ("p95_s", "cpu_ms")
            )
            verdict = "met" if ratio <= _TARGET else "missed"
            print(
                f"| {questions} | {where} | {bare_s:.2f} | {own_s:.2f} | {ratio:.2f} ({verdict}) "
                f"| {bare_ms:.1f}, {own_ms:.1f} |",
                flush=True,
            )


def _over_http(system: str, questions: int, seconds_per_call: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measured(Path(folder), questions, 1, seconds_per_call, bare=system == "bare"))
    if any(figures[asked]["wrong"] for asked in ("questions", "follow_ups")):
        raise SystemExit(f"wrong answers: {json.dumps(figures)}")
    return {"p95_s": figures["questions"]["p95_s"], "cpu_ms": figures["cpu_ms_per_question"]}


def _in_process(system: str, questions: int, seconds_per_call: float) -> dict[str, float]:
    return asyncio.run(_measure_child(system, questions, seconds_per_call))


async def _measure_child(system: str, questions: int, seconds_per_call: float) -> dict[str, float]:
    """Return the figures of a process that asks its graph; the model is in this process."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "cache")
        shop_path(cache)
        async with SlowModel(answer, 0) as model:
            environment = os.environ | {
                "PYTHONPATH": str(ROOT),
                "DATASPHINX_CACHE_DIR": str(cache),
                "DATASPHINX_DATA_DIR": str(Path(folder, "data")),
                "DATASPHINX_LLM_BASE_URL": model.base_url,
                "DATASPHINX_LLM_MODEL": "slow",
                "DATASPHINX_LLM_PROFILE": "standard",
                "DATASPHINX_ENABLE_SQL_VALIDATION": "true",
            }
            command = [sys.executable, "-m", __spec__.name, "--child", system, "--questions", str(questions)]
            child = await asyncio.create_subprocess_exec(
                *command, env=environment, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
            )
            assert child.stdin
            assert child.stdout
            if (await child.stdout.readline()).decode().strip() != _READY:
                raise SystemExit(f"the process of {system} failed")
            model.delay_s = seconds_per_call
            output, _ = await child.communicate(b"\n")
            figures: dict[str, float] = json.loads(output)
            return figures


async def _ask_in_process(system: str, questions: int) -> None:
    """Warm up, wait for a line, ask all questions at once, and print the figures as JSON."""
    if system == "bare":
        # LangGraph runs synchronous nodes here; by default it would have four threads more than cores.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(256))
    graph: Any = two_calls(os.environ["DATASPHINX_LLM_BASE_URL"]) if system == "bare" else build_graph()

    async def ask(order: int) -> float:
        started = time.perf_counter()
        output = await graph.ainvoke({"question": f"What is the status of order {order}?"})
        seconds = time.perf_counter() - started
        if system == "datasphinx" and output["tables"][0]["rows"][0][0] != order:
            raise SystemExit(f"wrong answer: {output['answer']}")
        return seconds

    for order in range(_WARM_UP):
        await ask(order + 1)
    print(_READY, flush=True)
    sys.stdin.readline()
    spent = time.process_time()
    seconds = await asyncio.gather(*(ask(100 + number) for number in range(questions)))
    spent = time.process_time() - spent
    print(json.dumps({"p95_s": percentile_95(seconds), "cpu_ms": spent / questions * 1000}))


if __name__ == "__main__":
    main()
