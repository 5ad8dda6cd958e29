"""Stems of words."""

from functools import lru_cache

import snowballstemmer


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of a Russian or English word, in lower case.

    >>> stem("Cities"), stem("городов")
    ('citi', 'город')
    """
    lower = word.lower().replace("ё", "е")
    is_russian = "а" <= lower[0] <= "я"
    if not is_russian and not lower.isascii():
        return lower
    # A stemmer keeps the word in itself, so threads cannot share one.
    return snowballstemmer.stemmer("russian" if is_russian else "english").stemWord(lower)  # type: ignore[no-any-return]
