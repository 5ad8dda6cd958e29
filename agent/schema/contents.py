"""Contents of sampled cells, as text for a prompt: keys of JSON, elements of arrays, numbers in columns of dates."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from datasphinx.agent.schema.catalog import Table
from datasphinx.agent.schema.describe import literal, one_line
from datasphinx.agent.schema.personal import personal_kind
from datasphinx.agent.schema.secret import is_secret

_MAX_PARTS = 25
_MAX_DEPTH = 3
_MAX_VALUES = 5
_MAX_CHARS = 40


def parts_of(table: Table, cells: Sequence[Any]) -> tuple[str, ...]:
    """Return the keys of JSON objects in `cells` by their path, the most frequent first, and the elements of arrays.

    Each has a few of its values, unless its name is that of a secret or the values look personal. Empty if a cell of a
    text column is no JSON object or array.

    >>> cells = ['{"plan": "pro", "address": {"city": "Ulm"}}', '{"plan": "free", "tags": ["a", "b"]}']
    >>> parts_of(Table("t", ()), cells)
    ("plan ('free', 'pro')", "address.city ('Ulm')", "tags[] ('a', 'b')")
    """
    documents = [_document(cell) for cell in cells]
    if not documents or not all(isinstance(document, dict | list) for document in documents):
        return ()
    values: dict[str, Counter[str]] = {}
    counts: Counter[str] = Counter()
    for document in documents:
        for path in dict.fromkeys(_leaves(document, values)):
            counts[path] += 1
    return tuple(_part(table, path, values[path]) for path, _ in counts.most_common(_MAX_PARTS))


def _document(cell: Any) -> Any:
    if not isinstance(cell, str) or cell.lstrip()[:1] not in ("{", "["):
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def _leaves(value: Any, values: dict[str, Counter[str]], path: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the path of each scalar below `value`, and count it in `values`."""
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        for key, item in value.items():
            yield from _leaves(item, values, f"{path}.{key}" if path else key, depth + 1)
    elif isinstance(value, list) and depth < _MAX_DEPTH:
        for item in value:
            yield from _leaves(item, values, f"{path}[]", depth + 1)
    else:
        found = values.setdefault(path, Counter())
        if value is not None and not isinstance(value, dict | list):
            found[literal(value) if isinstance(value, str) else json.dumps(value)] += 1
        yield path


def _part(table: Table, path: str, values: Counter[str]) -> str:
    name = path.rstrip("[]").rpartition(".")[2]
    texts = tuple(text.strip("'") for text in values)
    hidden = is_secret(table, name) or bool(personal_kind(table.name, name, texts))
    shown = [text for text, _ in values.most_common() if len(text) <= _MAX_CHARS and "</" not in text][:_MAX_VALUES]
    more = ", ..." if len(shown) < len(values) else ""
    label = one_line(f"{'elements' if path.startswith('[]') else ''}{path.removeprefix('[]')}".replace("</", "< /"))
    return f"{label} ({', '.join(sorted(shown))}{more})" if shown and not hidden else label
