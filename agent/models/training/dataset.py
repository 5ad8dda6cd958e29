"""Examples of the embedded model's main job: a compact statement for a question, by the prompt that the agent sends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from agent.catalog.brief import describe_briefly
from agent.catalog.embedded_linking import is_shown_whole
from agent.catalog.linked_values import linked_values
from agent.catalog.source import Source
from agent.models.embedded_prompt import statement_messages
from agent.models.training.gold import selection_with, tables_of
from agent.models.training.groups import Example, Group, grouped
from agent.sql.compact import compact


@dataclass(frozen=True)
class Asked:
    """A question on a source with the ordinary statement that answers it."""

    question: str
    sql: str
    kind: str = "spider"


def groups_of(source: Source, database: str, asked: Sequence[Asked], size: int, rng: Random) -> Iterator[Group]:
    """Return `asked` as groups of at most `size` examples over `source`; what has no compact form is left out."""
    catalog = source.catalog
    sayable = [(each, answer) for each in asked if (answer := compact(each.sql, catalog)) is not None]
    rng.shuffle(sayable)
    if not is_shown_whole(catalog):
        # Statements that need the same tables share a prompt that shows few others.
        sayable.sort(key=lambda pair: tables_of(pair[0].sql, catalog))
    for start in range(0, len(sayable), size):
        part = sayable[start : start + size]
        needed = {key for each, _ in part for key in tables_of(each.sql, catalog)}
        selection = selection_with(needed, catalog, rng)
        examples: list[Example] = []
        for each, answer in part:
            values = linked_values(each.question, source.values, selection)
            exchange = (statement_messages(catalog, selection, each.question, values), answer)
            group = grouped(database, each.kind, describe_briefly(catalog, selection), [exchange])
            examples += group.examples
        yield Group(group.head, database, examples)
