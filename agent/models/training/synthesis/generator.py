"""Makes questions with their statements over a source, and keeps those whose answers are worth asking for."""

from dataclasses import dataclass
from random import Random
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.transforms import eliminate_qualify

from agent.catalog.source import Source
from agent.models.training.spider import normalised
from agent.models.training.synthesis.draft import Draft
from agent.models.training.synthesis.families import COMMON, FAMILIES
from agent.models.training.synthesis.nouns import Language
from agent.models.training.synthesis.reader import Reader
from agent.models.training.synthesis.view import view_of

_LANGUAGES: tuple[Language, ...] = ("en", "ru", "zh")
_SHARES = (70, 15, 15)
_COMMON_TIMES = 4
_TRIES = 12
"""Drafts for each question that is wanted, at most."""


@dataclass(frozen=True)
class Synthetic:
    """A question, the SELECT that answers it in the source's dialect, and which kind of question it is."""

    question: str
    sql: str
    language: Language
    family: str


def synthesise(source: Source, seed: int, count: int) -> list[Synthetic]:
    """Return at most `count` different questions over `source`, about 70 % English, 15 % Russian and 15 % Chinese.

    Fewer where the schema has not enough to ask for: a statement is kept only where it runs, gives rows, and its
    figures say something. A statement with QUALIFY needs `executable` to run on SQLite.
    """
    rng = Random(seed)
    reader = Reader(source, view_of(source.catalog), rng)
    found: dict[str, Synthetic] = {}
    names = [name for name in FAMILIES for _ in range(_COMMON_TIMES if name in COMMON else 1)]
    if not reader.view.entities:
        return []
    for turn in range(count * _TRIES):
        if len(found) >= count:
            break
        if turn % len(names) == 0:
            rng.shuffle(names)
        name = names[turn % len(names)]
        draft = FAMILIES[name](reader)
        if draft is None or not _is_sensible(draft, reader):
            continue
        [language] = rng.choices(_LANGUAGES, _SHARES)
        question = draft.question(language, rng)
        found.setdefault(normalised(question), Synthetic(question, draft.query.sql(), language, name))
    return list(found.values())


def executable(sql: str) -> str:
    """Return `sql` as SQLite runs it: QUALIFY as a condition around a subquery."""
    if "QUALIFY" not in sql:
        return sql
    tree = sqlglot.parse_one(sql, dialect="sqlite")
    assert isinstance(tree, exp.Select)
    return eliminate_qualify(tree).sql(dialect="sqlite")


def _is_sensible(draft: Draft, reader: Reader) -> bool:
    rows = reader.rows(executable(draft.query.sql()))
    if not rows or not draft.fewest <= len(rows) <= draft.most:
        return False
    by_time = draft.query.order and draft.query.order == draft.query.group
    if (draft.query.limit or by_time) and any(value is None for row in rows for value in row[: 1 if by_time else None]):
        return False
    if len(rows) == 1 and any(value in (None, 0, "", "0") for value in rows[0]):
        return False
    if len(rows) > 1 and (_column_empty(rows) or all(row == rows[0] for row in rows)):
        return False
    return draft.baseline is None or reader.rows(executable(draft.baseline.sql())) != rows


def _column_empty(rows: list[list[Any]]) -> bool:
    """True where a column is NULL, or zero, in every row."""
    return any(all(row[at] in (None, 0) for row in rows) for at in range(len(rows[0])))
