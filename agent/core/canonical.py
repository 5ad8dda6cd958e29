"""Canonical JSON and its hashes: equal values have equal hashes."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def canonical(value: Any) -> str:
    r"""Return `value` as JSON in ASCII: keys sorted, no white space, every other character escaped.

    >>> canonical({"b": [1, 2.5], "a": "é"})
    '{"a":"\\u00e9","b":[1,2.5]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(text: str) -> str:
    """Return the SHA-256 of `text` as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def value_hash(value: Any) -> str:
    """Return the hash of `value`'s canonical JSON."""
    return digest(canonical(plain(value)))


def result_hashes(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[str, str]:
    """Return two hashes of a result: one that depends on the order of the rows, and one that does not.

    Each is the SHA-256 of lines of canonical JSON: the column names, then the rows; for the second hash, the lines of
    the rows are sorted.
    """
    names, *lines = (json.dumps(row, sort_keys=True, separators=(",", ":"), default=str) for row in (columns, *rows))
    return digest("\n".join([names, *lines])), digest("\n".join([names, *sorted(lines)]))


def plain(value: Any, clean: Callable[[str], str] = str) -> Any:
    """Return `value` as a JSON value, with `clean` applied to each string; other types become strings."""
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): plain(item, clean) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, clean) for item in value]
    return clean(str(value))
