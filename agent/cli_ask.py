"""`datasphinx ask`: parsing and printing only."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent import cli_conversation as conversation
from agent.cli_options import AsJson, BaseUrl, LogJson, ModelName, settings_of
from agent.errors import (
    DatasphinxError,
    InputInvalid,
    SourcesNotTogether,
    ThreadBusy,
    ThreadsUnavailable,
    ThreadUnknown,
)
from agent.exit_codes import exit_code
from agent.terminal_text import json_text, printable
from agent.text import valid_json

if TYPE_CHECKING:
    from rich.console import Console

    from agent.conversation.reply import Reply
    from agent.settings import Settings

_CHART_SUFFIXES = (".png", ".html", ".json")
_SHOWN_WITH_CHART = ("answer", "sql", "audit", "tables", "clarification")


class OutputForm(StrEnum):
    """Forms of an answer."""

    number = "number"
    string = "string"
    dataframe = "dataframe"
    plot = "plot"


class ClarifyMode(StrEnum):
    """When to ask back."""

    never = "never"
    auto = "auto"
    always = "always"


def _chart_path(path: Path | None) -> Path | None:
    if path is None:
        return None
    if path.suffix.lower() not in _CHART_SUFFIXES:
        raise typer.BadParameter(f"{path.name} does not end in {', '.join(_CHART_SUFFIXES)}.")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {path.parent}.")
    return path


def ask(
    context: typer.Context,
    question: Annotated[
        str | None,
        typer.Argument(
            help="The question, in English, Russian or Chinese; with --reject, what is wrong with the answer.",
            show_default=False,
        ),
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Argument(exists=True, dir_okay=False, help="Spreadsheets, CSV, Parquet or JSON lines files to ask."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(help="Name or SQLAlchemy URL of the database; left out: chosen, or the sample shop."),
    ] = None,
    output_type: Annotated[OutputForm | None, typer.Option(help="The form of the answer; left out: chosen.")] = None,
    clarify: Annotated[
        ClarifyMode | None, typer.Option(help="When to ask back; left out: as the settings say.")
    ] = None,
    thread: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on with this thread, whose id stands below its answers.")
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(help="Answer the question that came back: the number or name of an option, or own words."),
    ] = None,
    reject: Annotated[
        bool, typer.Option("--reject", help="The last answer is wrong; QUESTION may say why. Of a database only.")
    ] = False,
    accept: Annotated[bool, typer.Option("--accept", help="The last answer is right. Of a database only.")] = False,
    chart: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            callback=_chart_path,
            help="Write the chart, if one is drawn, to this file: .png, .html, or .json for its ECharts option.",
        ),
    ] = None,
    as_json: AsJson = False,
    model: ModelName = None,
    base_url: BaseUrl = None,
    validation: Annotated[
        bool | None, typer.Option(help="Let the model check the statement; of a database only.")
    ] = None,
    log_json: LogJson = None,
) -> None:
    """Ask one question, of a database or of files, and print the steps, the rows, the answer and what it cost.

    Where the question is ambiguous it is asked back: on a terminal at once, else with exit code 4, to be answered with
    --thread and --answer.
    """
    # What is imported stays, and one question makes little garbage: collecting it costs a fifth of the start-up.
    gc.disable()
    given = valid_json(conversation.said(context, question, thread, answer, reject, accept))
    if files and source:
        raise _not_together(source, files[0])
    settings = settings_of(llm_model=model, llm_base_url=base_url, log_json=log_json)
    how = {"clarify": clarify and clarify.value, "output_type": output_type and output_type.value}
    of = _Asked(thread, tuple(files or ()), source, validation)
    try:
        output = _ask(given, how, of, settings, as_json=as_json)
    except (InputInvalid, ThreadBusy, ThreadsUnavailable, ThreadUnknown) as error:
        if not as_json:
            raise
        output = _refused(error, given, thread)
    if chart:
        _save(output, chart)
    gc.freeze()
    raise typer.Exit(exit_code(output))


@dataclass(frozen=True)
class _Asked:
    """What is asked: a thread goes on with what it was asked of before."""

    thread: str | None
    files: tuple[Path, ...]
    source: str | None
    validation: bool | None


def _ask(given: dict[str, Any], how: dict[str, Any], of: _Asked, settings: "Settings", *, as_json: bool) -> "Reply":
    from rich.console import Console

    from agent.conversation.threads import open_threads

    threads = open_threads(settings, must_last=of.thread is not None)
    graph = conversation.graph_for(of.thread, threads, of.files, given)
    if graph == "agent":
        how = {**how, "enable_sql_validation": of.validation}
    elif of.source or of.validation is not None:
        hint = "--source" if of.source else "--validation"
        raise typer.BadParameter("it does not go with questions about files.", param_hint=hint)
    if of.source:
        source, settings = conversation.without_its_password(of.source, settings)
        given = {**given, "source": source}
    if of.files:
        given = {**given, "files": list(map(str, of.files))}
    errors = Console(stderr=True)
    with _graph(graph, settings, errors) as asked:
        talk = conversation.Talk(asked, threads, of.thread, None if as_json else errors)
        return _converse(talk, given, how, as_json=as_json)


def _refused(error: DatasphinxError, given: dict[str, Any], thread: str | None) -> "Reply":
    from agent.conversation.reply import refusal
    from agent.failure import failure_of

    output = refusal(failure_of(error), given, thread)
    _print(output, as_json=True)
    return output


def _not_together(source: str, file: Path) -> SourcesNotTogether:
    from agent.sql.redact import without_password

    return SourcesNotTogether(without_password(source), str(file))


@contextmanager
def _graph(name: str, settings: "Settings", console: "Console") -> Iterator[Any]:
    from agent.services import Services
    from agent.terminal_bars import LoadingBar, ReadingBar

    if name == "analyst":
        from agent.analyst import build_analyst

        with LoadingBar(console) as bar:
            yield build_analyst(Services(settings, loading=bar))
    else:
        from agent.graph import build_graph

        yield build_graph(Services(settings, progress=ReadingBar(console)))


def _converse(talk: "conversation.Talk", given: dict[str, Any], how: dict[str, Any], *, as_json: bool) -> "Reply":
    """Ask and print; as long as something is asked back and somebody is there, they answer, and it goes on."""
    from rich.console import Console

    while True:
        output = talk.say({**given, **how})
        _print(output, as_json)
        if output["status"] != "clarification":
            return output
        asked = output["clarification"]
        answer = conversation.answer_to(asked, Console()) if asked and talk.may_ask and not as_json else None
        if answer is None:
            typer.secho(conversation.how_to_answer(output["thread_id"]), fg="yellow", err=True)
            return output
        given = {"clarification_answer": answer}


def _print(output: "Reply", as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json_text(output) + "\n")
        return
    from rich.console import Console

    from agent import terminal

    terminal.show(output, Console())


def _save(output: "Reply", path: Path) -> None:
    """Write the charts, the first to `path`, others beside it with a number, and say where."""
    from rich.console import Console

    from agent.responses import ChartResponse

    charts, console = output["charts"], Console(stderr=True)
    for number, each in enumerate(charts, 1):
        target = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        facts: dict[str, Any] = {name: output.get(name) for name in _SHOWN_WITH_CHART}
        try:
            ChartResponse(**facts, plain=each).save(target)
        except OSError as error:
            raise typer.BadParameter(f"{target} cannot be written: {error.strerror}.", param_hint="--chart") from error
        console.print(printable(f"chart: {target}"), markup=False, highlight=False, soft_wrap=True)
    if not charts and not output["error"] and not output["clarification"]:
        console.print("No chart was drawn; --output-type plot asks for one.", style="yellow")
