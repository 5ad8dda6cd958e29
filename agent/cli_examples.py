"""`datasphinx examples`: parsing and printing only."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli_options import AsJson
from agent.terminal_text import echo

if TYPE_CHECKING:
    from agent.catalog.source import Source
    from agent.examples.example import Example
    from agent.examples.store import ExampleStore
    from agent.services import Services

examples_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Keep questions with their SQL, which the model sees with questions that are like them.",
)

OfSource = Annotated[
    str | None, typer.Option("--source", help="Name or SQLAlchemy URL of the database; left out: as for a question.")
]


@examples_app.command()
def add(
    question: Annotated[str, typer.Argument(help="The question.")],
    sql: Annotated[str, typer.Argument(help="The statement that answers it.")],
    source: OfSource = None,
    as_json: AsJson = False,
) -> None:
    """Keep one example, in place of one with the same question; its statement is checked and not run.

    Exit codes: 0 kept, 2 there is no such source or this is no example, 3 the statement cannot run, 5 the source or the
    file of the examples cannot be reached.
    """
    from agent.examples.checked import checked_example

    services = _services()
    example = checked_example(question, sql, _source(services, question, source))
    _keep([example], services)
    _print({"id": example.id, "source": example.source} if as_json else f"{example.id}  {example.source}")


@examples_app.command("list")
def list_examples(
    source: Annotated[
        str | None, typer.Option(help="Name or SQLAlchemy URL of a database; left out: of all of them.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the examples, of all databases or of one: id, database, question, SQL.

    Exit codes: 0 listed, 2 there is no such source, 5 the file of the examples cannot be read.
    """
    from agent.catalog.cache import source_identity
    from agent.catalog.describe import one_line
    from agent.sql.database import Database

    services = _services()
    identity = source and source_identity(Database(services.settings_of(source).url.get_secret_value()))
    found = _store(services).examples(identity)
    if as_json:
        _print({"examples": [{**example.shown(), "source": example.source} for example in found]})
        return
    for each in found:
        echo(f"{each.id}  {each.source}  {one_line(each.question, 100)}  {one_line(each.sql, 160)}")


@examples_app.command()
def remove(
    ids: Annotated[list[str], typer.Argument(help="Ids, as the list has them.")], as_json: AsJson = False
) -> None:
    """Forget examples, all that are named or none.

    Exit codes: 0 forgotten, 2 there is no such example, 5 the file of the examples cannot be written.
    """
    _store(_services()).remove(ids)
    _print({"removed": ids} if as_json else f"{len(ids)} removed")


@examples_app.command("import")
def import_examples(
    file: Annotated[Path, typer.Argument(help="JSON lines: question, sql, and if wanted source, clarifications.")],
    source: OfSource = None,
    as_json: AsJson = False,
) -> None:
    """Keep the examples of a file, all or none; those with the same questions are replaced.

    Exit codes: 0 kept, 2 the file cannot be read or there is no such source, 3 a line cannot be an example, 5 a source
    or the file of the examples cannot be reached.
    """
    from agent.examples.importing import read_examples

    services = _services()
    examples = read_examples(file, lambda question, named: _source(services, question, named or source))
    _keep(examples, services)
    ids = [example.id for example in examples]
    _print({"kept": ids} if as_json else f"{len(set(ids))} kept")


def _services() -> "Services":
    from agent.services import Services

    return Services()


def _store(services: "Services") -> "ExampleStore":
    from agent.examples.store import ExampleStore

    return ExampleStore(services.settings.data_dir)


def _keep(examples: "Sequence[Example]", services: "Services") -> None:
    """Keep `examples`, and tell on standard error where the model that answers is shown none."""
    from agent.messages import language_of, render

    _store(services).add(examples)
    if examples and services.embedded is not None:
        typer.secho(render("examples_unseen", language_of(examples[0].question)), fg="yellow", err=True)


def _source(services: "Services", question: str, named: str | None) -> "Source":
    from agent.catalog.retrieval import link_source

    return services.source(named or link_source(question, services))


def _print(said: str | dict[str, Any]) -> None:
    sys.stdout.write((said if isinstance(said, str) else json.dumps(said, ensure_ascii=True)) + "\n")
