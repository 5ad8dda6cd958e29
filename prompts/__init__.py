"""Prompt templates: one file `NAME.md` each, with a system part and a user part separated by a line `---`.

A template without a system part uses that of `database.md`, which describes the database, so that several calls begin
with the same text. `alternatives.md`, `answer_form.md`, `conversation.md` and `metrics.md` are paragraphs of others.
`$name` is a variable, `$$` a dollar sign. Templates for the embedded model are in `embedded/`.
"""

from functools import cache
from pathlib import Path
from string import Template

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

_FOLDER = Path(__file__).parent
_SEPARATOR = "\n---\n"
_INSTRUCTIONS = "The operator of this system adds the following about the data and the answers:"


@cache
def load(name: str, profile: str = "standard") -> tuple[Template, Template]:
    """Return the two parts of a template, of `profile` if it has one. Raise FileNotFoundError without a template."""
    specific = _FOLDER / profile / f"{name}.md"
    path = specific if specific.is_file() else _FOLDER / f"{name}.md"
    parts = path.read_text(encoding="utf-8").split(_SEPARATOR)
    if len(parts) == 1:
        parts = [(_FOLDER / "database.md").read_text(encoding="utf-8"), *parts]
    if len(parts) != 2:
        raise ValueError(f"{path.name} has more than two parts with a line '---' between them")
    return Template(parts[0].strip()), Template(parts[1].strip())


def render(name: str, profile: str = "standard", *, instructions: str = "", **variables: str) -> list[BaseMessage]:
    """Return the system and user message of a template; the values of `variables` are inserted verbatim.

    The system message ends with the `instructions` of the operator, if there are any.

    Raises:
        KeyError: a variable of the template is missing.
    """
    system, user = load(name, profile)
    added = f"\n\n{_INSTRUCTIONS}\n{instructions}" if instructions else ""
    return [SystemMessage(system.substitute(variables) + added), HumanMessage(user.substitute(variables))]
