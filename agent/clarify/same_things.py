"""Columns that hold the same things, since foreign keys join them."""

from agent.catalog.schema import Catalog

Place = tuple[str, str]
"""A table's key and a column's name."""


class SameThings:
    """The columns of a catalog as foreign keys join them; of its tables only those are read that keys lead to."""

    def __init__(self, catalog: Catalog) -> None:
        """Take the catalog whose foreign keys, declared and inferred, are followed."""
        self._catalog = catalog

    def hold(self, table: str, column: str, other_table: str, other_column: str) -> bool:
        """Return whether both columns are one, or lead to one by keys."""
        return not self._led_to((table, column)).isdisjoint(self._led_to((other_table, other_column)))

    def _led_to(self, place: Place) -> set[Place]:
        found, waiting = {place}, [place]
        while waiting:
            new = [target for target in self._targets(*waiting.pop()) if target not in found]
            found.update(new)
            waiting += new
        return found

    def _targets(self, key: str, column: str) -> list[Place]:
        table = self._catalog.tables.get(key)
        return [
            (foreign_key.target, target)
            for foreign_key in (table.foreign_keys if table else ())
            for own, target in zip(foreign_key.columns, foreign_key.target_columns, strict=False)
            if own == column
        ]
