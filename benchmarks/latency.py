"""How much time datasphinx itself takes, beside the model: `make bench` prints it.

CPU time per question in the warm graph, of `datasphinx ask` before its first model call, of commands without a question
and of `import datasphinx`. Each figure comes with a baseline that is measured in turn with it, and with the ratio of
both. The last figures are what it costs that statements on SQLite and DuckDB files run in a process that can be killed.

With `--profile` it prints instead where the CPU time of the questions goes: by module of datasphinx with what it calls
in other packages, and by function with all that it calls.
"""

import asyncio
import json
import multiprocessing
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

import duckdb

from benchmarks.bare_graph import two_calls
from benchmarks.common import timed
from datasphinx.agent.evals.demo import SHOP
from datasphinx.agent.graph import build_graph
from datasphinx.agent.sample.shop import shop_path
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sql.worker import OpenDuckDB, sqlite_cursor
from datasphinx.agent.sql.workers import DatabaseFile, shared_workers
from datasphinx.agent.types import Limits
from tests.conftest import VALID
from tests.support.slow_model import SlowModel

_QUESTIONS = 300
_WARM_UP = 20
_COUNTED = 44
_STATEMENTS = 300
_STARTS = 7
_SAMPLE_S = 0.002
_SHOWN = 60
"""Number of functions that a profile shows."""
_ROOT = Path(__file__).resolve().parent.parent

_CPU_AT_END = "import atexit, sys, time; atexit.register(lambda: print(time.process_time(), file=sys.stderr)); "
_CPU_AT_FIRST_CALL = """
import os, sys, time

def stop_at_first_connection(event, arguments):
    if event == "socket.connect":
        print(time.process_time(), file=sys.stderr, flush=True)
        os._exit(0)

sys.addaudithook(stop_at_first_connection)
"""
_COMMAND = "from datasphinx.__main__ import main; main()"
_FRAMEWORKS = "from langgraph.graph import StateGraph; from langchain_openai import ChatOpenAI"


def main() -> None:
    """Print the figures as one JSON object."""
    with tempfile.TemporaryDirectory() as folder, _endpoint() as url:
        cache = Path(folder)
        if "--profile" in sys.argv:
            profile(cache, url)
            return
        figures = {
            "cpus": os.cpu_count(),
            "load": os.getloadavg()[0],
            "question": per_question(cache, url),
            "start": start(cache, url),
            "worker": worker(cache),
        }
    print(json.dumps(figures, indent=2))


def per_question(cache: Path, url: str) -> dict[str, Any]:
    """Return medians of the CPU time in milliseconds, with the record and validation on, off, and of the bare graph.

    No question and no statement is repeated. The variants answer each question in turn. The means of function calls of
    further questions hardly depend on the load of the machine.
    """
    endpoint = {"llm_base_url": url, "llm_model": "instant", "llm_profile": "standard", "cache_dir": cache}
    variants: dict[str, dict[str, Any]] = {
        "all": {"enable_sql_validation": True},
        "without_record": {"enable_sql_validation": True, "record": False},
        "without_validation": {"enable_sql_validation": False},
    }
    graphs = {
        name: build_graph(Services(load_settings(**endpoint, data_dir=cache / name, **settings)))
        for name, settings in variants.items()
    }
    graphs["bare"] = two_calls(url)
    seconds: dict[str, list[float]] = {name: [] for name in graphs}
    for number in range(_WARM_UP + _QUESTIONS):
        given = {"question": _question(number)}
        for name, graph in graphs.items():
            ask: Callable[[], Any] = partial(graph.invoke, given)
            output, took = timed(ask)
            if output.get("status", "ok") != "ok":
                raise SystemExit(f"{given['question']}: {output['answer']}")
            if number >= _WARM_UP:
                seconds[name].append(took.cpu)
    medians = {f"{name}_cpu_ms": _median_ms(values) for name, values in seconds.items()}
    counted = [{"question": _question(_WARM_UP + _QUESTIONS + number)} for number in range(_COUNTED)]
    calls = {
        name: round(statistics.mean(_calls(partial(graphs[name].invoke, given)) for given in counted))
        for name in ("all", "bare")
    }
    return {
        "questions": _QUESTIONS,
        **medians,
        **{f"{name}_calls": count for name, count in calls.items()},
        "ratio": round(medians["all_cpu_ms"] / medians["bare_cpu_ms"], 2),
        "target": "below 10 ms where the bare graph takes 4 ms: ratio 2.5",
    }


def profile(cache: Path, url: str) -> None:
    """Print the shares of the CPU time of questions, from samples of the stack of this thread."""
    settings = load_settings(
        llm_base_url=url, llm_model="instant", llm_profile="standard", cache_dir=cache, data_dir=cache
    )
    graph = build_graph(Services(settings.model_copy(update={"enable_sql_validation": True})))
    stacks: list[list[str]] = []

    def sample(_: int, frame: FrameType | None) -> None:
        stack = []
        while frame is not None:
            stack.append(f"{_short(frame.f_code.co_filename)}:{frame.f_code.co_qualname}")
            frame = frame.f_back
        stacks.append(stack)

    for number in range(_WARM_UP):
        graph.invoke({"question": _question(number)})
    signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, _SAMPLE_S, _SAMPLE_S)
    for number in range(_WARM_UP, _WARM_UP + _QUESTIONS):
        graph.invoke({"question": _question(number)})
    signal.setitimer(signal.ITIMER_PROF, 0)
    own = [next((place for place in stack if place.startswith(("agent/", "nodes/"))), "others") for stack in stacks]
    _print_shares("module", Counter(place.split(":")[0] for place in own), len(stacks))
    _print_shares("function", Counter(place for stack in stacks for place in set(stack)), len(stacks))


def _short(path: str) -> str:
    """Return the path of a module below the folder of its package."""
    for folder in ("site-packages/", f"{_ROOT}/datasphinx/", f"{_ROOT}/", f"python3.{sys.version_info.minor}/"):
        if folder in path:
            return path.split(folder)[-1]
    return path


def _print_shares(title: str, counts: Counter[str], total: int) -> None:
    print(f"\nshare  {title}")
    for name, count in counts.most_common(_SHOWN):
        print(f"{count / total:5.1%}  {name}")


def start(cache: Path, url: str) -> dict[str, Any]:
    """Return medians of the CPU time in seconds that processes take, each with its baseline."""
    # Modules are compiled once, as after an installation: those of other packages are.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = inherited | {
        "DATASPHINX_LLM_BASE_URL": url,
        "DATASPHINX_LLM_MODEL": "instant",
        "DATASPHINX_CACHE_DIR": str(cache),
        "DATASPHINX_DATA_DIR": str(cache),
    }
    ask = f"{_CPU_AT_FIRST_CALL}sys.argv = ['datasphinx', 'ask', '--json', {SHOP[0].question!r}]\n{_COMMAND}"
    code = {
        "ask": ask,
        "collected": f"import gc; gc.disable = gc.freeze = lambda: None; {ask}",
        "frameworks": f"{_CPU_AT_END}{_FRAMEWORKS}",
        "help": f"{_CPU_AT_END}sys.argv = ['datasphinx', '--help']; {_COMMAND}",
        "sources": f"{_CPU_AT_END}sys.argv = ['datasphinx', 'source', 'list']; {_COMMAND}",
        "version": f"{_CPU_AT_END}sys.argv = ['datasphinx', '--version']; {_COMMAND}",
        "import": f"{_CPU_AT_END}import datasphinx",
        "python": _CPU_AT_END,
    }
    seconds: dict[str, list[float]] = {name: [] for name in code}
    for number in range(_STARTS + 1):
        for name, text in code.items():
            done = subprocess.run(
                [sys.executable, "-c", text], env=environment, check=True, capture_output=True, text=True
            )
            if number:
                seconds[name].append(float(done.stderr.split()[-1]))
    medians = {name: statistics.median(values) for name, values in seconds.items()}

    def figure(name: str, baseline: str, target: str) -> dict[str, Any]:
        return {
            "cpu_s": round(medians[name], 3),
            "baseline_cpu_s": round(medians[baseline], 3),
            "ratio": round(medians[name] / medians[baseline], 2),
            "target": target,
        }

    return {
        "runs": _STARTS,
        "ask_before_first_call": figure("ask", "frameworks", "below 0.9 s"),
        "without_collection": figure("ask", "collected", "below 0.95 times"),
        "help": figure("help", "python", "below 0.25 s"),
        "source_list": figure("sources", "python", "below 0.3 s"),
        "version": figure("version", "python", "below 0.1 s"),
        "import": figure("import", "python", "below 0.05 s"),
    }


def worker(cache: Path) -> dict[str, dict[str, float]]:
    """Return medians of one small statement, in milliseconds: inside this process, and in a worker process."""
    sqlite_path, duckdb_path = shop_path(cache), cache / "bench.duckdb"
    with closing(duckdb.connect(str(duckdb_path))) as connection:
        connection.execute("CREATE TABLE orders AS SELECT range AS order_id FROM range(1000)")
    sql, limits = "SELECT order_id FROM orders LIMIT 20", Limits(30, 100)
    figures = {}
    for engine, path, cursor in (
        ("sqlite", sqlite_path, partial(sqlite_cursor, memory_mb=512)),
        ("duckdb", duckdb_path, OpenDuckDB(512).cursor),
    ):
        file = DatabaseFile(engine, str(path), engine)
        with cursor({"path": str(path), "has_views": False, "view_files": None, "timeout_s": 30}) as opened:
            inside = [timed(partial(_rows, opened, sql))[1].wall for _ in range(_STATEMENTS)]
        run = partial(shared_workers(512).run, file, sql, (), limits)
        run()
        outside = [timed(run)[1].wall for _ in range(_STATEMENTS)]
        figures[engine] = {"inside_ms": _median_ms(inside), "worker_ms": _median_ms(outside)}
    return figures


def _question(number: int) -> str:
    return f"{SHOP[number % len(SHOP)].question.rstrip('?.？。')} ({number})?"


def _answer(schema: str, prompt: str) -> dict[str, Any]:
    """Return the statement for the last question in `prompt`, with a limit of its own; every statement is valid."""
    if schema != "GeneratedSQL":
        return VALID
    number = re.findall(r"\((\d+)\)\?", prompt)[-1]
    sql = SHOP[int(number) % len(SHOP)].sql
    return {
        "sql": sql if " LIMIT " in sql else f"{sql} LIMIT {1000 + int(number)}",
        "assumptions": [],
        "off_topic": False,
    }


@contextmanager
def _endpoint() -> Iterator[str]:
    """Run a model that answers at once, in another process, and return its URL."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def _serve(connection: Connection) -> None:
    async def run() -> None:
        async with SlowModel(_answer, 0) as model:
            connection.send(model.base_url)
            await asyncio.Event().wait()

    asyncio.run(run())


def _rows(cursor: Any, sql: str) -> list[Any]:
    rows: list[Any] = cursor.execute(sql).fetchall()
    return rows


def _calls(run: Callable[[], Any]) -> int:
    """Return how many functions `run` calls in this thread, also those in C; a generator counts whenever it goes on."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def _median_ms(seconds: Sequence[float]) -> float:
    return round(statistics.median(seconds) * 1000, 2)


if __name__ == "__main__":
    main()
