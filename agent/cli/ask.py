"""`datasphinx ask`: ask one question."""

import gc
import json
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from datasphinx.agent.cli.options import AsJson, BaseUrl, ModelName, require_one_kind, services_of, settings_of, writing
from datasphinx.agent.cli.text import json_text, printable
from datasphinx.agent.core.text import valid_json
from datasphinx.agent.errors import (
    ANSWERED,
    DOMAIN,
    InputInvalid,
    NotFound,
    ThreadBusy,
    Unavailable,
    exit_code,
)
from datasphinx.agent.messages import Message
from datasphinx.agent.types import TABLE_SUFFIXES, Clarify, Effort, OutputType

if TYPE_CHECKING:
    from rich.console import Console

    from datasphinx.agent.cli.render import StepView
    from datasphinx.agent.conversation.conversations import Event
    from datasphinx.agent.conversation.reply import Reply
    from datasphinx.agent.conversation.threads import Threads
    from datasphinx.agent.datasets.limits import LoadProgress, ProgressEvent
    from datasphinx.agent.record.waiting import StartEvent, WaitEvent
    from datasphinx.agent.settings import Settings
    from datasphinx.agent.types import AnswerChart, AnswerTable, ClarifyingQuestion


_CHART_SUFFIXES = (".png", ".html", ".json")
_SHOWN_WITH_CHART = ("answer", "sql", "audit", "tables", "clarification")


def input_of(
    context: typer.Context, question: str | None, thread: str | None, answer: str | None, reject: bool, accept: bool
) -> dict[str, Any]:
    """Return the input of a graph: a question, an answer or feedback. Contradicting options are a usage error."""
    reactions = [
        name for name, is_given in (("--answer", answer is not None), ("--reject", reject), ("--accept", accept))
        if is_given
    ]  # fmt: skip
    if len(reactions) > 1:
        context.fail(f"{reactions[0]} and {reactions[1]} exclude each other.")
    if reactions and thread is None:
        context.fail(f"{reactions[0]} needs --thread ID, the id below the earlier answer or question.")
    if question is not None and (answer is not None or accept):
        context.fail(f"{reactions[0]} takes the place of a question.")
    if reject:
        return {"feedback": {"accepted": False, "comment": question or ""}}
    if accept:
        return {"feedback": {"accepted": True}}
    if answer is not None:
        return {"clarification_answer": answer}
    if question is None:
        context.fail("Missing argument 'QUESTION'.")
    return {"question": question}


def graph_for(thread: str | None, threads: "Threads", inputs: Mapping[str, Any]) -> str:
    """Return the graph of the thread; without a thread, the analyst for files, else the SQL agent.

    Raises:
        NotFound: there is no such thread.
        InputInvalid: feedback refers to an answer about files.
    """
    if thread is None:
        return "analyst" if "files" in inputs else "agent"
    graph = threads.graph_of(thread, ("agent", "analyst"))
    if graph is None:
        raise NotFound("thread_unknown", thread_id=thread)
    if "files" in inputs and graph == "agent":
        raise typer.BadParameter("the thread is about a database; ask about files without it.", param_hint="--thread")
    if graph == "analyst" and "feedback" in inputs:
        raise InputInvalid("feedback", Message("no_feedback_on_files"))
    if "files" in inputs and "question" not in inputs:
        raise typer.BadParameter("files come with a question.", param_hint="FILES")
    return graph


def without_its_password(source: str, settings: "Settings") -> "tuple[str, Settings]":
    """Return a name for `source` without its password, and settings with the source under this name.

    Threads store the name of the source, and must not store passwords.
    """
    from pydantic import SecretStr

    from datasphinx.agent.core.redact import without_password, without_secrets
    from datasphinx.agent.settings import SourceSettings

    name = without_secrets(without_password(source))
    if name == source or source in settings.sources:
        return source, settings
    with_password = SourceSettings(url=SecretStr(source), allow_writable_account=settings.allow_writable_account)
    return name, settings.model_copy(update={"sources": {**settings.sources, name: with_password}})


class Talk:
    """A conversation on the command line."""

    def __init__(
        self,
        stream: "Callable[[Mapping[str, Any], str | None], Generator[Event]]",
        thread: str | None,
        steps: "StepView | None",
        bar: "LoadProgress",
        *,
        is_stored: bool,
    ) -> None:
        """Continue `thread`, or start one if it is None, with the events of `stream`.

        `bar` shows the progress of loading a file. If the thread `is_stored`, a later command can continue it.
        """
        self._stream, self._is_stored = stream, is_stored
        self._thread, self._steps, self._bar = thread, steps, bar

    @property
    def may_ask(self) -> bool:
        """Whether input and output are a terminal."""
        return sys.stdin.isatty() and sys.stdout.isatty()

    def say(self, inputs: Mapping[str, Any]) -> "Reply":
        """Return the output of an input; it has a thread id if a later command can continue the thread."""
        with self._steps or nullcontext(), closing(self._stream(inputs, self._thread)) as events:
            for kind, content in events:
                if kind == "output":
                    reply = cast("Reply", content)
                    self._thread = reply["thread_id"]
                    if not self._is_stored:
                        reply["thread_id"] = None
                        del reply["run_id"]
                    return reply
                if kind == "progress":
                    progress = cast("ProgressEvent", content)
                    self._bar(progress["stage"], progress["share"])
                elif self._steps and kind == "waiting":
                    self._steps.show_waiting(cast("WaitEvent", content)["for"])
                elif self._steps and kind == "started":
                    self._steps.show_start(cast("StartEvent", content))
                elif self._steps:
                    self._steps.show(cast(dict[str, Any], content))
        raise AssertionError("a run ends in an output")


def answer_to(question: "ClarifyingQuestion", console: "Console") -> str | None:
    """Read the answer from the terminal; None at the end of input. Empty and invalid answers are asked for again."""
    from rich.text import Text

    from datasphinx.agent.messages import language_in, render

    options = len(question["options"])
    forget_typed()
    while True:
        try:
            text = console.input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            console.print()
            return None
        if text.isdecimal() and not 1 <= int(text) <= options:
            warning = render("option_unknown", language_in(question), given=text, options=options)
            console.print(Text(warning, style="yellow"))
        elif text:
            return text


def forget_typed() -> None:
    """Drop what waits to be read from the terminal: a line pasted before a question was shown is no answer to it."""
    with suppress(ImportError, OSError):
        import termios

        with suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


def how_to_answer(thread: str | None) -> str:
    """Return the instruction for answering a clarifying question."""
    if thread is None:
        return "Ask again with the answer in the question, or with --clarify never."
    return f"Answer with: datasphinx ask --thread {thread} --answer 1"


def path_with(suffixes: Sequence[str]) -> Callable[[Path | None], Path | None]:
    """Return the check of an option for a file to write, whose name ends in one of `suffixes`."""

    def check(path: Path | None) -> Path | None:
        if path is None:
            return None
        if path.suffix.lower() not in suffixes:
            raise typer.BadParameter(f"{path.name} does not end in {', '.join(suffixes)}.")
        if not path.parent.is_dir():
            raise typer.BadParameter(f"there is no folder {path.parent}.")
        return path

    return check


def _load_options(given: Sequence[str]) -> dict[str, Any]:
    """Return the options for reading files, each given as OPTION=VALUE; an invalid one is a usage error."""
    if not given:
        return {}
    from pydantic import ValidationError

    from datasphinx.agent.datasets.options import LoadOptions, problem_of

    options = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} is not of the form OPTION=VALUE.", param_hint="--load")
        try:
            options[name] = value if name in LoadOptions.texts() else json.loads(value)
        except json.JSONDecodeError:
            options[name] = value
    try:
        return LoadOptions.model_validate(options).content()
    except ValidationError as error:
        raise typer.BadParameter(problem_of(error), param_hint="--load") from None


def ask(
    context: typer.Context,
    question: Annotated[
        str | None,
        typer.Argument(
            help="The question, in English, German, Russian or Chinese; with --reject, the reason.",
            show_default=False,
        ),
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            exists=True, dir_okay=False, help="Spreadsheets, CSV, Parquet or JSON lines files to ask about."
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            help="Name or SQLAlchemy URL of the database; default: chosen by the question, or the sample shop."
        ),
    ] = None,
    output_type: Annotated[
        OutputType | None, typer.Option(help="Form of the answer; default: chosen from the result.")
    ] = None,
    clarify: Annotated[
        Clarify | None, typer.Option(help="When to ask clarifying questions; default: DATASPHINX_CLARIFY.")
    ] = None,
    thread: Annotated[
        str | None, typer.Option(metavar="ID", help="Continue this thread; its id is printed below each answer.")
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(help="Answer the clarifying question: the number or name of an option, or free text."),
    ] = None,
    reject: Annotated[
        bool,
        typer.Option("--reject", help="The last answer is wrong; QUESTION may give the reason. For databases only."),
    ] = False,
    accept: Annotated[bool, typer.Option("--accept", help="The last answer is right. For databases only.")] = False,
    chart: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            callback=path_with(_CHART_SUFFIXES),
            help="Write the chart of the answer, if any, to this file: .png, .html, or .json for its ECharts option.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            dir_okay=False,
            callback=path_with(TABLE_SUFFIXES),
            help="Write all rows of the answer, up to DATASPHINX_ROW_LIMIT, to this file: .csv, .xlsx or .parquet.",
        ),
    ] = None,
    load: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION=VALUE",
            help='How to read the files, such as sheet=Jan or \'types={"id": "text"}\'; may be repeated.',
        ),
    ] = None,
    as_json: AsJson = False,
    model: ModelName = None,
    base_url: BaseUrl = None,
    effort: Annotated[
        Effort | None,
        typer.Option(
            help="How many model calls the question may cost; default: DATASPHINX_EFFORT. For databases only."
        ),
    ] = None,
    sql_only: Annotated[
        bool,
        typer.Option(
            "--sql-only", help="Write and check the statement, and print it without executing it. For databases only."
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print steps, statement and cost on a terminal too.")
    ] = False,
) -> None:
    """Ask one question about a database or files, and print the answer, the rows and notes on the files.

    With --verbose, and if the output is not a terminal, steps, statement, all notes and the cost are printed too.

    If the question is ambiguous, a clarifying question is asked: on a terminal at once, otherwise with exit code 4, to
    be answered with --thread and --answer.
    """
    # One question creates little garbage; to collect it costs 21 % of the CPU time (`python -m benchmarks.latency`).
    gc.disable()
    inputs = valid_json(input_of(context, question, thread, answer, reject, accept))
    require_one_kind(source, files)
    if files:
        inputs["files"] = list(map(str, files))
    if reading := _load_options(load or ()):
        inputs["load"] = reading
        if not files:
            raise typer.BadParameter("the options for reading files come with files.", param_hint="FILES")
    options = {"clarify": clarify, "output_type": output_type}
    of_databases = {"source": source, "effort": effort, "sql_only": sql_only or None}
    view = _View(as_json, verbose)
    try:
        reply = _ask(inputs, options, of_databases, thread, settings_of(llm_model=model, llm_base_url=base_url), view)
    except (InputInvalid, ThreadBusy, Unavailable, NotFound) as error:
        if not as_json:
            raise
        from datasphinx.agent.conversation.reply import refusal
        from datasphinx.agent.core.failure import failure_of

        reply = refusal(failure_of(error), inputs, thread)
        view.show(reply)
    written = [write_charts(reply, chart, question or "")] if chart else []
    written += [write_rows(reply, output)] if output else []
    # Frozen objects are not collected at exit; DuckDB would report its own as leaked.
    if "duckdb" not in sys.modules:
        gc.freeze()
    raise typer.Exit(exit_code(reply) or (ANSWERED if all(written) else DOMAIN))


@dataclass(frozen=True)
class _View:
    """The form in which an answer is printed."""

    as_json: bool
    verbose: bool

    def show(self, output: "Reply") -> None:
        if self.as_json:
            sys.stdout.write(json_text(output) + "\n")
            return
        from rich.console import Console

        from datasphinx.agent.cli import render

        console = Console()
        # A statement that was asked for is the answer.
        render.show(output, console, details=self.verbose or not console.is_terminal or not output["tables"])


def _ask(
    inputs: dict[str, Any],
    options: dict[str, Any],
    of_databases: dict[str, Any],
    thread: str | None,
    settings: "Settings",
    view: _View,
) -> "Reply":
    """Ask and print; on a terminal, answer clarifying questions until there is an answer."""
    from rich.console import Console

    from datasphinx.agent.cli.render import LoadingBar, StepView
    from datasphinx.agent.conversation.conversations import Conversations
    from datasphinx.agent.conversation.threads import open_threads

    threads = open_threads(settings, must_persist=thread is not None)
    graph = graph_for(thread, threads, inputs)
    source = of_databases.pop("source")
    if graph == "agent":
        options = {**options, **of_databases}
    else:
        for name, value in {"source": source, **of_databases}.items():
            if value is not None:
                hint = f"--{name.replace('_', '-')}"
                raise typer.BadParameter("not available for questions about files.", param_hint=hint)
    if source:
        inputs["source"], settings = without_its_password(source, settings)
    # Lines of JSON are read by programs.
    errors = Console(stderr=True, quiet=settings.log_json)
    with LoadingBar(errors) as bar:
        is_transient = errors.is_terminal and not view.verbose
        steps = None if view.as_json else StepView(errors, is_transient=is_transient)
        built = _graph(graph, settings, bar, str(inputs.get("question", "")))
        talk = Talk(Conversations(built, threads).stream, thread, steps, bar, is_stored=threads.is_persistent)
        while True:
            output = talk.say({**inputs, **options})
            view.show(output)
            question = output["clarification"]
            # It may still be open after an error.
            if not question:
                return output
            answer = answer_to(question, Console()) if talk.may_ask and not view.as_json else None
            if answer is None:
                typer.secho(how_to_answer(output["thread_id"]), fg="yellow", err=True)
                return output
            inputs = {"clarification_answer": answer}


def _graph(name: str, settings: "Settings", bar: "LoadProgress", question: str) -> Any:
    if name == "analyst":
        from datasphinx.agent.analyst import build_analyst

        return build_analyst(services_of(settings))
    from datasphinx.agent.graph import build_graph

    services = services_of(settings, question=question, progress=lambda done, total: bar("schema", done / total))
    return build_graph(services)


def write_charts(output: "Reply", path: Path, title: str) -> bool:
    """Write the charts of an answer, or else the one that suits its rows, to `path`, and print the paths.

    Return whether there was one. `title` is that of a chart which the answer does not have.
    """
    from datasphinx.agent.responses import ChartResponse

    def write(chart: Any, target: Path) -> None:
        facts: dict[str, Any] = {name: output.get(name) for name in _SHOWN_WITH_CHART}
        ChartResponse(**facts, plain=chart).save(target)

    charts = output["charts"] or ([] if output["error"] else _suitable_charts(output["tables"][:1], title, output))
    return _save(output, charts, path, write, "--chart", "The rows allow no chart.")


def _suitable_charts(tables: "Sequence[AnswerTable]", title: str, output: "Reply") -> "list[AnswerChart]":
    from datasphinx.agent.charts.echarts import chart_of
    from datasphinx.agent.messages import language_in
    from datasphinx.agent.sql.rows import result_of

    charts = [chart_of(result_of(each), title, language=language_in(output)) for each in tables]
    return [chart for chart in charts if chart]


def write_rows(output: "Reply", path: Path) -> bool:
    """Write the rows of an answer to `path`, and print the paths. Return whether there were any."""
    from datasphinx.agent.answers.export import write_table

    return _save(output, output["tables"], path, write_table, "--output", "There are no rows to save.")


def _save(
    output: "Reply",
    items: Sequence[Any],
    path: Path,
    write: Callable[[Any, Path], None],
    option: str,
    nothing: str,
) -> bool:
    """Write the first of `items` to `path`, the others next to it with a number, and print the paths.

    Return whether there were any.
    """
    from rich.console import Console

    console = Console(stderr=True)
    for number, item in enumerate(items, 1):
        target = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        with writing(target, option):
            write(item, target)
        console.print(printable(f"{option[2:]}: {target}"), markup=False, highlight=False, soft_wrap=True)
    if not items and not output["error"] and not output["clarification"]:
        console.print(nothing, style="yellow")
    return bool(items)
