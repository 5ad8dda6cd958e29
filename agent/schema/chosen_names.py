"""Tables and columns that a model chose by name, matched without regard to how it wrote the names."""

import re
from collections.abc import Iterable, Mapping

from agent.schema.catalog import Catalog
from agent.schema.spelling import nearest

_PART = re.compile(r'"((?:[^"]|"")+)"|`([^`]+)`|\[([^\]]+)\]|\'([^\']+)\'|([^."`\[\]\']+)')
_COLUMN_LIST = re.compile(r"\s*\([^()]*\)\s*$")
_MIN_SIMILARITY = 60.0


def matching_tables(name: str, catalog: Catalog) -> list[str]:
    """Return the keys of the tables that `name` refers to: none, one, or several of different schemas.

    Case, quotes of any dialect, white space and a list of columns after the name are ignored. The schema may be
    missing, or given for a table of the default schema.

    >>> from agent.schema.catalog import Table
    >>> matching_tables('public."Orders"(id, total)', Catalog("postgres", {"orders": Table("orders", ())}))
    ['orders']
    """
    for text in dict.fromkeys((name, _COLUMN_LIST.sub("", name))):
        parts = _parts(text)
        exact = catalog.key_of(text.strip()) or catalog.key_of(".".join(parts))
        if exact:
            return [exact]
        keys = list(catalog.keys_named(parts[-1])) if parts else []
        schema = parts[-2] if len(parts) > 1 else None
        in_schema = [key for key in keys if schema and (catalog.full_names[key].schema or "").lower() == schema]
        if keys:
            return in_schema or [key for key in keys if not catalog.full_names[key].schema] or keys
    return []


def matching_column(name: str, columns: Iterable[str]) -> str | None:
    """Return the one of `columns` that `name` refers to, ignoring case, quotes, white space and a table before it."""
    by_name = {column.lower(): column for column in columns}
    parts = _parts(name)
    return by_name.get(name.strip().lower()) or (by_name.get(parts[-1]) if parts else None)


def unknown_names(names: Mapping[str, Iterable[str]]) -> str:
    """Return a text that lists names with the candidates of the most similar spelling.

    `names` has the candidates of each name.

    >>> unknown_names({"invioces": ["invoices", "orders"]})
    'invioces (nearest: invoices)'
    """
    similar = {name: nearest(name, candidates, _MIN_SIMILARITY) for name, candidates in names.items()}
    return ", ".join(f"{name} (nearest: {', '.join(found)})" if found else name for name, found in similar.items())


def _parts(name: str) -> list[str]:
    """Return the parts of a qualified name in lower case, without quotes."""
    groups = (next(filter(None, match.groups()), "") for match in _PART.finditer(name.strip()))
    return [part.replace('""', '"').strip().lower() for part in groups if part.strip()]
