"""Prompts that a user of an MCP client can choose."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from mcp_types import GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, TextContent

from datasphinx.agent.errors import InputInvalid
from datasphinx.agent.messages import Message
from datasphinx.agent.server.routes.sources import sources
from datasphinx.agent.server.statements import resolve_source
from datasphinx.agent.server.tenants import current_tenant

_FOLDER = Path(__file__).parent / "prompt_texts"
_MAX_CHARS = 10_000


@dataclass(frozen=True)
class _Choice:
    """A prompt: the file `prompt_texts/NAME.md`, its description, and its arguments with their descriptions."""

    name: str
    description: str
    arguments: Mapping[str, str]


_CHOICES = (
    _Choice("answer_question", "Answer a question about the data.", {"question": "The question."}),
    _Choice("explore_source", "Describe a source and propose questions.", {"source": "The name of the source."}),
    _Choice("review_answer", "Review an answer and its SQL.", {"trace_id": "The trace id of the answer."}),
)


def list_prompts() -> ListPromptsResult:
    """Return all prompts."""
    return ListPromptsResult(
        prompts=[
            Prompt(
                name=choice.name,
                description=choice.description,
                arguments=[
                    PromptArgument(name=name, description=description, required=True)
                    for name, description in choice.arguments.items()
                ],
            )
            for choice in _CHOICES
        ]
    )


def get_prompt(name: str, arguments: Mapping[str, str]) -> GetPromptResult:
    """Return the message of a prompt.

    Raises:
        InputInvalid: there is no such prompt, or an argument is missing or too long.
        SourceNotFound: the source of the prompt is not listed.
    """
    choice = next((choice for choice in _CHOICES if choice.name == name), None)
    if choice is None:
        raise InputInvalid("name", Message("one_of", choices=", ".join(choice.name for choice in _CHOICES)))
    for argument in choice.arguments:
        if not arguments.get(argument):
            raise InputInvalid(argument, Message("empty"))
        if len(arguments[argument]) > _MAX_CHARS:
            raise InputInvalid(argument, Message("too_many_characters", limit=_MAX_CHARS))
    values = {argument: arguments[argument] for argument in choice.arguments}
    if "source" in values:
        resolve_source(current_tenant().services, values["source"])
    names = ", ".join(source["name"] for source in sources()["sources"])
    knowledge = f"datasphinx://{values.get('source', '')}/knowledge"
    template = Template((_FOLDER / f"{name}.md").read_text(encoding="utf-8").strip())
    text = template.substitute(values, sources=names, knowledge=knowledge)
    message = PromptMessage(role="user", content=TextContent(text=text))
    return GetPromptResult(description=choice.description, messages=[message])
