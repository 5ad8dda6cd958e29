"""The conditions under which foreign keys join tables, so that a compact statement need not write them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlglot import exp

from agent.catalog.schema import Catalog
from agent.sql.compact_nodes import column_of


class KeyPair(NamedTuple):
    """Columns of the table `left` that equal columns of the table `right`, both given by their catalog keys."""

    left: str
    left_columns: tuple[str, ...]
    right: str
    right_columns: tuple[str, ...]


def conditions_between(catalog: Catalog, new: str, before: Sequence[str]) -> list[KeyPair]:
    """Return each foreign key, of either side, between the table `new` and one of those in `before`."""
    found = []
    for other in before:
        found += [pair for pair in keys_of(catalog, new) if pair.right == other]
        found += [pair for pair in keys_of(catalog, other) if pair.right == new]
    return list({frozenset(zip(*_ends(pair), strict=True)): pair for pair in found}.values())


def join_condition(catalog: Catalog, pair: KeyPair) -> exp.Expr:
    """Return the condition that `pair` stands for, with qualified columns."""
    equalities = [
        exp.EQ(
            this=column_of(catalog, pair.left, left, qualified=True),
            expression=column_of(catalog, pair.right, right, qualified=True),
        )
        for left, right in zip(pair.left_columns, pair.right_columns, strict=True)
    ]
    return exp.and_(*equalities) if len(equalities) > 1 else equalities[0]


def keys_of(catalog: Catalog, key: str) -> Iterator[KeyPair]:
    """Return the foreign keys that the table `key` has, those to itself left out."""
    for foreign in catalog.tables[key].foreign_keys:
        if foreign.target != key and len(foreign.columns) == len(foreign.target_columns):
            yield KeyPair(key, foreign.columns, foreign.target, foreign.target_columns)


def _ends(pair: KeyPair) -> tuple[list[str], list[str]]:
    ends = [
        sorted((f"{pair.left}.{left}".lower(), f"{pair.right}.{right}".lower()))
        for left, right in zip(pair.left_columns, pair.right_columns, strict=True)
    ]
    return [first for first, _ in ends], [second for _, second in ends]
