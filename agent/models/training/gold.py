"""What the training examples of every job need of gold statements and of prompts."""

from collections.abc import Iterable, Sequence
from random import Random

import sqlglot
from langchain_core.messages import BaseMessage
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agent.catalog.schema import Catalog
from agent.models.training.dataset import MOST_COLUMNS, MOST_TABLES, Example, Group, Selection, chat

_END = "<|im_end|>"
_OTHERS = (0, 3)

Exchange = tuple[Sequence[BaseMessage], str]
"""A prompt and the answer to it."""


def tables_of(sql: str, catalog: Catalog) -> list[str]:
    """Return the keys of the tables that `sql` reads, in the catalog's order; none where it is not sure of all."""
    try:
        tree = sqlglot.parse_one(sql, read="sqlite")
    except SqlglotError:
        return []
    found = {catalog.key_of(".".join(part.name for part in table.parts)) for table in tree.find_all(exp.Table)}
    return [] if None in found else [key for key in catalog.tables if key in found]


def selection_with(needed: Iterable[str], catalog: Catalog, rng: Random) -> Selection:
    """Return the whole schema where the agent shows it whole, else the tables `needed` with a few others."""
    tables, chosen = catalog.tables, set(needed)
    columns = sum(len(table.columns) for table in tables.values())
    if len(tables) <= MOST_TABLES and columns <= MOST_COLUMNS:
        chosen = set(tables)
    else:
        others = [key for key in tables if key not in chosen]
        chosen |= set(rng.sample(others, min(len(others), rng.randint(*_OTHERS))))
    return {key: list(table.column_names) for key, table in tables.items() if key in chosen}


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
