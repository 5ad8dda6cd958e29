"""Texts in the one form in which they are compared: without case, accents, punctuation and width."""

import re
import unicodedata
from functools import lru_cache

_SEPARATORS = re.compile(r"[\W_]+")
_MARKS = re.compile(r"[\u0300-\u036f]+")


@lru_cache(maxsize=10_000)
def normal_form(text: str) -> str:
    """Return `text` in lower case, without accents, its words separated by single spaces.

    Compatibility forms are unfolded first (Unicode NFKD), so that wide and ligated letters meet their plain ones.
    """
    if text.isascii():
        return _SEPARATORS.sub(" ", text.lower()).strip()
    folded = unicodedata.normalize("NFKD", text.casefold())
    # Russian "й" is a letter of its own, not an "и" with a mark: composed again before marks are dropped.
    plain = _MARKS.sub("", folded.replace("и\u0306", "й"))
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFC", plain)).strip()
