"""Gold questions, and the examples of the main task: a question answered by a compact statement."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from datasphinx.agent.embedded.prompts import describe_briefly, statement_messages
from datasphinx.agent.retrieval.linked_values import coded_values, linked_values
from datasphinx.agent.retrieval.selection import is_selected_whole
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.names import key_of
from training.compact import compact
from training.groups import Example, Group, grouped

Selection = dict[str, list[str]]
"""The columns that a prompt shows, by table key."""

_SUBSET_SHARE = 0.4
_OTHER_TABLES = (0, 3)


def tables_of(sql: str, catalog: Catalog) -> list[str]:
    """Return the keys of the tables that `sql` reads, in catalog order; empty if any table is unknown."""
    try:
        tree = sqlglot.parse_one(sql, read="sqlite")
    except SqlglotError:
        return []
    keys = {key_of(table, catalog) for table in tree.find_all(exp.Table)}
    return [] if None in keys else [key for key in catalog.tables if key in keys]


def selection_with(needed: Iterable[str], catalog: Catalog, rng: Random) -> Selection:
    """Return the tables of a prompt: the whole schema if the agent would show it, else `needed` and a few others.

    A schema that the agent shows whole is also reduced in 40 % of the cases.
    """
    tables, selected_keys = catalog.tables, set(needed)
    if is_selected_whole(catalog) and rng.random() >= _SUBSET_SHARE:
        selected_keys = set(tables)
    else:
        others = [key for key in tables if key not in selected_keys]
        selected_keys |= set(rng.sample(others, min(len(others), rng.randint(*_OTHER_TABLES))))
    return {key: list(table.column_names) for key, table in tables.items() if key in selected_keys}


@dataclass(frozen=True)
class GoldQuestion:
    """A question on a source with its gold statement, in ordinary SQL."""

    question: str
    sql: str
    kind: str = "spider"


def groups_of(
    source: Source, database: str, questions: Sequence[GoldQuestion], size: int, rng: Random
) -> Iterator[Group]:
    """Yield `questions` as groups of at most `size` examples; statements without a compact form are left out."""
    catalog = source.catalog
    pairs = [(gold, answer) for gold in questions if (answer := compact(gold.sql, catalog)) is not None]
    rng.shuffle(pairs)
    if not is_selected_whole(catalog):
        # Statements over the same tables share a prompt with few other tables.
        pairs.sort(key=lambda pair: tables_of(pair[0].sql, catalog))
    for start in range(0, len(pairs), size):
        part = pairs[start : start + size]
        needed = {key for gold, _ in part for key in tables_of(gold.sql, catalog)}
        selection = selection_with(needed, catalog, rng)
        examples: list[Example] = []
        for gold, answer in part:
            values = linked_values(gold.question, source.values, selection)
            values += coded_values(gold.question, catalog, source.code_meanings(selection), source.values, selection)
            exchange = (statement_messages(catalog, selection, gold.question, values), answer)
            group = grouped(database, gold.kind, describe_briefly(catalog, selection), [exchange])
            examples += group.examples
        yield Group(group.head, database, examples)
