"""CPU time of a question without and with traces, in milliseconds, with a collector in a process of its own.

python -m benchmarks.telemetry
"""

import multiprocessing
import os
import statistics
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from opentelemetry import metrics, trace

from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.support.collector import Collector

QUESTION = "How many orders were placed?"
COUNT = {"sql": "SELECT COUNT(*) AS orders FROM orders", "assumptions": [], "off_topic": False}
VARIANTS: dict[str, dict[str, Any]] = {
    "off": {},
    "on": {"otel": True},
    "on, with text": {"otel": True, "otel_text": True},
    "LangSmith forbidden": {"allow_langsmith": False},
}
ROUNDS, QUESTIONS = 15, 20


def collect(connection: Connection) -> None:
    """Run a collector until the other end of `connection` sends something."""
    with Collector() as collector:
        connection.send(collector.url)
        connection.recv()


def main() -> None:
    """Print the median of each variant, and its ratio to the first; the variants take turns."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=collect, args=(there,), daemon=True)
    process.start()
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = here.recv()
    folder = Path(tempfile.mkdtemp())
    graphs = {}
    for name, options in VARIANTS.items():
        settings = load_settings(data_dir=folder, cache_dir=folder, clarify="never", effort="low", **options)
        services = Services(settings, model=ScriptedModel({"GeneratedSQL": [COUNT]}, repeat_last=True))
        services.source()
        graphs[name] = build_graph(services)
    taken: dict[str, list[float]] = {name: [] for name in graphs}
    for number in range(ROUNDS + 1):
        for name, graph in graphs.items():
            started = time.process_time()
            for _ in range(QUESTIONS):
                assert graph.invoke({"question": QUESTION})["value"]
            if number:
                taken[name].append((time.process_time() - started) / QUESTIONS * 1000)
    base = statistics.median(taken["off"])
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name}: median {median:.1f} ms, ratio {median / base:.2f}, n = {ROUNDS * QUESTIONS}")
    for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
        provider.shutdown()  # type: ignore[union-attr]
    here.send(None)
    process.join()


if __name__ == "__main__":
    main()
