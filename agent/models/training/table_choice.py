"""Training examples of choosing tables: the candidates in brief and a question; answered by the tables it needs."""

from collections.abc import Iterator, Sequence
from random import Random

from agent.catalog.schema import Catalog
from agent.catalog.source import Source
from agent.models.embedded_jobs import MOST_CANDIDATES, table_choice_messages, table_lines
from agent.models.training.dataset import Asked
from agent.models.training.gold import Selection, tables_of
from agent.models.training.groups import Group, grouped
from agent.sql.compact_nodes import table_of

LEAST_TABLES = 5
"""Of a database, for a choice among its tables to be one."""

_ALL_SHARE = 0.5


def table_choices(
    source: Source, database: str, asked: Sequence[Asked], rng: Random, *, size: int, most: int
) -> Iterator[Group]:
    """Return at most `most` of `asked`, in groups of at most `size` that choose among the same tables.

    A small database has none. Of a large one 12 tables are shown, of another all or some.
    """
    catalog = source.catalog
    if len(catalog.tables) < LEAST_TABLES:
        return
    needed = [(each, keys) for each in asked if 0 < len(keys := tables_of(each.sql, catalog)) <= MOST_CANDIDATES]
    chosen = rng.sample(needed, min(most, len(needed)))
    for part in _parts(chosen, size):
        candidates = _candidates({key for _, keys in part for key in keys}, catalog, rng)
        exchanges = [
            (table_choice_messages(catalog, candidates, each.question), _answer(keys, catalog)) for each, keys in part
        ]
        yield grouped(database, "tables", "\n".join(table_lines(catalog, candidates)), exchanges)


def _parts(chosen: Sequence[tuple[Asked, list[str]]], size: int) -> Iterator[list[tuple[Asked, list[str]]]]:
    """Return `chosen` in runs of at most `size` that need no more tables than are shown."""
    part: list[tuple[Asked, list[str]]] = []
    tables: set[str] = set()
    for each, keys in chosen:
        if len(part) == size or len(tables | set(keys)) > MOST_CANDIDATES:
            yield part
            part, tables = [], set()
        part.append((each, keys))
        tables |= set(keys)
    if part:
        yield part


def _candidates(needed: set[str], catalog: Catalog, rng: Random) -> Selection:
    others = [key for key in catalog.tables if key not in needed]
    largest = min(MOST_CANDIDATES, len(catalog.tables))
    count = largest if rng.random() < _ALL_SHARE else rng.randint(min(LEAST_TABLES, largest), largest)
    shown = needed | set(rng.sample(others, max(0, count - len(needed))))
    return {key: list(table.column_names) for key, table in catalog.tables.items() if key in shown}


def _answer(keys: Sequence[str], catalog: Catalog) -> str:
    return ", ".join(table_of(catalog, key).sql() for key in keys)
