"""The part of the grammar that knows which keys mean the same thing, so that each is looked for among those alone."""

from collections.abc import Mapping, Sequence

from agent.catalog.schema import Table

Place = tuple[str, str]
"""A table by its catalog key, and a column of it."""


def key_kinds(tables: Mapping[str, Table], selection: Mapping[str, Sequence[str]]) -> dict[Place, str]:
    """Return the kinds `k0`, `k1` and so on of the key columns of `selection`: one for all that foreign keys link."""
    joined = {(key, column): (key, column) for key, table in tables.items() for column in table.key_columns}

    def end(place: Place) -> Place:
        while joined.setdefault(place, place) != place:
            place = joined[place]
        return place

    for key, table in tables.items():
        for foreign in table.foreign_keys:
            for column, target in zip(foreign.columns, foreign.target_columns, strict=False):
                joined[end((key, column))] = end((foreign.target, target))
    chosen = [(key, column) for key, columns in selection.items() if key in tables for column in columns]
    number: dict[Place, int] = {}
    return {place: f"k{number.setdefault(end(place), len(number))}" for place in chosen if place in joined}
