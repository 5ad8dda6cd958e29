"""`datasphinx eval`: parsing only."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli_options import AsJson, BaseUrl, ModelName

if TYPE_CHECKING:
    from agent.evals.run import Report

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
) -> None:
    """Run questions through the whole graph with the configured model; without one, the embedded model."""
    from agent.evals import run as evals
    from agent.settings import load_settings

    settings = load_settings(llm_model=model, llm_base_url=base_url)
    with evals.progress_bar() as advance:
        report = evals.run(questions, databases, limit, settings, advance)
    _print_report(report, as_json)


def _print_report(report: "Report", as_json: bool) -> None:
    if not as_json:
        typer.echo(f"execution match {report.execution_match:.2%} of {report.n}", err=True)
    sys.stdout.write(json.dumps(report.as_json(), ensure_ascii=False) + "\n")
