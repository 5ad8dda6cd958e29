"""The syntax of references in a text.

`{column}`, `{max.sales:region}`, `{?change.n|up|down|same}`, `{n#one|many}`, `{list|{n} in {year}}`,
`{rest.sales|, then {list.region:sales}}`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from datasphinx.agent.answers.typed_values import REFERENCE

_Choice = Literal["", "sign", "number", "row", "rest"]
_PARTS = re.compile(r'\s*("[^"]*"|[^.:"]+)\s*([.:]|$)')


class Problem(ValueError):
    """A reference without a value; the text says why."""


@dataclass(frozen=True)
class Reference:
    """The text between braces, and its parts.

    `words` are chosen by the sign of the selected value, or by its number as plural forms, or said of each row, or of
    the rows after the first, as `chooses_by` says.
    """

    text: str
    selection: str
    chooses_by: _Choice = ""
    words: tuple["Template", ...] = ()

    @property
    def is_list(self) -> bool:
        """Whether it lists the rows, of this or another result."""
        return any(part.strip().split(".")[0] == "list" for part in self.selection.split(":")[:2])


Template = tuple[str | Reference, ...]


def parse(text: str) -> Template:
    """Return the typed parts and the references of `text` in order."""
    parts: list[str | Reference] = []
    at = 0
    for start, end in _braces(text):
        parts += [text[at:start], _reference(text[start + 1 : end])]
        at = end + 1
    return (*parts, text[at:])


def _braces(text: str) -> Iterator[tuple[int, int]]:
    depth = start = 0
    for at, character in enumerate(text):
        if character == "{":
            start = start if depth else at
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                yield start, at
        if depth < 0:
            break
    if depth:
        raise Problem("its braces are not paired")


def _reference(text: str) -> Reference:
    body = text.strip()
    is_sign = body.startswith("?")
    first, *words = _split(body.removeprefix("?"))
    if is_sign:
        return Reference(body, first, "sign", tuple(map(parse, words)))
    # The id of another result may stand before `list`, and a column after `rest`.
    selection = first.rpartition(":")[2].strip()
    choice: _Choice = "row" if selection == "list" else "rest" if selection.startswith("rest.") else "number"
    return Reference(body, first, choice if words else "", tuple(map(parse, words)))


def _split(body: str) -> list[str]:
    """Return the selection of a reference, and its words, which are separated by bars."""
    parts, depth, is_quoted = [""], 0, False
    for character in body:
        is_quoted ^= character == '"' and len(parts) == 1
        depth += (character == "{") - (character == "}")
        is_end = character == "|" or (character == "#" and len(parts) == 1)
        if is_end and not is_quoted and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def typed_parts(template: Template) -> str:
    """Return what a model typed, with a mark for each reference; all words of a choice are typed."""
    texts = (
        part if isinstance(part, str) else REFERENCE + REFERENCE.join(map(typed_parts, part.words)) + REFERENCE
        for part in template
    )
    return "".join(texts)


def path_of(selection: str) -> tuple[list[str], list[str]]:
    """Return the parts of a selection, and those after its colon."""
    parts: tuple[list[str], list[str]] = ([], [])
    at = side = 0
    while at < len(selection):
        match = _PARTS.match(selection, at)
        if match is None:
            raise Problem("it cannot be read")
        parts[side].append(match[1].strip().strip('"'))
        if match[2] == ":":
            if side:
                raise Problem("it has two colons")
            side = 1
        at = match.end()
    if not parts[0] or (side and not parts[1]):
        raise Problem("it names no column")
    return parts
