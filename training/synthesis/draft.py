"""Drafts of questions: a query with the wordings of its question."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from training.synthesis.nouns import Language, Term, plain


def literal(value: str) -> str:
    """Return `value` as an SQL string literal."""
    return "'" + value.replace("'", "''") + "'"


@dataclass(frozen=True)
class Query:
    """The parts of a SELECT; `joins` are complete clauses, the other tuples are expressions."""

    select: tuple[str, ...]
    table: str
    joins: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    having: str = ""
    qualify: str = ""
    order: tuple[str, ...] = ()
    limit: int = 0
    distinct: bool = False

    def sql(self) -> str:
        """Return the statement."""
        clauses = (
            (f"SELECT {'DISTINCT ' if self.distinct else ''}", ", ".join(self.select)),
            ("FROM ", " ".join([self.table, *dict.fromkeys(self.joins)])),
            ("WHERE ", " AND ".join(self.where)),
            ("GROUP BY ", ", ".join(self.group)),
            ("HAVING ", self.having),
            ("QUALIFY ", self.qualify),
            ("ORDER BY ", ", ".join(self.order)),
            ("LIMIT ", str(self.limit or "")),
        )
        return " ".join(f"{word}{body}" for word, body in clauses if body)

    def without_filter(self) -> "Query":
        """Return the query without its WHERE clause."""
        return replace(self, where=())


Wordings = Mapping[Language, Sequence[str]]
"""Templates per language; a slot names a noun and its form, as in `{thing:G}`."""


@dataclass(frozen=True)
class Draft:
    """A candidate question: its query, its wordings, and the terms of their slots."""

    query: Query
    wordings: Wordings
    slots: Mapping[str, Term]
    min_rows: int = 1
    max_rows: int = 60
    """Limits of the number of result rows of a sensible question."""
    baseline: Query | None = None
    """A query whose result must differ, such as the one without the filter."""

    def question(self, language: Language, rng: Random) -> str:
        """Return a random wording in `language`."""
        template = rng.choice(self.wordings[language])
        return tidied(template.format(**{name: term[language] for name, term in self.slots.items()}), language, rng)


def same(value: object) -> Term:
    """Return a term with the same text in every language."""
    return {"en": plain(str(value)), "ru": plain(str(value)), "zh": plain(str(value))}


def words(en: str, ru: str, zh: str) -> Term:
    """Return a term with one text per language."""
    return {"en": plain(en), "ru": plain(ru), "zh": plain(zh)}


def tidied(question: str, language: Language, rng: Random) -> str:
    """Return `question` with clean spacing, commas and a capital; some English ones lose case and final mark."""
    text = re.sub(r"\s+", " ", question).strip()
    text = re.sub(r"\s+([,.?!])", r"\1", text)
    text = re.sub(r",+([.?!,:]|$)", r"\1", text)
    if language == "en" and rng.random() < 0.08:
        return text.rstrip(".?").lower() if not re.search(r"[A-Z0-9]", text[1:]) else text.rstrip(".?")
    return text[:1].upper() + text[1:]
