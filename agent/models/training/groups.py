"""Examples grouped by the beginning of the prompt that they share, and the file that keeps them.

Questions over one database begin alike, with its schema. A group keeps that once: it makes training several times
cheaper, since each token of it is read once for all the questions of the group.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from langchain_core.messages import BaseMessage

_END = "<|im_end|>"

Exchange = tuple[Sequence[BaseMessage], str]
"""A prompt and the answer to it."""


@dataclass(frozen=True)
class Example:
    """What follows the shared beginning, and what the model is to answer."""

    tail: str
    answer: str
    kind: str


@dataclass(frozen=True)
class Group:
    """Examples whose prompts begin with the same `head`."""

    head: str
    database: str
    examples: list[Example] = field(default_factory=list)


def chat(messages: Sequence[BaseMessage]) -> str:
    """Return `messages` as SmolLM2's chat template writes them, up to where the answer begins."""
    turns = ((message.type.replace("human", "user"), message.text) for message in messages)
    return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns) + "<|im_start|>assistant\n"


def grouped(database: str, kind: str, shared: str, exchanges: Iterable[Exchange]) -> Group:
    """Return `exchanges` as a group; its head reaches to the end of `shared`, which stands in every prompt."""
    heads, examples = [], []
    for messages, answer in exchanges:
        text = chat(messages)
        cut = text.index(shared) + len(shared)
        heads.append(text[:cut])
        examples.append(Example(text[cut:], answer + _END, kind))
    if len(set(heads)) != 1:
        raise ValueError(f"prompts of one group begin differently: {sorted(set(heads))}")
    return Group(heads[0], database, examples)


def write_groups(groups: Iterable[Group], path: Path) -> int:
    """Write `groups` to `path`, one JSON object a line, and return how many examples they hold."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for group in groups:
            file.write(json.dumps(asdict(group), ensure_ascii=False) + "\n")
            count += len(group.examples)
    return count


def read_groups(path: Path) -> list[Group]:
    """Return the groups that `write_groups` wrote.

    Raises:
        OSError: the file cannot be read.
        KeyError, ValueError: a line is broken.
    """
    records: Iterator[Mapping[str, object]] = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [
        Group(str(r["head"]), str(r["database"]), [Example(**each) for each in r["examples"]])  # type: ignore[attr-defined]
        for r in records
    ]
