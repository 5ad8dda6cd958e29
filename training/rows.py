"""Write SQLite databases of synthetic rows for a schema, so that gold statements over it return rows.

`sqlite3` is used directly because this module writes its own files; it never reads user data.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from datasphinx.agent.core.duckdb_text import quote_name
from datasphinx.agent.embedded.compact import table_nodes
from training.spider import SpiderColumn, SpiderSchema, SpiderTable
from training.values import Value, declared, make_values, skewed_choice

Place = tuple[str, str]
"""Table and column names in lower case."""

TextTable = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Name, columns and rows of a table of texts."""

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.Is)
_ROWS = (32, 48)
_LOOKUP_ROWS = (6, 9)
_EVENT_ROWS = (70, 110)
_NULL_SHARE = 0.12
_OFTEN_NULL = re.compile(
    r"end|clos|paid|return|resolv|settl|churn|cancel|left|remov|deactiv|deliver|ship|finish|mail|phone|comment|feedback|"
    r"reason|complet|score|bonus|tip$"
)


@dataclass
class Literals:
    """The literals that statements compare with columns, and the columns that they compare with each other."""

    values: dict[Place, list[str]] = field(default_factory=dict)
    """Distinct literals as text, in the order of the statements."""
    textual: set[Place] = field(default_factory=set)
    """Columns that are compared with non-numeric text."""
    joined: list[tuple[Place, Place]] = field(default_factory=list)
    """Pairs of columns that a statement compares with each other."""
    excluding: set[Place] = field(default_factory=set)
    """Columns in a NOT IN subquery, which must not contain NULL or nothing matches."""


def read_literals(schema: SpiderSchema, statements: Sequence[str]) -> Literals:
    """Return the literals that `statements` compare with columns of `schema`; unparsable statements are ignored.

    As in Spider, text in double quotes is a literal if no column in scope has that name.
    """
    columns = {table.name.lower(): {column.name.lower() for column in table.columns} for table in schema.tables}
    literals = Literals()
    for statement in dict.fromkeys(statements):
        try:
            tree = sqlglot.parse_one(statement, dialect="sqlite")
        except SqlglotError:
            continue
        for node in tree.find_all(*_COMPARISONS, exp.In, exp.Between):
            _read_comparison(node, columns, literals)
    return literals


def _read_comparison(node: exp.Expr, columns: Mapping[str, set[str]], literals: Literals) -> None:
    sides = list(_sides(node))
    places = [place_of(side, columns) for side in sides]
    own = next((place for place in places if place), None)
    if own is None:
        return
    for side, place in zip(sides, places, strict=True):
        if place and place != own:
            literals.joined.append((own, place))
            if isinstance(node.parent, exp.Not):
                literals.excluding.add(place)
        text = None if place else _literal(side)
        if text is not None:
            values = literals.values.setdefault(own, [])
            values.extend([text] if text not in values else [])
            if not _is_number(text) and not isinstance(node, exp.Like):
                literals.textual.add(own)


def _sides(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the operands of a comparison; for a subquery, its first selected column."""
    operands = [node.this, node.args.get("expression"), node.args.get("low"), node.args.get("high")]
    for side in (*operands, *node.expressions, node.args.get("query")):
        inner = side.find(exp.Select) if isinstance(side, exp.Subquery | exp.Query) else None
        if isinstance(inner, exp.Select):
            yield from (column for column in inner.expressions[:1] if isinstance(column, exp.Column))
        elif isinstance(side, exp.Expr):
            yield side


def place_of(column: exp.Expr, columns: Mapping[str, set[str]]) -> Place | None:
    """Return the table and name of a column, among the `columns` of each table; None for any other expression."""
    if not isinstance(column, exp.Column):
        return None
    name = column.name.lower()
    select = column.find_ancestor(exp.Select)
    while isinstance(select, exp.Select):
        scope = {table.alias_or_name.lower(): table.name.lower() for table in table_nodes(select)}
        tables = [scope[column.table.lower()]] if column.table.lower() in scope else list(scope.values())
        for table in tables if not column.table or column.table.lower() in scope else []:
            if name in columns.get(table, ()):
                return table, name
        select = select.find_ancestor(exp.Select)
    return None


def _literal(side: exp.Expr) -> str | None:
    if isinstance(side, exp.Neg) and isinstance(side.this, exp.Literal):
        return f"-{side.this.name}"
    if isinstance(side, exp.Column) and not side.table and side.this.args.get("quoted"):
        return str(side.name)
    return str(side.name) if isinstance(side, exp.Literal) else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def add_tables(tables: Sequence[TextTable], path: Path) -> None:
    """Add `tables` to the database at `path`."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for name, columns, rows in tables:
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'{column} TEXT' for column in columns)})")
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)


def fill(schema: SpiderSchema, statements: Sequence[str], path: Path, seed: int) -> None:
    """Create a database at `path` with the tables of `schema` and about 40 rows each, or 90 in tables of dated events.

    Foreign keys refer to existing rows with a skewed distribution. The literals that `statements` compare with a column
    are among its values. The same seed gives the same rows.

    Raises:
        FileExistsError: `path` exists.
        sqlite3.Error: the file cannot be written.
    """
    if path.exists():
        raise FileExistsError(path)
    rows = _Rows(schema, read_literals(schema, statements), Random(f"{schema.db_id} {seed}"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        for table in rows.tables.values():
            connection.execute(rows.definition(table))
            values = rows.rows_of(table)
            places = ", ".join("?" * len(table.columns))
            connection.executemany(f"INSERT INTO {quote_name(table.name)} VALUES ({places})", values)
        connection.commit()


class _Rows:
    """The values of all columns of a schema, generated on first use."""

    def __init__(self, schema: SpiderSchema, literals: Literals, rng: Random) -> None:
        self._rng = rng
        self.tables = {t.name.lower(): t for t in schema.tables if t.columns and t.name.lower() != "sqlite_sequence"}
        self._columns = {
            (key, column.name.lower()): column for key, table in self.tables.items() for column in table.columns
        }
        self.foreign = self._foreign_keys(schema)
        self._links = self._with_joins(literals)
        self._literals = self._at_targets(literals)
        self._not_null = literals.excluding | set(self._links.values())
        self._textual = {self._end(place) for place in literals.textual if place in self._columns}
        self._cache: dict[Place, list[Value]] = {}
        self._counts = {key: self._count(table) for key, table in self.tables.items()}

    def definition(self, table: SpiderTable) -> str:
        """Return the CREATE TABLE statement of `table`."""
        key = table.name.lower()
        parts = [f"{quote_name(column.name)} {self._kind((key, column.name.lower()))}" for column in table.columns]
        if table.primary_key:
            parts.append(f"PRIMARY KEY ({', '.join(map(quote_name, table.primary_key))})")
        for (own, name), target in self.foreign.items():
            if own == key:
                parent, column = self.tables[target[0]].name, self._columns[target].name
                own_name = quote_name(self._columns[own, name].name)
                parts.append(f"FOREIGN KEY ({own_name}) REFERENCES {quote_name(parent)} ({quote_name(column)})")
        return f"CREATE TABLE {quote_name(table.name)} ({', '.join(parts)})"

    def rows_of(self, table: SpiderTable) -> list[tuple[Value, ...]]:
        """Return the rows of `table`, without duplicates of the primary key."""
        key = table.name.lower()
        rows = zip(*(self._values((key, column.name.lower())) for column in table.columns), strict=False)
        keyed = [at for at, column in enumerate(table.columns) if column.name in table.primary_key]
        if not keyed:
            return list(rows)
        return list({tuple(row[at] for at in keyed): row for row in rows}.values())

    def _foreign_keys(self, schema: SpiderSchema) -> dict[Place, Place]:
        """Return the target of each foreign key column, without keys of unknown columns and cycles."""
        keys: dict[Place, Place] = {}
        for foreign in schema.foreign_keys:
            own, target = (
                (foreign.table.lower(), foreign.column.lower()),
                (foreign.target.lower(), foreign.target_column.lower()),
            )
            if own in self._columns and target in self._columns and own not in keys and _ends(target, keys) != own:
                keys[own] = target
        return keys

    def _with_joins(self, literals: Literals) -> Mapping[Place, Place]:
        """Return the foreign keys, and the columns that statements join without a declared key."""
        links = dict(self.foreign)
        for one, other in literals.joined:
            a, b = (other, one) if self._is_key(one) and not self._is_key(other) else (one, other)
            same_type = self._columns[a].type == self._columns[b].type if {a, b} <= set(self._columns) else False
            if same_type and not self._is_key(a) and a not in links and _ends(b, links) != a:
                links[a] = b
        return links

    def _at_targets(self, literals: Literals) -> dict[Place, list[str]]:
        targets: dict[Place, list[str]] = {}
        for place, values in literals.values.items():
            if place in self._columns:
                target = targets.setdefault(self._end(place), [])
                target.extend(value for value in values if value not in target)
        return targets

    def _end(self, place: Place) -> Place:
        return _ends(place, self._links)

    def _kind(self, place: Place) -> str:
        end = self._end(place)
        return declared(self._columns[end], self._literals.get(end, ()), end in self._textual)

    def _is_key(self, place: Place) -> bool:
        return place in self._columns and [name.lower() for name in self.tables[place[0]].primary_key] == [place[1]]

    def _count(self, table: SpiderTable) -> int:
        key = table.name.lower()
        sizes = [len(column.values) for column in table.columns if column.values and _is_name(column)]
        if sizes:
            return max(sizes)
        single = (key, table.primary_key[0].lower()) if len(table.primary_key) == 1 else None
        if single and key.startswith("ref_") and single not in self._links:
            return max(self._rng.randint(*_LOOKUP_ROWS), min(40, len(self._literals.get(single, ()))))
        has_foreign_key = any((key, column.name.lower()) in self.foreign for column in table.columns)
        dated = any(column.type == "time" for column in table.columns)
        return self._rng.randint(*(_EVENT_ROWS if has_foreign_key and dated else _ROWS))

    def _values(self, place: Place) -> list[Value]:
        if place not in self._cache:
            self._cache[place] = self._linked(place) if place in self._links else self._own(place)
        return self._cache[place]

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
        values = make_values(place[0], column, self._kind(place), literals, rows, unique, self._rng)
        return values if unique else self._with_nulls(place, values)

    def _with_nulls(self, place: Place, values: list[Value]) -> list[Value]:
        """Return `values` with some NULLs: many in columns of unfinished states such as `closed_at`, none in names."""
        table, column = self.tables[place[0]], self._columns[place]
        key = {name.lower() for name in table.primary_key} | {table.columns[0].name.lower()}
        if place[1] in key or place in self._not_null:
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
    if _OFTEN_NULL.search(name) and times[:1] != [column.name]:
        return rng.uniform(0.15, 0.4)
    if column.values or times[:1] == [column.name] or re.search(r"name|title", name):
        return 0.0
    return _NULL_SHARE if rng.random() < 0.3 else 0.0


def _is_name(column: SpiderColumn) -> bool:
    return column.name.lower() in ("name", "title", "code")
