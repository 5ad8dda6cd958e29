"""The rows that a SELECT joins: which of its sources they repeat, as keys and samples tell."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.schema.catalog import COUNTED_ROWS, Column, Table
from datasphinx.agent.sql.names import ColumnReference, ResolvedQuery, column_called
from datasphinx.agent.sql.selects import conjuncts, grouped_expressions, is_aggregated

Path = tuple[str, ...]
"""A source: its alias, after those of the subqueries that it is in."""
Place = tuple[Path, str]
"""A source and the name of one of its columns in lower case."""

_RESHAPED = ("group", "distinct", "limit", "offset", "qualify", "having")
_MAX_SOURCES = 40
_WRAPPERS = (exp.Paren, exp.Alias)


def conditions_of(scope: Scope, query: ResolvedQuery) -> Iterator[exp.Expr]:
    """Yield the conditions of a SELECT that hold for its joined rows, apart from those of outer joins."""
    yield from conjuncts(scope.expression.args.get("where"))
    for join in query.find_all(scope, exp.Join):
        yield from conjuncts(join.args.get("on"))


def is_unique(table: Table, column: Column) -> bool:
    """Return whether all rows of `table` were read and no value of `column` occurs twice."""
    rows = table.rows
    present = rows and round(rows * (1 - (column.null_share or 0)))
    return bool(present) and rows != COUNTED_ROWS and column.distinct == present


@dataclass
class JoinedRows:
    """The sources of a SELECT, with plain subqueries replaced by the sources that they read."""

    query: ResolvedQuery
    scope: Scope

    def __post_init__(self) -> None:
        """Collect sources and equations."""
        self.sources: dict[Path, Table | Scope] = {}
        self.is_known = True
        """Whether each source is a table or a subquery, so that its keys can be known."""
        self._subqueries: dict[Path, Scope] = {}
        self._equal: dict[Place, set[Place]] = {}
        self._computed: dict[Place, list[set[Place]]] = {}
        self._constant: set[Place] = set()
        self._conditions: list[tuple[exp.Expr, Path]] = []
        self._add(self.scope, ())

    def _add(self, scope: Scope, prefix: Path) -> None:
        for name, (node, source) in scope.selected_sources.items():
            path = (*prefix, name)
            if isinstance(node, exp.Lateral | exp.Unnest) or len(self.sources) > _MAX_SOURCES:
                self.is_known = False
            elif isinstance(source, Scope):
                if _is_plain(source.expression):
                    self._subqueries[path] = source
                    self._add(source, path)
                else:
                    self.sources[path] = source
            else:
                table = self.query.table(source)
                self.is_known = self.is_known and table is not None
                if table:
                    self.sources[path] = table
        for condition in conditions_of(scope, self.query):
            self._conditions.append((condition, prefix))
            if isinstance(condition, exp.EQ):
                self._add_equation(condition, prefix)

    def _add_equation(self, condition: exp.EQ, prefix: Path) -> None:
        sides = [(self.place(side, prefix), side) for side in (condition.this, condition.expression)]
        places = [place for place, _ in sides if place]
        if len(places) == 2:
            for one, other in (places, places[::-1]):
                self._equal.setdefault(one, set()).add(other)
        elif places:
            computed = next(side for place, side in sides if place is None)
            inputs = {self.place(column, prefix) for column in computed.find_all(exp.Column)} - {None}
            if self.paths(computed, prefix):
                self._computed.setdefault(places[0], []).append({place for place in inputs if place})
            else:
                self._constant.add(places[0])

    def place(self, node: exp.Expr, prefix: Path = ()) -> Place | None:
        """Return the place of the column that `node` is, through the subqueries; None for other expressions."""
        while isinstance(node, _WRAPPERS):
            node = node.this
        if not isinstance(node, exp.Column) or not node.table:
            return None
        path, name = (*prefix, node.table), node.name.lower()
        if path in self.sources:
            return path, name
        inner = self._output(path, name)
        return self.place(inner[0], inner[1]) if inner else None

    def _output(self, path: Path, name: str) -> tuple[exp.Expr, Path] | None:
        """Return the expression of an output of the subquery at `path`, and the prefix of its columns."""
        scope = self._subqueries.get(path)
        if scope is None:
            return None
        for item in scope.expression.expressions:
            if item.alias_or_name.lower() == name and not item.is_star:
                return item, path
            if item.is_star:
                owner = item.table if isinstance(item, exp.Column) else ""
                for alias in [owner] if owner else scope.selected_sources:
                    inner = (*path, alias)
                    source = self.sources.get(inner)
                    has_it = name in _names(source) if source else self._output(inner, name) is not None
                    if has_it:
                        return exp.column(name, alias), path
        return None

    def paths(self, node: exp.Expr, prefix: Path = ()) -> set[Path]:
        """Return the sources of the columns in `node`."""
        found: set[Path] = set()
        for column in node.find_all(exp.Column):
            path = (*prefix, column.table)
            if path in self.sources:
                found.add(path)
            elif inner := self._output(path, column.name.lower()):
                found |= self.paths(*inner)
        return found

    def column(self, place: Place | None) -> ColumnReference | None:
        """Return the column of the catalog at `place`."""
        table = self.sources.get(place[0]) if place else None
        return column_called(place[1], table) if place and isinstance(table, Table) else None

    def determined(self, sources: Collection[Path], places: Collection[Place] = ()) -> set[Path]:
        """Return the sources with one row at most for each row of `sources` with fixed values at `places`."""
        done, known = set(sources), {*places, *self._constant}

        def is_known(place: Place) -> bool:
            return any(
                one in known
                or one[0] in done
                or any(all(each[0] in done for each in inputs) for inputs in self._computed.get(one, ()))
                for one in self._equal_to(place)
            )

        while True:
            added = {
                path
                for path in self.sources.keys() - done
                if any(all(is_known((path, name)) for name in key) for key in self._keys[path])
            }
            if not added:
                return done
            done |= added

    def _equal_to(self, place: Place) -> set[Place]:
        """Return the places whose values equal that at `place`, with itself."""
        pending, seen = [place], {place}
        while pending:
            new = self._equal.get(pending.pop(), set()) - seen
            seen |= new
            pending += new
        return seen

    def key_among(self, path: Path, places: Sequence[Place | None]) -> set[int] | None:
        """Return which of `places` are the key of a source, apart from its fixed columns; None if its key is not known.

        The columns that equal those of the key stand for them.
        """
        for key in self._keys[path]:
            equal = [self._equal_to((path, name)) for name in key]
            left = [same for same in equal if same.isdisjoint(self._constant)]
            found = [next((at for at, place in enumerate(places) if place in same), None) for same in left]
            if None not in found:
                return {at for at in found if at is not None}
        return None

    def crossed(self, places: Collection[Place]) -> tuple[Path, Path] | None:
        """Return two sources of which each row of a third one has several, so that their rows are joined in pairs.

        Values at `places` are fixed.
        """
        fixed = self.determined([], places)
        of = {path: self.determined([path], places) for path in self.sources.keys() - fixed}
        leaves = [path for path in sorted(of) if not any(path in of[other] for other in of.keys() - {path})]
        pairs = ((one, other) for one, other in combinations(leaves, 2) if of[one] & of[other])
        return next((pair for pair in pairs if all(map(self.may_repeat, pair))), None)

    def may_repeat(self, path: Path) -> bool:
        """Return whether a source is joined by equations only, with columns of which values may occur twice."""
        source = self.sources[path]
        for condition, prefix in self._conditions:
            paths = self.paths(condition, prefix)
            if path in paths and len(paths) > 1 and not isinstance(condition, exp.EQ):
                return False
        if self._keys[path]:
            return True
        return isinstance(source, Table) and any(
            column.distinct is not None and source.rows is not None and column.distinct < source.rows
            for column in source.columns
            if column.name.lower() in self._joined_columns(path)
        )

    def _joined_columns(self, path: Path) -> set[str]:
        """Return the names of the columns of a source that equal a value of another source."""
        equal = {
            name for (own, name), others in self._equal.items() if own == path and any(o != path for o, _ in others)
        }
        return equal | {name for own, name in self._computed if own == path}

    def own_rows(self, path: Path) -> exp.Select | None:
        """Return a query for the rows of a table with the conditions on it alone; None for large tables and others."""
        table = self.sources[path]
        if not isinstance(table, Table) or table.rows is None or table.rows >= COUNTED_ROWS:
            return None
        alias, rows = path[-1], exp.select("1").limit(1)
        rows = rows.from_(exp.table_(table.name, db=table.schema, quoted=True, alias=alias))
        for condition, prefix in self._conditions:
            names = {column.table for column in condition.find_all(exp.Column)}
            if (*prefix, alias) == path and names == {alias} and not condition.find(exp.Query):
                rows = rows.where(condition.copy())
        return rows

    def repetition(self, path: Path) -> exp.Select | None:
        """Return a query that has a row if values of the joined columns occur twice; None if it would be expensive."""
        rows, columns = self.own_rows(path), sorted(self._joined_columns(path))
        names = [exp.column(name, path[-1]) for name in columns]
        return rows.group_by(*names).having("COUNT(*) > 1") if rows and names else None

    @cached_property
    def _keys(self) -> dict[Path, list[frozenset[str]]]:
        return {
            path: _keys_of_table(source) if isinstance(source, Table) else keys_of(source, self.query)
            for path, source in self.sources.items()
        }

    @property
    def first(self) -> Path | None:
        """The source that FROM names first."""
        return next(iter(self.sources), None)


def _is_plain(select: exp.Expr) -> bool:
    """Return whether a subquery returns its joined rows as they are."""
    if not isinstance(select, exp.Select) or any(select.args.get(name) for name in _RESHAPED):
        return False
    return not is_aggregated(select) and not any(item.find(exp.Window) for item in select.expressions)


def _names(source: Table | Scope) -> set[str]:
    if isinstance(source, Table):
        return {name.lower() for name in source.column_names}
    query = source.expression
    return {name.lower() for name in query.named_selects} if isinstance(query, exp.Query) else set()


def _keys_of_table(table: Table) -> list[frozenset[str]]:
    """Return the columns of the primary key, of keys that others refer to, and of columns found to be unique."""
    keys = [frozenset(name.lower() for name in table.primary_key)] if table.primary_key else []
    keys += [frozenset([column.name.lower()]) for column in table.columns if is_unique(table, column)]
    return keys


def keys_of(scope: Scope, query: ResolvedQuery) -> list[frozenset[str]]:
    """Return the sets of outputs of a subquery of which no two rows have the same values; none if none are known."""
    select = scope.expression
    if not isinstance(select, exp.Select):
        is_distinct = isinstance(select, exp.SetOperation) and bool(select.args.get("distinct"))
        return [frozenset(_names(scope))] if is_distinct else []
    limit = select.args.get("limit")
    if limit is not None and limit.expression is not None and limit.expression.name == "1":
        return [frozenset()]
    names = {item.unalias(): item.alias_or_name.lower() for item in select.expressions if not item.is_star}
    if is_aggregated(select):
        items = grouped_expressions(select)
        return [frozenset(names[item] for item in items)] if all(item in names for item in items) else []
    keys = [frozenset(names.values())] if select.args.get("distinct") and len(names) == len(select.expressions) else []
    for node, name in names.items():
        if isinstance(node, exp.Window) and isinstance(node.this, exp.RowNumber):
            parts = node.args.get("partition_by") or []
            keys += (
                [frozenset([name, *(names[part] for part in parts)])] if all(part in names for part in parts) else []
            )
    return [*keys, *_keys_of_rows(JoinedRows(query, scope), names)]


def _keys_of_rows(rows: JoinedRows, names: dict[exp.Expr, str]) -> Iterator[frozenset[str]]:
    outputs = {place: name for node, name in names.items() if (place := rows.place(node))}
    for path in rows.sources if rows.is_known else ():
        if rows.determined([path]) == rows.sources.keys():
            for key in rows._keys[path]:
                if all((path, name) in outputs for name in key):
                    yield frozenset(outputs[path, name] for name in key)
