"""What the rows of a source hold, each thing read once."""

from dataclasses import dataclass, field
from datetime import date
from random import Random
from typing import Any

from agent.catalog.source import Source
from agent.errors import DatasphinxError
from agent.models.training.synthesis.view import Field, View


@dataclass
class Reader:
    """Reads values of columns through the source's own choke point."""

    source: Source
    view: View
    rng: Random
    _values: dict[str, list[Any]] = field(default_factory=dict)

    def values(self, column: Field) -> list[Any]:
        """Return the values of `column` in all rows, NULL left out."""
        if column.sql not in self._values:
            entity = self.view.entities[column.table]
            rows = self.rows(
                f"SELECT {column.sql} FROM {entity.sql} WHERE {column.sql} IS NOT NULL ORDER BY {column.sql}"
            )
            self._values[column.sql] = [row[0] for row in rows or []]
        return self._values[column.sql]

    def rows(self, sql: str) -> list[list[Any]] | None:
        """Return the rows that `sql` gives; None where it is refused or fails."""
        try:
            return self.source.execute(sql)["rows"]
        except DatasphinxError:
            return None

    def value(self, column: Field) -> Any:
        """Return the value of a random row; None where the column is empty."""
        values = self.values(column)
        return self.rng.choice(values) if values else None

    def day(self, column: Field) -> date | None:
        """Return the day of a random row; None where the column holds none."""
        value = self.value(column)
        try:
            return date.fromisoformat(str(value)[:10])
        except ValueError:
            return None
