"""How much time datasphinx itself takes, beside the model: `make bench` prints it.

CPU and wall time per question in the warm graph, with a model that answers at once, on the sample shop; and the
start-up time of `datasphinx ask`, whole, against a model endpoint on loopback that answers at once; and what it costs
that statements on SQLite and DuckDB files run in a process that can be killed.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import duckdb

from agent.cli.demo import SHOP
from agent.graph import build_graph
from agent.llm.scripted import ScriptedModel
from agent.sample.shop import shop_path
from agent.services import Services
from agent.settings import load_settings
from agent.sql.worker import DuckDBFile, sqlite_cursor
from agent.sql.workers import DatabaseFile, shared_workers
from agent.types import Limits
from tests.fake_openai import FakeOpenAI

_VALID = {"is_valid": True, "reason": "", "issues": [], "corrected_sql": None}
_ROUNDS = 40
_STATEMENTS = 300
_STARTS = 7


def main() -> None:
    """Print the figures as one JSON object."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        figures = {
            "cpus": os.cpu_count(),
            "per_question": per_question(cache),
            "ask_command": ask_command(cache),
            "worker": worker(cache),
        }
    print(json.dumps(figures, indent=2))


def per_question(cache: Path) -> dict[str, float]:
    """Return medians over the demo questions, validation on, in milliseconds."""
    model = ScriptedModel({"GeneratedSQL": [_sql_for], "SQLValidation": [_VALID]}, repeat_last=True)
    settings = load_settings(cache_dir=cache, data_dir=cache, enable_sql_validation=True)
    graph = build_graph(Services(settings, model=model))
    asked = [{"question": question.question} for question in SHOP]
    for given in asked:
        graph.invoke(given)
    wall, cpu = zip(
        *(_timed(lambda given=given: graph.invoke(given)) for _ in range(_ROUNDS) for given in asked), strict=True
    )
    return {"questions": len(wall), "median_wall_ms": _median_ms(wall), "median_cpu_ms": _median_ms(cpu)}


def ask_command(cache: Path) -> dict[str, float]:
    """Return medians of whole runs of `datasphinx ask`, in seconds, and of the bare interpreter beside them."""
    answer = json.dumps({"sql": SHOP[0].sql, "assumptions": [], "off_topic": False})
    with FakeOpenAI(default=answer) as server:
        environment = os.environ | {
            "DATASPHINX_LLM_BASE_URL": server.base_url,
            "DATASPHINX_LLM_MODEL": "instant",
            "DATASPHINX_ENABLE_SQL_VALIDATION": "false",
            "DATASPHINX_CACHE_DIR": str(cache),
        }
        ask = [str(Path(sys.executable).with_name("datasphinx")), "ask", "--json", SHOP[0].question]
        seconds = [_seconds(ask, environment) for _ in range(_STARTS)]
        bare = [_seconds([sys.executable, "-c", "pass"], environment) for _ in range(_STARTS)]
    return {"runs": _STARTS, "median_s": _median(seconds), "bare_python_s": _median(bare)}


def worker(cache: Path) -> dict[str, dict[str, float]]:
    """Return medians of one small statement, in milliseconds: inside this process, and in a worker process."""
    sqlite_path, duckdb_path = shop_path(cache), cache / "bench.duckdb"
    with closing(duckdb.connect(str(duckdb_path))) as connection:
        connection.execute("CREATE TABLE orders AS SELECT range AS order_id FROM range(1000)")
    sql, limits = "SELECT order_id FROM orders LIMIT 20", Limits(30, 100)
    figures = {}
    for engine, path, cursor in (
        ("sqlite", sqlite_path, lambda: sqlite_cursor({"path": str(sqlite_path), "timeout_s": 30})),
        ("duckdb", duckdb_path, lambda: DuckDBFile(512).cursor(str(duckdb_path), 30)),
    ):
        file = DatabaseFile(engine, str(path), engine)
        with cursor() as opened:
            inside = [_timed(lambda opened=opened: opened.execute(sql).fetchall())[0] for _ in range(_STATEMENTS)]
        shared_workers(512).run(file, sql, (), limits)
        outside = [
            _timed(lambda file=file: shared_workers(512).run(file, sql, (), limits))[0] for _ in range(_STATEMENTS)
        ]
        figures[engine] = {"inside_ms": _median_ms(inside), "worker_ms": _median_ms(outside)}
    return figures


def _sql_for(messages: list[object]) -> dict[str, object]:
    prompt = str(messages[-1])
    asked = next(question for question in SHOP if question.question in prompt)
    return {"sql": asked.sql, "assumptions": [], "off_topic": False}


def _timed(run: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def _median_ms(seconds: Sequence[float]) -> float:
    return round(statistics.median(seconds) * 1000, 2)


def _median(seconds: list[float]) -> float:
    return round(statistics.median(seconds), 2)


if __name__ == "__main__":
    main()
