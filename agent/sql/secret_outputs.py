"""Which columns of a statement's result hold values of secret columns.

The lineage of each output is followed through aliases, expressions, stars, subqueries, common table expressions and set
operations. Where it cannot be decided the output counts as secret.
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from agent.catalog.schema import Catalog, Table
from agent.sql.guard import parse
from agent.sql.resolved import resolved

_Output = tuple[str, bool]
"""The name of an output in lower case, and whether it is secret."""


def names_secrets(sql: str, catalog: Catalog) -> bool:
    """Return whether `sql` names a secret column of a table that it reads, or a whole row with one."""
    try:
        trees = parse(sql, catalog.dialect)
    except ValueError:
        return True
    for tree in trees:
        holders = [node for node in tree.find_all(exp.Table) if _has_secrets(node, catalog)]
        tables = [table for node in holders for table in _tables(node, catalog)]
        secret = {column.name.lower() for table in tables for column in table.columns if column.secret}
        rows = {name.lower() for node in holders for name in (node.name, node.alias)}
        named = {node.name.lower() for node in tree.find_all(exp.Identifier)}
        if holders and (secret & named or _names_rows(tree, rows)):
            return True
    return False


def _names_rows(tree: exp.Expr, rows: set[str]) -> bool:
    """Return whether `tree` has a star, other than COUNT(*), or a column called like one of the tables in `rows`."""
    stars = (node for node in tree.find_all(exp.Star) if not isinstance(node.parent, exp.Count))
    columns = (node for node in tree.find_all(exp.Column) if not node.table and node.name.lower() in rows)
    return any(stars) or any(columns)


def secret_outputs(sql: str, catalog: Catalog, width: int) -> list[int]:
    """Return the positions, among the `width` columns of its result, that may hold values of secret columns.

    The number of values, as `COUNT(column)` gives it, and ranks are not values.
    """
    try:
        trees = parse(sql, catalog.dialect)
    except ValueError:
        return list(range(width))
    if not any(_has_secrets(node, catalog) for tree in trees for node in tree.find_all(exp.Table)):
        return []
    outputs = _outputs_of(trees[0], catalog) if len(trees) == 1 else None
    if outputs is None or len(outputs) != width:
        return list(range(width))
    return [at for at, (_, secret) in enumerate(outputs) if secret]


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
        self._functions: dict[int, bool] = {}

    def outputs(self, scope: Scope) -> Sequence[_Output] | None:
        """Return the outputs of `scope` in their order; None where they are not known."""
        if id(scope) not in self._known:
            # A scope that refers to itself finds nothing known.
            self._known[id(scope)] = None
            self._known[id(scope)] = self._examined(scope)
        return self._known[id(scope)]

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
            found.append((output.output_name.lower(), self._is_secret(output, scope)))
        return found

    def _combined(self, query: exp.SetOperation, scope: Scope) -> Sequence[_Output] | None:
        parts = [self.outputs(part) for part in scope.set_operation_scopes]
        first = parts[0] if parts else None
        if first is None or query.args.get("by_name") or any(part is None or len(part) != len(first) for part in parts):
            return None
        secret = [any(part[at][1] for part in parts if part) for at in range(len(first))]
        with_ = scope.expression.find_ancestor(exp.With)
        if with_ and with_.args.get("recursive") and any(secret):
            # Each round may move a value to another column.
            secret = [True] * len(secret)
        return [(name, flag) for (name, _), flag in zip(first, secret, strict=True)]

    def _is_secret(self, node: exp.Expr, scope: Scope) -> bool:
        if isinstance(node, exp.Count) and _counts_values(node):
            return False
        if isinstance(node, exp.Query):
            return self._is_secret_query(node, scope)
        if isinstance(node, exp.Column):
            return isinstance(node.this, exp.Star) or self._is_secret_column(node, scope)
        if isinstance(node, exp.Star | exp.TableColumn):
            return True
        # The order within a window gives ranks, not values.
        parts: Iterator[exp.Expr] = iter([node.this]) if isinstance(node, exp.Window) else node.iter_expressions()
        return any(self._is_secret(part, scope) for part in parts)

    def _is_secret_query(self, query: exp.Query, scope: Scope) -> bool:
        inner = query.unnest()
        found = next((each for each in scope.subquery_scopes if each.expression is inner), None)
        outputs = self.outputs(found) if found else None
        return outputs is None or any(secret for _, secret in outputs)

    def _is_secret_column(self, column: exp.Column, scope: Scope) -> bool:
        # Without a table it is the alias of an output, a whole row, or the value of a table function.
        name = column.table or column.name
        around: Scope | None = scope
        while around is not None and name not in around.sources:
            around = around.parent
        if around is None:
            return True
        source = around.sources[name]
        if not column.table and not _is_function(source):
            return True
        if isinstance(source, exp.Table):
            return self._is_secret_in_table(column.name.lower(), source, around)
        return self._is_secret_in_scope(column.name.lower(), source, around)

    def _is_secret_in_table(self, name: str, source: exp.Table, scope: Scope) -> bool:
        if isinstance(source.this, exp.Func):
            return self._takes_secrets(source.this, scope)
        tables = _tables(source, self._catalog)
        columns = [column for table in tables for column in table.columns]
        named = [column for column in columns if column.name.lower() == name]
        return not tables or any(column.secret for column in named or columns)

    def _is_secret_in_scope(self, name: str, source: Scope, around: Scope) -> bool:
        if source.is_udtf:
            return self._takes_secrets(source.expression, around)
        outputs = self.outputs(source)
        if outputs is None:
            return True
        names = _alias_columns(source) or [output for output, _ in outputs]
        if len(names) != len(outputs):
            return any(secret for _, secret in outputs)
        flags = [secret for known, (_, secret) in zip(names, outputs, strict=True) if known == name]
        return any(flags or (secret for _, secret in outputs))

    def _takes_secrets(self, function: exp.Expr, scope: Scope) -> bool:
        """Return whether the arguments of a table function hold secret values."""
        if id(function) not in self._functions:
            parts = [part for part in function.iter_expressions() if part.arg_key != "alias"]
            # One that refers to itself is taken for secret.
            self._functions[id(function)] = True
            self._functions[id(function)] = any(self._is_secret(part, scope) for part in parts)
        return self._functions[id(function)]


def _is_function(source: exp.Table | Scope) -> bool:
    return source.is_udtf if isinstance(source, Scope) else isinstance(source.this, exp.Func)


def _counts_values(node: exp.Count) -> bool:
    """Return whether `node` counts rows or the values of columns, and not what a condition selects."""
    counted = node.this.expressions if isinstance(node.this, exp.Distinct) else [node.this, *node.expressions]
    return all(isinstance(each, exp.Column | exp.Star | exp.Literal) for each in counted if each)


def _alias_columns(source: Scope) -> list[str]:
    """Return the names that an alias such as `AS t(a, b)` gives the outputs of `source`, in lower case."""
    parent = source.expression.parent
    alias = parent.args.get("alias") if isinstance(parent, exp.Subquery | exp.CTE) else None
    return [column.name.lower() for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
