"""The training set: prompts as the agent sends them, grouped by the schema that they share.

Questions over one database have the same beginning, the schema. A group keeps it once: that is what makes training
several times cheaper, since each token of it is read once for all the questions of the group.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

import sqlglot
from langchain_core.messages import BaseMessage
from sqlglot import exp

from agent.catalog.brief import describe_briefly
from agent.catalog.embedded_linking import WHOLE_COLUMNS, WHOLE_TABLES
from agent.catalog.linked_values import linked_values
from agent.catalog.source import Source
from agent.models.embedded_prompt import statement_messages
from agent.sql.compact import compact

_SUBSET_SHARE = 0.4
_DISTRACTORS = (0, 3)

Selection = dict[str, list[str]]


@dataclass(frozen=True)
class Asked:
    """A question on a source with the ordinary statement that answers it."""

    question: str
    sql: str
    kind: str = "spider"


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


def groups_of(source: Source, database: str, asked: Sequence[Asked], size: int, rng: Random) -> Iterator[Group]:
    """Return `asked` as groups of at most `size` examples over `source`; what has no compact form is left out.

    A group shows the whole schema where the agent would, and else, or now and then, the tables that its statements need
    with a few others.
    """
    sayable = [(each, answer) for each in asked if (answer := compact(each.sql, source.catalog)) is not None]
    needed = {id(each): _tables(each.sql, source) for each, _ in sayable}
    rng.shuffle(sayable)
    sayable.sort(key=lambda pair: rng.random() if _fits(source) else min(needed[id(pair[0])], default=""))
    for start in range(0, len(sayable), size):
        part = sayable[start : start + size]
        selection = _selection(source, set().union(*(needed[id(each)] for each, _ in part)), rng)
        head = ""
        examples = []
        for each, answer in part:
            messages = statement_messages(
                source.catalog, selection, each.question, linked_values(each.question, source.values, selection)
            )
            text, schema = chat(messages), describe_briefly(source.catalog, selection)
            cut = text.index(schema) + len(schema)
            head = text[:cut]
            examples.append(Example(text[cut:], answer + "<|im_end|>", each.kind))
        yield Group(head, database, examples)


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


def _fits(source: Source) -> bool:
    tables = source.catalog.tables
    return len(tables) <= WHOLE_TABLES and sum(len(table.columns) for table in tables.values()) <= WHOLE_COLUMNS


def _selection(source: Source, needed: set[str], rng: Random) -> Selection:
    tables = source.catalog.tables
    chosen = set(tables)
    if not _fits(source) or rng.random() < _SUBSET_SHARE:
        others = [key for key in tables if key not in needed]
        chosen = needed | set(rng.sample(others, min(len(others), rng.randint(*_DISTRACTORS))))
    return {key: list(table.column_names) for key, table in tables.items() if key in chosen}


def _tables(sql: str, source: Source) -> set[str]:
    found = (source.catalog.key_of(node.name) for node in sqlglot.parse_one(sql, read="sqlite").find_all(exp.Table))
    return {key for key in found if key}
