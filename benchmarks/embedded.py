"""What the embedded model gets right, how well its confidence tells right from wrong, how fast, and in how much memory.

Run with: `python -m benchmarks.embedded [--candidates 1 3 5] [--model base] [--without training]`,
on the sample shop. Other questions, by authors who knew neither the training data nor the rules: `--domain clinic`,
`--domain freight_library` (a freight carrier and a library), `--domain languages` (the same in German, Russian and
Chinese), `--domain schools_museum_insurer` (the first 60 of its questions), and `--domain dates` (questions about the
shop that name dates, as of 23 November 2025). `--domain off_topic` asks the shop about something else, in four
languages. `--data FOLDER --limit 100` asks those of `questions.jsonl` over `databases/` in that folder, as for Spider.
With `--load 2`, two other processes compute all the time.
"""

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

from benchmarks.clinic import create_clinic
from benchmarks.common import peak_mb, read_lines
from benchmarks.domains import AS_OF, DOMAINS, create_domain
from benchmarks.experiments.datasets import part_of
from benchmarks.freight_and_library import create_freight, create_library
from datasphinx.agent.embedded.calibration import shipped_calibration
from datasphinx.agent.embedded.server import embedded_endpoint
from datasphinx.agent.embedded.tiers import TIERS
from datasphinx.agent.embedded.weights import weights_path
from datasphinx.agent.evals.datasets import Dataset, Question, find_databases, read_questions
from datasphinx.agent.evals.report import Outcome, Report, progress_bar
from datasphinx.agent.evals.run import evaluate, evaluation_settings
from datasphinx.agent.generation.estimator import AgreementConfidence
from datasphinx.agent.graph import build_graph
from datasphinx.agent.sample.shop import shop_path
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from datasphinx.agent.sources.names import SAMPLE
from datasphinx.agent.types import EmbeddedOptions
from training.reliability import auroc, calibration_error, risk_coverage

FIXTURES = Path(__file__).parents[1] / "tests/fixtures"
_CHOICES = ["shop", "clinic", "freight_library", "languages", "schools_museum_insurer", "dates", "off_topic"]
_COVERAGES = (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_SEED = 0
_MAX_CONFIDENT_ERRORS = 0.12
_DATES_AS_OF = date(2025, 11, 23)
_MOST_QUESTIONS = 60
CREATE: dict[str, Callable[[Path], None]] = {
    "clinic": create_clinic,
    "freight": create_freight,
    "library": create_library,
    **{name: partial(create_domain, name) for name in DOMAINS},
}
"""The functions that write the databases of the domains besides the sample shop."""


def main() -> None:
    """Print the tiers, ask the questions once for each number of candidates, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, nargs="+", default=[1, 3, 5])
    parser.add_argument("--model", choices=list(TIERS), help="the tier; by default that of the settings")
    parser.add_argument("--load", type=int, default=0, help="number of other processes that compute all the time")
    parser.add_argument("--without", nargs="*", default=[], choices=["training"])
    parser.add_argument("--wrong", action="store_true", help="print the questions that were not answered as the gold")
    parser.add_argument("--domain", choices=_CHOICES, default="shop")
    parser.add_argument("--data", type=Path, help="folder with questions.jsonl and databases; overrides --domain")
    parser.add_argument("--limit", type=int, help="number of questions, drawn at random with a fixed seed")
    asked = parser.parse_args()
    settings = Settings(llm_base_url=None, llm_api_key=None, record=False)
    settings = settings.model_copy(update={"embedded_model": asked.model or settings.embedded_model})
    _print_tiers(settings)
    started = time.perf_counter()
    embedded_endpoint(settings.cache_dir, settings.embedded_model, adapter="training" not in asked.without)
    print(f"start of the model: {time.perf_counter() - started:.2f} s")
    if asked.domain == "off_topic" and not asked.data:
        _print_off_topic(settings)
        return
    if asked.data:
        questions, databases = _dataset(asked.data, asked.limit)
    else:
        questions, databases = _domain(asked.domain, settings)
    options = EmbeddedOptions(adapter="training" not in asked.without)
    for count in asked.candidates:
        with _busy_processes(asked.load):
            report = _ask(questions, databases, settings, replace(options, candidates=count))
        seconds = report.seconds
        print(
            f"{count} candidates: {report.matched} of {report.n} right; a question takes {seconds['median']:.2f} s "
            f"(median), {seconds['p95']:.2f} s (p95); {report.tokens_per_second} tokens/s; "
            f"peak memory {peak_mb()} MB"
        )
        if all(outcome.confidence is None for outcome in report.outcomes):
            print("  no confidence: the tier has no calibration")
        else:
            calibration = shipped_calibration(settings.embedded_model, "statement")
            _print_reliability(
                report.outcomes, calibration.threshold if calibration else AgreementConfidence().threshold
            )
        for outcome in report.outcomes if asked.wrong else ():
            if not outcome.match:
                print(f"  {outcome.id} ({outcome.confidence}): {outcome.sql or outcome.reason}")


def _print_tiers(settings: Settings) -> None:
    """Print the tiers, with an asterisk at the one that answers."""
    print("  tier   model                        download     memory  downloaded")
    for tier in TIERS.values():
        mark = "*" if tier.name == settings.embedded_model else " "
        is_downloaded = weights_path(settings.cache_dir, tier.weights).is_file()
        print(
            f"{mark} {tier.name:<6} {tier.title:<28} {tier.weights.size / 1e6:5.0f} MB {tier.memory_mb:7} MB  "
            f"{'yes' if is_downloaded else 'no'}"
        )


@contextmanager
def _busy_processes(count: int) -> Iterator[None]:
    """Let `count` other processes compute all the time."""
    processes = [multiprocessing.get_context("spawn").Process(target=_compute, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()


def _compute() -> None:
    while True:
        pass


def _domain(name: str, settings: Settings) -> tuple[list[Question], Mapping[str, Path]]:
    questions = [
        Question(db_id=it.get("db_id", name), id=it["id"], question=it["question"], sql=it["sql"])
        for it in read_lines(FIXTURES / f"{name}_questions.jsonl")[:_MOST_QUESTIONS]
    ]
    if name in ("shop", "dates"):
        return questions, {name: shop_path(settings.cache_dir)}
    folder = Path(tempfile.mkdtemp())
    databases = {}
    for database in dict.fromkeys(question.db_id for question in questions):
        databases[database] = folder / f"{database}.sqlite"
        CREATE[database](databases[database])
    return questions, databases


def _print_off_topic(settings: Settings) -> None:
    """Print how many of the questions about something else are recognised, and the others."""
    lines = read_lines(FIXTURES / "off_topic_questions.jsonl")
    graph = build_graph(Services(settings))
    missed = []
    for question in (line["question"] for line in lines):
        error = graph.invoke({"question": question, "source": SAMPLE})["error"]
        missed += [] if error and error["code"] == "off_topic" else [question]
    print(f"{len(lines) - len(missed)} of {len(lines)} recognised as off topic; not:")
    print("\n".join(f"  {question}" for question in missed))


def _dataset(folder: Path, limit: int | None) -> tuple[list[Question], Mapping[str, Path]]:
    dataset = Dataset(read_questions(folder / "questions.jsonl"), folder / "databases")
    dataset = part_of(dataset, limit, _SEED)
    # Questions of one database share the beginning of their prompts.
    return sorted(dataset.questions, key=lambda question: question.db_id), find_databases(dataset)


def _ask(
    questions: list[Question], databases: Mapping[str, Path], settings: Settings, options: EmbeddedOptions
) -> Report:
    days = {"dates": _DATES_AS_OF, **dict.fromkeys(DOMAINS, AS_OF)}
    day = next((days[name] for name in databases if name in days), None)
    services = Services(evaluation_settings(settings), embedded=options, today=lambda: day or date.today())
    with progress_bar() as on_progress:
        return evaluate(questions, databases, lambda _: services, on_progress)


def _print_reliability(outcomes: Sequence[Outcome], threshold: float) -> None:
    """Print what is presented as confident, calibration error, AUROC, and a table of coverage and risk.

    Questions without an answer count as wrong.
    """
    confident = [outcome.match for outcome in outcomes if (outcome.confidence or 0.0) >= threshold]
    wrong = confident.count(False)
    print(
        f"  presented as confident ({threshold} or more): {len(confident)} answers, {wrong} of them wrong, which are "
        f"{wrong / len(outcomes):.1%} of all questions (target on the clinic: below {_MAX_CONFIDENT_ERRORS:.0%})"
    )
    values, is_right = [outcome.confidence or 0.0 for outcome in outcomes], [outcome.match for outcome in outcomes]
    area = auroc(values, is_right)
    print(
        f"  expected calibration error {calibration_error(values, is_right):.3f} (target 0.05), "
        f"AUROC {'-' if area is None else f'{area:.3f}'} (target 0.87)"
    )
    print("  coverage   right   lowest confidence")
    points = list(risk_coverage(values, is_right))
    for wanted in _COVERAGES:
        coverage, right, lowest = min(points, key=lambda point: abs(point[0] - wanted))
        print(f"  {coverage:8.1%} {right:7.1%}   {lowest:.3f}")


if __name__ == "__main__":
    main()
