"""Shared code of the routes for chat clients: models, the user's message, the thread of a conversation, answers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from datasphinx.agent.answers.progress import step_line
from datasphinx.agent.answers.text import escape_markup, has_table, markdown_table
from datasphinx.agent.conversation.reply import Reply
from datasphinx.agent.conversation.threads import Link
from datasphinx.agent.errors import NotFound
from datasphinx.agent.messages import language_in, render
from datasphinx.agent.server.runnable import ServedGraph
from datasphinx.agent.server.tenants import Tenant
from datasphinx.agent.types import ClarifyingQuestion

DEFAULT_MODEL = "datasphinx"
"""Id of the model that chooses the source by the question."""
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
    """Return the models of `tenant`: the default one, and one for each of its sources and datasets."""
    sources = [_source_model(name) for name in tenant.services.settings.sources]
    datasets = [_dataset_model(each.dataset_id, each.name) for each in tenant.services.registry.datasets()]
    return [_DEFAULT, *sources, *datasets]


def model_of(tenant: Tenant, model_id: str) -> ChatModel:
    """Return the model with this id.

    Raises:
        NotFound: the tenant has no such model.
    """
    if model_id == DEFAULT_MODEL:
        return _DEFAULT
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


def _source_model(source: str) -> ChatModel:
    return ChatModel(f"{_PREFIX}{source}", source, "agent", {"source": source})


def _dataset_model(dataset_id: str, file_name: str) -> ChatModel:
    return ChatModel(f"{_PREFIX}{dataset_id}", file_name, "analyst", {"datasets": [dataset_id]})


class Part(BaseModel):
    """A part of a message; only those of the type `text` can be read."""

    type: str
    text: str | None = None


Content = str | list[Part] | None


def text_of(content: Content) -> str:
    """Return the text of a message, without its other parts."""
    if isinstance(content, list):
        return "\n".join(part.text or "" for part in content if part.type == "text")
    return content or ""


def user_text(content: Content) -> str:
    """Return the text of the message to answer.

    Raises:
        ValueError: a part of it is not text.
    """
    if isinstance(content, list) and any(part.type != "text" for part in content):
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
    """Return the input of a run: `text` answers the open clarifying question, or is a question about the model's data.

    Raises:
        RequestValidationError: the text is empty or too long.
    """
    thread = {"thread_id": place.link.thread_id} if place else {}
    is_answer = place is not None and place.clarification is not None
    fields = {"clarification_answer": text} if is_answer else {"question": text, **model.data}
    try:
        return served.get_input_schema().model_validate({**fields, **thread}).model_dump(exclude_none=True)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from error


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
    parts = [escape_markup(answer)]
    if reply["output_type"] == "dataframe" and tables and tables[0]["rows"] and not has_table(answer):
        parts.append(escape_markup(markdown_table(tables[0], language)))
    label = render("chart_link", language)
    ids = [chart["id"] for chart in reply["charts"] if "id" in chart]
    parts += [f"[{label} {number}]({base_url}charts/{chart}.png)" for number, chart in enumerate(ids, 1)]
    return "\n\n".join(parts)
