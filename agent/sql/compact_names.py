"""How compact statements write names: the same for every database."""

import re

from sqlalchemy.dialects.mysql.reserved_words import RESERVED_WORDS_MYSQL
from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS as RESERVED_WORDS_POSTGRESQL
from sqlalchemy.dialects.sqlite.base import SQLiteIdentifierPreparer

_RESERVED = RESERVED_WORDS_MYSQL | RESERVED_WORDS_POSTGRESQL | SQLiteIdentifierPreparer.reserved_words
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted(name: str) -> str:
    """Return `name` as a compact statement writes it: bare where it can stand so, else in double quotes."""
    if _PLAIN.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'
