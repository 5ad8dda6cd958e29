"""Row rules: predicates per table that a source puts on every statement, at every reference of the table.

A reference becomes a subquery of the same name that keeps only the permitted rows, so that joins, aggregates and
subqueries around it see no other. The method is that of row-level security views (Stonebraker and Wong 1974, query
modification); a second pass over the text that will run finds every reference again and compares its predicate.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from agent.catalog.schema import Catalog
from agent.errors import ConfigurationError, NotPermitted, RowRuleNotApplied, RowRuleParameterMissing
from agent.sql.dialects import print_statement
from agent.sql.guard import parse
from agent.sql.parameters import escape, place
from agent.sql.row_predicates import SETTING, parse_predicate
from agent.sql.sources import names_cte

_KEPT = {"joins", "pivots", "laterals", "sample", "alias"}
"""What may hang on a reference of a table besides its name."""

_CLOSED = {"deny", "false"}
"""Rules that permit no row at all."""


@dataclass(frozen=True)
class _Rule:
    """What holds for one table: its predicate with the names of its parameters; None where the table is closed."""

    key: str
    predicate: exp.Expr | None
    parameters: tuple[str, ...] = ()


class RowRules:
    """The row rules of one source, parsed and checked once."""

    def __init__(self, rules: Mapping[str, str], dialect: str, catalog: Catalog) -> None:
        """Read `rules`: by table a predicate over its columns with `:name` parameters; `deny` or `false` closes it.

        A view without a rule of its own is closed, since it may show any row of a table that has one; `true` opens it.

        Raises:
            ConfigurationError: a table is not in the catalog, or a predicate is no boolean expression over its columns.
        """
        self.dialect = dialect
        self._rules: dict[str, _Rule] = {}
        for table, text in rules.items():
            key = next((key for key in catalog.tables if key.lower() == table.lower()), None)
            if key is None:
                raise ConfigurationError(SETTING, f"the table {table} is not in the catalog")
            rule = _Rule(key, None)
            if text.strip().lower() not in _CLOSED:
                predicate = parse_predicate(text, catalog.tables[key], catalog)
                names = dict.fromkeys(node.name for node in predicate.find_all(exp.Placeholder))
                rule = _Rule(key, predicate, tuple(names))
            self._set(rule, catalog)
        for key, known in catalog.tables.items() if rules else ():
            if known.is_view and key.lower() not in self._rules:
                self._set(_Rule(key, None), catalog)

    def _set(self, rule: _Rule, catalog: Catalog) -> None:
        for name in _names_of(rule.key, catalog):
            self._rules[name] = rule

    @property
    def parameters(self) -> dict[str, str]:
        """Every parameter that a rule has, with the table that needs it."""
        return {name: rule.key for rule in self._rules.values() for name in rule.parameters}

    def apply(self, tree: exp.Expr) -> exp.Expr:
        """Return a copy of `tree` in which every reference of a table with a rule is filtered by it.

        Raises:
            NotPermitted: it refers to a closed table.
            RowRuleNotApplied: it refers to a table in a way that cannot be filtered.
        """
        copy = tree.copy()
        for table, rule in list(self._references(copy)):
            if rule.predicate is None:
                raise NotPermitted(rule.key)
            _unqualify(copy, table)
            filtered = _filtered(table, rule.key, rule.predicate)
            if table is copy:
                copy = filtered
            else:
                table.replace(filtered)
        return copy

    def verify(self, tree: exp.Expr) -> None:
        """Find every reference of a table with a rule in `tree` and compare what filters it.

        Raises:
            RowRuleNotApplied: a reference is not filtered by exactly its rule.
        """
        for table, rule in self._references(tree):
            if rule.predicate is None or (not _is_filtered(table, rule.predicate) and not self._is_in_predicate(table)):
                raise RowRuleNotApplied(rule.key, "a reference is left without it")

    def parameters_of(self, tree: exp.Expr) -> dict[str, str]:
        """Return the parameters that the rules of the tables in `tree` need, each with the table that needs it."""
        return {name: rule.key for _, rule in self._references(tree) for name in rule.parameters}

    def bound(self, markers: Mapping[str, str]) -> "RowRules":
        """Return the same rules with each parameter as a column of the name that `markers` gives it."""
        other = object.__new__(RowRules)
        other.dialect = self.dialect
        other._rules = {name: _marked(rule, markers) for name, rule in self._rules.items()}
        return other

    def _references(self, tree: exp.Expr) -> Iterator[tuple[exp.Table, _Rule]]:
        for table in tree.find_all(exp.Table):
            rule = self._rules.get(".".join(part.name for part in table.parts).lower())
            if rule and not names_cte(table, self.dialect):
                yield table, rule

    def _is_in_predicate(self, table: exp.Table) -> bool:
        """True inside a predicate that filters another table: rules are configuration and see all rows themselves."""
        where = table.find_ancestor(exp.Where)
        while where is not None:
            source = where.parent.args.get("from_") if where.parent else None
            outer = source.this if source else None
            if isinstance(outer, exp.Table):
                rule = self._rules.get(".".join(part.name for part in outer.parts).lower())
                if rule and rule.predicate is not None and _is_filtered(outer, rule.predicate):
                    return True
            where = where.find_ancestor(exp.Where)
        return False


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
    markers = {name: f"row_rule_{token_hex(8)}_{index}" for index, name in enumerate(needed)}
    bound = rules.bound(markers)
    text = _checked_text(bound.apply(tree), bound)
    text = place(escape(text), {marker: name for name, marker in markers.items()})
    return text, {name: parameters[name] for name in needed}


def _checked_text(tree: exp.Expr, rules: RowRules) -> str:
    """Return `tree` as text in which, read again, every rule is found to hold."""
    try:
        text = print_statement(tree, rules.dialect)
        (again,) = parse(text, rules.dialect)
    except (SqlglotError, ValueError) as error:
        raise RowRuleNotApplied("?", f"it cannot be written down: {error}") from error
    rules.verify(again)
    return text


def _names_of(key: str, catalog: Catalog) -> list[str]:
    """Return the ways in which a statement may name the table `key`, in lower case."""
    table = catalog.tables[key]
    default = catalog.default_schema
    qualified = [f"{default}.{key}"] if default and not table.schema else []
    bare = [table.name] if table.schema and table.schema == default else []
    return [name.lower() for name in (key, *qualified, *bare)]


def _marked(rule: _Rule, markers: Mapping[str, str]) -> _Rule:
    if rule.predicate is None:
        return rule

    def mark(node: exp.Expr) -> exp.Expr:
        return exp.column(markers.get(node.name, node.name)) if isinstance(node, exp.Placeholder) else node

    return _Rule(rule.key, rule.predicate.transform(mark), rule.parameters)


def _filtered(table: exp.Table, key: str, predicate: exp.Expr) -> exp.Subquery:
    """Return a subquery in place of `table`, under its alias or name, with what hung on it."""
    extra = {name for name, value in table.args.items() if value} - _KEPT - {"this", "db", "catalog"}
    if extra:
        raise RowRuleNotApplied(key, f"it is read with {', '.join(sorted(extra))}")
    alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
    bare = exp.Table(**{part: table.args[part].copy() for part in ("this", "db", "catalog") if table.args.get(part)})
    rows = exp.Select(expressions=[exp.Star()], from_=exp.From(this=bare))
    rows.set("where", exp.Where(this=exp.Paren(this=predicate.copy())))
    hanging = {name: table.args[name] for name in _KEPT - {"alias"} if table.args.get(name)}
    return exp.Subquery(this=rows, alias=alias.copy(), **hanging)


def _unqualify(tree: exp.Expr, table: exp.Table) -> None:
    """Take the schema off columns that name `table` with it: the subquery has the name alone."""
    if table.args.get("db") and not table.args.get("alias"):
        for column in tree.find_all(exp.Column):
            if column.text("db").lower() == table.db.lower() and column.table.lower() == table.name.lower():
                column.set("db", None)
                column.set("catalog", None)


def _is_filtered(table: exp.Table, predicate: exp.Expr) -> bool:
    """Return whether `table` is read by nothing but `(SELECT * FROM table WHERE (predicate))`."""
    select = table.parent.parent if isinstance(table.parent, exp.From) else None
    if not isinstance(select, exp.Select) or not isinstance(select.parent, exp.Subquery):
        return False
    parts = {name for name, value in select.args.items() if value}
    where = select.args.get("where")
    condition = where.this.this if where and isinstance(where.this, exp.Paren) else None
    is_plain = parts == {"expressions", "from_", "where"} and not table.args.get("alias")
    return is_plain and select.expressions == [exp.Star()] and condition == predicate
