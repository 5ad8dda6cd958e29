"""The command line: parsing only. Everything that takes time to import is imported by the command that needs it."""

import io
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from agent.cli_ask import ask
from agent.cli_eval import eval_app
from agent.cli_examples import examples_app
from agent.cli_key import key_app
from agent.cli_options import AsJson, LogJson, settings_of
from agent.cli_trace import trace_app
from agent.cli_train import train
from agent.errors import DatasphinxError
from agent.exit_codes import ANSWERED, DOMAIN, exit_code_of
from agent.terminal_text import PrintableFormatter, echo, json_text

if TYPE_CHECKING:
    from agent.services import Services

app = typer.Typer(name="datasphinx", no_args_is_help=True, add_completion=False, rich_markup_mode=None)
app.add_typer(eval_app, name="eval")
app.add_typer(examples_app, name="examples")
app.add_typer(key_app, name="key")
app.add_typer(trace_app, name="trace")
source_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look at the databases that can be asked.")
app.add_typer(source_app, name="source")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("datasphinx"))
        raise typer.Exit


@app.callback()
def _datasphinx(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Ask your data a question in plain language; the answer comes with the SQL and the rows that prove it.

    Exit codes: 0 answered, 2 usage or configuration, 3 no answer or a statement blocked (the message says why), 4 needs
    clarification, 5 a database, a model or the record cannot be reached.
    """


app.command()(ask)


@app.command()
def demo() -> None:
    """Ask questions of the sample shop and of two sample spreadsheets, and compare each answer with a reference's.

    Exit code 0, whatever the model gets right.
    """
    from rich.console import Console

    from agent.demo import run_demo

    run_demo(_services(), Console())


@app.command("guard")
def guard_statements(
    file: Annotated[Path, typer.Argument(help="JSON lines: dialect, sql; - for standard input.")],
    schema: Annotated[
        Path | None, typer.Option(help="JSON with allowed_tables; left out: every table but system catalogs.")
    ] = None,
) -> None:
    """Check statements without running them; each comes back with verdict, rule, explanation and position.

    Exit codes: 0 every statement may run, 2 the input cannot be read, 3 at least one is blocked.
    """
    from agent.sql.lint import lint_file

    blocked = 0
    for case in lint_file(file, schema):
        blocked += case["verdict"] == "block"
        sys.stdout.buffer.write(json_text(case).encode() + b"\n")
    sys.stdout.flush()
    raise typer.Exit(DOMAIN if blocked else ANSWERED)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    log_json: LogJson = None,
) -> None:
    """Serve both graphs over HTTP: /agent/invoke, /analyst/invoke, .../stream, /docs, /readyz; docs/http.md has all."""
    from agent.server import serve as serve_http

    serve_http(host, port, settings_of(log_json=log_json))


@source_app.command()
def check(
    name: Annotated[str, typer.Argument(help="Name of a source, or a SQLAlchemy URL.")],
    as_json: AsJson = False,
) -> None:
    """Tell what the account of a source may do beyond reading, and whether its settings fit its tables.

    Exit codes: 0 it may only read, 2 a setting is wrong or there is no such source, 3 it may do more, 5 it cannot be
    reached.
    """
    from agent.source_check import check_source, report

    services = _services()
    found = check_source(name, services.settings_of(name), services.limits)
    echo(json_text(found.as_json()) if as_json else report(found))
    raise typer.Exit(DOMAIN if found.can_write else ANSWERED)


app.command()(train)


def main() -> NoReturn:
    """Run the command line; an error is one line on standard error and an exit code, never a traceback."""
    if logging.lastResort:
        logging.lastResort.setFormatter(PrintableFormatter())
    for stream in (sys.stdout, sys.stderr):
        # A file name or an argument that is not UTF-8 is printed with escapes, which JSON has too.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except DatasphinxError as error:
        echo(str(error), error=True, color="red")
        raise SystemExit(exit_code_of(error.code)) from error
    raise SystemExit(ANSWERED)


def _services() -> "Services":
    from agent.services import Services

    return Services(settings_of())
