"""The command line. Commands import slow modules when they run."""

import io
import logging
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from datasphinx.agent.cli.ask import ask as ask_command
from datasphinx.agent.cli.doctor import doctor
from datasphinx.agent.cli.evals import eval_app
from datasphinx.agent.cli.key import key_app
from datasphinx.agent.cli.knowledge import knowledge_app
from datasphinx.agent.cli.model import model_app
from datasphinx.agent.cli.options import LogJson, services_of, settings_of
from datasphinx.agent.cli.removed import NamingReplacements, add_removed
from datasphinx.agent.cli.report import report
from datasphinx.agent.cli.source import init, source_app
from datasphinx.agent.cli.text import PrintableFormatter, echo, json_text
from datasphinx.agent.cli.threads import threads_app
from datasphinx.agent.cli.trace import trace_app
from datasphinx.agent.errors import ANSWERED, DOMAIN, USAGE, DatasphinxError

app = typer.Typer(name="datasphinx", cls=NamingReplacements, invoke_without_command=True, rich_markup_mode=None)
app.add_typer(knowledge_app, name="knowledge")
app.add_typer(model_app, name="model")
app.add_typer(source_app, name="source")
admin_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Operate datasphinx. Its commands are also known without `admin`, such as `datasphinx doctor`.",
)
app.add_typer(admin_app, name="admin")


def _print_version(is_set: bool) -> None:
    if is_set:
        from importlib.metadata import version

        typer.echo(version("datasphinx"))
        raise typer.Exit


@app.callback()
def _datasphinx(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Ask your data a question in plain language; the answer comes with the SQL and the rows that prove it.

    Without a command, a conversation begins on a terminal; /help lists its commands. `datasphinx doctor` finds out why
    something does not work.

    Exit codes: 0 answered, 2 usage or configuration error, 3 no answer or a blocked statement (the message has the
    reason), 4 needs clarification or is not sure, 5 a database, a model or the run record is unreachable.
    """
    if context.invoked_subcommand is not None:
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        echo(context.get_help())
        raise typer.Exit(USAGE)
    from datasphinx.agent.cli.repl import converse

    converse()


app.command()(ask_command)
app.command()(report)


@app.command("demo")
def demo_command() -> None:
    """Ask three questions about the sample shop and a spreadsheet, then serve the page on this machine.

    With DEMO_PAGE=0, or without a terminal, it ends after the questions.
    """
    from rich.console import Console

    from datasphinx.agent.cli.demo import run_demo

    run_demo(services_of(), Console())
    if sys.stdout.isatty() and os.environ.get("DEMO_PAGE") != "0":
        from datasphinx.agent.server.app import serve as serve_http

        echo("\nAsk your own questions on the page; Ctrl-C ends it.")
        serve_http("127.0.0.1", 8000, settings_of())


def guard_statements(
    file: Annotated[Path, typer.Argument(help="JSON lines with dialect and sql; - for standard input.")],
    schema: Annotated[
        Path | None, typer.Option(help="JSON file with allowed_tables; default: all tables except system catalogs.")
    ] = None,
) -> None:
    """Check statements without running them; print the verdict, rule, explanation and position for each.

    Exit codes: 0 all statements are allowed, 2 the input cannot be read, 3 at least one is blocked.
    """
    from datasphinx.agent.sql.guard.lint import lint_file

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
    """Serve both graphs over HTTP: /agent/invoke, /analyst/invoke, .../stream, /docs, /readyz; see docs/http.md."""
    from datasphinx.agent.server.app import serve as serve_http

    serve_http(host, port, settings_of(log_json=log_json))


@app.command("mcp")
def serve_mcp(log_json: LogJson = None) -> None:
    """Serve the MCP client that starts this command, over standard input and output; see docs/mcp.md."""
    from datasphinx.agent.server.mcp.stdio import serve_stdio

    serve_stdio(settings_of(log_json=log_json))


app.command()(init)

for _group, _is_hidden in ((admin_app, False), (app, True)):
    _group.command("doctor", hidden=_is_hidden)(doctor)
    _group.command("guard", hidden=_is_hidden)(guard_statements)
    for _name, _commands in {"eval": eval_app, "key": key_app, "threads": threads_app, "trace": trace_app}.items():
        _group.add_typer(_commands, name=_name, hidden=_is_hidden)
add_removed({"": app, "eval": eval_app, "knowledge": knowledge_app, "model": model_app, "source": source_app})


def main() -> NoReturn:
    """Run the command line; errors are printed as one line on standard error and set the exit code."""
    if logging.lastResort:
        logging.lastResort.setFormatter(PrintableFormatter())
    for stream in (sys.stdout, sys.stderr):
        # File names and arguments that are not UTF-8 are printed with escapes, which are valid in JSON.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except DatasphinxError as error:
        echo(str(error), error=True, color="red")
        raise SystemExit(error.exit_code) from error
    raise SystemExit(ANSWERED)
