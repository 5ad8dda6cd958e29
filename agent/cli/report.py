"""`datasphinx report`: write a report that answers a request by several questions."""

import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from datasphinx.agent.cli.ask import answer_to, path_with
from datasphinx.agent.cli.options import AsJson, BaseUrl, ModelName, require_one_kind, services_of, settings_of, writing
from datasphinx.agent.cli.text import json_text, printable
from datasphinx.agent.core.text import valid_json
from datasphinx.agent.errors import exit_code
from datasphinx.agent.types import REPORT_SUFFIXES, Effort

if TYPE_CHECKING:
    from rich.console import Console

    from datasphinx.agent.core.cancellation import Cancellation


def report(
    request: Annotated[str, typer.Argument(help="The request, in English, German, Russian or Chinese.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(exists=True, dir_okay=False, help="Spreadsheets, CSV, Parquet or JSON lines files."),
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="Name or SQLAlchemy URL of the database; default: chosen by the request.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            callback=path_with(REPORT_SUFFIXES),
            help="Write the report to this file: .html, .md, .json, or .pdf, which Chromium or Chrome prints.",
        ),
    ] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Ask before the planned questions are answered.")] = False,
    as_json: AsJson = False,
    model: ModelName = None,
    base_url: BaseUrl = None,
    effort: Annotated[Effort | None, typer.Option(help="How many model calls each question may cost.")] = None,
) -> None:
    """Write a report that answers a request by several questions, about a database or files.

    Without --out it is printed as Markdown. Ctrl-C ends the report with the answers that it has.
    """
    from rich.console import Console

    require_one_kind(source, files)
    settings = settings_of(llm_model=model, llm_base_url=base_url)
    may_ask = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    inputs = {
        "question": valid_json(request),
        "source": source,
        "files": list(map(str, files or ())) or None,
        "effort": effort,
        "approve_plan": approve or None,
        "clarify": None if may_ask else "never",
    }
    output = _written(inputs, services_of(settings), Console(stderr=True, quiet=settings.log_json or as_json), may_ask)
    if as_json:
        sys.stdout.write(json_text({name: output.get(name) for name in ("report", "answer", "error", "audit")}) + "\n")
    _show(output, out, is_quiet=as_json)
    raise typer.Exit(exit_code(output))


def _written(inputs: dict[str, Any], services: Any, console: "Console", may_ask: bool) -> Mapping[str, Any]:
    """Return the output of the report graph; questions to the user are asked on the terminal."""
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command
    from rich.console import Console

    from datasphinx.agent.conversation.conversations import CANCELLATION
    from datasphinx.agent.core.cancellation import Cancellation
    from datasphinx.agent.report.graph import build_report

    graph, cancellation = build_report(services, InMemorySaver()), Cancellation()
    config = RunnableConfig(configurable={"thread_id": "report", CANCELLATION: cancellation})
    given: Any = inputs
    while True:
        output: dict[str, Any] = {}
        with _cancelled_by_user(cancellation):
            for mode, chunk in graph.stream(given, config, stream_mode=["custom", "updates", "values"]):
                if mode == "values":
                    output = chunk
                else:
                    _show_progress(chunk, console)
        asked = output.get("clarification")
        if not asked or not may_ask:
            return output
        typer.echo(printable(output["answer"]))
        answer = answer_to(asked, Console())
        if answer is None:
            return output
        given = Command(resume=answer)


@contextmanager
def _cancelled_by_user(cancellation: "Cancellation") -> Iterator[None]:
    """Let the first Ctrl-C cancel the run, which then ends with what it has; the next one ends the program."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def cancel(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        threading.Thread(target=cancellation.cancel).start()

    before = signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _show_progress(chunk: Mapping[str, Any], console: "Console") -> None:
    part = chunk["data"] if chunk.get("event") == "part" else None
    planned = (chunk.get("plan") or chunk.get("review") or {}).get("plan") or ()
    if part:
        outcome = part["error"]["code"] if part["error"] else f"{len((part['result'] or {'rows': ()})['rows'])} rows"
        line = f"{'✗' if part['error'] else '✓'} {part['id']} {part['question']}  {outcome}"
        console.print(printable(line), markup=False, highlight=False)
    elif planned:
        console.print(f"{len(planned)} questions", markup=False, highlight=False)


def _show(output: Mapping[str, Any], out: Path | None, *, is_quiet: bool) -> None:
    """Write the report to `out`, or print it; print the question or the error if there is none."""
    from datasphinx.agent.messages import language_in
    from datasphinx.agent.report.export import ReportResponse

    written = output.get("report")
    if written is None:
        if not is_quiet:
            typer.secho(printable(output["answer"]), fg="red" if output.get("error") else None, err=True)
        return
    response = ReportResponse(written, None, output["audit"], language_in(output))
    if out is None:
        if not is_quiet:
            typer.echo(printable(response.markdown))
        return
    with writing(out, "--out"):
        response.save(out)
    typer.echo(printable(f"report: {out}"), err=True)
