"""Writes SQLite files of made-up rows for a schema, on which statements over it give rows.

`sqlite3` is used directly here because this module writes files of its own; it never reads a user's data.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from agent.models.training.literals import Literals, Place, read_literals
from agent.models.training.spider import SpiderColumn, SpiderSchema, SpiderTable
from agent.models.training.values import Value, declared, make_values, skewed_choice

_ROWS = (32, 48)
_LOOKUP_ROWS = (6, 9)
_EVENT_ROWS = (70, 110)
_NULL_SHARE = 0.12
_OFTEN_OPEN = re.compile(
    r"end|clos|paid|return|resolv|settl|churn|cancel|left|remov|deactiv|deliver|ship|finish|mail|phone|comment|feedback|"
    r"reason|complet|score|bonus|tip$"
)


def fill(schema: SpiderSchema, statements: Sequence[str], path: Path, seed: int) -> None:
    """Write a new database at `path` with the tables of `schema` and about 40 rows in each, more in those of events.

    Foreign keys point at rows that exist, some often and some never; what `statements` compare a column with is among
    its values. The same seed gives the same rows.

    Raises:
        FileExistsError: there is a file at `path`.
        sqlite3.Error: the file cannot be written.
    """
    if path.exists():
        raise FileExistsError(path)
    rows = _Rows(schema, read_literals(schema, statements), Random(f"{schema.db_id} {seed}"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        for table in rows.tables.values():
            connection.execute(rows.definition(table))
            made = rows.of(table)
            places = ", ".join("?" * len(table.columns))
            connection.executemany(f"INSERT INTO {_quoted(table.name)} VALUES ({places})", made)
        connection.commit()


class _Rows:
    """The values of every column of a schema, made when they are first needed."""

    def __init__(self, schema: SpiderSchema, literals: Literals, rng: Random) -> None:
        self._rng = rng
        self.tables = {t.name.lower(): t for t in schema.tables if t.columns and t.name.lower() != "sqlite_sequence"}
        self._columns = {
            (key, column.name.lower()): column for key, table in self.tables.items() for column in table.columns
        }
        self.foreign = self._foreign_keys(schema)
        self._links = self._with_joins(literals)
        self._literals = self._at_targets(literals)
        self._whole = literals.excluding | set(self._links.values())
        self._textual = {self._end(place) for place in literals.textual if place in self._columns}
        self._made: dict[Place, list[Value]] = {}
        self._counts = {key: self._count(table) for key, table in self.tables.items()}

    def definition(self, table: SpiderTable) -> str:
        """Return the CREATE TABLE of `table`."""
        key = table.name.lower()
        parts = [f"{_quoted(column.name)} {self._kind((key, column.name.lower()))}" for column in table.columns]
        if table.primary_key:
            parts.append(f"PRIMARY KEY ({', '.join(map(_quoted, table.primary_key))})")
        for (own, name), target in self.foreign.items():
            if own == key:
                parent, column = self.tables[target[0]].name, self._columns[target].name
                own_name = _quoted(self._columns[own, name].name)
                parts.append(f"FOREIGN KEY ({own_name}) REFERENCES {_quoted(parent)} ({_quoted(column)})")
        return f"CREATE TABLE {_quoted(table.name)} ({', '.join(parts)})"

    def of(self, table: SpiderTable) -> list[tuple[Value, ...]]:
        """Return the rows of `table`, those with a primary key that another has left out."""
        key = table.name.lower()
        made = zip(*(self._values((key, column.name.lower())) for column in table.columns), strict=False)
        keyed = [at for at, column in enumerate(table.columns) if column.name in table.primary_key]
        if not keyed:
            return list(made)
        return list({tuple(row[at] for at in keyed): row for row in made}.values())

    def _foreign_keys(self, schema: SpiderSchema) -> dict[Place, Place]:
        """Keys between columns that exist, one for a column; none that leads back to where it began."""
        found: dict[Place, Place] = {}
        for foreign in schema.foreign_keys:
            own, target = (
                (foreign.table.lower(), foreign.column.lower()),
                (foreign.target.lower(), foreign.target_column.lower()),
            )
            if own in self._columns and target in self._columns and own not in found and _ends(target, found) != own:
                found[own] = target
        return found

    def _with_joins(self, literals: Literals) -> Mapping[Place, Place]:
        """Foreign keys, and columns that statements join although no key says so."""
        links = dict(self.foreign)
        for one, other in literals.joined:
            a, b = (other, one) if self._is_key(one) and not self._is_key(other) else (one, other)
            same_type = self._columns[a].type == self._columns[b].type if {a, b} <= set(self._columns) else False
            if same_type and not self._is_key(a) and a not in links and _ends(b, links) != a:
                links[a] = b
        return links

    def _at_targets(self, literals: Literals) -> dict[Place, list[str]]:
        found: dict[Place, list[str]] = {}
        for place, values in literals.values.items():
            if place in self._columns:
                known = found.setdefault(self._end(place), [])
                known.extend(value for value in values if value not in known)
        return found

    def _end(self, place: Place) -> Place:
        return _ends(place, self._links)

    def _kind(self, place: Place) -> str:
        end = self._end(place)
        return declared(self._columns[end], self._literals.get(end, ()), end in self._textual)

    def _is_key(self, place: Place) -> bool:
        return place in self._columns and [name.lower() for name in self.tables[place[0]].primary_key] == [place[1]]

    def _count(self, table: SpiderTable) -> int:
        key = table.name.lower()
        given = [len(column.values) for column in table.columns if column.values and not _is_category(column)]
        if given:
            return max(given)
        single = (key, table.primary_key[0].lower()) if len(table.primary_key) == 1 else None
        if single and key.startswith("ref_") and single not in self._links:
            return max(self._rng.randint(*_LOOKUP_ROWS), min(40, len(self._literals.get(single, ()))))
        linked = any((key, column.name.lower()) in self.foreign for column in table.columns)
        dated = any(column.type == "time" for column in table.columns)
        return self._rng.randint(*(_EVENT_ROWS if linked and dated else _ROWS))

    def _values(self, place: Place) -> list[Value]:
        if place not in self._made:
            self._made[place] = self._linked(place) if place in self._links else self._own(place)
        return self._made[place]

    def _linked(self, place: Place) -> list[Value]:
        parents = list(dict.fromkeys(value for value in self._values(self._links[place]) if value is not None))
        rows = self._counts[place[0]]
        if self._is_key(place):
            return list(self._rng.sample(parents, min(len(parents), rows)))
        return self._with_nulls(place, skewed_choice(parents, rows, self._rng))

    def _own(self, place: Place) -> list[Value]:
        column, rows = self._columns[place], self._counts[place[0]]
        literals = self._literals.get(place, ())
        unique = self._is_key(place) or len(column.values) == rows or _is_name(column)
        made = make_values(place[0], column, self._kind(place), literals, rows, unique, self._rng)
        return made if unique else self._with_nulls(place, made)

    def _with_nulls(self, place: Place, values: list[Value]) -> list[Value]:
        """Return `values` with some left out: often where the name says that it may be open, hardly ever in names."""
        table, column = self.tables[place[0]], self._columns[place]
        key = {name.lower() for name in table.primary_key} | {table.columns[0].name.lower()}
        if place[1] in key or place in self._whole:
            return values
        share = _null_share(table, column, self._rng)
        return [None if self._rng.random() < share else value for value in values]


def _ends(place: Place, links: Mapping[Place, Place]) -> Place:
    seen = {place}
    while place in links and links[place] not in seen:
        place = links[place]
        seen.add(place)
    return place


def _null_share(table: SpiderTable, column: SpiderColumn, rng: Random) -> float:
    name = column.name.lower()
    times = [other.name for other in table.columns if other.type == "time"]
    if _OFTEN_OPEN.search(name) and times[:1] != [column.name]:
        return rng.uniform(0.15, 0.4)
    if column.values or times[:1] == [column.name] or re.search(r"name|title", name):
        return 0.0
    return _NULL_SHARE if rng.random() < 0.3 else 0.0


def _is_category(column: SpiderColumn) -> bool:
    return not _is_name(column)


def _is_name(column: SpiderColumn) -> bool:
    return column.name.lower() in ("name", "title", "code")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
