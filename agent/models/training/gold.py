"""Which tables gold statements read, and which ones a prompt shows for them."""

from collections.abc import Iterable
from random import Random

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agent.catalog.embedded_linking import is_shown_whole
from agent.catalog.schema import Catalog
from agent.sql.resolved import key_of

Selection = dict[str, list[str]]
"""The columns that a prompt shows, by table key."""

_SUBSET_SHARE = 0.4
_OTHERS = (0, 3)


def tables_of(sql: str, catalog: Catalog) -> list[str]:
    """Return the keys of the tables that `sql` reads, in the catalog's order; none where it is not sure of all."""
    try:
        tree = sqlglot.parse_one(sql, read="sqlite")
    except SqlglotError:
        return []
    found = {key_of(table, catalog) for table in tree.find_all(exp.Table)}
    return [] if None in found else [key for key in catalog.tables if key in found]


def selection_with(needed: Iterable[str], catalog: Catalog, rng: Random) -> Selection:
    """Return the whole schema where the agent shows it whole; else, or now and then, those `needed` and a few more."""
    tables, chosen = catalog.tables, set(needed)
    if is_shown_whole(catalog) and rng.random() >= _SUBSET_SHARE:
        chosen = set(tables)
    else:
        others = [key for key in tables if key not in chosen]
        chosen |= set(rng.sample(others, min(len(others), rng.randint(*_OTHERS))))
    return {key: list(table.column_names) for key, table in tables.items() if key in chosen}
