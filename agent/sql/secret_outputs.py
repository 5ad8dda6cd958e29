"""Lineage analysis: the columns of a statement's result that may contain values of secret columns.

The lineage of each output is followed through aliases, expressions, stars, subqueries, common table expressions and set
operations. A condition that mixes a secret column with another column makes every output of its SELECT secret, since it
may make the other column equal to the secret one. Undecidable cases count as secret.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain
from typing import NamedTuple

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.schema.catalog import Catalog, Table
from datasphinx.agent.sql.guard import shared_nodes, shared_trees
from datasphinx.agent.sql.names import qualify_names
from datasphinx.agent.sql.selects import names_columns_by_values


class _Origin(NamedTuple):
    """The inputs of an expression: secret columns, other (open) columns, both, or only constants."""

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
"""Name of an output in lower case, and its origin."""

_RANK_FUNCTIONS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile, exp.PercentRank, exp.CumeDist)
_GENERATORS = (exp.UDTF, exp.Explode, exp.GenerateSeries, exp.ExplodingGenerateSeries, exp.Inline)
"""Functions that turn arguments into rows, including constant arguments."""
_UNDECIDABLE = (exp.Star, exp.TableColumn, exp.PositionalColumn, exp.Columns)
_COMPOUND_NODES = (
    exp.Where, exp.PreWhere, exp.Having, exp.Qualify, exp.Group, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Order,
    exp.Ordered, exp.Sort, exp.Cluster, exp.Distinct, exp.Tuple, exp.And, exp.Or, exp.Xor, exp.Not, exp.Paren,
)  # fmt: skip
"""Nodes whose children are separate predicates or keys."""
_OTHER_CLAUSES = {"expressions", "from_", "with_", "joins", "laterals", "windows", "limit", "offset"}


def reads_secrets(sql: str, catalog: Catalog) -> bool:
    """Return whether `sql` reads a table with a secret column; True if it cannot be parsed."""
    try:
        nodes = shared_nodes(sql, catalog.dialect, exp.Table)
    except ValueError:
        return True
    tables = (table for node in nodes for table in _tables(node, catalog)) if catalog.secret_names else ()
    return any(column.secret for table in tables for column in table.columns)


def names_columns_after_secrets(sql: str, catalog: Catalog) -> bool:
    """Return whether `sql` reads a table with a secret column, and has a PIVOT that names columns after values."""
    try:
        pivots = shared_nodes(sql, catalog.dialect, exp.Pivot)
        return any(map(names_columns_by_values, pivots)) and reads_secrets(sql, catalog)
    except ValueError:
        # The guard rejects statements that cannot be parsed.
        return False


def secret_outputs(sql: str, catalog: Catalog, width: int) -> list[int]:
    """Return the indexes of result columns, of `width` in all, that may contain values of secret columns.

    Counts, such as `COUNT(column)`, and ranks do not count as values.
    """
    if not reads_secrets(sql, catalog):
        return []
    try:
        trees = shared_trees(sql, catalog.dialect)
    except ValueError:
        return list(range(width))
    outputs = _outputs_of(trees[0], catalog) if len(trees) == 1 else None
    if outputs is None or len(outputs) != width:
        return list(range(width))
    return [at for at, (_, origin) in enumerate(outputs) if origin.secret]


def _outputs_of(tree: exp.Expr, catalog: Catalog) -> Sequence[_Output] | None:
    if catalog.engine.aliases_hide_columns and _hides_columns(tree, catalog):
        return None
    query = qualify_names(tree, catalog, expand_stars=True)
    if query is None or not query.scopes or tree.find(exp.Pivot):
        return None
    try:
        return _Lineage(catalog).outputs(query.scopes[-1])
    except RecursionError:
        return None


def _hides_columns(tree: exp.Expr, catalog: Catalog) -> bool:
    """Return whether an alias of a secret value may hide another column."""
    values: dict[str, list[exp.Expr]] = {}
    for node in tree.find_all(exp.Alias, exp.CTE):
        if isinstance(node, exp.Alias) or node.args.get("scalar"):
            values.setdefault(node.alias.lower(), []).append(node.this)
    secret, found = set(catalog.secret_names), {""}
    while found:
        found = {name for name in values.keys() - secret if any(_names_any(value, secret) for value in values[name])}
        secret |= found
    tables = {table.key: table for node in tree.find_all(exp.Table) for table in _tables(node, catalog)}
    columns = {name.lower() for table in tables.values() for name in table.column_names}
    hiding = {name for name in values.keys() & secret if name in columns or len(values[name]) > 1}
    return any(
        name in hiding and not any(column is node for value in values[name] for node in value.walk())
        for column in tree.find_all(exp.Column)
        for name in [column.parts[0].name.lower()]
    )


def _names_any(value: exp.Expr, names: Container[str]) -> bool:
    """Return whether `value` has a column or qualifier in `names`, or a star."""
    if value.find(exp.Star, exp.Columns):
        return True
    return any(part.name.lower() in names for column in value.find_all(exp.Column) for part in column.parts)


def _tables(node: exp.Table, catalog: Catalog) -> list[Table]:
    """Return the catalog tables that `node` may name: those with its name in any case, in its schema."""
    schema, default = node.db.lower(), (catalog.default_schema or "").lower()
    tables = [catalog.tables[key] for key in catalog.keys_named(node.name)]
    return [table for table in tables if not schema or schema in {(table.schema or "").lower(), default}]


class _Lineage:
    """Lineage of the outputs of scopes; each scope and function is examined once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._outputs: dict[int, Sequence[_Output] | None] = {}
        self._functions: dict[int, _Origin] = {}
        self._tainted: set[int] = set()

    def outputs(self, scope: Scope) -> Sequence[_Output] | None:
        """Return the outputs of `scope` in order; None if unknown."""
        if id(scope) not in self._outputs:
            # A recursive reference to this scope gets None.
            self._outputs[id(scope)] = None
            self._outputs[id(scope)] = self._compute_outputs(scope)
        return self._outputs[id(scope)]

    def _is_tainted(self, scope: Scope) -> bool:
        """Return whether the rows of `scope`, and so their number, may reveal secret values."""
        self.outputs(scope)
        return id(scope) in self._tainted

    def _compute_outputs(self, scope: Scope) -> Sequence[_Output] | None:
        query = scope.expression
        if isinstance(query, exp.SetOperation):
            return self._set_operation_outputs(query, scope)
        if not isinstance(query, exp.Select):
            return None
        outputs: list[_Output] = []
        for output in query.expressions:
            if output.is_star or output.find(exp.Columns):
                return None
            outputs.append((output.output_name.lower(), self._origin(output, scope)))
        if self._has_mixed_rows(query, scope, outputs):
            return self._taint(scope, outputs)
        return outputs

    def _taint(self, scope: Scope, outputs: Sequence[_Output]) -> Sequence[_Output]:
        self._tainted.add(id(scope))
        return [(name, _MIXED) for name, _ in outputs]

    def _set_operation_outputs(self, query: exp.SetOperation, scope: Scope) -> Sequence[_Output] | None:
        parts = [self.outputs(part) for part in scope.set_operation_scopes]
        first = parts[0] if parts else None
        if first is None or query.args.get("by_name") or any(part is None or len(part) != len(first) for part in parts):
            return None
        branches = [part for part in parts if part is not None]
        outputs = [(name, _union(branch[at][1] for branch in branches)) for at, (name, _) in enumerate(first)]
        compares = isinstance(query, exp.Intersect | exp.Except) and any(origin.mixed for _, origin in outputs)
        order = query.args.get("order")
        if (
            compares
            or any(self._is_tainted(part) for part in scope.set_operation_scopes)
            or self._has_secret_limit(query, scope)
            or (order and any(self._key_origin(key, scope, outputs).mixed for key in _predicates_and_keys(order)))
        ):
            return self._taint(scope, outputs)
        with_ = scope.expression.find_ancestor(exp.With)
        if with_ and with_.args.get("recursive") and any(origin.secret for _, origin in outputs):
            # Each iteration may move a value to another column.
            return self._taint(scope, outputs)
        return outputs

    def _has_mixed_rows(self, query: exp.Select, scope: Scope, outputs: Sequence[_Output]) -> bool:
        """Return whether the rows of `query` may reveal secret values.

        That is so if a condition or key mixes secret columns with others, or a secret value limits their number.
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
            map(_predicates_and_keys, (clause for clause in (*conditions, *clauses) if isinstance(clause, exp.Expr)))
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
        """Return the origin of a predicate or key of `scope`; a key may be the name or position of an output."""
        if isinstance(key, exp.Var):
            # ORDER BY ALL.
            return _MIXED if any(origin.mixed for _, origin in outputs) else _CONSTANT
        if isinstance(key, exp.Literal) and key.is_int:
            return next((origin for _, origin in outputs[int(key.name) - 1 :][:1]), _MIXED)
        matches = [origin for name, origin in outputs if isinstance(key, exp.Column) and name == key.name.lower()]
        is_alias = matches and isinstance(key, exp.Column) and not key.table and key.name not in scope.sources
        return _union(matches if is_alias else [*matches, self._origin(key, scope)])

    def _origin(self, node: exp.Expr, scope: Scope) -> _Origin:
        if isinstance(node, exp.Count):
            arguments = node.this.expressions if isinstance(node.this, exp.Distinct) else [node.this, *node.expressions]
            # A count of the results of a condition may reveal secret values.
            if all(isinstance(item, exp.Column | exp.Star | exp.Literal) for item in arguments if item):
                return _OPEN
        if isinstance(node, exp.Exists) and isinstance(node.this, exp.Query):
            inner = _subquery_scope(node.this, scope)
            return _MIXED if inner is None or self._is_tainted(inner) else _OPEN
        if isinstance(node, exp.Query):
            inner = _subquery_scope(node, scope)
            outputs = self.outputs(inner) if inner else None
            return _MIXED if outputs is None else _union(origin for _, origin in outputs)
        if isinstance(node, exp.Column):
            return _MIXED if isinstance(node.this, exp.Star) else self._column_origin(node, scope)
        if isinstance(node, _UNDECIDABLE):
            return _MIXED
        if isinstance(node, exp.Window):
            return self._window_origin(node, scope)
        origin = _union(self._origin(part, scope) for part in node.iter_expressions())
        # An aggregate of constants reveals the number of rows.
        is_open = isinstance(node, _GENERATORS) or (isinstance(node, exp.AggFunc) and origin == _CONSTANT)
        return _union((origin, _OPEN)) if is_open else origin

    def _window_origin(self, window: exp.Window, scope: Scope) -> _Origin:
        value = self._origin(window.this, scope)
        windows = [window, *(_named_windows(scope) if window.args.get("alias") else ())]
        frames = (frame for definition in windows if (frame := definition.args.get("spec")))
        counts = isinstance(window.this, exp.Count) and not any(self._origin(frame, scope).secret for frame in frames)
        if counts or isinstance(window.this, _RANK_FUNCTIONS):
            return _union((value, _OPEN))
        keys = [self._origin(key, scope) for definition in windows for key in _window_keys(definition)]
        # The keys select the row from which the value comes.
        is_secret = value.secret or any(key.secret for key in keys)
        return _Origin(is_secret, value.open or any(key.mixed for key in keys))

    def _column_origin(self, column: exp.Column, scope: Scope) -> _Origin:
        # An unqualified column is an output alias, a whole row, or the value of a table function.
        name = column.table or column.name
        ancestor: Scope | None = scope
        while ancestor is not None and name not in ancestor.sources:
            ancestor = ancestor.parent
        if ancestor is None:
            return _MIXED
        source = ancestor.sources[name]
        is_function = source.is_udtf if isinstance(source, Scope) else isinstance(source.this, exp.Func)
        if not column.table and not is_function:
            return _MIXED
        if isinstance(source, exp.Table):
            return self._origin_in_table(column.name.lower(), source, ancestor)
        origin = self._origin_in_scope(column.name.lower(), source, ancestor)
        return origin if origin.secret else _OPEN

    def _origin_in_table(self, name: str, source: exp.Table, scope: Scope) -> _Origin:
        if isinstance(source.this, exp.Func):
            return _union((self._function_origin(source.this, scope), _OPEN))
        tables = _tables(source, self._catalog)
        columns = [column for table in tables for column in table.columns]
        if source.alias_column_names and any(column.secret for column in columns):
            # The alias renames the columns.
            return _MIXED
        matches = [column for column in columns if column.name.lower() == name]
        if not tables:
            return _MIXED
        if not matches:
            return _MIXED if any(column.secret for column in columns) else _OPEN
        return _SECRET if any(column.secret for column in matches) else _OPEN

    def _origin_in_scope(self, name: str, source: Scope, ancestor: Scope) -> _Origin:
        inner = _lateral_query(source) if source.is_udtf else source
        if inner is None:
            return self._function_origin(source.expression, ancestor)
        outputs = self.outputs(inner)
        if outputs is None:
            return _MIXED
        names = _alias_columns(source) or [output for output, _ in outputs]
        if len(names) != len(outputs):
            return _union(origin for _, origin in outputs)
        origins = [origin for output, (_, origin) in zip(names, outputs, strict=True) if output == name]
        return _union(origins or (origin for _, origin in outputs))

    def _function_origin(self, function: exp.Expr, scope: Scope) -> _Origin:
        """Return the origin of the arguments of a table function."""
        if id(function) not in self._functions:
            parts = [part for part in function.iter_expressions() if part.arg_key != "alias"]
            # A recursive function counts as secret.
            self._functions[id(function)] = _MIXED
            self._functions[id(function)] = _union(self._origin(part, scope) for part in parts)
        return self._functions[id(function)]


def _union(origins: Iterable[_Origin]) -> _Origin:
    return reduce(lambda left, right: _Origin(left.secret or right.secret, left.open or right.open), origins, _CONSTANT)


def _predicates_and_keys(node: exp.Expr) -> Iterator[exp.Expr]:
    if not isinstance(node, _COMPOUND_NODES):
        yield node
        return
    for part in node.iter_expressions():
        yield from _predicates_and_keys(part)


def _window_keys(window: exp.Window) -> Iterator[exp.Expr]:
    """Yield the partition keys, order keys and frame bounds of a window."""
    for part in window.iter_expressions():
        if part.arg_key in {"this", "alias"}:
            continue
        yield from _predicates_and_keys(part)


def _named_windows(scope: Scope) -> Sequence[exp.Window]:
    return scope.expression.args.get("windows") or ()


def _lateral_query(source: Scope) -> Scope | None:
    """Return the scope of the subquery in LATERAL (...); None for functions."""
    query = source.expression.this
    if not isinstance(query, exp.Query):
        return None
    return next((scope for scope in source.traverse() if scope.expression is query.unnest()), None)


def _subquery_scope(query: exp.Query, scope: Scope) -> Scope | None:
    inner = query.unnest()
    return next((subquery for subquery in scope.subquery_scopes if subquery.expression is inner), None)


def _alias_columns(source: Scope) -> list[str]:
    """Return the column names of an alias such as `AS t(a, b)`, in lower case."""
    aliased = source.expression if source.is_udtf else source.expression.parent
    alias = aliased.args.get("alias") if isinstance(aliased, exp.Subquery | exp.CTE | exp.Lateral) else None
    return [column.name.lower() for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
