"""Names and expressions of entries, resolved against a catalog."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from datasphinx.agent.knowledge.entries import Additivity, MetricEntry, TermEntry
from datasphinx.agent.schema.catalog import Catalog, ColumnKey, ForeignKey
from datasphinx.agent.schema.spelling import nearest
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.sql.names import key_of

_CUTOFF = 60
_MAX_CANDIDATES = 20_000
"""Names compared for a suggestion."""


class Unresolved(ValueError):
    """A name or an expression of an entry that does not fit the catalog, with a suggestion if there is one."""

    def __init__(self, message: str, suggestion: str = "") -> None:
        super().__init__(message)
        self.suggestion = suggestion


def find_table(name: str, catalog: Catalog) -> str:
    """Return the key of the table called `name`, ignoring case. Raise Unresolved if there is no such table."""
    key = catalog.key_of(name)
    if key is None:
        raise Unresolved(f"there is no table `{name}`", did_you_mean(name, catalog.full_names))
    return key


def find_column(name: str, catalog: Catalog) -> ColumnKey:
    """Return the key of a table and the name of its column for `table.column`, ignoring case and quotes.

    Raises:
        Unresolved: there is no such table or column.
    """
    splits = [(name[:at], name[at + 1 :]) for at, char in enumerate(name) if char == "."]
    if not splits:
        raise Unresolved(f"`{name}` must be written as `table.column`")
    for table, column in splits:
        key = catalog.key_of(table) or catalog.key_of(_unquoted(table))
        if key is not None:
            names = catalog.tables[key].column_names
            for each in names:
                if each.lower() in (column.lower(), _unquoted(column).lower()):
                    return key, each
            raise Unresolved(f"the table `{key}` has no column `{column}`", did_you_mean(column, names))
    find_table(splits[-1][0], catalog)
    raise Unresolved(f"there is no column `{name}`")


def column_or_none(name: str, catalog: Catalog) -> ColumnKey | None:
    """Return what `find_column` does; None if there is no such column."""
    try:
        return find_column(name, catalog)
    except Unresolved:
        return None


def _unquoted(name: str) -> str:
    """Return a name without the quotes that a database puts around it."""
    quoted = len(name) > 2 and name[0] + name[-1] in {'""', "``", "[]"}
    return name[1:-1] if quoted else name


def find_column_or_table(name: str, catalog: Catalog) -> tuple[str, str | None]:
    """Return the key of a table, and the column if `name` is `table.column`. Raise Unresolved if there is none."""
    if catalog.key_of(name) is not None or "." not in name:
        return find_table(name, catalog), None
    return find_column(name, catalog)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a sentence with the name of `names` that is most similar to `name`; "" if none is."""
    candidates = [each for each, _ in zip(names, range(_MAX_CANDIDATES), strict=False)]
    found = nearest(name, candidates, _CUTOFF)
    return f"Did you mean `{found[0]}`?" if found else ""


def parse_expression(sql: str, dialect: str) -> exp.Expr:
    """Return the tree of an SQL expression. Raise Unresolved if the text is not a single expression."""
    select = _parse_select(f"SELECT {sql}", sql, dialect, "expression")
    if len(select.expressions) != 1 or _clauses(select) != {"expressions"}:
        raise Unresolved(f"`{sql}` is not a single expression")
    expression: exp.Expr = select.expressions[0]
    return expression.unalias()


def parse_condition(sql: str, dialect: str) -> exp.Expr:
    """Return the tree of an SQL condition. Raise Unresolved if the text is not a single condition."""
    select = _parse_select(f"SELECT 1 WHERE {sql}", sql, dialect, "condition")
    if _clauses(select) != {"expressions", "where"}:
        raise Unresolved(f"`{sql}` is not a single condition")
    condition: exp.Expr = select.args["where"].this
    return condition


def _parse_select(statement: str, sql: str, dialect: str, kind: str) -> exp.Select:
    try:
        trees = parse(statement, dialect)
    except ValueError as error:
        raise Unresolved(f"the {kind} `{sql}` cannot be parsed: {error}") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Select):
        raise Unresolved(f"`{sql}` is not a single {kind}")
    return trees[0]


def _clauses(select: exp.Select) -> set[str]:
    return {name for name, value in select.args.items() if value}


@dataclass(frozen=True)
class Definition:
    """The SQL of a term or metric as trees, and the tables it needs."""

    expression: exp.Expr | None
    conditions: tuple[exp.Expr, ...]
    tables: tuple[str, ...]
    dimensions: tuple[str, ...] = ()
    """The columns by which a metric may be grouped besides its date, as `table.column` in lower case; empty for any."""
    date_column: str | None = None
    additivity: Additivity = "additive"

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns that the SQL names, as `table.column`; those without a table belong to the only one."""
        trees = [*([self.expression] if self.expression is not None else []), *self.conditions]
        columns = [column for tree in trees for column in tree.find_all(exp.Column)]
        only = self.tables[0] if len(self.tables) == 1 else ""
        names = (".".join(filter(None, (column.db, column.table or only, column.name))) for column in columns)
        return tuple(dict.fromkeys(names))

    def statement(self, catalog: Catalog, rows: int = 0) -> str:
        """Return a statement that computes the expression for the rows of the conditions; it returns up to `rows`."""
        query = exp.select(self.expression.copy() if self.expression else exp.Literal.number(1))
        query = join_tables(query, self.tables, catalog)
        if self.conditions:
            query = query.where(*(condition.copy() for condition in self.conditions))
        return print_statement(query.limit(rows), catalog.dialect)


def definition_of(entry: TermEntry | MetricEntry, catalog: Catalog) -> Definition | None:
    """Return the SQL of an entry; None if it is defined in words only.

    Raises:
        Unresolved: a text is not an expression, names no table, or names an unknown one; a metric has no aggregate
            function; a condition has one.
    """
    dialect = catalog.dialect
    expression = parse_expression(entry.expression, dialect) if entry.expression else None
    texts = entry.filters if isinstance(entry, MetricEntry) else filter(None, [entry.condition])
    conditions = tuple(parse_condition(text, dialect) for text in texts)
    named = [find_table(name, catalog) for name in entry.tables]
    if expression is None and not conditions:
        return None
    if isinstance(entry, MetricEntry) and expression and not has_aggregate(expression):
        raise Unresolved(
            f"the expression `{entry.expression}` has no aggregate function", "Write `SUM(...)`, for example."
        )
    for condition in conditions:
        if has_aggregate(condition):
            raise Unresolved(f"the condition `{condition.sql(dialect=dialect)}` has an aggregate function")
    trees = [*([expression] if expression is not None else []), *conditions]
    tables = tuple(dict.fromkeys([*named, *(key for tree in trees for key in tables_in(tree, catalog))]))
    if not tables:
        raise Unresolved("its SQL names no table", "Write columns as `table.column`, or list the `tables`.")
    if isinstance(entry, TermEntry):
        return Definition(expression, conditions, tables)
    columns = [".".join(find_column(name, catalog)).lower() for name in entry.dimensions]
    date_column = ".".join(find_column(entry.date_column, catalog)).lower() if entry.date_column else None
    return Definition(expression, conditions, tables, tuple(columns), date_column, entry.additivity)


def other_groups(columns: Iterable[str], definition: Definition, catalog: Catalog) -> list[str]:
    """Return those of `columns`, each `table.column`, by which a metric may not be grouped, sorted and in lower case.

    Besides its dimensions and its date, these may be the key of a table that such a column belongs to, and the columns
    of a table that such a column refers to.
    """
    named = {column.lower() for column in columns} if definition.dimensions else set()
    allowed = {*definition.dimensions, *filter(None, [definition.date_column])}
    tables = {name.rpartition(".")[0] for name in named & allowed}
    return sorted(
        name
        for name in named - allowed
        if not any(_identifies(name, table, catalog) for table in tables)
        and not any(_identifies(other, name.rpartition(".")[0], catalog) for other in allowed)
    )


def _identifies(name: str, table: str, catalog: Catalog) -> bool:
    """Return whether a column equals the primary key of `table`, whose other columns it determines."""
    key = catalog.key_of(table)
    own, _, column = name.rpartition(".")
    owner = catalog.key_of(own)
    if key is None or owner is None or len(catalog.tables[key].primary_key) != 1:
        return False
    names = {each.lower(): each for each in catalog.tables[owner].column_names}
    return catalog.are_equivalent((owner, names[column]), (key, catalog.tables[key].primary_key[0]))


def has_aggregate(tree: exp.Expr) -> bool:
    """Return whether `tree` has an aggregate function outside of subqueries."""
    return any(not is_nested(call, tree) for call in tree.find_all(exp.AggFunc))


def is_nested(node: exp.Expr, root: exp.Expr) -> bool:
    """Return whether `node` belongs to a subquery within `root`."""
    ancestor = node.parent
    while ancestor is not None and node is not root:
        if isinstance(ancestor, exp.Query):
            # The statement in which the text was parsed is not a subquery.
            return any(ancestor is other for other in root.walk())
        ancestor = ancestor.parent
    return False


def tables_in(tree: exp.Expr, catalog: Catalog) -> Iterator[str]:
    """Yield the keys of the tables that qualify a column of `tree`, except those that a subquery reads itself.

    Raises:
        Unresolved: there is no such table.
    """
    inner = {table.alias_or_name.lower() for table in tree.find_all(exp.Table)}
    inner |= {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for column in tree.find_all(exp.Column):
        if column.table and not (is_nested(column, tree) and column.table.lower() in inner):
            table = exp.table_(column.table, db=column.db or None)
            key = key_of(table, catalog)
            if key is None:
                find_table(f"{column.db}.{column.table}" if column.db else column.table, catalog)
            else:
                yield key


def join_tables(query: exp.Select, tables: Sequence[str], catalog: Catalog) -> exp.Select:
    """Return `query` with a FROM clause for `tables`, joined along foreign keys, with further tables on the paths."""
    joined = [tables[0]]
    query = query.from_(table_of(tables[0], catalog))
    for key in tables[1:]:
        if key in joined:
            continue
        path = _path(joined, key, catalog)
        if not path:
            query = query.join(table_of(key, catalog), join_type="CROSS")
            joined.append(key)
        for step, condition in path:
            query = query.join(table_of(step, catalog), on=condition)
            joined.append(step)
    return query


def table_of(key: str, catalog: Catalog) -> exp.Table:
    """Return the table with a key, quoted, for a FROM clause."""
    full = catalog.full_names[key]
    return exp.table_(full.name, db=full.schema, quoted=True)


def _path(joined: Sequence[str], goal: str, catalog: Catalog) -> list[tuple[str, exp.Expr]]:
    """Return the tables on the shortest path of foreign keys from `joined` to `goal`, each with its join condition."""
    neighbours: dict[str, list[tuple[str, exp.Expr]]] = {}
    for key, table in catalog.tables.items():
        for foreign in table.foreign_keys:
            if foreign.target in catalog.tables and foreign.target != key:
                condition = join_condition(key, foreign, catalog)
                neighbours.setdefault(key, []).append((foreign.target, condition))
                neighbours.setdefault(foreign.target, []).append((key, condition))
    previous: dict[str, tuple[str, exp.Expr] | None] = dict.fromkeys(joined)
    queue = deque(joined)
    while queue and goal not in previous:
        key = queue.popleft()
        for other, condition in neighbours.get(key, ()):
            if other not in previous:
                previous[other] = (key, condition)
                queue.append(other)
    path: list[tuple[str, exp.Expr]] = []
    step = previous.get(goal)
    while step is not None:
        path.append((goal, step[1]))
        goal = step[0]
        step = previous[goal]
    return path[::-1]


def join_condition(key: str, foreign: ForeignKey, catalog: Catalog) -> exp.Expr:
    """Return the condition that a foreign key of the table with a key holds."""
    columns = (column_of(key, column, catalog) for column in foreign.columns)
    targets = (column_of(foreign.target, column, catalog) for column in foreign.target_columns)
    pairs = zip(columns, targets, strict=False)
    return exp.and_(*(exp.EQ(this=column, expression=target) for column, target in pairs))


def column_of(key: str, column: str, catalog: Catalog) -> exp.Column:
    """Return a column of the table with a key, quoted and with the name of the table."""
    full = catalog.full_names[key]
    return exp.column(column, table=full.name, db=full.schema, quoted=True)
