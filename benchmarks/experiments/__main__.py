"""Experiments after Sphinteract: judged answers, simulated reactions to wrong ones, and their comparison.

Run with: `python -m benchmarks.experiments run --dataset kaggledbqa --data FOLDER --method clarify --out clarify`, and
`python -m benchmarks.experiments compare baseline clarify`. `docs/research/sphinteract.md` describes the methods, the
files and the figures.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from benchmarks.experiments.datasets import DatasetName, open_dataset, part_of
from benchmarks.experiments.options import ASKING, MAX_ROUNDS, MatchRule, Method, OracleName
from benchmarks.experiments.report import png_of, read_runs, table_of
from benchmarks.experiments.run import Plan, run_method
from datasphinx.agent.connect import connect_model
from datasphinx.agent.evals.datasets import read_predictions, require_predictions
from datasphinx.agent.evals.report import progress_bar
from datasphinx.agent.settings import Settings, load_settings
from datasphinx.agent.types import EmbeddedOptions


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments")
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="Run an experiment; an interrupted one continues.")
    run.add_argument("--dataset", type=DatasetName, default=DatasetName.JSONL, help="Format of the questions.")
    run.add_argument("--data", type=Path, required=True, help="Folder of the downloaded and unpacked dataset.")
    run.add_argument("--no-evidence", action="store_true", help="Without BIRD's hints.")
    run.add_argument("--predictions", type=Path, help="JSON lines with id and sql: recorded first answers.")
    run.add_argument("--limit", type=int, help="Only the first questions.")
    run.add_argument("--seed", type=int, help="Select the questions of --limit at random with this seed.")
    run.add_argument("--match", type=MatchRule, default=MatchRule.PUBLISHED, help="Rule for equal rows.")
    run.add_argument("--method", type=Method, default=Method.BASELINE, help="Reaction to a wrong answer.")
    run.add_argument("--rounds", type=int, choices=range(1, MAX_ROUNDS + 1), default=MAX_ROUNDS)
    run.add_argument("--oracle", type=OracleName, help="Answers clarifying questions: the model or a rule.")
    run.add_argument("--oracle-model", help="Name of another model that answers clarifying questions.")
    run.add_argument(
        "--oracle-url", help="Base URL of its endpoint, whose key is in ORACLE_API_KEY; by default that of the model."
    )
    run.add_argument("--parallel", type=int, default=1, help="Number of concurrent questions.")
    run.add_argument("--candidates", type=int, default=EmbeddedOptions.candidates, help="Of the embedded model.")
    run.add_argument("--out", type=Path, required=True, help="Folder for logs, report and plot.")
    run.set_defaults(work=_run)
    compare = commands.add_parser("compare", help="Compare experiments in one table and one plot.")
    compare.add_argument("folders", type=Path, nargs="+")
    compare.add_argument("--plot", type=Path, help="Write a plot to this PNG file.")
    compare.set_defaults(work=_compare)
    options = parser.parse_args(arguments)
    options.work(parser, options)


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    settings = load_settings()
    embedded = EmbeddedOptions(candidates=options.candidates) if settings.uses_embedded_model else None
    if problem := _problem(options, settings):
        parser.error(problem)
    whole = open_dataset(options.dataset, options.data, evidence=not options.no_evidence)
    dataset = part_of(whole, options.limit, options.seed)
    recorded: dict[str, str] = {}
    if options.predictions:
        recorded = read_predictions(options.predictions, whole.questions)
        require_predictions(dataset.questions, recorded, options.predictions)
    rounds = 0 if options.method is Method.BASELINE else options.rounds
    oracle_model = None
    if options.oracle_model:
        update: dict[str, Any] = {"llm_model": options.oracle_model}
        if options.oracle_url:
            # A key is not sent to another endpoint.
            key = os.environ.get("ORACLE_API_KEY")
            update |= {"llm_base_url": options.oracle_url, "llm_api_key": SecretStr(key) if key else None}
        oracle_model = connect_model(settings.model_copy(update=update))
    plan = Plan(
        options.out, options.method, options.oracle, oracle_model, rounds, options.parallel, options.match, recorded
    )
    with progress_bar() as advance:
        report, table = run_method(dataset, settings, plan, advance, embedded)
    print(table)
    print(json.dumps(report, ensure_ascii=False))


def _problem(options: argparse.Namespace, settings: Settings) -> str:
    """Return why the options do not go together; "" if they do."""
    if options.seed is not None and options.limit is None:
        return "--seed needs --limit, the number of questions"
    if options.oracle and options.method not in ASKING:
        return f"--oracle: {options.method} asks nothing"
    if settings.uses_embedded_model and options.parallel > 1:
        return "--parallel: the embedded model takes one question at a time"
    if settings.uses_embedded_model and options.oracle is OracleName.MODEL and not options.oracle_model:
        return "--oracle: the embedded model writes statements and nothing else"
    return ""


def _compare(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    runs = read_runs(options.folders)
    if options.plot:
        options.plot.write_bytes(png_of(runs))
    print(table_of(runs))
    print(json.dumps([{"method": name, **figures} for name, figures in runs]))


if __name__ == "__main__":
    main()
