"""Prompt templates: one file each, a system part and a user part, filled in by name.

A template is `NAME.md`; the embedded model's own are in `embedded/`. `$name` stands for a variable, `$$` for a dollar.
"""

from functools import cache
from pathlib import Path
from string import Template

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

_FOLDER = Path(__file__).parent
_SEPARATOR = "\n---\n"


@cache
def load(name: str, profile: str = "standard") -> tuple[Template, Template]:
    """Return the system and the user part of a template; the standard one where `profile` has none of its own.

    Raises:
        FileNotFoundError: there is no such template.
        ValueError: the template is not in two parts.
    """
    own = _FOLDER / profile / f"{name}.md"
    path = own if own.is_file() else _FOLDER / f"{name}.md"
    parts = path.read_text(encoding="utf-8").split(_SEPARATOR)
    if len(parts) != 2:
        raise ValueError(f"{path.name} needs a system and a user part with a line '---' between them")
    return Template(parts[0].strip()), Template(parts[1].strip())


def render(name: str, profile: str = "standard", **variables: str) -> list[BaseMessage]:
    """Return the messages of a template with `variables` filled in; their text is never read as a template.

    Raises:
        KeyError: a variable of the template is missing.
    """
    system, user = load(name, profile)
    return [SystemMessage(system.substitute(variables)), HumanMessage(user.substitute(variables))]
