"""Row rules: predicates per table that a source puts on every statement, at every reference of the table.

A reference becomes a subquery of the same name that keeps only the permitted rows, so that joins, aggregates and
subqueries around it see no other. The method is that of row-level security views (Stonebraker and Wong 1974, query
modification); `agent.sql.row_barrier` writes the subquery so that no condition of the statement is evaluated before the
rule. A second pass over the text that will run finds every reference again and compares what filters it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from agent.catalog.schema import IGNORES_CASE, Catalog, Table
from agent.errors import ConfigurationError, NotPermitted, RowRuleNotApplied, RowRuleParameterMissing
from agent.sql.dialects import print_statement
from agent.sql.guard import parse
from agent.sql.leakproof import is_leakproof
from agent.sql.output_names import name_outputs
from agent.sql.parameters import escape, place
from agent.sql.row_barrier import cte_name, filtered_table, permitted_rows
from agent.sql.row_predicates import SETTING, parse_predicate
from agent.sql.sources import names_cte

_KEPT = {"joins", "pivots", "laterals", "sample", "alias"}
"""Arguments of a table reference, besides its name, that the subquery in its place takes over."""

_CLOSED = {"deny", "false"}
"""Rules that permit no row at all."""


@dataclass(frozen=True)
class _Rule:
    """The rule of one table: its predicate; None where the table is closed.

    `origin` is the table that the predicate was written for, where that is another: a parent of this partition.
    """

    key: str
    predicate: exp.Expr | None
    parameters: tuple[str, ...] = ()
    origin: str | None = None

    @property
    def is_open(self) -> bool:
        """True for the rule `true`, which permits every row."""
        return isinstance(self.predicate, exp.Boolean) and bool(self.predicate.this)


class RowRules:
    """The row rules of one source, parsed and checked once."""

    def __init__(self, rules: Mapping[str, str], dialect: str, catalog: Catalog) -> None:
        """Read `rules`: by table a predicate over its columns with `:name` parameters; `deny` or `false` closes it.

        Tables are named as the catalog spells them; only engines that ignore case in names ignore it here. A table
        without a rule of its own that shares rows with others follows them: a partition or inheritance child has the
        rule of its parent, a parent of a table with a rule is closed, and so is a view, since it may show any row. The
        rule `true` opens a table.

        Raises:
            ConfigurationError: a table is not in the catalog, its name fits several tables, two rules name the same
                table, or a predicate is no boolean expression over its columns.
        """
        self.dialect = dialect
        self._catalog = catalog
        self._keys = _Keys(catalog)
        self._rules: dict[str, _Rule] = {}
        for name, text in rules.items():
            key = self._keys.configured(name)
            if key in self._rules:
                raise ConfigurationError(SETTING, f"two row rules name the table {key}")
            self._rules[key] = _rule(key, text, catalog)
        if rules:
            self._rules |= _inherited(self._rules, catalog)

    @property
    def parameters(self) -> dict[str, str]:
        """Every parameter that a rule has, with the table that needs it."""
        return {name: rule.key for rule in self._rules.values() for name in rule.parameters}

    def needs_barrier(self, tree: exp.Expr, parameters: Mapping[str, Any]) -> bool:
        """Return whether an expression of `tree`, or a rule of its tables, might raise an error on a row.

        `parameters` are the values of the parameters of rules.
        """
        predicates = [rule.predicate for _, rule in self._references(tree) if rule.predicate is not None]
        return not is_leakproof(tree, predicates, self._catalog, parameters)

    def apply(self, tree: exp.Expr, *, needs_barrier: bool = True) -> exp.Expr:
        """Return a copy of `tree` in which every reference of a table with a rule is filtered by it.

        Raises:
            NotPermitted: it refers to a closed table.
            RowRuleNotApplied: it refers to a table in a way that cannot be filtered.
        """
        copy = tree.copy()
        cte = cte_name(tree)
        references = list(self._references(copy))
        name_outputs(copy, [table for table, _ in references], self.dialect)
        for table, rule in references:
            if rule.predicate is None:
                raise NotPermitted(rule.key)
            _unqualify(copy, table)
            filtered = self._filtered(table, rule, cte, needs_barrier=needs_barrier)
            if table is copy:
                copy = filtered
            else:
                table.replace(filtered)
        return copy

    def verify(self, tree: exp.Expr, *, needs_barrier: bool = True) -> None:
        """Find every reference of a table with a rule in `tree` and compare what filters it.

        Raises:
            RowRuleNotApplied: a reference is not filtered by exactly its rule, behind a barrier where that is needed.
        """
        inside: set[int] = set()
        for subquery in tree.find_all(exp.Subquery):
            if id(subquery) not in inside and self._is_barrier(subquery, needs_barrier=needs_barrier):
                inside.update(id(node) for node in subquery.walk())
        for table, rule in self._references(tree):
            if id(table) not in inside:
                raise RowRuleNotApplied(rule.key, "a reference is left without it")

    def parameters_of(self, tree: exp.Expr) -> dict[str, str]:
        """Return the parameters that the rules of the tables in `tree` need, each with the table that needs it."""
        return {name: rule.key for _, rule in self._references(tree) for name in rule.parameters}

    def bound(self, markers: Mapping[str, str]) -> "RowRules":
        """Return the same rules with each parameter as a column of the name that `markers` gives it."""
        other = object.__new__(RowRules)
        other.dialect, other._catalog, other._keys = self.dialect, self._catalog, self._keys
        other._rules = {key: _marked(rule, markers) for key, rule in self._rules.items()}
        return other

    def _references(self, tree: exp.Expr) -> Iterator[tuple[exp.Table, _Rule]]:
        """Return the references of tables with a rule that does not permit every row."""
        for table in tree.find_all(exp.Table):
            if isinstance(table.this, exp.Func) or names_cte(table, self.dialect):
                continue
            keys = self._keys.of(table, self.dialect)
            ruled = [self._rules[key] for key in keys if key in self._rules]
            if ruled and len(keys) > 1:
                raise RowRuleNotApplied(ruled[0].key, f"{table.sql()} may mean {' or '.join(sorted(keys))}")
            if ruled and not ruled[0].is_open:
                yield table, ruled[0]

    def _filtered(self, table: exp.Table, rule: _Rule, cte: str, *, needs_barrier: bool) -> exp.Subquery:
        """Return a subquery in place of `table`, under its alias or name, with what hung on it."""
        extra = {name for name, value in table.args.items() if value} - _KEPT - {"this", "db", "catalog"}
        extra |= {"FINAL"} if isinstance(table.parent, exp.Final) else set()
        if extra:
            raise RowRuleNotApplied(rule.key, f"it is read with {', '.join(sorted(extra))}")
        alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
        rows = self._permitted(table, rule, cte, needs_barrier=needs_barrier)
        hanging = {name: table.args[name] for name in _KEPT - {"alias"} if table.args.get(name)}
        return exp.Subquery(this=rows, alias=alias.copy(), **hanging)

    def _permitted(self, table: exp.Table, rule: _Rule, cte: str, *, needs_barrier: bool) -> exp.Select:
        """Return the query of the rows of `table` that `rule` permits."""
        assert rule.predicate is not None
        parts = {part: table.args[part].copy() for part in ("this", "db", "catalog") if table.args.get(part)}
        source = exp.Table(**parts)
        if rule.origin:
            # The predicate of a parent may name the parent in its subqueries.
            source.set("alias", exp.TableAlias(this=exp.to_identifier(rule.origin, quoted=True)))
        return permitted_rows(source, rule.predicate, self.dialect, cte, needs_barrier=needs_barrier)

    def _is_barrier(self, subquery: exp.Subquery, *, needs_barrier: bool) -> bool:
        """Return whether `subquery` is exactly what `apply` puts in place of a table."""
        table = filtered_table(subquery.this)
        rules = [self._rules.get(key) for key in self._keys.of(table, self.dialect)] if table else []
        if table is None or len(rules) != 1 or rules[0] is None or rules[0].predicate is None:
            return False
        clause = subquery.this.args.get("with_")
        cte = clause.expressions[0].alias if clause else ""
        expected = self._permitted(table, rules[0], cte, needs_barrier=needs_barrier)
        return print_statement(subquery.this, self.dialect) == print_statement(expected, self.dialect)


class _Keys:
    """Finds the tables of a catalog that a name means."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._by_name: dict[tuple[str, ...], dict[tuple[str, ...], str]] = {}
        default = catalog.default_schema
        for key, (schema, name) in catalog.full_names.items():
            names: list[tuple[str, ...]] = [(schema, name)] if schema else [(name,)]
            if default and not schema:
                names.append((default, name))
            if schema and schema == default:
                names.append((name,))
            for parts in names:
                self._by_name.setdefault(_lower(parts), {})[parts] = key

    def of(self, table: exp.Table, dialect: str) -> tuple[str, ...]:
        """Return the keys of the tables that a reference may mean: one, unless it is ambiguous, or none.

        A table whose name is the same but for the case is meant only where none has exactly the name.
        """
        parts = tuple(_folded(part, dialect) for part in table.parts)
        close = self._by_name.get(_lower(parts))
        if close is None:
            # The guard compares names as text, where a dot may separate parts or stand within one.
            dotted = ".".join(parts).lower()
            names = (name for name in self._by_name if ".".join(name) == dotted)
            return tuple(dict.fromkeys(key for name in names for key in self._by_name[name].values()))
        return (close[parts],) if parts in close else tuple(dict.fromkeys(close.values()))

    def configured(self, name: str) -> str:
        """Return the key of the table that an operator calls `name`: `table` or `schema.table`.

        Raises:
            ConfigurationError: there is none, or more than one.
        """
        spelt = [(parts, key) for found in self._by_name.values() for parts, key in found.items()]
        exact = {key for parts, key in spelt if ".".join(parts) == name}
        close = {key for parts, key in spelt if ".".join(parts).lower() == name.lower()}
        keys = exact or (close if self._catalog.dialect in IGNORES_CASE else set())
        if len(keys) == 1:
            return keys.pop()
        if keys:
            raise ConfigurationError(SETTING, f"{name} may mean {' or '.join(sorted(keys))}: name it with its schema")
        hint = f"; it has {' and '.join(sorted(close))}, and case matters" if close else ""
        raise ConfigurationError(SETTING, f"the table {name} is not in the catalog{hint}")


def restrict(sql: str, rules: RowRules, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return `sql` with `rules` on it, ready for SQLAlchemy's `text()`, and the parameters to bind.

    `sql` is one query that the guard has approved. Colons that begin no parameter are escaped for `text()`; per cent
    signs are left to SQLAlchemy, which doubles them where the driver wants it.

    Raises:
        NotPermitted, RowRuleNotApplied: as `RowRules.apply` says.
        RowRuleParameterMissing: a rule that is needed has a parameter that `parameters` does not have.
    """
    (tree,) = parse(sql, rules.dialect)
    needed = rules.parameters_of(tree)
    for name, table in needed.items():
        if name not in parameters:
            raise RowRuleParameterMissing(table, name)
    if needed and any(map(_has_values_of_data, tree.find_all(exp.Pivot))):
        table = next(iter(needed.values()))
        raise RowRuleNotApplied(table, "PIVOT needs its values where a rule has parameters: ON column IN (value, ...)")
    markers = {name: f"row_rule_{token_hex(8)}_{index}" for index, name in enumerate(needed)}
    bound = rules.bound(markers)
    needs_barrier = rules.needs_barrier(tree, parameters)
    text = _checked_text(bound.apply(tree, needs_barrier=needs_barrier), bound, needs_barrier=needs_barrier)
    text = place(escape(text), {marker: name for name, marker in markers.items()})
    return text, {name: parameters[name] for name in needed}


def _has_values_of_data(pivot: exp.Pivot) -> bool:
    """Return whether the columns that `pivot` makes are read from the data; DuckDB then binds no parameters."""
    if pivot.args.get("unpivot"):
        return False
    columns = pivot.args.get("fields") or pivot.expressions
    return any(not isinstance(column, exp.In) or bool(column.args.get("query")) for column in columns)


def _checked_text(tree: exp.Expr, rules: RowRules, *, needs_barrier: bool) -> str:
    """Return `tree` as text in which, read again, every rule is found to hold."""
    try:
        text = print_statement(tree, rules.dialect)
        (again,) = parse(text, rules.dialect)
    except (SqlglotError, ValueError) as error:
        raise RowRuleNotApplied("?", f"it cannot be written down: {error}") from error
    rules.verify(again, needs_barrier=needs_barrier)
    return text


def _rule(key: str, text: str, catalog: Catalog) -> _Rule:
    if text.strip().lower() in _CLOSED:
        return _Rule(key, None)
    predicate = parse_predicate(text, catalog.tables[key], catalog)
    return _Rule(key, predicate, tuple(dict.fromkeys(node.name for node in predicate.find_all(exp.Placeholder))))


def _inherited(own: Mapping[str, _Rule], catalog: Catalog) -> dict[str, _Rule]:
    """Return the rules of tables that have none of their own and share rows with a table that has one."""
    others = {key: table for key, table in catalog.tables.items() if key not in own}
    closed = {key for key, table in others.items() if table.is_view or table.shares_rows}
    found: dict[str, _Rule] = {key: _Rule(key, None) for key in closed}
    for key in others.keys() - closed:
        rule = _rule_of_parents(key, own, catalog)
        if rule:
            found[key] = rule
    ruled = {key for key, rule in {**own, **found}.items() if not rule.is_open}
    parents = {parent for key in ruled for parent in _ancestors(catalog.tables[key], catalog)}
    return found | {key: _Rule(key, None) for key in parents if key in others and key not in found}


def _rule_of_parents(key: str, own: Mapping[str, _Rule], catalog: Catalog) -> _Rule | None:
    """Return the rule of the nearest parent that has one; a table with several such parents is closed."""
    nearest: list[_Rule] = []
    pending, seen = list(catalog.tables[key].parents), {key}
    while pending:
        parent = pending.pop()
        if parent in own:
            nearest.append(own[parent])
        elif parent in catalog.tables and parent not in seen:
            pending += catalog.tables[parent].parents
        seen.add(parent)
    if not nearest:
        return None
    if len({rule.key for rule in nearest}) > 1:
        return _Rule(key, None)
    origin = catalog.tables[nearest[0].key].name
    return replace(nearest[0], key=key, origin=origin)


def _ancestors(table: Table, catalog: Catalog) -> set[str]:
    pending, found = list(table.parents), set()
    while pending:
        key = pending.pop()
        if key in catalog.tables and key not in found:
            found.add(key)
            pending += catalog.tables[key].parents
    return found


def _marked(rule: _Rule, markers: Mapping[str, str]) -> _Rule:
    if rule.predicate is None:
        return rule

    def mark(node: exp.Expr) -> exp.Expr:
        return exp.column(markers.get(node.name, node.name)) if isinstance(node, exp.Placeholder) else node

    return replace(rule, predicate=rule.predicate.transform(mark))


def _unqualify(tree: exp.Expr, table: exp.Table) -> None:
    """Take the schema off columns that name `table` with it: the subquery has the name alone."""
    if table.args.get("db") and not table.args.get("alias"):
        for column in tree.find_all(exp.Column):
            if column.text("db").lower() == table.db.lower() and column.table.lower() == table.name.lower():
                column.set("db", None)
                column.set("catalog", None)


def _folded(identifier: exp.Expr, dialect: str) -> str:
    """Return a part of a name as the engine looks it up: PostgreSQL folds what is not quoted."""
    folds = dialect == "postgres" and not identifier.args.get("quoted")
    return identifier.name.lower() if folds else identifier.name


def _lower(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)
