"""Small models behind an endpoint: the bare prompt against the product on the same questions.

    python -m benchmarks.small_models --base-url http://127.0.0.1:8080/v1 --model NAME \\
        --questions ../shared/benchmarks/spider_dev/questions.jsonl \\
        --databases ../shared/benchmarks/spider_dev/databases --limit 40 --seed 19

The bare prompt is the CREATE TABLE statements of the database, the question, and a fenced SELECT that the model
completes at `/completions`. The product runs with the profiles `standard`, `plain` and `auto`. Questions are a random
sample, those of one database in sequence.
"""

import argparse
import json
import sqlite3
import time
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean, median

import httpx

from benchmarks.experiments.datasets import part_of
from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.evals.datasets import Dataset, Question, find_databases, read_questions
from datasphinx.agent.evals.match import results_match
from datasphinx.agent.evals.report import Outcome, Progress, Report
from datasphinx.agent.evals.run import evaluate, evaluation_settings
from datasphinx.agent.llm.parse import clean_sql
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, load_settings

BARE = "bare"
PROFILES = ("standard", "plain", "auto")
_TIMEOUT_S = 3600.0
_MAX_TOKENS = 512


def main() -> None:
    """Print a row of a Markdown table for each way to ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--databases", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seed", type=int, help="take a random sample instead of the first questions")
    parser.add_argument("--only", nargs="*", default=[], help="only questions on these databases")
    parser.add_argument("--ways", nargs="+", default=[BARE, *PROFILES], choices=[BARE, *PROFILES])
    parser.add_argument("--outcomes", type=Path, help="append each outcome to this file as JSON")
    options = parser.parse_args()
    questions = read_questions(options.questions)
    if options.only:
        questions = [question for question in questions if question.db_id in options.only]
    dataset = part_of(Dataset(questions, options.databases), options.limit, options.seed)
    limits = {"llm_timeout_s": _TIMEOUT_S, "max_question_s": _TIMEOUT_S}
    settings = load_settings(llm_base_url=options.base_url, llm_model=options.model, **limits)
    print("| way | right | statements that fail | calls per question | median seconds |\n|---|---|---|---|---|")
    for way in options.ways:
        run_settings = evaluation_settings(settings.model_copy(update={"llm_profile": way}))
        on_progress = _writer(options.outcomes, options.model, way)
        ask = _ask_bare if way == BARE else _ask_product
        outcomes = ask(dataset, run_settings, on_progress)
        failed = sum(outcome.error is not None for outcome in outcomes)
        right = sum(outcome.match for outcome in outcomes)
        calls = mean(outcome.llm_calls for outcome in outcomes)
        seconds = median(outcome.seconds for outcome in outcomes)
        share = f"{right} of {len(outcomes)} ({100 * right / len(outcomes):.1f} %)"
        print(f"| {way} | {share} | {failed} | {calls:.1f} | {seconds:.1f} |", flush=True)


def _ask_product(dataset: Dataset, settings: Settings, on_progress: Progress) -> list[Outcome]:
    services = Services(settings)
    return evaluate(dataset.questions, find_databases(dataset), lambda _: services, on_progress).outcomes


def _ask_bare(dataset: Dataset, settings: Settings, on_progress: Progress) -> list[Outcome]:
    """Return the outcomes of statements that are executed as the model wrote them, through the guard."""
    services, files, report = Services(settings), find_databases(dataset), Report()
    with httpx.Client(base_url=str(settings.llm_base_url), timeout=_TIMEOUT_S, trust_env=False) as client:
        for question in dataset.questions:
            started = time.perf_counter()
            sql = _bare_statement(client, settings, question, files[question.db_id])
            outcome = _executed(question, sql, services, files[question.db_id])
            report.outcomes.append(replace(outcome, seconds=time.perf_counter() - started))
            on_progress(report, len(dataset.questions))
    return report.outcomes


def _bare_statement(client: httpx.Client, settings: Settings, question: Question, file: Path) -> str:
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL").fetchall()
    schema = "\n".join(f"{sql};" for (sql,) in rows)
    body = {
        "model": settings.llm_model,
        "prompt": f"{schema}\n\n-- Question: {question.question}\n\n```sql\nSELECT",
        "temperature": 0,
        "max_tokens": _MAX_TOKENS,
        "stop": ["```", ";"],
    }
    reply = client.post("completions", json=body).raise_for_status().json()
    return clean_sql(f"SELECT{reply['choices'][0]['text']}")


def _executed(question: Question, sql: str, services: Services, file: Path) -> Outcome:
    source = services.source(f"sqlite:///{file.absolute()}")
    outcome = Outcome(question.id, sql=sql, llm_calls=1)
    try:
        rows = source.execute(sql)
    except DatasphinxError as error:
        return replace(outcome, error=error.code, reason=str(error))
    reference = source.execute(question.sql)
    match = results_match(reference, rows, question.sql, source.catalog.dialect)
    return replace(outcome, match=match)


def _writer(path: Path | None, model: str, way: str) -> Progress:
    """Return a function that appends the last outcome of a report to the file at `path`."""

    def write(report: Report, total: int) -> None:
        if path and report.outcomes:
            line = json.dumps({"model": model, "way": way, **asdict(report.outcomes[-1])}, default=str)
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    return write


if __name__ == "__main__":
    main()
