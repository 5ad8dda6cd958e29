"""IPython extension, loaded by `%load_ext datasphinx`: the magic `%%ask`, and buttons for clarifying questions."""

import argparse
import shlex
from html import escape
from importlib import import_module
from typing import Any, get_args

from datasphinx.agent.chat import Agent
from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.responses import Response, StringResponse
from datasphinx.agent.types import OutputType

_MAX_BUTTON_CHARS = 300


def load_ipython_extension(shell: Any) -> None:
    """Add `%%ask` and, if ipywidgets is installed, the buttons to an IPython shell."""
    shell.register_magic_function(AskMagic(shell), "cell", "ask")
    try:
        import ipywidgets  # noqa: F401
    except ModuleNotFoundError:
        return
    shell.display_formatter.ipython_display_formatter.for_type(StringResponse, _display)


class AskMagic:
    """The magic `%%ask`: its cell is a question, its line names the sources and options."""

    __name__ = "ask"

    def __init__(self, shell: Any) -> None:
        """Answer questions about the variables of `shell` and other sources; there is no conversation yet."""
        self._shell = shell
        self._agent: Agent | None = None

    def __call__(self, line: str, cell: str) -> Response:
        """Return the answer to the question in `cell`.

        `line` is `[SOURCE ...] [--follow-up] [--output-type TYPE] [--to NAME]`. A source is the name of a variable, or
        a source of `Agent`; with `--follow-up`, the question continues the last conversation. The answer is also
        assigned to the variable NAME.

        Raises:
            UsageError: the line is invalid.
        """
        given = self._parse(line)
        if not given.follow_up or self._agent is None:
            names = self._shell.user_ns
            self._agent = Agent([names.get(source, source) for source in given.sources])
        ask = self._agent.follow_up if given.follow_up else self._agent.chat
        response = ask(cell.strip(), given.output_type)
        if given.to:
            self._shell.user_ns[given.to] = response
        return response

    def _parse(self, line: str) -> argparse.Namespace:
        from IPython.core.error import UsageError

        parser = argparse.ArgumentParser("%%ask", add_help=False, exit_on_error=False)
        parser.add_argument("sources", nargs="*")
        parser.add_argument("--follow-up", action="store_true")
        parser.add_argument("--output-type", choices=get_args(OutputType))
        parser.add_argument("--to")
        try:
            given, unknown = parser.parse_known_args(shlex.split(line))
        except (argparse.ArgumentError, ValueError) as error:
            raise UsageError(str(error)) from None
        if unknown:
            raise UsageError(f"unknown options: {' '.join(unknown)}")
        if given.follow_up and given.sources:
            raise UsageError("--follow-up continues with the sources of the conversation: leave the sources out")
        return given


def clarification_widget(response: Response) -> Any:
    """Return a widget with the clarifying question of `response`, a button for each option, and a text field.

    A selection is answered by `response.reply`; the widget then shows the answer.

    Raises:
        ValueError: `response` has no clarifying question, or was not returned by an `Agent`.
    """
    from ipywidgets import HTML, Button, HBox, Layout, Text, VBox

    clarification, reply = response.clarification, response.reply
    if clarification is None or reply is None:
        raise ValueError("the response has no open clarifying question")
    wide = Layout(width="auto")
    buttons = [
        Button(description=f"{number}. {option['label']}"[:_MAX_BUTTON_CHARS], tooltip=option["reading"], layout=wide)
        for number, option in enumerate(clarification["options"], 1)
    ]
    words, send = Text(layout=Layout(flex="1")), Button(description="↵", layout=Layout(width="3rem"))
    box = VBox()
    heading = HTML(f'<div class="datasphinx"><p>{escape(clarification["question"])}</p></div>')
    controls = (heading, *buttons, HBox([words, send]))
    box.children = controls

    def answer(text: str) -> None:
        if not text.strip():
            return
        set_disabled(True)
        try:
            result = reply(text)
        except DatasphinxError as error:
            message = (getattr(error, "__notes__", None) or [str(error)])[0]
            box.children = (*controls, HTML(f'<div class="datasphinx"><p>{escape(message)}</p></div>'))
            set_disabled(False)
            return
        shown = clarification_widget(result) if result.clarification else HTML(result._repr_html_())
        box.children = (*controls, shown)

    def set_disabled(disabled: bool) -> None:
        for control in (*buttons, words, send):
            control.disabled = disabled

    for number, button in enumerate(buttons, 1):
        button.on_click(lambda _, text=str(number): answer(text))
    send.on_click(lambda _: answer(words.value))
    return box


def _display(response: StringResponse) -> None:
    has_question = response.clarification is not None and response.reply is not None
    ipython: Any = import_module("IPython.display")
    # A saved notebook has no widgets: it shows the HTML.
    shown = clarification_widget(response)._repr_mimebundle_() if has_question else {}
    ipython.display({**shown, "text/html": response._repr_html_()}, raw=True)
