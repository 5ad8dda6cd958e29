"""The kinds of values that columns hold, told from the names that engines give their types."""

import re
from functools import lru_cache
from typing import Literal

TypeClass = Literal["number", "text", "date", "datetime", "time", "boolean", "binary", "json", "array", "other"]

_WRAPPERS = re.compile(r"\b(nullable|lowcardinality)\s*\(")
_PATTERNS: tuple[tuple[TypeClass, re.Pattern[str]], ...] = (
    ("array", re.compile(r"\[\d*\]\s*$|^(array|list|struct|map|tuple|nested|row)\b|vector$")),
    ("json", re.compile(r"json|^variant|^object\b")),
    ("datetime", re.compile(r"timestamp|datetime")),
    ("date", re.compile(r"^date(32)?\b")),
    ("other", re.compile(r"^interval|point|geometry|range\b")),
    ("time", re.compile(r"^time")),
    ("boolean", re.compile(r"^bool|^bit\(1\)$|^tinyint\(1\)$")),
    ("binary", re.compile(r"blob|binary|bytea|^bit\b|^varbit|^image$|^raw\b")),
    ("text", re.compile(r"char|text|clob|string|^enum|^set\b|^uuid|^guid|^name$|^inet|^cidr|^xml|^citext")),
    ("number", re.compile(r"int|serial|number|numeric|dec|real|double|float|money|^year\b|^oid$|^u?hugeint")),
)
"""In the order in which they are tried: a type may hold the word of another in its name."""


@lru_cache(maxsize=4096)
def type_class(name: str) -> TypeClass:
    """Return the class of the type that an engine calls `name`, such as "number" for NUMERIC(9, 2); else "other"."""
    plain = _WRAPPERS.sub("", name.strip().lower())
    return next((kind for kind, pattern in _PATTERNS if pattern.search(plain)), "other")
