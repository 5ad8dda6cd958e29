"""What the embedded model gets right on the sample shop, how fast, and in how much memory.

Run with: `python -m tests.benchmarks.embedded [--candidates 1 3 5] [--without training grammar ...]`
"""

import argparse
import json
import resource
import time
from dataclasses import replace
from pathlib import Path

from agent.embedded.server import embedded_endpoint
from agent.evals.datasets import Question
from agent.evals.report import Report, progress_bar
from agent.evals.run import evaluate
from agent.sample.shop import shop_path
from agent.services import Services
from agent.settings import Settings
from agent.types import EmbeddedOptions

QUESTIONS = Path(__file__).parents[1] / "fixtures" / "shop_questions.jsonl"


def main() -> None:
    """Ask the sixty questions once for each number of candidates, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, nargs="+", default=[1, 3, 5])
    parser.add_argument("--without", nargs="*", default=[], choices=["training", "grammar", "repair"])
    parser.add_argument("--wrong", action="store_true", help="print the questions that were not answered as the gold")
    asked = parser.parse_args()
    settings = Settings(llm_base_url=None, llm_api_key=None, record=False)
    started = time.perf_counter()
    embedded_endpoint(settings.cache_dir, adapter="training" not in asked.without)
    print(f"start of the model: {time.perf_counter() - started:.2f} s")
    records = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    questions = [Question(db_id="shop", **record) for record in records]
    options = EmbeddedOptions(
        adapter="training" not in asked.without,
        grammar="grammar" not in asked.without,
        repair="repair" not in asked.without,
    )
    for count in asked.candidates:
        report = _ask(questions, settings, replace(options, candidates=count))
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        seconds = report.seconds
        print(
            f"{count} candidates: {report.matched} of {report.n} right; a question takes {seconds['median']:.2f} s "
            f"(median), {seconds['p95']:.2f} s (p95); {report.tokens_per_second} tokens/s; "
            f"peak memory {megabytes:.0f} MB"
        )
        for outcome in report.outcomes if asked.wrong else ():
            if not outcome.match:
                print(f"  {outcome.id}: {outcome.sql or outcome.reason}")


def _ask(questions: list[Question], settings: Settings, options: EmbeddedOptions) -> Report:
    services = Services(settings, embedded=options)
    shop = shop_path(settings.cache_dir)
    with progress_bar() as on_progress:
        return evaluate(questions, {"shop": shop}, lambda _: services, on_progress)


if __name__ == "__main__":
    main()
