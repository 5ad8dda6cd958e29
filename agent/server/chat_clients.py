"""Shared code of the routes for chat clients: models, the user's message, the thread of a conversation, answers."""

import re
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple, cast

from fastapi import Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from datasphinx.agent.answers.markdown import escape_markup, has_table, markdown_table, sql_block
from datasphinx.agent.answers.progress import step_line
from datasphinx.agent.conversation.reply import Reply
from datasphinx.agent.conversation.threads import Link
from datasphinx.agent.core.canonical import value_hash
from datasphinx.agent.core.text import valid_text
from datasphinx.agent.errors import NotFound
from datasphinx.agent.messages import language_in, render
from datasphinx.agent.server.runnable import ServedGraph
from datasphinx.agent.server.tenants import Tenant
from datasphinx.agent.types import ClarifyingQuestion, ReportPart

DEFAULT_MODEL = "datasphinx"
"""Id of the model that chooses the source by the question."""
REPORT_MODEL = "datasphinx-report"
"""Id of the model that writes reports."""
_PREFIX = "datasphinx/"
_SHOWN_CHARS = 200


class ChatModel(NamedTuple):
    """A model as a chat client sees it: a graph, and the data that its questions are about."""

    id: str
    name: str
    graph: str
    data: dict[str, Any]
    """The inputs of the graph that select the data."""


def all_models(tenant: Tenant) -> list[ChatModel]:
    """Return the models of `tenant`: the default one, that of reports, and one for each source and dataset."""
    sources = [_source_model(name) for name in tenant.services.settings.sources]
    datasets = [_dataset_model(each.dataset_id, each.name) for each in tenant.services.registry.datasets()]
    return [_DEFAULT, _REPORT, *sources, *datasets]


def model_of(tenant: Tenant, model_id: str) -> ChatModel:
    """Return the model with this id.

    Raises:
        NotFound: the tenant has no such model.
    """
    if model_id in (DEFAULT_MODEL, REPORT_MODEL):
        return _DEFAULT if model_id == DEFAULT_MODEL else _REPORT
    if model_id.startswith(_PREFIX):
        name = model_id.removeprefix(_PREFIX)
        if name in tenant.services.settings.sources:
            return _source_model(name)
        try:
            return _dataset_model(name, tenant.services.registry.dataset(name).name)
        except NotFound:
            pass
    raise NotFound("model_unknown", model=model_id[:_SHOWN_CHARS])


_DEFAULT = ChatModel(DEFAULT_MODEL, DEFAULT_MODEL, "agent", {})
_REPORT = ChatModel(REPORT_MODEL, REPORT_MODEL, "report", {})


def _source_model(source: str) -> ChatModel:
    return ChatModel(f"{_PREFIX}{source}", source, "agent", {"source": source})


def _dataset_model(dataset_id: str, file_name: str) -> ChatModel:
    return ChatModel(f"{_PREFIX}{dataset_id}", file_name, "analyst", {"datasets": [dataset_id]})


_TEXT_PARTS = ("text", "input_text", "output_text")


class Part(BaseModel):
    """A part of a message; only text can be read."""

    type: str
    text: str | None = None


Content = str | list[Part] | None


def text_of(content: Content) -> str:
    """Return the text of a message, without its other parts."""
    if isinstance(content, list):
        return "\n".join(part.text or "" for part in content if part.type in _TEXT_PARTS)
    return content or ""


def user_text(content: Content) -> str:
    """Return the text of the message to answer. Raise ValueError if a part of it is not text."""
    if isinstance(content, list) and any(part.type not in _TEXT_PARTS for part in content):
        raise ValueError("only text can be read; images, audio and files cannot")
    return text_of(content)


class Place(NamedTuple):
    """The run of a thread from which a conversation continues, and its open clarifying question."""

    link: Link
    clarification: ClarifyingQuestion | None


def place_of(tenant: Tenant, graph: str, name: str) -> Place | None:
    """Return the place linked under `name`; None if there is none, or its run was deleted."""
    link = tenant.threads.linked(name)
    run = tenant.threads.run(tenant.threads.key(graph, link.thread_id), link.run_id) if link else None
    return Place(link, run.checkpoint["channel_values"].get("clarification")) if link and run else None


def input_of(served: ServedGraph, model: ChatModel, text: str, place: Place | None) -> dict[str, Any]:
    """Return the input of a run: `text` answers the clarifying question, or is a question about the model's data."""
    thread = {"thread_id": place.link.thread_id} if place else {}
    is_answer = place is not None and place.clarification is not None
    fields = {"clarification_answer": text} if is_answer else {"question": text, **model.data}
    return served.checked({**fields, **thread})


def base_url(request: Request) -> str:
    """Return the URL of this application, also where it is mounted in another one, with a slash at its end."""
    return str(request.url.replace(path=request.scope.get("root_path", "") + "/", query="", fragment=""))


def reasoning_lines(updates: Mapping[str, Any]) -> list[str]:
    """Return a Markdown list item for each completed node in `updates`."""
    lines = [step_line(node, update) for node, update in updates.items()]
    return [f"- {escape_markup(line.plain)}\n" for line in lines if line]


def markdown_of(reply: Reply, base_url: str) -> str:
    """Return the text of an answer, with its rows as a short Markdown table and links to its charts.

    A clarifying question is a text with numbered options. `base_url` is the URL of the server.
    """
    answer, tables = reply["answer"], reply["tables"]
    language = language_in(reply)
    # A report is Markdown with code blocks, and its texts are escaped.
    parts = [answer if reply.get("report") else escape_markup(answer)]
    if reply["output_type"] == "dataframe" and tables and tables[0]["rows"] and not has_table(answer):
        parts.append(escape_markup(markdown_table(tables[0], language)))
    label = render("chart_link", language)
    ids = [chart["id"] for chart in reply["charts"] if "id" in chart]
    parts += [f"[{label} {number}]({base_url}charts/{chart}.png)" for number, chart in enumerate(ids, 1)]
    return "\n\n".join(parts)


class Piece(NamedTuple):
    """Text of a step, or the answer with the run's number of prompt and completion tokens, which is the last piece."""

    reasoning: str = ""
    content: str = ""
    tokens: tuple[int, int] | None = None


class ChatRun:
    """The run that answers the last message of a conversation in an OpenAI-compatible API.

    A conversation is identified by the texts of the user and the assistant, or by a name that the API gives it.
    """

    def __init__(self, tenant: Tenant, served: ServedGraph, model: ChatModel, user: str | None, base_url: str) -> None:
        """Answer questions to `model`; conversations of different users never continue each other."""
        self._tenant, self._served, self._model, self._user, self._base_url = tenant, served, model, user, base_url
        self._turns: list[tuple[str, str]] = []
        self._names: tuple[str, ...] = ()
        self._place: Place | None = None
        self._input: dict[str, Any] = {}

    def prepare(
        self, messages: Iterable[tuple[str, Content]], *, after: str | None = None, names: tuple[str, ...] = ()
    ) -> None:
        """Find the run that ended with the messages before the last one, and prepare the input for that one.

        `after` is the name of the conversation that is continued; the new run can be continued by `names` too.

        Raises:
            NotFound: there is no conversation called `after`.
        """
        texts = [(role, text_of(content)) for role, content in messages]
        turns = [(role, _normal(text)) for role, text in texts]
        self._turns = [(role, text) for role, text in turns if role in ("user", "assistant") and text]
        self._names = names
        earlier = self._turns[:-1]
        if after is not None:
            self._place = place_of(self._tenant, self._model.graph, self._key(after))
            if self._place is None:
                raise NotFound("response_unknown", response=after[:_SHOWN_CHARS])
        elif any(role == "assistant" for role, _ in earlier):
            self._place = place_of(self._tenant, self._model.graph, self._key(earlier))
        self._input = input_of(self._served, self._model, texts[-1][1], self._place)

    async def pieces(self) -> AsyncGenerator[Piece]:
        """Run, and yield the texts of the steps and then the answer."""
        run_id = self._place.link.run_id if self._place else None
        async with aclosing(self._served.events(self._input, run_id=run_id)) as events:
            async for kind, content in events:
                if kind == "step":
                    for line in reasoning_lines(cast(Mapping[str, Any], content)):
                        yield Piece(reasoning=line)
                elif kind == "part":
                    part = cast(ReportPart, content)
                    yield Piece(reasoning=f"- {escape_markup(part['id'])}: {escape_markup(part['question'])}\n")
                elif kind == "output":
                    reply = cast(Reply, content)
                    block = sql_block(reply["sql"]) if reply["sql"] else ""
                    yield await run_in_threadpool(self._answer, reply, block)

    def _answer(self, reply: Reply, block: str) -> Piece:
        """Return the answer, and link the conversation that it continues with the run.

        A run that was refused is not stored: the conversation continues from the run before.
        """
        markdown = markdown_of(reply, self._base_url)
        text = valid_text(f"{markdown}\n\n{block}" if block else markdown)
        link = Link(reply["thread_id"] or "", reply["run_id"]) if "run_id" in reply else None
        link = link or (self._place.link if self._place else None)
        if link:
            turns = [*self._turns, ("assistant", _normal(text))]
            for key in (self._key(turns), *map(self._key, self._names)):
                self._tenant.threads.link(key, link)
        return Piece(content=text, tokens=(reply["audit"]["prompt_tokens"], reply["audit"]["completion_tokens"]))

    def _key(self, conversation: str | Iterable[tuple[str, str]]) -> str:
        """Return the name of the link to the run that ended `conversation`."""
        return value_hash([self._model.id, self._user, conversation])


_REASONING = re.compile(r"\s*<(details|think|thinking|reasoning)\b[^>]*>.*?</\1>", re.DOTALL)
"""Reasoning text, which some clients put at the beginning of the assistant's messages."""


def _normal(text: str) -> str:
    """Return the text of a message without reasoning at its beginning and without differences in white space."""
    while reasoning := _REASONING.match(text):
        text = text[reasoning.end() :]
    return " ".join(text.split())
