"""`datasphinx eval`: measure execution match."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasphinx.agent.cli.options import AsJson, BaseUrl, ModelName, settings_of
from datasphinx.agent.cli.text import echo, json_text, printable
from datasphinx.agent.types import MAX_EMBEDDED_CANDIDATES, EmbeddedOptions

if TYPE_CHECKING:
    from datasphinx.agent.evals.run import Report


Questions = Annotated[Path, typer.Option(help="JSON lines with id, db_id, question and sql.")]
Databases = Annotated[Path, typer.Option(help="Folder of SQLite files, each named by its db_id.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first questions.")]
Candidates = Annotated[
    int | None,
    typer.Option(
        min=1, max=MAX_EMBEDDED_CANDIDATES, help="Number of statements that the embedded model writes for a question."
    ),
]

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
    questions: Questions,
    databases: Databases,
    predictions: Annotated[Path, typer.Option(help="JSON lines with id and sql: the recorded statements.")],
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Run recorded statements through the whole graph as the model's answers."""
    from datasphinx.agent.evals import run as evals
    from datasphinx.agent.evals.datasets import Dataset, read_questions

    settings = settings_of()
    dataset = Dataset(read_questions(questions), databases)
    with evals.progress_bar(quiet=settings.log_json) as advance:
        report = evals.replay(dataset, predictions, limit, settings, advance)
    _print_report(report, as_json or settings.log_json)


@eval_app.command("run")
def run_eval(
    questions: Questions,
    databases: Databases,
    limit: Limit = None,
    as_json: AsJson = False,
    model: ModelName = None,
    base_url: BaseUrl = None,
    candidates: Candidates = None,
) -> None:
    """Run questions through the whole graph with the configured model, by default the embedded model."""
    from datasphinx.agent.evals import run as evals
    from datasphinx.agent.evals.datasets import Dataset, read_questions

    settings = settings_of(llm_model=model, llm_base_url=base_url)
    if candidates and not settings.uses_embedded_model:
        message = "for the embedded model only, and an endpoint is configured"
        raise typer.BadParameter(message, param_hint="--candidates")
    embedded = EmbeddedOptions(candidates=candidates or EmbeddedOptions.candidates)
    dataset = Dataset(read_questions(questions), databases)
    with evals.progress_bar(quiet=settings.log_json) as advance:
        report = evals.run(dataset.first(limit), settings, advance, embedded if settings.uses_embedded_model else None)
    _print_report(report, as_json or settings.log_json)


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
