"""Which columns of a statement's result hold values of secret columns.

The lineage of each output is followed through aliases, expressions, stars, subqueries, common table expressions and set
operations. A condition that mixes a secret column with another column makes every output of its SELECT secret: it may
make the other column equal to the secret one. Where something cannot be decided it counts as secret.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain
from typing import NamedTuple

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from agent.catalog.schema import Catalog, Table
from agent.sql.guard import parse
from agent.sql.resolved import resolved


class _Origin(NamedTuple):
    """What the value of an expression is computed from: secret columns, other columns, both, or only constants."""

    secret: bool
    open: bool

    @property
    def mixed(self) -> bool:
        return self.secret and self.open


_CONSTANT, _SECRET, _OPEN, _MIXED = (
    _Origin(False, False),
    _Origin(True, False),
    _Origin(False, True),
    _Origin(True, True),
)

_Output = tuple[str, _Origin]
"""The name of an output in lower case, and its origin."""

_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile, exp.PercentRank, exp.CumeDist)
_GENERATORS = (exp.UDTF, exp.Explode, exp.GenerateSeries, exp.ExplodingGenerateSeries, exp.Inline)
"""Functions that make rows of their arguments, also where these are constants."""
_UNDECIDED = (exp.Star, exp.TableColumn, exp.PositionalColumn, exp.Columns)
_LISTS = (
    exp.Where, exp.PreWhere, exp.Having, exp.Qualify, exp.Group, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Order,
    exp.Ordered, exp.Sort, exp.Cluster, exp.Distinct, exp.Tuple, exp.And, exp.Or, exp.Xor, exp.Not, exp.Paren,
)  # fmt: skip
"""Nodes whose parts are predicates or keys of their own."""
_OTHER_CLAUSES = {"expressions", "from_", "with_", "joins", "laterals", "windows", "limit", "offset"}


def reads_secrets(sql: str, catalog: Catalog) -> bool:
    """Return whether `sql` reads a table with a secret column; True where it cannot be parsed."""
    try:
        trees = parse(sql, catalog.dialect)
    except ValueError:
        return True
    return any(_has_secrets(node, catalog) for tree in trees for node in tree.find_all(exp.Table))


def names_columns_after_secrets(sql: str, catalog: Catalog) -> bool:
    """Return whether a PIVOT in `sql` may give columns the values of secret columns as names.

    True where that cannot be decided. A PIVOT whose values are listed names its columns after the statement.
    """
    try:
        trees = parse(sql, catalog.dialect)
    except ValueError:
        # What cannot be parsed has no PIVOT that the guard let pass.
        return False
    if not any(_has_secrets(node, catalog) for tree in trees for node in tree.find_all(exp.Table)):
        return False
    pivots = [node for tree in trees for node in tree.find_all(exp.Pivot)]
    return any(not node.args.get("unpivot") and _pivots_on_secrets(node, catalog) for node in pivots)


def _pivots_on_secrets(pivot: exp.Pivot, catalog: Catalog) -> bool:
    keys = [key for key in (pivot.args.get("fields") or pivot.expressions) if not _is_listed(key)]
    if not keys:
        return False
    if pivot.args.get("fields") or not isinstance(pivot.this, exp.Table | exp.Subquery):
        return True
    query = exp.Select(expressions=[exp.alias_(key.copy(), f"key{at}") for at, key in enumerate(keys)])
    query.set("from_", exp.From(this=pivot.this.copy()))
    around: exp.Expr | None = pivot
    tables: list[exp.Expr] = []
    while around is not None:
        with_ = around.args.get("with_")
        tables = [*(with_.expressions if with_ else ()), *tables]
        around = around.parent
    if tables:
        query.set("with_", exp.With(expressions=[table.copy() for table in tables]))
    outputs = _outputs_of(query, catalog)
    return outputs is None or any(origin.secret for _, origin in outputs)


def _is_listed(key: exp.Expr) -> bool:
    """Return whether `key` is a column IN a list of literals."""
    if not isinstance(key, exp.In) or key.args.get("query") or key.args.get("field"):
        return False
    return bool(key.expressions) and all(isinstance(each.unalias(), exp.Literal) for each in key.expressions)


def secret_outputs(sql: str, catalog: Catalog, width: int) -> list[int]:
    """Return the positions, among the `width` columns of its result, that may hold values of secret columns.

    The number of values, as `COUNT(column)` gives it, and ranks are not values.
    """
    if not reads_secrets(sql, catalog):
        return []
    try:
        trees = parse(sql, catalog.dialect)
    except ValueError:
        return list(range(width))
    outputs = _outputs_of(trees[0], catalog) if len(trees) == 1 else None
    if outputs is None or len(outputs) != width:
        return list(range(width))
    return [at for at, (_, origin) in enumerate(outputs) if origin.secret]


def _outputs_of(tree: exp.Expr, catalog: Catalog) -> Sequence[_Output] | None:
    found = resolved(tree, catalog, expand_stars=True)
    if found is None or not found.scopes or tree.find(exp.Pivot):
        return None
    try:
        return _Lineage(catalog).outputs(found.scopes[-1])
    except RecursionError:
        return None


def _tables(node: exp.Table, catalog: Catalog) -> list[Table]:
    """Return the tables of the catalog that `node` may name: those with its name in any case, in its schema."""
    schema = node.db.lower()
    keys = catalog.keys_named(node.name)
    named = [catalog.tables[key] for key in keys]
    return [table for table in named if not schema or schema in {(table.schema or "").lower(), _default(catalog)}]


def _default(catalog: Catalog) -> str:
    return (catalog.default_schema or "").lower()


def _has_secrets(node: exp.Table, catalog: Catalog) -> bool:
    return any(column.secret for table in _tables(node, catalog) for column in table.columns)


class _Lineage:
    """Follows the outputs of scopes to the columns of tables; each scope and function is examined once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[int, Sequence[_Output] | None] = {}
        self._functions: dict[int, _Origin] = {}
        self._tainted: set[int] = set()

    def outputs(self, scope: Scope) -> Sequence[_Output] | None:
        """Return the outputs of `scope` in their order; None where they are not known."""
        if id(scope) not in self._known:
            # A scope that refers to itself finds nothing known.
            self._known[id(scope)] = None
            self._known[id(scope)] = self._examined(scope)
        return self._known[id(scope)]

    def _is_tainted(self, scope: Scope) -> bool:
        """Return whether the rows of `scope`, and so their number, may tell secret values."""
        self.outputs(scope)
        return id(scope) in self._tainted

    def _examined(self, scope: Scope) -> Sequence[_Output] | None:
        query = scope.expression
        if isinstance(query, exp.SetOperation):
            return self._combined(query, scope)
        if not isinstance(query, exp.Select):
            return None
        found: list[_Output] = []
        for output in query.expressions:
            if output.is_star or output.find(exp.Columns):
                return None
            found.append((output.output_name.lower(), self._origin(output, scope)))
        if self._has_mixed_rows(query, scope, found):
            return self._taint(scope, found)
        return found

    def _taint(self, scope: Scope, outputs: Sequence[_Output]) -> Sequence[_Output]:
        self._tainted.add(id(scope))
        return [(name, _MIXED) for name, _ in outputs]

    def _combined(self, query: exp.SetOperation, scope: Scope) -> Sequence[_Output] | None:
        parts = [self.outputs(part) for part in scope.set_operation_scopes]
        first = parts[0] if parts else None
        if first is None or query.args.get("by_name") or any(part is None or len(part) != len(first) for part in parts):
            return None
        known = [part for part in parts if part is not None]
        found = [(name, _union(part[at][1] for part in known)) for at, (name, _) in enumerate(first)]
        compares = isinstance(query, exp.Intersect | exp.Except) and any(origin.mixed for _, origin in found)
        order = query.args.get("order")
        if (
            compares
            or any(self._is_tainted(part) for part in scope.set_operation_scopes)
            or self._has_secret_limit(query, scope)
            or (order and any(self._key_origin(key, scope, found).mixed for key in _atoms(order)))
        ):
            return self._taint(scope, found)
        with_ = scope.expression.find_ancestor(exp.With)
        if with_ and with_.args.get("recursive") and any(origin.secret for _, origin in found):
            # Each round may move a value to another column.
            return self._taint(scope, found)
        return found

    def _has_mixed_rows(self, query: exp.Select, scope: Scope, outputs: Sequence[_Output]) -> bool:
        """Return whether the rows of `query` may tell secret values.

        They do where a condition or key mixes secret columns with others, or where a secret is their number.
        """
        if self._has_secret_limit(query, scope) or any(
            self._has_mixed_source(source, scope) for _, source in scope.selected_sources.values()
        ):
            return True
        generators = (node for output in query.expressions for node in output.find_all(*_GENERATORS))
        if any(self._origin(node, scope).secret for node in generators if node.find_ancestor(exp.Select) is query):
            return True
        joins = list(scope.find_all(exp.Join))
        if any(
            join.args.get("using") or join.args.get("method") == "NATURAL" for join in joins if not join.args.get("on")
        ):
            return True
        arrays = (column for join in joins if join.kind == "ARRAY" for column in join.find_all(exp.Column))
        if any(self._origin(column, scope).secret for column in arrays):
            return True
        conditions = [condition for join in joins if (condition := join.args.get("on"))]
        clauses = [value for name, value in query.args.items() if value and name not in _OTHER_CLAUSES]
        group = query.args.get("group")
        if group and group.args.get("all") and any(origin.mixed for _, origin in outputs):
            return True
        parts = chain.from_iterable(
            map(_atoms, (each for each in (*conditions, *clauses) if isinstance(each, exp.Expr)))
        )
        if any(self._key_origin(part, scope, outputs).mixed for part in parts):
            return True
        windows = chain(scope.find_all(exp.Window), _named_windows(scope))
        return any(self._origin(key, scope).mixed for window in windows for key in _window_keys(window))

    def _has_mixed_source(self, source: exp.Table | Scope, scope: Scope) -> bool:
        if isinstance(source, exp.Table):
            return isinstance(source.this, exp.Func) and self._function_origin(source.this, scope).secret
        if not source.is_udtf:
            return self._is_tainted(source)
        inner = _lateral_query(source)
        if inner:
            return self._is_tainted(inner)
        return self._function_origin(source.expression, scope).secret

    def _has_secret_limit(self, query: exp.Query, scope: Scope) -> bool:
        limits = [query.args[name] for name in ("limit", "offset") if query.args.get(name)]
        return any(self._origin(limit, scope).secret for limit in limits)

    def _key_origin(self, key: exp.Expr, scope: Scope, outputs: Sequence[_Output]) -> _Origin:
        """Return the origin of a predicate or key of `scope`, which may be the name or the number of an output."""
        if isinstance(key, exp.Var):
            # ORDER BY ALL.
            return _MIXED if any(origin.mixed for _, origin in outputs) else _CONSTANT
        if isinstance(key, exp.Literal) and key.is_int:
            return next((origin for _, origin in outputs[int(key.name) - 1 :][:1]), _MIXED)
        named = [origin for name, origin in outputs if isinstance(key, exp.Column) and name == key.name.lower()]
        is_alias = named and isinstance(key, exp.Column) and not key.table and key.name not in scope.sources
        return _union(named if is_alias else [*named, self._origin(key, scope)])

    def _origin(self, node: exp.Expr, scope: Scope) -> _Origin:
        if isinstance(node, exp.Count) and _counts_values(node):
            return _OPEN
        if isinstance(node, exp.Exists) and isinstance(node.this, exp.Query):
            found = _subquery_scope(node.this, scope)
            return _MIXED if found is None or self._is_tainted(found) else _OPEN
        if isinstance(node, exp.Query):
            return self._query_origin(node, scope)
        if isinstance(node, exp.Column):
            return _MIXED if isinstance(node.this, exp.Star) else self._column_origin(node, scope)
        if isinstance(node, _UNDECIDED):
            return _MIXED
        if isinstance(node, exp.Window):
            return self._window_origin(node, scope)
        origin = _union(self._origin(part, scope) for part in node.iter_expressions())
        # An aggregate of constants tells how many rows there are.
        is_open = isinstance(node, _GENERATORS) or (isinstance(node, exp.AggFunc) and origin == _CONSTANT)
        return _union((origin, _OPEN)) if is_open else origin

    def _window_origin(self, window: exp.Window, scope: Scope) -> _Origin:
        value = self._origin(window.this, scope)
        windows = [window, *(_named_windows(scope) if window.args.get("alias") else ())]
        frames = (frame for each in windows if (frame := each.args.get("spec")))
        counts = isinstance(window.this, exp.Count) and not any(self._origin(frame, scope).secret for frame in frames)
        if counts or isinstance(window.this, _RANKS):
            return _union((value, _OPEN))
        keys = [self._origin(key, scope) for each in windows for key in _window_keys(each)]
        # The keys choose the row whose value this is.
        is_secret = value.secret or any(key.secret for key in keys)
        return _Origin(is_secret, value.open or any(key.mixed for key in keys))

    def _query_origin(self, query: exp.Query, scope: Scope) -> _Origin:
        found = _subquery_scope(query, scope)
        outputs = self.outputs(found) if found else None
        return _MIXED if outputs is None else _union(origin for _, origin in outputs)

    def _column_origin(self, column: exp.Column, scope: Scope) -> _Origin:
        # Without a table it is the alias of an output, a whole row, or the value of a table function.
        name = column.table or column.name
        around: Scope | None = scope
        while around is not None and name not in around.sources:
            around = around.parent
        if around is None:
            return _MIXED
        source = around.sources[name]
        if not column.table and not _is_function(source):
            return _MIXED
        if isinstance(source, exp.Table):
            return self._origin_in_table(column.name.lower(), source, around)
        origin = self._origin_in_scope(column.name.lower(), source, around)
        return origin if origin.secret else _OPEN

    def _origin_in_table(self, name: str, source: exp.Table, scope: Scope) -> _Origin:
        if isinstance(source.this, exp.Func):
            return _union((self._function_origin(source.this, scope), _OPEN))
        tables = _tables(source, self._catalog)
        columns = [column for table in tables for column in table.columns]
        if source.alias_column_names and any(column.secret for column in columns):
            # Its columns have other names.
            return _MIXED
        named = [column for column in columns if column.name.lower() == name]
        if not tables:
            return _MIXED
        if not named:
            return _MIXED if any(column.secret for column in columns) else _OPEN
        return _SECRET if any(column.secret for column in named) else _OPEN

    def _origin_in_scope(self, name: str, source: Scope, around: Scope) -> _Origin:
        inner = _lateral_query(source) if source.is_udtf else source
        if inner is None:
            return self._function_origin(source.expression, around)
        outputs = self.outputs(inner)
        if outputs is None:
            return _MIXED
        names = _alias_columns(source) or [output for output, _ in outputs]
        if len(names) != len(outputs):
            return _union(origin for _, origin in outputs)
        found = [origin for known, (_, origin) in zip(names, outputs, strict=True) if known == name]
        return _union(found or (origin for _, origin in outputs))

    def _function_origin(self, function: exp.Expr, scope: Scope) -> _Origin:
        """Return the origin of the arguments of a table function."""
        if id(function) not in self._functions:
            parts = [part for part in function.iter_expressions() if part.arg_key != "alias"]
            # One that refers to itself is taken for secret.
            self._functions[id(function)] = _MIXED
            self._functions[id(function)] = _union(self._origin(part, scope) for part in parts)
        return self._functions[id(function)]


def _union(origins: Iterable[_Origin]) -> _Origin:
    return reduce(lambda one, other: _Origin(one.secret or other.secret, one.open or other.open), origins, _CONSTANT)


def _atoms(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the predicates and keys that a clause consists of."""
    if not isinstance(node, _LISTS):
        yield node
        return
    for part in node.iter_expressions():
        yield from _atoms(part)


def _window_keys(window: exp.Window) -> Iterator[exp.Expr]:
    """Yield what a window is partitioned and ordered by, and what bounds its frame."""
    for part in window.iter_expressions():
        if part.arg_key in {"this", "alias"}:
            continue
        yield from _atoms(part)


def _named_windows(scope: Scope) -> Sequence[exp.Window]:
    """Return the windows that the WINDOW clause of `scope` names."""
    return scope.expression.args.get("windows") or ()


def _lateral_query(source: Scope) -> Scope | None:
    """Return the scope of the subquery that stands in LATERAL (...); None for functions."""
    query = source.expression.this
    if not isinstance(query, exp.Query):
        return None
    return next((each for each in source.traverse() if each.expression is query.unnest()), None)


def _subquery_scope(query: exp.Query, scope: Scope) -> Scope | None:
    inner = query.unnest()
    return next((each for each in scope.subquery_scopes if each.expression is inner), None)


def _is_function(source: exp.Table | Scope) -> bool:
    return source.is_udtf if isinstance(source, Scope) else isinstance(source.this, exp.Func)


def _counts_values(node: exp.Count) -> bool:
    """Return whether `node` counts rows or the values of columns, and not what a condition selects."""
    counted = node.this.expressions if isinstance(node.this, exp.Distinct) else [node.this, *node.expressions]
    return all(isinstance(each, exp.Column | exp.Star | exp.Literal) for each in counted if each)


def _alias_columns(source: Scope) -> list[str]:
    """Return the names that an alias such as `AS t(a, b)` gives the outputs of `source`, in lower case."""
    named = source.expression if source.is_udtf else source.expression.parent
    alias = named.args.get("alias") if isinstance(named, exp.Subquery | exp.CTE | exp.Lateral) else None
    return [column.name.lower() for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
