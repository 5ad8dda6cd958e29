"""`datasphinx` without a command: a conversation on the terminal."""

import asyncio
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import aclosing, suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from datasphinx.agent.cli.ask import Talk, forget_typed, write_charts, write_rows
from datasphinx.agent.cli.options import settings_of
from datasphinx.agent.cli.text import echo
from datasphinx.agent.errors import DatasphinxError, DriverMissing

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer

    from datasphinx.agent.conversation.conversations import Conversations, Event
    from datasphinx.agent.conversation.reply import Reply
    from datasphinx.agent.services import Services

_COMMANDS = {
    "/sources": "list the databases; /sources NAME asks that one from now on",
    "/schema": "list the tables; /schema TABLE lists its columns",
    "/sql": "print the statement of the last answer",
    "/chart": "/chart FILE writes the chart of the last answer: .png, .html or .json",
    "/save": "/save FILE writes all rows of the last answer: .csv, .xlsx or .parquet",
    "/new": "begin a new conversation",
    "/help": "list these commands",
    "/exit": "leave; Ctrl-D does it too",
}
_WELCOME = (
    "Ask a question about your data. /sql prints the statement of an answer, /help lists the commands, "
    "Ctrl-C cancels a question, Ctrl-D leaves."
)


def converse() -> None:
    """Ask questions and run commands until the end of input. Entered lines are kept in the data directory."""
    from datasphinx.agent.services import Services

    services = Services(settings_of())
    repl = _Repl(services)
    session = _session(services, repl.words)
    from prompt_toolkit.input.typeahead import clear_typeahead

    echo(_WELCOME)
    while True:
        try:
            line = session.prompt("› ").strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if line in ("/exit", "/quit"):
            return
        if not line:
            continue
        try:
            repl.run(line)
            if repl.is_asked:
                forget_typed()
                clear_typeahead(session.input)
        except KeyboardInterrupt:
            echo("cancelled", error=True, color="yellow")
        except DatasphinxError as error:
            echo(str(error), error=True, color="red")


def _session(services: "Services", words: Callable[[], Iterable[str]]) -> "PromptSession[str]":
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory
    except ModuleNotFoundError as error:
        raise DriverMissing("prompt-toolkit", "terminal") from error
    folder = services.settings.data_dir
    folder.mkdir(parents=True, exist_ok=True)
    history = folder / "history"
    history.touch(mode=0o600)
    return PromptSession(history=FileHistory(str(history)), completer=_completer(words), complete_while_typing=False)


def _completer(words: Callable[[], Iterable[str]]) -> "Completer":
    """Return a completer for commands at the beginning of a line, and for names of tables and columns elsewhere."""
    from prompt_toolkit.completion import Completer as BaseCompleter
    from prompt_toolkit.completion import Completion, WordCompleter
    from prompt_toolkit.document import Document

    names = WordCompleter(lambda: list(words()), ignore_case=True)

    class Words(BaseCompleter):
        def get_completions(self, document: Document, complete_event: Any) -> Iterable[Completion]:
            text = document.text_before_cursor
            if text.startswith("/") and " " not in text:
                yield from (Completion(command, -len(text)) for command in _COMMANDS if command.startswith(text))
            else:
                yield from names.get_completions(document, complete_event)

    return Words()


class _BackgroundRuns:
    """Runs in a background thread, so that Ctrl-C does not wait for an answer of the model."""

    def __init__(self, conversations: "Conversations") -> None:
        self._conversations, self._loop = conversations, asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="datasphinx-runs", daemon=True).start()

    def stream(self, inputs: Mapping[str, Any], thread_id: str | None) -> "Generator[Event]":
        """Yield the events of a run, which is cancelled if the generator is closed."""
        events: SimpleQueue[Event | BaseException | None] = SimpleQueue()

        async def run() -> None:
            try:
                async with aclosing(self._conversations.astream(inputs, thread_id)) as stream:
                    async for event in stream:
                        events.put(event)
                events.put(None)
            except Exception as error:  # the caller of `stream` gets it
                events.put(error)

        running = asyncio.run_coroutine_threadsafe(run(), self._loop)
        try:
            while (event := events.get()) is not None:
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            running.cancel()


class _Repl:
    """A conversation, the source that is asked, and the last answer."""

    def __init__(self, services: "Services") -> None:
        from rich.console import Console

        self._services, self._console = services, Console()
        self._source: str | None = None
        self._last: Reply | None = None
        self.is_asked = False
        """Whether a clarifying question is open."""
        self._asked: list[str] = []
        self._offered: list[str] = []
        self._talk = self._new_talk()

    def _new_talk(self) -> Talk:
        from rich.console import Console

        from datasphinx.agent.cli.render import LoadingBar, StepView
        from datasphinx.agent.conversation.conversations import Conversations
        from datasphinx.agent.conversation.threads import open_threads
        from datasphinx.agent.graph import build_graph

        errors, threads = Console(stderr=True), open_threads(self._services.settings)
        runs = _BackgroundRuns(Conversations(build_graph(self._services), threads))
        steps = StepView(errors, is_transient=errors.is_terminal)
        return Talk(runs.stream, None, steps, LoadingBar(errors), is_stored=threads.is_persistent)

    def words(self) -> Iterable[str]:
        """Yield the names of the tables and columns of the source; none if it cannot be read."""
        with suppress(DatasphinxError):
            for table in self._services.source(self._source).catalog.tables.values():
                yield table.name
                yield from table.column_names

    def run(self, line: str) -> None:
        """Run a command, ask a question, or answer the clarifying question."""
        if not line.startswith("/"):
            self._ask(line)
            return
        command, _, argument = line.partition(" ")
        actions: dict[str, Callable[[str], None]] = {
            "/sources": self._sources,
            "/schema": self._schema,
            "/sql": self._sql,
            "/chart": lambda file: self._save(
                file, partial(write_charts, title=self._asked[-1] if self._asked else "")
            ),
            "/save": lambda file: self._save(file, write_rows),
            "/new": self._begin,
            "/help": self._help,
        }
        if command in actions:
            actions[command](argument.strip())
        else:
            echo(f"There is no command {command}; /help lists them.", error=True, color="yellow")

    def _ask(self, text: str) -> None:
        from datasphinx.agent.cli import render

        number = int(text) if text.isdecimal() and not self.is_asked else 0
        if 1 <= number <= len(self._offered):
            text = self._offered[number - 1]
            echo(text)
        inputs: dict[str, Any] = {"question": text}
        if self.is_asked:
            inputs = {"clarification_answer": text}
        elif self._source:
            inputs["source"] = self._source
        reply = self._talk.say(inputs)
        # After an error the clarifying question may still be open.
        self._last, self.is_asked = reply, bool(reply["clarification"])
        render.show({**reply, "thread_id": None}, self._console, details=False)
        self._asked.append(text)
        self._suggest(reply)

    def _suggest(self, reply: "Reply") -> None:
        """Print the follow-up questions of the model, each with a number, by which it is asked."""
        from rich.text import Text

        from datasphinx.agent.answers.wording import not_asked
        from datasphinx.agent.cli.text import printable

        self._offered = not_asked(reply.get("follow_ups") or (), self._asked)
        for number, each in enumerate(self._offered, 1):
            self._console.print(Text(f"{number} {printable(each)}", style="dim"))

    def _sources(self, name: str) -> None:
        choices = self._services.choices
        if name and name not in choices:
            echo(f"There is no source {name}. Sources: {', '.join(choices)}.", error=True, color="yellow")
            return
        self._source = name or self._source
        for choice in choices:
            echo(f"{'*' if choice == self._source else ' '} {choice}")

    def _schema(self, name: str) -> None:
        source = self._services.source(self._source)
        tables = {table.name.lower(): table for table in source.catalog.tables.values()}
        if not name:
            for table in tables.values():
                echo(f"{table.name}: {len(table.columns)} columns")
        elif name.lower() in tables:
            for column in tables[name.lower()].columns:
                comment = f"  {column.comment}" if column.comment else ""
                echo(f"{column.name}  {column.type}{comment}")
        else:
            echo(f"There is no table {name}; /schema lists them.", error=True, color="yellow")

    def _sql(self, _: str) -> None:
        sql = self._last["sql"] if self._last else None
        echo(sql or "The last answer has no statement.")

    def _save(self, file: str, write: "Callable[[Reply, Path], object]") -> None:
        from pathlib import Path

        import typer

        if not file or self._last is None:
            echo("Give a file name, after an answer.", error=True, color="yellow")
            return
        try:
            write(self._last, Path(file))
        except (ValueError, typer.BadParameter) as error:
            echo(str(error), error=True, color="yellow")

    def _begin(self, _: str) -> None:
        self._talk, self._last, self.is_asked, self._asked, self._offered = self._new_talk(), None, False, [], []

    def _help(self, _: str) -> None:
        for command, text in _COMMANDS.items():
            echo(f"{command:9} {text}")
