"""Examples of the table selection task: candidate tables and a question, answered by the tables it needs."""

from collections.abc import Iterator, Sequence
from random import Random

from agent.embedded.compact import table_of
from agent.embedded.prompts import MAX_CANDIDATE_TABLES, table_choice_messages, table_lines
from agent.schema.catalog import Catalog
from agent.sources.source import Source
from training.dataset import GoldQuestion, Selection, tables_of
from training.groups import Group, grouped

MIN_TABLES = 5
"""Minimum number of tables of a database with examples of this task."""

_ALL_SHARE = 0.5


def table_choices(
    source: Source, database: str, questions: Sequence[GoldQuestion], rng: Random, *, size: int, limit: int
) -> Iterator[Group]:
    """Yield at most `limit` of `questions`, in groups of at most `size` with the same candidate tables.

    A database with fewer than 5 tables yields nothing. Candidates are up to 12 tables of the database.
    """
    catalog = source.catalog
    if len(catalog.tables) < MIN_TABLES:
        return
    pairs = [
        (gold, keys) for gold in questions if 0 < len(keys := tables_of(gold.sql, catalog)) <= MAX_CANDIDATE_TABLES
    ]
    chosen = rng.sample(pairs, min(limit, len(pairs)))
    for part in _parts(chosen, size):
        candidates = _candidates({key for _, keys in part for key in keys}, catalog, rng)
        exchanges = [
            (table_choice_messages(catalog, candidates, gold.question), _answer(keys, catalog)) for gold, keys in part
        ]
        yield grouped(database, "tables", "\n".join(table_lines(catalog, candidates)), exchanges)


def _parts(
    sample: Sequence[tuple[GoldQuestion, list[str]]], size: int
) -> Iterator[list[tuple[GoldQuestion, list[str]]]]:
    """Yield `sample` in parts of at most `size` that together need at most `MAX_CANDIDATE_TABLES` tables."""
    part: list[tuple[GoldQuestion, list[str]]] = []
    tables: set[str] = set()
    for gold, keys in sample:
        if len(part) == size or len(tables | set(keys)) > MAX_CANDIDATE_TABLES:
            yield part
            part, tables = [], set()
        part.append((gold, keys))
        tables |= set(keys)
    if part:
        yield part


def _candidates(needed: set[str], catalog: Catalog, rng: Random) -> Selection:
    others = [key for key in catalog.tables if key not in needed]
    largest = min(MAX_CANDIDATE_TABLES, len(catalog.tables))
    count = largest if rng.random() < _ALL_SHARE else rng.randint(min(MIN_TABLES, largest), largest)
    candidates = needed | set(rng.sample(others, max(0, count - len(needed))))
    return {key: list(table.column_names) for key, table in catalog.tables.items() if key in candidates}


def _answer(keys: Sequence[str], catalog: Catalog) -> str:
    return ", ".join(table_of(catalog, key).sql() for key in keys)
