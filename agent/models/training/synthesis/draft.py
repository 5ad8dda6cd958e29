"""A statement with the wordings of the question that it answers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from agent.models.training.synthesis.nouns import Language, Noun, Term, plain
from agent.models.training.synthesis.query import Query

Wordings = Mapping[Language, Sequence[str]]
"""Templates; a slot names a noun and the form it takes, as in `{thing:G}`."""


@dataclass(frozen=True)
class Draft:
    """What may become a question: its statement, its wordings, and what fills them."""

    query: Query
    wordings: Wordings
    slots: Mapping[str, Term]
    fewest: int = 1
    """How many rows the answer has at least where it is worth asking."""
    most: int = 60
    baseline: Query | None = None
    """A statement that has to give something else, such as the same without its filter."""
    sql: str = field(default="")

    def statement(self) -> str:
        """Return the SQL."""
        return self.sql or self.query.sql()

    def question(self, language: Language, rng: Random) -> str:
        """Return one wording in `language`."""
        template = rng.choice(self.wordings[language])
        return tidied(template.format(**{name: term[language] for name, term in self.slots.items()}), language, rng)


def same(value: object) -> Term:
    """Return a slot with the same text in every language."""
    return {"en": plain(str(value)), "ru": plain(str(value)), "zh": plain(str(value))}


def words(en: str, ru: str, zh: str) -> Term:
    """Return a slot with one text for each language."""
    return {"en": plain(en), "ru": plain(ru), "zh": plain(zh)}


def tidied(question: str, language: Language, rng: Random) -> str:
    """Return `question` without doubled blanks and stray commas, with a capital but now and then as typed in haste."""
    text = re.sub(r"\s+", " ", question).strip()
    text = re.sub(r"\s+([,.?!])", r"\1", text)
    text = re.sub(r",+([.?!,:]|$)", r"\1", text)
    if language == "en" and rng.random() < 0.08:
        return text.rstrip(".?").lower() if not re.search(r"[A-Z0-9]", text[1:]) else text.rstrip(".?")
    return text[:1].upper() + text[1:]


__all__ = ["Draft", "Noun", "Wordings", "same", "tidied", "words"]
