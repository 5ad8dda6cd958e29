"""Whether an answer in words gives SQL away: a mechanical check, that rather refuses a sentence than lets SQL pass."""

import re

from agent.models.statement import holds_statement

_KEYWORDS = re.compile(
    r"\b(select\b.*\bfrom|from\s+\w+\s+(as\s+\w+|where|join)|group\s+by|order\s+by|having\s+\w+\s*\(|union(\s+all)?\s+select|"
    r"(inner|left|right|cross|full|outer|natural)\s+join|join\s+\w+\s+(as|on)\b|is\s+(not\s+)?null|"
    r"(not\s+)?(in|exists)\s*\(|between\s+\S+\s+and\s+\S+\s+(and|or|group|limit)|select\s+(distinct|\*))",
    re.IGNORECASE | re.DOTALL,
)
_SIGNS = re.compile(r"```|`|;\s*$|\|\||<>|!=|<=|>=|==|\w\s*[=<>]\s*['\"\w]|\b[A-Za-z_]\w+\.[A-Za-z_]\w+|\b[A-Za-z_]+\(")
_WORD = re.compile(r"\w+|[^\w\s]")
_VALUE = re.compile(r"'[^']*'")
_COPIED = 5
"""Words and signs in a row, as the reference has them outside its values, that are no accident."""


def gives_sql_away(words: str, reference: str) -> bool:
    """Return whether `words` hold SQL, or a piece of the statement `reference`."""
    if holds_statement(words) or _KEYWORDS.search(words) or _SIGNS.search(words):
        return True
    copied = _WORD.findall(_VALUE.sub("'", reference.lower()))
    said = f" {' '.join(_WORD.findall(words.lower()))} "
    pieces = (copied[at : at + _COPIED] for at in range(len(copied) - _COPIED + 1))
    return any(f" {' '.join(piece)} " in said for piece in pieces)
