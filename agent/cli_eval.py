"""`datasphinx eval`: parsing only."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli_eval_options import (
    FILES,
    LINES,
    Candidates,
    Limit,
    Match,
    Oracle,
    Parallel,
    Part,
    Rounds,
    dataset_of,
    embedded_options_of,
    plan_of,
)
from agent.cli_options import AsJson, BaseUrl, ModelName
from agent.evals.datasets.dataset import Dataset
from agent.evals.datasets.jsonl import read_questions
from agent.evals.datasets.opening import DatasetName
from agent.evals.experiments.method import Method
from agent.evals.match_rule import MatchRule
from agent.terminal_text import echo, json_text

if TYPE_CHECKING:
    from agent.evals.run import Report

_ASKING = {"ask_precision": "ask precision", "ask_recall": "ask recall", "over_asking": "over-asking"}

eval_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Measure execution match on questions with known statements."
)


@eval_app.command()
def replay(
    questions: Annotated[Path, typer.Option(help=LINES)],
    databases: Annotated[Path, typer.Option(help=FILES)],
    predictions: Annotated[Path, typer.Option(help="JSON lines: id, sql; the recorded statements.")],
    limit: Limit = None,
    match: Match = MatchRule.PROJECT,
    as_json: AsJson = False,
) -> None:
    """Run recorded statements through the whole graph as the model's answers."""
    from agent.evals import run as evals
    from agent.settings import load_settings

    settings = load_settings()
    dataset = Dataset(read_questions(questions), databases)
    with evals.progress_bar() as advance:
        report = evals.replay(dataset, predictions, limit, settings, advance, match)
    _print_report(report, as_json)


@eval_app.command("run")
def run_eval(
    dataset: Annotated[DatasetName, typer.Option(help="What the questions are.")] = DatasetName.JSONL,
    data: Annotated[Path | None, typer.Option(help="Folder of the dataset, as it was downloaded and unpacked.")] = None,
    questions: Annotated[Path | None, typer.Option(help=f"{LINES} With --databases in place of --data.")] = None,
    databases: Annotated[Path | None, typer.Option(help=FILES)] = None,
    evidence: Annotated[
        bool | None,
        typer.Option("--evidence/--no-evidence", help="With BIRD's hints (so by default), or without."),
    ] = None,
    limit: Limit = None,
    seed: Annotated[
        int | None, typer.Option(help="Draw the questions of --limit at random by it, in place of the first.")
    ] = None,
    match: Match = MatchRule.PROJECT,
    method: Annotated[
        Method, typer.Option(help="What is done about a wrong answer; all but baseline need --out.")
    ] = Method.BASELINE,
    shots: Annotated[
        int | None, typer.Option(help="Examples that the model sees: 0, 1, 3 or 5; with --out 0 where left out.")
    ] = None,
    rounds: Rounds = None,
    oracle: Oracle = None,
    parallel: Parallel = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for logs, report and plot; a run that was stopped goes on there.")
    ] = None,
    as_json: AsJson = False,
    model: ModelName = None,
    base_url: BaseUrl = None,
    candidates: Candidates = None,
    without: Annotated[
        list[Part] | None, typer.Option(help="A part of the embedded model to leave out; may be given several times.")
    ] = None,
) -> None:
    """Run questions through the whole graph with the configured model; without one, the embedded model."""
    from agent.evals import run as evals
    from agent.settings import load_settings

    if seed is not None and limit is None:
        raise typer.BadParameter("how many are drawn? Name their number with --limit", param_hint="--seed")
    # An experiment is zero-shot unless it says otherwise, whatever is set for questions.
    shots = 0 if out and shots is None else shots
    settings = load_settings(llm_model=model, llm_base_url=base_url, embedded_candidates=candidates, shots=shots)
    embedded = embedded_options_of(settings, candidates, without or [], shots)
    plan = plan_of(out, method, oracle, rounds, parallel, match, embedded)
    asked = dataset_of(dataset, data, questions, databases, evidence).part(limit, seed)
    if plan is None:
        with evals.progress_bar() as advance:
            report = evals.run(asked, settings, advance, embedded, match)
        _print_report(report, as_json)
        return
    from agent.evals.experiments.run import run_method

    with evals.progress_bar() as advance:
        found = run_method(asked, settings, plan, advance, embedded)
    _print_figures(*found, as_json)


@eval_app.command()
def clarification(
    questions: Annotated[Path, typer.Option(help="JSON lines: id, db_id, question, type, and readings or sql.")],
    databases: Annotated[Path, typer.Option(help=FILES)],
    out: Annotated[Path, typer.Option(help="Folder for logs, report and plot; a run that was stopped goes on there.")],
    match: Match = MatchRule.PROJECT,
    rounds: Rounds = None,
    oracle: Oracle = None,
    parallel: Parallel = None,
    as_json: AsJson = False,
    model: ModelName = None,
    base_url: BaseUrl = None,
    candidates: Candidates = None,
) -> None:
    """Measure whether questions are asked where the answer matters, and not where it does not."""
    from agent.evals.datasets.readings import read_readings
    from agent.evals.experiments.run import run_asking
    from agent.evals.report import progress_bar
    from agent.settings import load_settings

    settings = load_settings(llm_model=model, llm_base_url=base_url, embedded_candidates=candidates)
    embedded = embedded_options_of(settings, candidates, [])
    plan = plan_of(out, Method.CLARIFY, oracle, rounds, parallel, match, embedded)
    assert plan is not None, "there is a folder"
    asked = read_readings(questions)
    with progress_bar() as advance:
        report, table = run_asking(asked, databases, settings, plan, advance, embedded)
    told = ", ".join(f"{title} {_percent(report['asking'][name])}" for name, title in _ASKING.items())
    _print_figures(report, f"{table}\n{told}", as_json)


@eval_app.command()
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Folders of --out, of runs on the same questions.")],
    plot: Annotated[Path | None, typer.Option(help="PNG to draw them in.")] = None,
    as_json: AsJson = False,
) -> None:
    """Put several runs into one table and one plot."""
    from agent.evals.experiments.plot import png_of
    from agent.evals.experiments.report import compared
    from agent.evals.experiments.table import table_of

    runs = compared(folders)
    if plot:
        plot.write_bytes(png_of(runs))
    if not as_json:
        echo(table_of(runs), error=True)
    sys.stdout.write(json_text([{"method": name, **figures} for name, figures in runs]) + "\n")


def _print_figures(report: dict[str, Any], table: str, as_json: bool) -> None:
    if not as_json:
        echo(table, error=True)
    sys.stdout.write(json_text(report) + "\n")


def _print_report(report: "Report", as_json: bool) -> None:
    if not as_json:
        seconds = report.seconds
        low, high = report.interval
        typer.echo(
            f"execution match {report.execution_match:.2%} of {report.n} (95 % interval {low:.2%} to {high:.2%}); "
            f"seconds a question: median "
            f"{seconds['median']:.2f}, p95 {seconds['p95']:.2f}; {report.tokens_per_second:.1f} tokens a second; "
            f"{report.llm_calls} calls",
            err=True,
        )
    sys.stdout.write(json_text(report.as_json()) + "\n")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.2%}"
