"""Stems of words."""

from functools import lru_cache

import snowballstemmer

_STEMMERS = {"en": snowballstemmer.stemmer("english"), "ru": snowballstemmer.stemmer("russian")}


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of a Russian or English word, in lower case.

    >>> stem("Cities"), stem("городов")
    ('citi', 'город')
    """
    lower = word.lower().replace("ё", "е")
    if "а" <= lower[0] <= "я":
        return _STEMMERS["ru"].stemWord(lower)  # type: ignore[no-any-return]
    return _STEMMERS["en"].stemWord(lower) if lower.isascii() else lower
