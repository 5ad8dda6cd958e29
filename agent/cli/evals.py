"""`datasphinx eval`: measure execution match and clarification."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from datasphinx.agent.cli.options import AsJson, BaseUrl, ModelName, settings_of
from datasphinx.agent.cli.text import echo, json_text, printable
from datasphinx.agent.evals.datasets import Dataset, read_questions
from datasphinx.agent.evals.options import ASKING, MAX_ROUNDS, MatchRule, Method, OracleName
from datasphinx.agent.evals.published_datasets import DatasetName, open_dataset
from datasphinx.agent.types import MAX_EMBEDDED_CANDIDATES, EmbeddedOptions

if TYPE_CHECKING:
    from datasphinx.agent.evals.experiments.run import Plan
    from datasphinx.agent.evals.run import Report
    from datasphinx.agent.settings import Settings

logger = logging.getLogger("datasphinx")

LINES = "JSON lines with id, db_id, question and sql."
FILES = "Folder of SQLite files, each named by its db_id."

Limit = Annotated[int | None, typer.Option(min=1, help="Only the first questions.")]
Match = Annotated[
    MatchRule,
    typer.Option("--match", help="Rule for equal rows: this project's, or the published rule of Sphinteract."),
]
Candidates = Annotated[
    int | None,
    typer.Option(
        min=1, max=MAX_EMBEDDED_CANDIDATES, help="Number of statements that the embedded model writes for a question."
    ),
]
Oracle = Annotated[
    OracleName | None,
    typer.Option(help="Answers clarifying questions: the model, or a rule (the default for the embedded model)."),
]
Rounds = Annotated[
    int | None, typer.Option(min=1, max=MAX_ROUNDS, help=f"Rounds after the first answer; default: {MAX_ROUNDS}.")
]
ReactingMethod = Annotated[Method, typer.Option(help="Reaction to a wrong answer; all but baseline need --out.")]
Out = Annotated[Path | None, typer.Option(help="Folder for logs, report and plot; an interrupted run continues there.")]
Parallel = Annotated[int | None, typer.Option(min=1, help="Number of concurrent questions; 1 for the embedded model.")]


def dataset_of(
    name: DatasetName, data: Path | None, questions: Path | None, databases: Path | None, evidence: bool | None
) -> Dataset:
    """Return the dataset that the options select.

    Raises:
        BadParameter: an option is missing, or two options exclude each other.
        DatasetInvalid: the dataset is incomplete or invalid.
    """
    if evidence is not None and name is not DatasetName.BIRD:
        raise typer.BadParameter("only BIRD has hints", param_hint="--evidence/--no-evidence")
    if data is None:
        if name is not DatasetName.JSONL:
            raise typer.BadParameter(f"the folder of {name} is missing", param_hint="--data")
        if questions is None or databases is None:
            raise typer.BadParameter("needed, unless --questions and --databases are given", param_hint="--data")
        return Dataset(read_questions(questions), databases)
    if questions or databases:
        raise typer.BadParameter("not with --data, whose folder contains both", param_hint="--questions, --databases")
    return open_dataset(name, data, evidence=evidence is not False)


def embedded_options_of(
    settings: "Settings", candidates: int | None, shots: int | None = None
) -> EmbeddedOptions | None:
    """Return the decoding options of the embedded model; None if another model is configured.

    Raises:
        BadParameter: an option requires the embedded model, or another one.
    """
    if not settings.uses_embedded_model:
        if candidates:
            message = "for the embedded model only, and an endpoint is configured"
            raise typer.BadParameter(message, param_hint="--candidates")
        return None
    if shots:
        raise typer.BadParameter("the embedded model uses no examples", param_hint="--shots")
    return EmbeddedOptions(candidates=candidates or EmbeddedOptions.candidates)


def plan_of(
    out: Path | None,
    method: Method,
    oracle: OracleName | None,
    rounds: int | None,
    parallel: int | None,
    match: MatchRule,
    embedded: EmbeddedOptions | None,
    settings: "Settings",
) -> "Plan | None":
    """Return the plan of an experiment; None without `out`, for a report on the first answers only.

    Raises:
        BadParameter: an option is missing, or two options exclude each other.
    """
    options = {
        "--method": method is not Method.BASELINE,
        "--rounds": rounds,
        "--oracle": oracle,
        "--parallel": parallel,
    }
    if out is None:
        option_names = [name for name, value in options.items() if value]
        if option_names:
            raise typer.BadParameter("needs a folder for the logs, --out", param_hint=", ".join(option_names))
        return None
    if rounds and method is Method.BASELINE:
        raise typer.BadParameter(f"{method} has no rounds", param_hint="--rounds")
    if oracle and method not in ASKING:
        raise typer.BadParameter(f"{method} asks nothing", param_hint="--oracle")
    if embedded and (parallel or 1) > 1:
        raise typer.BadParameter("the embedded model takes one question at a time", param_hint="--parallel")
    if embedded and oracle is OracleName.MODEL and "oracle" not in settings.llm_models:
        raise typer.BadParameter("the embedded model writes statements and nothing else", param_hint="--oracle")
    from datasphinx.agent.evals.experiments.run import Plan

    default_rounds = 0 if method is Method.BASELINE else MAX_ROUNDS
    return Plan(out, method, oracle, rounds or default_rounds, parallel or 1, match)


eval_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Measure execution match on questions with reference statements."
)


@eval_app.command()
def demo(as_json: AsJson = False) -> None:
    """Ask nine questions about the sample shop and two sample spreadsheets, and compare the answers with references.

    The questions are by an author who knew neither the training data nor the rules of the embedded model.

    Exit code 0, also for wrong answers.
    """
    from datasphinx.agent.cli.options import services_of
    from datasphinx.agent.evals.demo import judged_answers

    judged = []
    for one in judged_answers(services_of()):
        judged.append(one)
        if not as_json:
            verdict = "✓" if one.matched else "✗" if one.is_confident_error else "?"
            echo(f"{verdict} {one.question}\n  {printable(one.output['sql'] or one.output['answer'])}")
    matched, errors = sum(one.matched for one in judged), sum(one.is_confident_error for one in judged)
    if as_json:
        echo(json_text({"questions": len(judged), "matched": matched, "confident_errors": errors}))
    else:
        echo(f"{matched} of {len(judged)} answered like the reference (✓); {errors} wrong without a doubt (✗).")


@eval_app.command()
def replay(
    questions: Annotated[Path, typer.Option(help=LINES)],
    databases: Annotated[Path, typer.Option(help=FILES)],
    predictions: Annotated[Path, typer.Option(help="JSON lines with id and sql: the recorded statements.")],
    limit: Limit = None,
    match: Match = MatchRule.PROJECT,
    method: ReactingMethod = Method.BASELINE,
    rounds: Rounds = None,
    oracle: Oracle = None,
    parallel: Parallel = None,
    out: Out = None,
    as_json: AsJson = False,
    model: ModelName = None,
    base_url: BaseUrl = None,
) -> None:
    """Run recorded statements through the whole graph as the model's answers.

    With --out they are the first answers of an experiment, in which the configured model writes the others.
    """
    from datasphinx.agent.evals import run as evals

    settings = settings_of(llm_model=model, llm_base_url=base_url, shots=0 if out else None)
    dataset = Dataset(read_questions(questions), databases)
    # Lines of a JSON log are read by programs.
    is_quiet = as_json or settings.log_json
    embedded = embedded_options_of(settings, None) if out else None
    plan = plan_of(out, method, oracle, rounds, parallel, match, embedded, settings)
    with evals.progress_bar(quiet=settings.log_json) as advance:
        if plan is None:
            _print_report(evals.replay(dataset, predictions, limit, settings, advance, match), is_quiet)
            return
        from datasphinx.agent.evals.experiments.run import run_method

        part, recorded = evals.recorded_part(dataset, predictions, limit)
        figures = run_method(part, settings, replace(plan, recorded=recorded), advance, embedded)
    _print_figures(*figures, is_quiet)


@eval_app.command("run")
def run_eval(
    dataset: Annotated[DatasetName, typer.Option(help="Format of the questions.")] = DatasetName.JSONL,
    data: Annotated[Path | None, typer.Option(help="Folder of the downloaded and unpacked dataset.")] = None,
    questions: Annotated[Path | None, typer.Option(help=f"{LINES} Instead of --data, with --databases.")] = None,
    databases: Annotated[Path | None, typer.Option(help=FILES)] = None,
    evidence: Annotated[
        bool | None,
        typer.Option("--evidence/--no-evidence", help="With BIRD's hints (the default), or without."),
    ] = None,
    limit: Limit = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Select the questions of --limit at random with this seed, instead of the first ones."),
    ] = None,
    match: Match = MatchRule.PROJECT,
    method: ReactingMethod = Method.BASELINE,
    shots: Annotated[
        int | None, typer.Option(help="Number of examples in the prompt: 0, 1, 3 or 5; default with --out: 0.")
    ] = None,
    rounds: Rounds = None,
    oracle: Oracle = None,
    parallel: Parallel = None,
    out: Out = None,
    as_json: AsJson = False,
    model: ModelName = None,
    base_url: BaseUrl = None,
    candidates: Candidates = None,
) -> None:
    """Run questions through the whole graph with the configured model, by default the embedded model."""
    from datasphinx.agent.evals import run as evals

    if seed is not None and limit is None:
        raise typer.BadParameter("needs --limit, the number of questions", param_hint="--seed")
    # An experiment is zero-shot by default, regardless of the setting for questions.
    shots = 0 if out and shots is None else shots
    settings = settings_of(llm_model=model, llm_base_url=base_url, shots=shots)
    is_quiet = as_json or settings.log_json
    embedded = embedded_options_of(settings, candidates, shots)
    plan = plan_of(out, method, oracle, rounds, parallel, match, embedded, settings)
    whole = dataset_of(dataset, data, questions, databases, evidence)
    uses_examples = bool(settings.shots) and embedded is None
    if uses_examples:
        whole = _without_examples(whole, settings)
    selected = whole.part(limit, seed)
    if shots and uses_examples:
        _warn_of_few_examples(selected, settings)
    if plan is None:
        with evals.progress_bar(quiet=settings.log_json) as advance:
            report = evals.run(selected, settings, advance, embedded, match, of_others=bool(shots))
        _print_report(report, is_quiet)
        return
    from datasphinx.agent.evals.experiments.run import run_method

    with evals.progress_bar(quiet=settings.log_json) as advance:
        figures = run_method(selected, settings, plan, advance, embedded)
    _print_figures(*figures, is_quiet)


def _without_examples(dataset: Dataset, settings: "Settings") -> Dataset:
    """Return `dataset` without the questions that are examples, and state how many these are."""
    from datasphinx.agent.evals.shots import without_examples
    from datasphinx.agent.examples.store import ExampleStore

    kept = without_examples(dataset, ExampleStore(settings.data_dir).examples())
    if count := len(dataset.questions) - len(kept.questions):
        _note(f"questions left out, because they are examples: {count}", settings)
    return kept


def _warn_of_few_examples(dataset: Dataset, settings: "Settings") -> None:
    from datasphinx.agent.evals.shots import databases_with_few
    from datasphinx.agent.services import Services

    if few := databases_with_few(dataset, Services(settings)):
        names = ", ".join(few)
        _note(f"warning: fewer than {settings.shots} examples for {names}; those of other databases are used", settings)


def _note(text: str, settings: "Settings") -> None:
    """Print a line on standard error, or add it to the log if that is JSON."""
    if settings.log_json:
        logger.warning("[EVAL] %s", text)
    else:
        echo(text, error=True)


@eval_app.command()
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Folders (--out) of runs on the same questions.")],
    plot: Annotated[Path | None, typer.Option(help="Write a plot to this PNG file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare several runs in one table and one plot."""
    from datasphinx.agent.evals.experiments.report import png_of, read_runs, table_of

    runs = read_runs(folders)
    if plot:
        plot.write_bytes(png_of(runs))
    if not as_json:
        echo(table_of(runs), error=True)
    echo(json_text([{"method": name, **figures} for name, figures in runs]))


def _print_figures(report: dict[str, Any], table: str, is_quiet: bool) -> None:
    if not is_quiet:
        echo(table, error=True)
    echo(json_text(report))


def _print_report(report: "Report", is_quiet: bool) -> None:
    if not is_quiet:
        seconds = report.seconds
        low, high = report.interval
        typer.echo(
            f"execution match {report.execution_match:.2%} of {report.n} (95 % interval {low:.2%} to {high:.2%}); "
            f"seconds a question: median "
            f"{seconds['median']:.2f}, p95 {seconds['p95']:.2f}; {report.tokens_per_second:.1f} tokens a second; "
            f"{report.llm_calls} calls",
            err=True,
        )
    echo(json_text(report.as_json()))
