"""What a question says, as terms that a schema can be searched for."""

import re
from dataclasses import dataclass

from agent.catalog.words import han_pairs, is_data_word, is_function_word, spelt_words, stem

_DATA_WORD_WEIGHT = 0.3
_WORDING = re.compile(
    r"\b(?:(?:in|by|with) )?(?:the )?(?:alphabetic(?:al)?|lexicographic(?:al)?|ascending|descending|increasing"
    r"|decreasing|chronological|reverse) (?:order|ordering)\b|\b(?:order|sort)(?:ed)? by\b|\bin order\b"
    r"|\bhow many\b|\bnumber of\b"
    r"|^\W*(?:list|show|find|count|give|return|tell|display|report|what|which)\b"
    r"|\bfirst (?:\d+|one|two|three|five|ten)\b|\b(?:different|distinct)\b",
    re.IGNORECASE,
)
"""Turns that order, count or introduce: "in alphabetical order" is about no orders."""


@dataclass(frozen=True)
class Asked:
    """The terms of a question."""

    words: dict[str, float]
    """Weight of each stem, from 0 to 1."""
    phrases: tuple[str, ...]
    """Two neighbouring words written as one, as an identifier may have them."""
    spellings: dict[str, str]
    """The stems as the question spells them."""


def read_question(question: str) -> Asked:
    """Return the terms of `question`, without function words and without turns that only order or count."""
    spelt = spelt_words(_WORDING.sub(" ", question)) or spelt_words(question)
    spellings = {stem(word): word for word in reversed(spelt) if not is_function_word(word)}
    words = {root: _DATA_WORD_WEIGHT if is_data_word(spellings[root]) else 1.0 for root in reversed(spellings)}
    pairs = dict.fromkeys(han_pairs(question), 1.0)
    phrases = [stem(a + b) for a, b in zip(spelt, spelt[1:], strict=False) if not _says_nothing(a, b)]
    return Asked(words | pairs, tuple(dict.fromkeys(phrases)), spellings)


def _says_nothing(*words: str) -> bool:
    return any(map(is_function_word, words))
