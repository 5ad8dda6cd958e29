"""Resolution of the table and column names in a statement against the catalog."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from rapidfuzz import fuzz, process
from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope, walk_in_scope
from sqlglot.schema import MappingSchema

from datasphinx.agent.engines.base import Engine
from datasphinx.agent.errors import NamesUnknown
from datasphinx.agent.messages import Message
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.sql.dialects import exact_dialect
from datasphinx.agent.sql.guard import sanitize, shared_nodes, shared_trees
from datasphinx.agent.sql.selects import conditions_in, conjuncts
from datasphinx.agent.sql.statement_cache import StatementCache

E = TypeVar("E", bound=exp.Expr)

_OUTER = {"LEFT", "RIGHT", "FULL"}


class ColumnReference(NamedTuple):
    """A catalog table and one of its columns."""

    table: Table
    column: Column

    def __str__(self) -> str:
        return f"{self.table.key}.{self.column.name}"


def column_called(name: str, table: Table) -> ColumnReference | None:
    """Return the column of `table` called `name`, in any case; None if there is none."""
    found = (column for column in table.columns if column.name.lower() == name.lower())
    return next((ColumnReference(table, column) for column in found), None)


@dataclass(frozen=True)
class ResolvedQuery:
    """A query with qualified names and its scopes, innermost first."""

    catalog: Catalog
    scopes: tuple[Scope, ...]
    nodes: dict[int, tuple[exp.Expr, ...]] = field(default_factory=dict, compare=False, repr=False)
    """The nodes of the scopes that were searched, by the ids of these."""

    @property
    def dialect(self) -> str:
        """The SQL dialect, by its sqlglot name."""
        return self.catalog.dialect

    @property
    def engine(self) -> Engine:
        """The engine of the catalog."""
        return self.catalog.engine

    @property
    def tree(self) -> exp.Expr:
        """The whole statement."""
        return self.scopes[-1].expression.root()

    def selects(self) -> Iterator[tuple[Scope, exp.Select]]:
        """Return the SELECTs, each with its scope."""
        return ((scope, scope.expression) for scope in self.scopes if isinstance(scope.expression, exp.Select))

    def find_all(self, scope: Scope, *kinds: type[E]) -> Iterator[E]:
        """Return the nodes of `scope` of these kinds, without those of scopes in it; it is walked once."""
        if id(scope) not in self.nodes:
            self.nodes[id(scope)] = tuple(scope.walk())
        return (node for node in self.nodes[id(scope)] if isinstance(node, kinds))

    def table(self, source: exp.Expr | Scope | None) -> Table | None:
        """Return the catalog table that `source` refers to; None for subqueries and functions."""
        return table_of(source, self.catalog) if isinstance(source, exp.Table) else None

    def column_of(self, node: exp.Expr | None, scope: Scope) -> ColumnReference | None:
        """Return the catalog column that `node` refers to in `scope`; None if it is not a column of a catalog table."""
        table = self.table(_source_of(node, scope)) if isinstance(node, exp.Column) and node.table else None
        return column_called(node.name, table) if node and table else None


def _source_of(column: exp.Column, scope: Scope) -> exp.Table | Scope | None:
    """Return the source that `column` names, of `scope` or of the nearest one around it that has it."""
    around: Scope | None = scope
    while around is not None and column.table not in around.sources:
        around = around.parent
    return around.sources[column.table] if around else None


def outputs_of(scope: Scope) -> list[list[tuple[exp.Expr, Scope]]]:
    """Return the outputs of a query with its scope; of a UNION, those of each query. The first one names them."""
    if scope.set_operation_scopes:
        return [outputs for part in scope.set_operation_scopes for outputs in outputs_of(part)]
    outputs = scope.expression.selects if isinstance(scope.expression, exp.Select) else []
    return [[(output, scope) for output in outputs]]


def inner_outputs(node: exp.Expr, scope: Scope) -> list[tuple[exp.Expr, Scope]]:
    """Return the output of a derived table or CTE that the column `node` of `scope` is, in each query of a UNION."""
    source = _source_of(node, scope) if isinstance(node, exp.Column) else None
    queries = outputs_of(source) if isinstance(source, Scope) else [[]]
    names = [output.alias_or_name.lower() for output, _ in queries[0]]
    at = names.index(node.name.lower()) if node.name.lower() in names else len(names)
    return [(output.unalias(), inner) for outputs in queries for output, inner in outputs[at : at + 1]]


def inner_output(node: exp.Expr, scope: Scope) -> tuple[exp.Expr, Scope] | None:
    """Return the output of a derived table or CTE that the column `node` of `scope` is, with the scope that has it."""
    return next(iter(inner_outputs(node, scope)), None)


def _with_exact_aliases(tree: exp.Expr, catalog: Catalog) -> exp.Expr:
    """Return a copy of `tree` whose tables with a quoted name have it as alias too: sqlglot would fold it there."""
    copy = tree.copy()
    for node in copy.find_all(exp.Table) if catalog.engine.folds_unquoted else ():
        if not node.alias and node.this.args.get("quoted"):
            node.set("alias", exp.TableAlias(this=node.this.copy()))
    return copy


def _with_value_columns(tree: exp.Expr) -> exp.Expr | None:
    """Return a copy of `tree` where a function in FROM whose alias is used as a column has that column; None if none.

    sqlglot does not resolve the names of a correlated subquery that reads a function with unknown columns.
    """
    copy = tree.copy()
    columns = list(copy.find_all(exp.Column))
    bare = {column.name.lower() for column in columns if not column.table}
    owners = {column.table.lower() for column in columns}
    changed = False
    for source in copy.find_all(exp.Unnest, exp.Table):
        alias = source.args.get("alias")
        is_function = isinstance(source, exp.Unnest) or isinstance(source.this, exp.Func)
        if not is_function or not isinstance(alias, exp.TableAlias) or alias.columns or source.args.get("offset"):
            continue
        if alias.name.lower() in bare - owners:
            alias.set("columns", [alias.this.copy()])
            changed = True
    return copy if changed else None


def qualify_names(tree: exp.Expr, catalog: Catalog, *, expand_stars: bool = False) -> ResolvedQuery | None:
    """Qualify every column in a copy of `tree` with its table, using sqlglot's `qualify`; return None if that fails.

    With `expand_stars`, stars are replaced by the columns of catalog tables. Scopes, aliases, common table expressions
    and correlated subqueries follow the rules of the dialect.
    """
    nodes = list(tree.find_all(exp.Subquery, exp.Table))
    if any(isinstance(node, exp.Subquery) and isinstance(node.this, exp.Pivot) for node in nodes):
        # sqlglot has no scope for a PIVOT in parentheses.
        return None
    default = catalog.default_schema if catalog.has_schemas else None
    try:
        qualified = qualify(
            _with_exact_aliases(tree, catalog),
            dialect=catalog.dialect,
            # An unqualified table is in the session's schema, even if another schema has a table of this name.
            db=default,
            schema=_mapping((node.name.lower() for node in nodes if isinstance(node, exp.Table)), catalog),
            expand_stars=expand_stars,
            quote_identifiers=False,
            validate_qualify_columns=False,
            allow_partial_qualification=True,
        )
        return ResolvedQuery(catalog, tuple(traverse_scope(qualified)))
    except AssertionError:
        # sqlglot cannot resolve ORDER BY 1 where the first output is a star.
        return None if expand_stars else qualify_names(tree, catalog, expand_stars=True)
    except (OptimizeError, SqlglotError, RecursionError):
        named = _with_value_columns(tree)
        return qualify_names(named, catalog, expand_stars=expand_stars) if named else None


_resolved: StatementCache[tuple[Any, ...] | None] = StatementCache()
"""The parts of resolved queries besides their catalogs."""


def resolved_query(sql: str, catalog: Catalog, *, expand_stars: bool = False) -> ResolvedQuery | None:
    """Return the query `sql` with qualified names as `qualify_names` does; None if that fails.

    It fails for a text that is not exactly one query, or cannot be parsed. A statement is parsed and qualified once.
    Its scopes and their trees are shared by all callers, who must not modify them; see `shared_trees`.
    """
    text, findings = sanitize(sql, catalog.dialect, catalog.readable)
    try:
        # The text that runs instead of `sql` is that of other callers too.
        query = _resolved_text(sql if findings else text, catalog, expand_stars=expand_stars)
    except ValueError:
        return None
    return query if query and query.scopes else None


def _resolved_text(sql: str, catalog: Catalog, *, expand_stars: bool = False) -> ResolvedQuery | None:
    (tree,) = shared_trees(sql, catalog.dialect)

    def shared() -> tuple[Any, ...] | None:
        # `COUNT(*)` has nothing to expand.
        stars = shared_nodes(sql, catalog.dialect, exp.Star)
        if expand_stars and all(isinstance(star.parent, exp.Count) for star in stars):
            query = _resolved_text(sql, catalog)
        else:
            query = qualify_names(tree, catalog, expand_stars=expand_stars)
        try:
            for scope in query.scopes if query else ():
                # sqlglot computes these properties on first use, which is not thread-safe.
                _ = scope.selected_sources, scope.columns, scope.external_columns, scope.pivots
            return (query.scopes, query.nodes) if query else None
        except (SqlglotError, RecursionError, ValueError):
            return None

    found = _resolved.value((sql, expand_stars), catalog, shared)
    return ResolvedQuery(catalog, *found) if found else None


def table_of(source: exp.Table, catalog: Catalog) -> Table | None:
    """Return the catalog table that `source` names, ignoring case."""
    key = key_of(source, catalog)
    return None if key is None else catalog.tables[key]


def key_of(source: exp.Table, catalog: Catalog) -> str | None:
    """Return the key of the catalog table that `source` names: that of the engine, else one that differs in case."""
    if not isinstance(source.this, exp.Identifier):
        return None
    name, schema = catalog.engine.stored_name(source.this), source.db.lower()
    return catalog.key_of(name if schema in {"", (catalog.default_schema or "").lower()} else f"{source.db}.{name}")


def _mapping(names: Iterable[str], catalog: Catalog) -> MappingSchema:
    """Return the tables called `names` as a sqlglot schema, with names in the case to which `qualify` folds them."""
    # sqlglot would infer columns from an empty schema; any table prevents that.
    keys = [key for name in dict.fromkeys(names) for key in catalog.keys_named(name)] or list(islice(catalog.tables, 1))
    schema = MappingSchema(dialect=catalog.dialect, normalize=False)
    # All names need the same depth: if some tables have a schema, the others get the default one.
    default = catalog.default_schema if catalog.has_schemas else None
    for table in map(catalog.tables.__getitem__, keys):
        mapped = exp.table_(table.name, db=table.schema or default, quoted=True)
        columns = _folded_columns(table.column_names, catalog.engine)
        schema.add_table(catalog.engine.folded_for_sqlglot(mapped), columns, match_depth=False)
    return schema


@lru_cache(maxsize=1024)
def _folded_columns(names: tuple[str, ...], engine: Engine) -> dict[str, str]:
    return {engine.folded_for_sqlglot(exp.column(name, quoted=True)).name: "text" for name in names}


def connected_groups(names: Iterable[str], conditions: Iterable[set[str]]) -> list[set[str]]:
    """Partition `names` into groups connected by `conditions`; each condition is the set of names that it mentions.

    >>> [sorted(group) for group in connected_groups(["a", "b", "c"], [{"a", "c"}])]
    [['b'], ['a', 'c']]
    """
    groups = [{name} for name in names]
    for condition in conditions:
        overlapping = [group for group in groups if group & condition]
        if len(overlapping) > 1:
            groups = [group for group in groups if not group & condition] + [set().union(*overlapping)]
    return groups


def inner_join_equalities(select: exp.Expr) -> Iterator[exp.EQ]:
    """Yield the equalities of two columns that hold for every row of `select`; nothing if it has an outer join."""
    if any(join.side in _OUTER for join in select.args.get("joins") or ()):
        return
    for part in conditions_in(select):
        if isinstance(part, exp.EQ) and isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column):
            yield part


@dataclass(frozen=True)
class ReferencedNames:
    """Table keys, and columns as `table.column`, in the spelling of the catalog."""

    tables: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()


def referenced_names(sql: str, catalog: Catalog) -> ReferencedNames:
    """Return all tables and columns of `catalog` that `sql` names; none if it cannot be parsed.

    Names are resolved in their scope, through aliases, subqueries and common table expressions. A `*` refers to every
    column of its tables, except in `COUNT(*)`.
    """
    query = resolved_query(sql, catalog)
    if query is None:
        return ReferencedNames()
    tables = {table.key for scope in query.scopes for table in map(query.table, scope.sources.values()) if table}
    return ReferencedNames(
        frozenset(tables), frozenset(name for scope in query.scopes for name in _referenced_columns(query, scope))
    )


def _referenced_columns(query: ResolvedQuery, scope: Scope) -> Iterator[str]:
    for column in query.find_all(scope, exp.Column):
        if isinstance(column.this, exp.Star):
            yield from _all_columns(query, scope.sources.get(column.table))
        elif place := query.column_of(column, scope):
            yield str(place)

    select = scope.expression
    if isinstance(select, exp.Select) and any(isinstance(output, exp.Star) for output in select.selects):
        for _, source in scope.selected_sources.values():
            yield from _all_columns(query, source)


def _all_columns(query: ResolvedQuery, source: exp.Expr | Scope | None) -> Iterator[str]:
    table = query.table(source)
    return (f"{table.key}.{name}" for name in table.column_names) if table else iter(())


def resolve(sql: str, catalog: Catalog) -> ResolvedQuery | None:
    """Check that every column of a query exists in the tables that it reads; return the resolved query.

    Return None for constructs that sqlglot cannot resolve; the database then checks the names.

    Raises:
        NamesUnknown: a column is unknown or ambiguous; the error suggests the nearest names.
    """
    query = checked = _resolved_text(sql, catalog)
    if catalog.engine.dot_may_call:
        # With a star, PostgreSQL interprets a name that is not a column as a function of the row.
        checked = _resolved_text(sql, catalog, expand_stars=True)
    unknown = [_explain(column, scope, catalog) for scope, column in unresolved_columns(checked)] if checked else []
    if unknown:
        raise NamesUnknown(Message("several", problems=tuple(dict.fromkeys(unknown))))
    return query if checked else None


def unresolved_columns(query: ResolvedQuery) -> Iterator[tuple[Scope, exp.Column]]:
    """Yield the columns of `query` that no table in scope has, or more than one, each with its scope."""
    for scope in query.scopes:
        select = scope.expression
        if not isinstance(select, exp.Select):
            continue
        outside = scope.external_columns if not scope.is_correlated_subquery and not scope.pivots else []
        names = [*scope.unqualified_columns, *_unqualified_in_filters(select, scope, query.catalog)]
        for column in [*names, *outside, *_missing_in_source(scope, query.catalog)]:
            if not _is_tolerated(column, scope, query.catalog):
                yield scope, column


def nearest_names(name: str, catalog: Catalog, first: Iterable[str] = ()) -> list[str]:
    """Return up to three columns (`table.column`) and tables with the names closest to `name`, best first.

    Of equally close ones, those of the tables `first` come first. Tables that row rules deny are left out.
    """
    full_names: dict[str, list[str]] = {}
    columns = catalog.selection()
    for key in dict.fromkeys((*first, *columns)):
        if key in catalog.denied:
            continue
        full_names.setdefault(catalog.full_names[key].name.lower(), []).append(key)
        for column in columns[key]:
            full_names.setdefault(column.lower(), []).append(f"{key}.{column}")
    return _nearest(name, full_names)


def nearest_tables(name: str, catalog: Catalog) -> list[str]:
    """Return up to three tables with the names closest to `name`, best first, without those that row rules deny."""
    full_names: dict[str, list[str]] = {}
    for key, full_name in catalog.full_names.items():
        if key not in catalog.denied:
            full_names.setdefault(full_name.name.lower(), []).append(key)
    return _nearest(name, full_names)


def _nearest(name: str, full_names: Mapping[str, list[str]]) -> list[str]:
    close = process.extract(name.lower(), full_names.keys(), scorer=fuzz.ratio, score_cutoff=50, limit=3)
    return [full for match, _, _ in close for full in full_names[match]][:3]


def _unqualified_in_filters(select: exp.Select, scope: Scope, catalog: Catalog) -> Iterator[exp.Column]:
    """Yield the unknown columns in HAVING and QUALIFY, which sqlglot leaves without a table.

    It leaves outputs, merged columns of joins and columns of outer queries without one too.
    """
    known = {name.lower() for name in (*select.named_selects, *_merged_columns(select))}
    outer = scope.parent if _sees_outside(scope) else None
    while outer is not None:
        known.update(*(columns_of(source, catalog) for _, source in outer.selected_sources.values()))
        outer = outer.parent if _sees_outside(outer) else None
    for part in filter(None, map(select.args.get, ("having", "qualify"))):
        for node in walk_in_scope(part):
            if isinstance(node, exp.Column) and not node.table and node.name.lower() not in known:
                yield node


def _merged_columns(select: exp.Select) -> Iterator[str]:
    """Yield the columns that USING and NATURAL merge; sqlglot replaces these by equations."""
    for join in select.args.get("joins") or ():
        for equal in conjuncts(join.args.get("on")):
            sides = {side.name for side in (equal.left, equal.right)} if isinstance(equal, exp.EQ) else set()
            yield from sides if len(sides) == 1 else ()


def _sees_outside(scope: Scope) -> bool:
    return bool(scope.is_subquery or scope.is_udtf)


def _missing_in_source(scope: Scope, catalog: Catalog) -> Iterator[exp.Column]:
    """Yield the columns qualified with a table that has no such column."""
    for column in scope.columns:
        source = scope.sources.get(column.table)
        names = columns_of(source, catalog)
        if names and "*" not in names and column.name.lower() not in names:
            yield column
        elif names and catalog.engine.has_exact_columns and isinstance(source, exp.Table):
            table = table_of(source, catalog)
            if table and column.name not in table.column_names:
                yield column


def column_names(source: exp.Table | Scope | None, catalog: Catalog) -> Sequence[str]:
    """Return the column names of a table or subquery; none if they are unknown."""
    if isinstance(source, Scope):
        query = source.expression
        return query.named_selects if isinstance(query, exp.Query) else []
    table = table_of(source, catalog) if source else None
    return table.column_names if table else []


def columns_of(source: exp.Table | Scope | None, catalog: Catalog) -> set[str]:
    """Return the column names of a table or subquery in lower case; empty if unknown."""
    return {name.lower() for name in column_names(source, catalog)}


def _is_tolerated(column: exp.Column, scope: Scope, catalog: Catalog) -> bool:
    """Return whether the engine may accept an unknown `column`.

    These are unqualified names where a source has unknown columns, and names that the engine adds.
    """
    sources: list[exp.Table | Scope] = []
    visible: Scope | None = scope
    while visible is not None:
        sources += [source for _, source in visible.selected_sources.values()]
        visible = visible.parent if _sees_outside(visible) else None
    if not column.table and (scope.pivots or any(_has_unknown_columns(source, catalog) for source in sources)):
        return True
    is_argument = isinstance(column.parent, exp.Func) and not column.table
    if is_argument and column.name.upper() in exact_dialect(catalog.dialect).VALID_INTERVAL_UNITS:
        # A unit of time, as in DATENAME(weekday, x).
        return catalog.engine.has_unit_words
    return catalog.engine.accepts_unknown_column(column, scope)


def _has_unknown_columns(source: exp.Table | Scope, catalog: Catalog) -> bool:
    """Return whether `source` is a function, a PIVOT, or a subquery with a star."""
    if isinstance(source, Scope):
        return not isinstance(source.expression, exp.Query) or "*" in source.expression.named_selects
    return table_of(source, catalog) is None


def _explain(column: exp.Column, scope: Scope, catalog: Catalog) -> Message:
    sources = [name for name, source in scope.sources.items() if column.name.lower() in columns_of(source, catalog)]
    if not column.table and len(sources) > 1:
        return Message("column_ambiguous", column=column.name, tables=", ".join(sources))
    read = [scope.sources[column.table]] if column.table in scope.sources else scope.sources.values()
    tables = [table_of(source, catalog) for source in read if isinstance(source, exp.Table)]
    nearest = nearest_names(column.name, catalog, [table.key for table in tables if table])
    name = column.sql(dialect=catalog.dialect)
    problem = Message("column_unknown", column=name)
    return Message("with_nearest", problem=problem, nearest=", ".join(nearest)) if nearest else problem
