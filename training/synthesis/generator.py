"""Generate questions with statements over a source, and keep those with sensible results."""

from dataclasses import dataclass
from random import Random

import sqlglot
from sqlglot import exp
from sqlglot.transforms import eliminate_qualify

from datasphinx.agent.sources.source import Source
from training.spider import normalised
from training.synthesis.draft import Draft
from training.synthesis.families import COMMON, FAMILIES
from training.synthesis.nouns import Language
from training.synthesis.view import NoFit, Reader, view_of

_LANGUAGES: tuple[Language, ...] = ("en", "ru", "zh")
_SHARES = (70, 15, 15)
_COMMON_WEIGHT = 4
_TRIES = 12
"""Maximum number of drafts per requested question."""


@dataclass(frozen=True)
class Synthetic:
    """A question, its SELECT in the dialect of the source, its language, and its family."""

    question: str
    sql: str
    language: Language
    family: str


def synthesise(source: Source, seed: int, count: int) -> list[Synthetic]:
    """Return at most `count` distinct questions over `source`, about 70 % English, 15 % Russian and 15 % Chinese.

    A draft is kept only if its statement runs and returns sensible rows, so a small schema may yield fewer questions.
    A statement with QUALIFY needs `executable` to run on SQLite.
    """
    rng = Random(seed)
    reader = Reader(source, view_of(source.catalog), rng)
    questions: dict[str, Synthetic] = {}
    names = [name for name in FAMILIES for _ in range(_COMMON_WEIGHT if name in COMMON else 1)]
    if not reader.view.entities:
        return []
    for turn in range(count * _TRIES):
        if len(questions) >= count:
            break
        if turn % len(names) == 0:
            rng.shuffle(names)
        name = names[turn % len(names)]
        try:
            draft = FAMILIES[name](reader)
        except NoFit:
            continue
        if not _is_sensible(draft, reader):
            continue
        [language] = rng.choices(_LANGUAGES, _SHARES)
        question = draft.question(language, rng)
        questions.setdefault(normalised(question), Synthetic(question, draft.query.sql(), language, name))
    return list(questions.values())


def executable(sql: str) -> str:
    """Return `sql` in a form that SQLite executes: QUALIFY becomes a condition around a subquery."""
    if "QUALIFY" not in sql:
        return sql
    tree = sqlglot.parse_one(sql, dialect="sqlite")
    assert isinstance(tree, exp.Select)
    return eliminate_qualify(tree).sql(dialect="sqlite")


def _is_sensible(draft: Draft, reader: Reader) -> bool:
    rows = reader.rows(executable(draft.query.sql()))
    if not rows or not draft.min_rows <= len(rows) <= draft.max_rows:
        return False
    by_time = draft.query.order and draft.query.order == draft.query.group
    if (draft.query.limit or by_time) and any(value is None for row in rows for value in row[: 1 if by_time else None]):
        return False
    if len(rows) == 1 and any(value in (None, 0, "", "0") for value in rows[0]):
        return False
    has_empty_column = any(all(row[at] in (None, 0) for row in rows) for at in range(len(rows[0])))
    if len(rows) > 1 and (has_empty_column or all(row == rows[0] for row in rows)):
        return False
    return draft.baseline is None or reader.rows(executable(draft.baseline.sql())) != rows
