"""What `datasphinx ask` is told on a thread: what goes together, and how the conversation goes on."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from agent.errors import InputInvalid, ThreadUnknown

if TYPE_CHECKING:
    from rich.console import Console

    from agent.clarify.types import ClarifyingQuestion
    from agent.conversation.reply import Reply
    from agent.conversation.threads import Threads
    from agent.settings import Settings


def said(
    context: typer.Context, question: str | None, thread: str | None, answer: str | None, reject: bool, accept: bool
) -> dict[str, Any]:
    """Return a question, an answer or feedback as a graph takes it; what contradicts itself is a usage error."""
    chosen = [
        name for name, is_given in (("--answer", answer is not None), ("--reject", reject), ("--accept", accept))
        if is_given
    ]  # fmt: skip
    if len(chosen) > 1:
        context.fail(f"{chosen[0]} and {chosen[1]} exclude each other.")
    if chosen and thread is None:
        context.fail(f"{chosen[0]} needs --thread ID: the thread stands below what was asked or answered.")
    if question is not None and (answer is not None or accept):
        context.fail(f"{chosen[0]} takes the place of a question.")
    if reject:
        return {"feedback": {"accepted": False, "comment": question or ""}}
    if accept:
        return {"feedback": {"accepted": True}}
    if answer is not None:
        return {"clarification_answer": answer}
    if question is None:
        context.fail("Missing argument 'QUESTION'.")
    return {"question": question}


def graph_for(thread: str | None, threads: "Threads", files: Sequence[Path], given: Mapping[str, Any]) -> str:
    """Return which graph is asked: that of the thread, else the analyst for files, the SQL agent for a database.

    Raises:
        ThreadUnknown: there is no such thread.
        InputInvalid: feedback on an answer about files.
        ThreadsUnavailable: the threads cannot be read.
    """
    wanted = "analyst" if files else "agent"
    if thread is None:
        return wanted
    found = threads.graph_of(thread, ("agent", "analyst"))
    if found is None:
        raise ThreadUnknown(thread)
    if files and found == "agent":
        raise typer.BadParameter("its questions go to a database; ask files without it.", param_hint="--thread")
    if found == "analyst" and "feedback" in given:
        raise InputInvalid("feedback", "answers about files take none; ask again in other words")
    if files and "question" not in given:
        raise typer.BadParameter("files come with a question.", param_hint="FILES")
    return found


def without_its_password(source: str, settings: "Settings") -> "tuple[str, Settings]":
    """Return the name by which `source` is asked, and settings that know it by this name.

    A thread keeps what it was asked of, and a password is nothing to keep there.
    """
    from pydantic import SecretStr

    from agent.source_settings import SourceSettings
    from agent.sql.redact import without_password, without_secrets

    name = without_secrets(without_password(source))
    if name == source or source in settings.sources:
        return source, settings
    known = SourceSettings(url=SecretStr(source), allow_writable_account=settings.allow_writable_account)
    return name, settings.model_copy(update={"sources": {**settings.sources, name: known}})


class Talk:
    """A conversation from the command line."""

    def __init__(self, graph: Any, threads: "Threads", thread: str | None, console: "Console | None") -> None:
        """Go on with `thread`, or begin one; each step is printed to `console`, if there is one, when it ends."""
        from agent.conversation.conversations import Conversations

        self._conversations, self._lasts = Conversations(graph, threads), threads.lasts
        self._thread, self._console = thread, console

    @property
    def may_ask(self) -> bool:
        """Whether somebody sits at a terminal."""
        return sys.stdin.isatty() and sys.stdout.isatty()

    def say(self, given: Mapping[str, Any]) -> "Reply":
        """Return what comes out; it names the thread where a later command finds it.

        Raises:
            ThreadUnknown, ThreadBusy, ThreadsUnavailable: as `Conversations` says.
        """
        from agent.terminal import show_steps

        for kind, each in self._conversations.stream(given, self._thread):
            if kind == "output":
                self._thread = each["thread_id"]
                return cast("Reply", {**each, "thread_id": self._thread if self._lasts else None})
            if self._console:
                show_steps(each, self._console)
        raise AssertionError("a run ends in an output")


def answer_to(asked: "ClarifyingQuestion", console: "Console") -> str | None:
    """Return what the user types; None where they leave. Nothing, or the number of no option, is asked for again."""
    from rich.text import Text

    from agent.messages import language_of, render

    options = len(asked["options"])
    while True:
        try:
            text = console.input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            console.print()
            return None
        if text.isdecimal() and not 1 <= int(text) <= options:
            wrong = render("option_unknown", language_of(asked["about"]), given=text, options=options)
            console.print(Text(wrong, style="yellow"))
        elif text:
            return text


def how_to_answer(thread: str | None) -> str:
    """Return how to go on with a question back."""
    if thread is None:
        return "Ask again with the answer in the question, or with --clarify never."
    return f"Answer with: datasphinx ask --thread {thread} --answer 1"
