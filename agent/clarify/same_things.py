"""Columns that hold the same things, since foreign keys join them."""

from agent.catalog.schema import Catalog

Place = tuple[str, str]
"""A table's key and a column's name."""


class SameThings:
    """The columns of a catalog, put together as foreign keys join them."""

    def __init__(self, catalog: Catalog) -> None:
        """Follow the foreign keys of `catalog`, declared and inferred."""
        self._above: dict[Place, Place] = {}
        for key, table in catalog.tables.items():
            for foreign_key in table.foreign_keys:
                for own, target in zip(foreign_key.columns, foreign_key.target_columns, strict=False):
                    self._above.setdefault(self._root((key, own)), self._root((foreign_key.target, target)))

    def hold(self, table: str, column: str, other_table: str, other_column: str) -> bool:
        """Return whether both columns are one, or joined by keys."""
        return self._root((table, column)) == self._root((other_table, other_column))

    def _root(self, place: Place) -> Place:
        seen = {place}
        while (above := self._above.get(place, place)) not in seen:
            place = above
            seen.add(place)
        return place
