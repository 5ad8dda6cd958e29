"""Comparison of a statement with the definitions that its question names, by their syntax trees.

Expressions are compared in a canonical form: columns by their table and name, through aliases, subqueries and common
table expressions; without casts, parentheses and rounding; with the operands of symmetric operators sorted.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from datasphinx.agent.knowledge.overlay import JoinEnd, is_forbidden
from datasphinx.agent.knowledge.references import Definition, has_aggregate, other_groups
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.names import ResolvedQuery, inner_output, key_of, resolved_query
from datasphinx.agent.sql.selects import conjuncts

_SYMMETRIC = (exp.EQ, exp.NEQ, exp.Add, exp.Mul)
_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GT: exp.LT, exp.GTE: exp.LTE}
_NEGATED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ, exp.NEQ: exp.EQ, exp.LT: exp.GTE, exp.GTE: exp.LT, exp.GT: exp.LTE, exp.LTE: exp.GT,
}  # fmt: skip
_TRANSPARENT = (exp.Paren, exp.Alias, exp.Cast, exp.Round)
_MAX_DEPTH = 50


@dataclass(frozen=True)
class Usage:
    """How a statement uses a definition."""

    has_expression: bool
    """Whether it computes the expression; True if there is none."""
    missing: tuple[str, ...]
    """The conditions that it does not have, as SQL."""
    groups: tuple[str, ...] = ()
    """The columns by which it groups the metric although they are not among its dimensions."""
    is_added: bool = False
    """Whether it adds values of a metric that must not be added."""

    @property
    def is_complete(self) -> bool:
        """Whether the statement follows the definition."""
        return self.has_expression and not self.missing and not self.groups and not self.is_added


class StatementForms:
    """The expressions and conditions of a statement, in canonical form."""

    def __init__(self, sql: str, catalog: Catalog) -> None:
        """Set the statement; one whose names cannot be resolved has no expressions."""
        self._sql, self._catalog = sql, catalog

    @cached_property
    def _query(self) -> ResolvedQuery | None:
        # Forms are made of nodes of the tree, which gives these nodes other parents; so it is no shared one.
        query = resolved_query(self._sql, self._catalog, expand_stars=True)
        return query and ResolvedQuery(self._catalog, tuple(traverse_scope(query.tree.copy())))

    @property
    def is_resolved(self) -> bool:
        """Whether the names of the statement could be resolved."""
        return self._query is not None

    def usage(self, definition: Definition) -> Usage:
        """Return how the statement uses the expression and the conditions of `definition`.

        The use is complete if the names of the statement or of the definition cannot be resolved.
        """
        forms = StatementForms(definition.statement(self._catalog), self._catalog)
        own = forms._query
        if self._query is None or own is None:
            return Usage(True, ())
        reader = _Reader(own)
        root = own.scopes[-1]
        select = root.expression
        has_expression = definition.expression is None or self._has(select.expressions[0], root, reader)
        if not has_expression and not has_aggregate(select.expressions[0]):
            # The value of a row may be compared in another form, such as `weight >= 4000` for a class of weights.
            has_expression = self._names_columns(select.expressions[0], reader)
        where = select.args.get("where")
        conditions = list(_conjuncts(where.this)) if where else []
        missing = []
        for condition in conditions:
            if self._holds(condition, root, reader):
                continue
            negative = _negated(condition)
            negated = f"Not({reader.form(condition, root)})" if negative is None else reader.form(negative, root)
            # Rows to which a term does not apply are found with its definition too.
            if definition.expression is not None or negated not in self._conditions:
                missing.append(condition.sql(dialect=self._catalog.dialect))
        groups: tuple[str, ...] = ()
        is_added = False
        if definition.expression is not None:
            own_form = reader.form(select.expressions[0], root)
            if definition.dimensions:
                calls = {reader.form(call, root) for call in select.expressions[0].find_all(exp.AggFunc)}
                groups = tuple(dict.fromkeys(self._other_groups(calls, definition)))
            if definition.additivity != "additive":
                is_added = any(self._adds(own_form, definition))
        return Usage(has_expression, tuple(missing), groups, is_added)

    def _other_groups(self, calls: set[str], definition: Definition) -> Iterator[str]:
        """Yield the columns that group one of the aggregate functions `calls` and are not among the dimensions."""
        for reader, scope, node in self._nodes():
            plain = _without_case(node) if isinstance(node, exp.AggFunc) else None
            forms = [reader.form(each, scope) for each in (node, plain) if each is not None]
            if isinstance(node, exp.AggFunc) and not calls.isdisjoint(forms):
                yield from other_groups(_group_columns(scope, reader), definition, self._catalog)

    def _adds(self, form: str, definition: Definition) -> Iterator[bool]:
        """Yield True for each sum of values of the metric that must not be added."""
        for reader, scope, node in self._nodes():
            if not isinstance(node, exp.Sum):
                continue
            for column, inner in reader.sources(node.this, scope):
                if reader.form(column, inner) != form:
                    continue
                inner_groups, groups = set(_group_columns(inner, reader)), set(_group_columns(scope, reader))
                is_period = definition.date_column in inner_groups and definition.date_column not in groups
                yield definition.additivity == "non-additive" or is_period

    def compares(self, table: str, column: str, value: str) -> bool:
        """Return whether the statement compares the column with `value`."""
        name, literal = f"{table}.{column}".lower(), f"'{value}'"
        return any(name in atoms and literal in atoms for atoms in self._atoms)

    def _has(self, expression: exp.Expr, scope: Scope, reader: "_Reader") -> bool:
        """Return whether the statement has `expression`, or at least all of its aggregates."""
        if reader.form(expression, scope) in self._expressions:
            return True
        aggregates = [reader.form(call, scope) for call in expression.find_all(exp.AggFunc)]
        return len(aggregates) > 1 and all(form in self._expressions for form in aggregates)

    def _holds(self, condition: exp.Expr, scope: Scope, reader: "_Reader") -> bool:
        return reader.form(condition, scope) in self._conditions or self._has_parts(condition, reader)

    def _names_columns(self, expression: exp.Expr, reader: "_Reader") -> bool:
        """Return whether the statement has all columns of `expression`, except those of joins in its subqueries."""
        own = {id(node) for node in expression.find_all(exp.Column) if not _is_join(node.parent)}
        return all(
            reader.form(column, scope) in self._expressions
            for scope in reader.query.scopes
            for column in reader.query.find_all(scope, exp.Column)
            if id(column) in own
        )

    def _has_parts(self, condition: exp.Expr, reader: "_Reader") -> bool:
        """Return whether the statement has all conditions of the subquery of EXISTS or IN, as after a join with it."""
        query = condition.this if isinstance(condition, exp.Exists) else condition.args.get("query")
        select = query.unnest() if isinstance(query, exp.Query) else None
        scope = reader.scope_of(select) if isinstance(select, exp.Select) else None
        if select is None or scope is None:
            return False
        clauses = filter(None, (select.args.get("where"), select.args.get("having")))
        parts = [part for clause in clauses for part in _conjuncts(clause.this) if not _is_join(part)]
        return bool(parts) and all(self._holds(part, scope, reader) for part in parts)

    @cached_property
    def _expressions(self) -> set[str]:
        forms: set[str] = set()
        for reader, scope, node in self._nodes():
            if isinstance(node, exp.AggFunc | exp.Binary | exp.Func | exp.Column | exp.Subquery):
                forms.add(reader.form(node, scope))
            if isinstance(node, exp.AggFunc) and (plain := _without_case(node)):
                forms.add(reader.form(plain, scope))
        return forms

    @cached_property
    def _conditions(self) -> set[str]:
        return {reader.form(part, scope) for reader, scope, part in self._parts()}

    @cached_property
    def _atoms(self) -> list[set[str]]:
        return [
            {reader.form(atom, scope) for atom in node.find_all(exp.Column, exp.Literal)}
            for reader, scope, node in self._nodes()
            if isinstance(node, exp.EQ | exp.In | exp.NEQ)
        ]

    def _nodes(self) -> "Iterator[tuple[_Reader, Scope, exp.Expr]]":
        if self._query is None:
            return
        reader = _Reader(self._query)
        for scope in self._query.scopes:
            for node in self._query.find_all(scope, exp.Expr):
                yield reader, scope, node

    def _parts(self) -> "Iterator[tuple[_Reader, Scope, exp.Expr]]":
        """Yield the conditions that a statement applies to rows, one of a conjunction at a time."""
        for reader, scope, node in self._nodes():
            if isinstance(node, exp.Where | exp.Having):
                condition = node.this
            elif isinstance(node, exp.Join):
                condition = node.args.get("on")
            elif isinstance(node, exp.If | exp.CountIf):
                condition = node.this
            elif isinstance(node, exp.Sum | exp.Avg) and isinstance(node.this.unnest(), exp.Predicate | exp.Connector):
                # The number or the share of the rows for which a condition holds.
                condition = node.this
            else:
                continue
            for part in _conjuncts(condition) if condition is not None else ():
                yield reader, scope, part


def joins_among(sql: str, catalog: Catalog, forbidden: Sequence[tuple[JoinEnd, JoinEnd]]) -> list[str]:
    """Return the equality conditions of `sql` that join columns although `forbidden` contains the join."""
    query = resolved_query(sql, catalog)
    if query is None:
        return []
    found: dict[str, None] = {}
    for scope in query.scopes:
        for equality in query.find_all(scope, exp.EQ):
            first, second = (query.column_of(part, scope) for part in (equality.this, equality.expression))
            if first and second:
                ends = (first.table.key, first.column.name), (second.table.key, second.column.name)
                if is_forbidden(*ends, forbidden):
                    found[f"{first} = {second}"] = None
    return list(found)


@dataclass(frozen=True)
class _Reader:
    """Writes expressions of one query in canonical form."""

    query: ResolvedQuery
    _scopes: dict[int, Scope] = field(default_factory=dict)

    def form(self, node: exp.Expr, scope: Scope, depth: int = 0) -> str:
        """Return the canonical form of `node` in `scope`."""
        node = _simplified(node)
        if depth > _MAX_DEPTH:
            return "?"
        if isinstance(node, exp.Column):
            return self._column(node, scope, depth)
        if isinstance(node, exp.Literal):
            return f"'{node.name}'" if node.is_string else _number(node.name)
        if isinstance(node, exp.Table):
            return key_of(node, self.query.catalog) or node.name.lower()
        if isinstance(node, exp.Query) and (inner := self.scope_of(node)):
            scope = inner
        if isinstance(node, exp.And | exp.Or):
            return self._call(node, sorted(self.form(part, scope, depth + 1) for part in node.flatten()))
        if isinstance(node, exp.In) and node.expressions:
            values = sorted(self.form(value, scope, depth + 1) for value in node.expressions)
            return self._call(node, [self.form(node.this, scope, depth + 1), *values])
        if isinstance(node, _SYMMETRIC):
            operands = (self.form(part, scope, depth + 1) for part in (node.this, node.expression))
            return self._call(node, sorted(operands))
        return self._call(node, self._arguments(node, scope, depth))

    def sources(self, node: exp.Expr, scope: Scope, depth: int = 0) -> Iterator[tuple[exp.Expr, Scope]]:
        """Yield the aggregate expressions of subqueries that `node` reads, and those that it contains itself."""
        if node.find(exp.AggFunc):
            yield _simplified(node), scope
        for column in node.find_all(exp.Column) if depth <= _MAX_DEPTH else ():
            output = inner_output(column, scope)
            if output:
                yield from self.sources(*output, depth + 1)

    def columns(self, node: exp.Expr, scope: Scope, depth: int = 0) -> Iterator[str]:
        """Yield the columns of tables that `node` reads, also through subqueries, as `table.column` in lower case."""
        for column in node.find_all(exp.Column) if depth <= _MAX_DEPTH else ():
            reference = self.query.column_of(column, scope)
            output = inner_output(column, scope)
            if reference:
                yield str(reference).lower()
            elif output:
                yield from self.columns(*output, depth + 1)

    def _column(self, node: exp.Column, scope: Scope, depth: int) -> str:
        reference = self.query.column_of(node, scope)
        if reference:
            return str(reference).lower()
        output = inner_output(node, scope)
        return self.form(*output, depth + 1) if output else f"?.{node.name.lower()}"

    def scope_of(self, node: exp.Expr) -> Scope | None:
        """Return the scope of a SELECT of the query."""
        if not self._scopes:
            self._scopes.update({id(scope.expression): scope for scope in self.query.scopes})
        return self._scopes.get(id(node))

    def _arguments(self, node: exp.Expr, scope: Scope, depth: int) -> Iterator[str]:
        for name, value in sorted(node.args.items()):
            if name == "alias" or value in (None, False, []):
                continue
            for part in value if isinstance(value, list) else [value]:
                yield self.form(part, scope, depth + 1) if isinstance(part, exp.Expr) else str(part).lower()

    @staticmethod
    def _call(node: exp.Expr, arguments: Iterable[str]) -> str:
        return f"{type(node).__name__}({', '.join(arguments)})"


def _group_columns(scope: Scope, reader: _Reader) -> Iterator[str]:
    group = scope.expression.args.get("group")
    if group is not None:
        yield from reader.columns(group, scope)


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions that AND connects, with BETWEEN as two."""
    for part in conjuncts(condition):
        if isinstance(part, exp.Between):
            yield exp.GTE(this=part.this, expression=part.args["low"])
            yield exp.LTE(this=part.this, expression=part.args["high"])
        else:
            yield part


def _is_join(condition: exp.Expr | None) -> bool:
    """Return whether a condition compares two columns for equality."""
    return isinstance(condition, exp.EQ) and all(
        isinstance(part, exp.Column) for part in (condition.this, condition.expression)
    )


def _simplified(node: exp.Expr) -> exp.Expr:
    """Return an expression with the same value, without parentheses, casts and rounding, as a basic comparison."""
    while isinstance(node, _TRANSPARENT):
        node = node.this
    if isinstance(node, exp.Not):
        positive = _negated(node.this)
        return node if positive is None else _simplified(positive)
    if isinstance(node, exp.Between):
        low, high = node.args["low"], node.args["high"]
        return exp.And(
            this=exp.GTE(this=node.this, expression=low), expression=exp.LTE(this=node.this, expression=high)
        )
    if isinstance(node, exp.In) and len(node.expressions) == 1:
        return exp.EQ(this=node.this, expression=node.expressions[0])
    if type(node) in _FLIPPED:
        return _FLIPPED[type(node)](this=node.expression, expression=node.this)
    return node


def _negated(node: exp.Expr) -> exp.Expr | None:
    """Return the opposite of a comparison; None for other conditions."""
    while isinstance(node, exp.Paren):
        node = node.this
    if type(node) in _NEGATED:
        return _NEGATED[type(node)](this=node.this, expression=node.expression)
    if isinstance(node, exp.In) and len(node.expressions) == 1:
        return exp.NEQ(this=node.this, expression=node.expressions[0])
    return None


def _without_case(call: exp.AggFunc) -> exp.Expr | None:
    """Return `SUM(x)` for `SUM(CASE WHEN condition THEN x END)`, also with ELSE 0 or NULL; None for other calls."""
    case = call.this
    if isinstance(case, exp.Case) and len(case.args["ifs"]) == 1 and case.this is None:
        branch, default = case.args["ifs"][0], case.args.get("default")
        value = branch.args.get("true")
    elif isinstance(case, exp.If):
        value, default = case.args.get("true"), case.args.get("false")
    else:
        return None
    is_neutral = default is None or isinstance(default, exp.Null) or default.name == "0"
    # The parts stay in their tree, in which names are resolved.
    return type(call)(this=value.copy()) if is_neutral and value is not None else None


def _number(text: str) -> str:
    try:
        return repr(float(text))
    except ValueError:
        return text
