"""Names and joins of compact statements, the form in which the embedded model writes SQL.

The form is SQLite's SQL in the order of decisions and without information that the catalog already has: FROM comes
first, tables have no aliases, columns are qualified only if several tables are in scope, a join along the only foreign
key has no ON, and outputs have no aliases. Omitting conditions that keys imply follows NatSQL (Gan et al. 2021).
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy.dialects.mysql.reserved_words import RESERVED_WORDS_MYSQL
from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS as RESERVED_WORDS_POSTGRESQL
from sqlalchemy.dialects.sqlite.base import SQLiteIdentifierPreparer
from sqlglot import exp

from datasphinx.agent.engines import engine_of
from datasphinx.agent.schema.catalog import Catalog

_RESERVED = RESERVED_WORDS_MYSQL | RESERVED_WORDS_POSTGRESQL | SQLiteIdentifierPreparer.reserved_words
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted(name: str) -> str:
    """Return `name` as in a compact statement: bare if that is unambiguous, otherwise in double quotes.

    >>> quoted("amount"), quoted("order date"), quoted("group")
    ('amount', '"order date"', '"group"')
    """
    if _PLAIN.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def table_of(catalog: Catalog, key: str) -> exp.Table:
    """Return the table with the catalog key `key`, with its schema if there is one."""
    name = catalog.full_names[key]
    return exp.Table(this=identifier(name.name), db=identifier(name.schema) if name.schema else None)


def column_of(catalog: Catalog, key: str, name: str, *, qualified: bool) -> exp.Column:
    """Return the column `name` of the table `key`, prefixed by the table's name if `qualified`."""
    if not qualified:
        return exp.Column(this=identifier(name))
    table = table_of(catalog, key)
    return exp.Column(this=identifier(name), table=table.this, db=table.args.get("db"))


def identifier(name: str, dialect: str = "sqlite") -> exp.Identifier:
    """Return `name` as an identifier, in quotes if `dialect` or a compact statement needs them."""
    is_folded = not engine_of(dialect).preserves_case and name != name.lower()
    return exp.to_identifier(name, quoted=is_folded or quoted(name) != name)


def table_nodes(select: exp.Select) -> list[exp.Table]:
    """Return the tables after FROM and JOIN in `select`, without subqueries."""
    source = select.args.get("from_")
    nodes = [source.this, *(join.this for join in select.args.get("joins") or ())] if source else []
    return [node for node in nodes if isinstance(node, exp.Table)]


class KeyPair(NamedTuple):
    """A foreign key: columns of the table `left` that equal columns of the table `right`, both as catalog keys."""

    left: str
    left_columns: tuple[str, ...]
    right: str
    right_columns: tuple[str, ...]


def conditions_between(catalog: Catalog, new: str, tables: Sequence[str]) -> list[KeyPair]:
    """Return the foreign keys, in either direction, between the table `new` and `tables`."""
    pairs = []
    for other in tables:
        pairs += [pair for pair in keys_of(catalog, new) if pair.right == other]
        pairs += [pair for pair in keys_of(catalog, other) if pair.right == new]
    return list({frozenset(zip(*_ends(pair), strict=True)): pair for pair in pairs}.values())


def join_condition(catalog: Catalog, pair: KeyPair) -> exp.Expr:
    """Return the join condition of `pair`, with qualified columns."""
    equalities = [
        exp.EQ(
            this=column_of(catalog, pair.left, left, qualified=True),
            expression=column_of(catalog, pair.right, right, qualified=True),
        )
        for left, right in zip(pair.left_columns, pair.right_columns, strict=True)
    ]
    return exp.and_(*equalities) if len(equalities) > 1 else equalities[0]


def keys_of(catalog: Catalog, key: str) -> Iterator[KeyPair]:
    """Return the foreign keys of the table `key`, except those that reference the table itself."""
    for foreign in catalog.tables[key].foreign_keys:
        if foreign.target != key and len(foreign.columns) == len(foreign.target_columns):
            yield KeyPair(key, foreign.columns, foreign.target, foreign.target_columns)


def _ends(pair: KeyPair) -> tuple[list[str], list[str]]:
    ends = [
        sorted((f"{pair.left}.{left}".lower(), f"{pair.right}.{right}".lower()))
        for left, right in zip(pair.left_columns, pair.right_columns, strict=True)
    ]
    return [first for first, _ in ends], [second for _, second in ends]
