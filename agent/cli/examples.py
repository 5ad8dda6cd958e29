"""`datasphinx examples`: manage few-shot examples."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasphinx.agent.cli.options import AsJson, services_of
from datasphinx.agent.cli.text import echo, json_text

if TYPE_CHECKING:
    from datasphinx.agent.examples.example import Example
    from datasphinx.agent.examples.store import ExampleStore
    from datasphinx.agent.services import Services
    from datasphinx.agent.sources.source import Source

examples_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Manage examples: questions with their SQL, shown to the model with similar questions.",
)

OfSource = Annotated[
    str | None,
    typer.Option("--source", help="Name or SQLAlchemy URL of the database; default: chosen by the question."),
]


@examples_app.command()
def add(
    question: Annotated[str, typer.Argument(help="The question.")],
    sql: Annotated[str, typer.Argument(help="SQL that answers the question.")],
    source: OfSource = None,
    as_json: AsJson = False,
) -> None:
    """Add an example, replacing one with the same question; its statement is checked but not run.

    Exit codes: 0 added, 2 there is no such source or the example is invalid, 3 the statement cannot run, 5 the source
    or the file of the examples is unreachable.
    """
    from datasphinx.agent.examples.example import checked_example

    services = services_of()
    example = checked_example(question, sql, _source(services, question, source))
    _keep([example], services)
    added = {"id": example.id, "source": example.source}
    echo(json_text(added) if as_json else f"{example.id}  {example.source}")


@examples_app.command("list")
def list_examples(
    source: Annotated[str | None, typer.Option(help="Name or SQLAlchemy URL of a database; default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the examples: id, database, question and SQL.

    Exit codes: 0 listed, 2 there is no such source, 5 the file of the examples cannot be read.
    """
    from datasphinx.agent.schema.describe import one_line
    from datasphinx.agent.sources.files import database_of

    services = services_of()
    identity = source and database_of(services.settings_of(source)).identity
    examples = _store(services).examples(identity)
    if as_json:
        echo(json_text({"examples": [{**example.shown(), "source": example.source} for example in examples]}))
        return
    for example in examples:
        echo(f"{example.id}  {example.source}  {one_line(example.question, 100)}  {one_line(example.sql, 160)}")


@examples_app.command()
def remove(
    ids: Annotated[list[str], typer.Argument(help="Ids, as printed by `list`.")], as_json: AsJson = False
) -> None:
    """Remove examples, all or none of the given ids.

    Exit codes: 0 removed, 2 there is no such example, 5 the file of the examples cannot be written.
    """
    _store(services_of()).remove(ids)
    echo(json_text({"removed": ids}) if as_json else f"{len(ids)} removed")


@examples_app.command("import")
def import_examples(
    file: Annotated[
        Path, typer.Argument(help="JSON lines with question and sql, and optionally source and clarifications.")
    ],
    source: OfSource = None,
    as_json: AsJson = False,
) -> None:
    """Add the examples of a file, all or none; examples with the same questions are replaced.

    Exit codes: 0 added, 2 the file cannot be read or there is no such source, 3 a line is not a valid example, 5 a
    source or the file of the examples is unreachable.
    """
    from datasphinx.agent.examples.importing import read_examples

    services = services_of()
    examples = read_examples(file, lambda question, name: _source(services, question, name or source))
    _keep(examples, services)
    ids = [example.id for example in examples]
    echo(json_text({"kept": ids}) if as_json else f"{len(set(ids))} kept")


def _store(services: "Services") -> "ExampleStore":
    from datasphinx.agent.examples.store import ExampleStore

    return ExampleStore(services.settings.data_dir)


def _keep(examples: "Sequence[Example]", services: "Services") -> None:
    """Store `examples`; print a note on standard error if the configured model uses no examples."""
    from datasphinx.agent.messages import language_of, render

    _store(services).add(examples)
    if examples and services.models.embedded is not None:
        typer.secho(render("examples_unseen", language_of(examples[0].question)), fg="yellow", err=True)


def _source(services: "Services", question: str, name: str | None) -> "Source":
    from datasphinx.agent.linking import link_source

    return services.source(name or link_source(question, services.choices, services.source).name)
