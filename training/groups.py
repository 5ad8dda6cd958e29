"""Examples grouped by a shared prefix of their prompts, and the file format of groups.

Prompts over one database start with the same schema. A group stores this prefix once, and training processes it once
for all examples of the group, which makes training several times cheaper.
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
    """The rest of a prompt after the shared prefix, and the expected answer."""

    tail: str
    answer: str
    kind: str


@dataclass(frozen=True)
class Group:
    """Examples whose prompts share the prefix `head`."""

    head: str
    database: str
    examples: list[Example] = field(default_factory=list)


def chat(messages: Sequence[BaseMessage]) -> str:
    """Return `messages` in ChatML, the template of SmolLM2 and Qwen2.5, up to the start of the answer."""
    turns = ((message.type.replace("human", "user"), message.text) for message in messages)
    return "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns) + "<|im_start|>assistant\n"


def grouped(database: str, kind: str, shared: str, exchanges: Iterable[Exchange]) -> Group:
    """Return `exchanges` as a group; its head ends after `shared`, a text that every prompt contains."""
    heads, examples = [], []
    for messages, answer in exchanges:
        text = chat(messages)
        cut = text.index(shared) + len(shared)
        heads.append(text[:cut])
        examples.append(Example(text[cut:], answer + _END, kind))
    if len(set(heads)) != 1:
        raise ValueError(f"prompts of one group have different prefixes: {sorted(set(heads))}")
    return Group(heads[0], database, examples)


def write_groups(groups: Iterable[Group], path: Path) -> int:
    """Write `groups` to `path`, one JSON object per line, and return the number of examples."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for group in groups:
            file.write(json.dumps(asdict(group), ensure_ascii=False) + "\n")
            count += len(group.examples)
    return count


def read_groups(path: Path) -> list[Group]:
    """Return the groups in a file written by `write_groups`.

    Raises:
        OSError: the file cannot be read.
        KeyError, ValueError: a line is invalid.
    """
    records: Iterator[Mapping[str, object]] = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [
        Group(str(r["head"]), str(r["database"]), [Example(**fields) for fields in r["examples"]])  # type: ignore[attr-defined]
        for r in records
    ]
