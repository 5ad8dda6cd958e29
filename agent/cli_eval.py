"""`datasphinx eval`: parsing only."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli_options import AsJson, BaseUrl, ModelName
from agent.models.embedded import MOST_CANDIDATES, EmbeddedOptions

if TYPE_CHECKING:
    from agent.evals.run import Report
    from agent.settings import Settings


class Part(StrEnum):
    """A part of the embedded model's decoding, to be measured by leaving it out."""

    TRAINING = "training"
    GRAMMAR = "grammar"
    CANDIDATES = "candidates"
    REPAIR = "repair"


eval_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Measure execution match on questions with known statements."
)

Questions = Annotated[Path, typer.Option(help="JSON lines: id, db_id, question, sql.")]
Databases = Annotated[Path, typer.Option(help="Folder of SQLite files named by db_id.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first questions.")]


@eval_app.command()
def replay(
    questions: Questions,
    databases: Databases,
    predictions: Annotated[Path, typer.Option(help="JSON lines: id, sql; the recorded statements.")],
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """Run recorded statements through the whole graph as the model's answers."""
    from agent.evals import run as evals
    from agent.settings import load_settings

    settings = load_settings()
    with evals.progress_bar() as advance:
        report = evals.replay(questions, databases, predictions, limit, settings, advance)
    _print_report(report, as_json)


@eval_app.command("run")
def run_eval(
    questions: Questions,
    databases: Databases,
    limit: Limit = None,
    as_json: AsJson = False,
    model: ModelName = None,
    base_url: BaseUrl = None,
    candidates: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_CANDIDATES, help="Statements that the embedded model writes for a question."),
    ] = None,
    without: Annotated[
        list[Part] | None, typer.Option(help="A part of the embedded model to leave out; may be given several times.")
    ] = None,
) -> None:
    """Run questions through the whole graph with the configured model; without one, the embedded model."""
    from agent.evals import run as evals
    from agent.settings import load_settings

    settings = load_settings(llm_model=model, llm_base_url=base_url, embedded_candidates=candidates)
    embedded = _embedded_options(settings, candidates, without or [])
    with evals.progress_bar() as advance:
        report = evals.run(questions, databases, limit, settings, advance, embedded)
    _print_report(report, as_json)


def _embedded_options(settings: "Settings", candidates: int | None, without: list[Part]) -> EmbeddedOptions | None:
    """Return how the embedded model is decoded; None where another model is asked.

    Raises:
        BadParameter: an option for the embedded model alone is given for another, or two contradict each other.
    """
    if not settings.uses_embedded_model:
        given = "--without" if without else "--candidates" if candidates else None
        if given:
            raise typer.BadParameter("that is for the embedded model, and an endpoint is configured", param_hint=given)
        return None
    if candidates and Part.CANDIDATES in without:
        raise typer.BadParameter("--without candidates leaves one", param_hint="--candidates")
    return EmbeddedOptions(
        adapter=Part.TRAINING not in without,
        grammar=Part.GRAMMAR not in without,
        candidates=1 if Part.CANDIDATES in without else settings.embedded_candidates,
        repair=Part.REPAIR not in without,
    )


def _print_report(report: "Report", as_json: bool) -> None:
    if not as_json:
        seconds = report.seconds
        typer.echo(
            f"execution match {report.execution_match:.2%} of {report.n}; seconds a question: median "
            f"{seconds['median']:.2f}, p95 {seconds['p95']:.2f}; {report.tokens_per_second:.1f} tokens a second; "
            f"{report.llm_calls} calls",
            err=True,
        )
    sys.stdout.write(json.dumps(report.as_json(), ensure_ascii=False) + "\n")
