"""Compact statements: the form in which the embedded model writes SQL, and the way from ordinary SQL to it.

It is SQLite's SQL with every choice in an order in which it can be made and without what the catalog knows: FROM stands
first, tables have no aliases, columns are bare where one table is in scope and `table.column` elsewhere, a join along
the only foreign key has no ON, and outputs have no names. The idea of leaving out what keys imply is that of NatSQL
(Gan et al. 2021).
"""

from collections.abc import Sequence
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import SqlglotError
from sqlglot.generators.sqlite import SQLiteGenerator

from agent.catalog.schema import Catalog
from agent.sql.compact_joins import conditions_between, join_condition
from agent.sql.compact_nodes import column_of, table_of
from agent.sql.resolved import key_of

_MOST_OUTPUTS = 8
_UNSAYABLE = (exp.With, exp.Exists, exp.Cast, exp.Values, exp.Lateral, exp.Offset)


class _Unsayable(Exception):
    """The statement has no compact form."""


def compact(sql: str, catalog: Catalog, dialect: str = "sqlite") -> str | None:
    """Return ordinary `sql` as a compact statement; None where it cannot be said so or names what is not there.

    A name in double quotes that no table in scope has is a text, as SQLite reads it.
    """
    try:
        tree = sqlglot.parse_one(sql, read=dialect)
        if not isinstance(tree, exp.Query) or tree.find(*_UNSAYABLE):
            return None
        if any(each.args.get("order") or each.args.get("limit") for each in tree.find_all(exp.SetOperation)):
            return None
        for select in list(tree.find_all(exp.Select)):
            _Scope(select, catalog).rewrite()
    except (_Unsayable, SqlglotError):
        return None
    return tree.sql(dialect=_Compact, comments=False)


class _Scope:
    """One SELECT with the tables it reads, by the name they go by in it."""

    def __init__(self, select: exp.Select, catalog: Catalog) -> None:
        self.select, self.catalog = select, catalog
        source = select.args.get("from_")
        if source is None:
            raise _Unsayable
        self.joins: list[exp.Join] = list(select.args.get("joins") or ())
        self.nodes = [source.this, *(join.this for join in self.joins)]
        self.keys = [self._key(node) for node in self.nodes]
        self.by_name = {node.alias_or_name.lower(): key for node, key in zip(self.nodes, self.keys, strict=True)}
        if len(set(self.keys)) < len(self.keys) or len(self.by_name) < len(self.keys):
            raise _Unsayable

    def rewrite(self) -> None:
        """Give the scope its compact form, in place."""
        self._spell_out_star()
        self._replace_aliases()
        for column in list(self.select.find_all(exp.Column)):
            if column.parent_select is self.select:
                self._name(column)
        self._put_conditions_on_joins()
        for node, key in zip(self.nodes, self.keys, strict=True):
            node.replace(table_of(self.catalog, key))
        self._drop_implied_conditions()

    def _key(self, node: exp.Expr) -> str:
        key = key_of(node, self.catalog) if isinstance(node, exp.Table) else None
        if key is None:
            raise _Unsayable
        return key

    def _spell_out_star(self) -> None:
        if any(isinstance(item, exp.Star) for item in self.select.expressions):
            names = self.catalog.tables[self.keys[0]].column_names
            if len(self.keys) > 1 or len(self.select.expressions) > 1 or len(names) > _MOST_OUTPUTS:
                raise _Unsayable
            self.select.set("expressions", [exp.column(name) for name in names])

    def _replace_aliases(self) -> None:
        outputs = {item.alias.lower(): item.this for item in self.select.expressions if isinstance(item, exp.Alias)}
        for part in ("order", "group", "having", "qualify"):
            clause = self.select.args.get(part)
            for column in list(clause.find_all(exp.Column)) if clause else ():
                is_alias = not column.table and column.name.lower() in outputs
                if is_alias and (part == "order" or not self._owners(column)):
                    column.replace(outputs[column.name.lower()].copy())
        for part in ("order", "group"):
            for item in self.select.args[part].expressions if self.select.args.get(part) else ():
                number = item.this if isinstance(item, exp.Ordered) else item
                if isinstance(number, exp.Literal) and not number.is_string:
                    number.replace(self.select.selects[int(number.name) - 1].unalias().copy())
        self.select.set("expressions", [item.unalias().unnest() for item in self.select.expressions])

    def _name(self, column: exp.Column) -> None:
        if isinstance(column.this, exp.Star):
            raise _Unsayable
        owners = self._owners(column)
        if not owners and column.this.quoted and not column.table:
            column.replace(exp.Literal.string(column.name))
            return
        if len(owners) != 1:
            raise _Unsayable
        key = owners[0]
        name = next(name for name in self.catalog.tables[key].column_names if name.lower() == column.name.lower())
        column.replace(column_of(self.catalog, key, name, qualified=len(self.keys) > 1))

    def _owners(self, column: exp.Column) -> list[str]:
        keys = [self.by_name[column.table.lower()]] if column.table.lower() in self.by_name else []
        candidates = keys if column.table else self.keys
        wanted = column.name.lower()
        return [key for key in candidates if wanted in {name.lower() for name in self.catalog.tables[key].column_names}]

    def _put_conditions_on_joins(self) -> None:
        """Move what joins tables from WHERE to the joins that were written with a comma."""
        where = self.select.args.get("where")
        for number, join in enumerate(self.joins, 1):
            if join.args.get("on") or not where:
                continue
            known = {table_of(self.catalog, key).sql() for key in self.keys[: number + 1]}
            for condition in list(where.this.flatten() if isinstance(where.this, exp.And) else [where.this]):
                if isinstance(condition, exp.EQ) and _tables_of(condition) <= known and len(_tables_of(condition)) == 2:
                    join.set("on", condition.copy())
                    _remove(condition)
                    break
            where = self.select.args.get("where")

    def _drop_implied_conditions(self) -> None:
        for number, join in enumerate(self.joins, 1):
            if join.args.get("using") or join.side not in ("", "LEFT") or join.kind not in ("", "INNER", "CROSS"):
                raise _Unsayable
            condition = join.args.get("on")
            if condition is None:
                raise _Unsayable
            implied = conditions_between(self.catalog, self.keys[number], self.keys[:number])
            join.set("kind", None)
            if len(implied) == 1:
                if _sides(condition) != _sides(join_condition(self.catalog, implied[0])):
                    raise _Unsayable
                join.set("on", None)
            elif not isinstance(condition, exp.EQ):
                raise _Unsayable


def _remove(condition: exp.Expr) -> None:
    parent = condition.parent
    if isinstance(parent, exp.Where):
        parent.parent.set("where", None) if parent.parent else None
    elif isinstance(parent, exp.And):
        parent.replace(parent.right if condition is parent.left else parent.left)
    else:
        raise _Unsayable


def _tables_of(condition: exp.Expr) -> set[str]:
    return {column.sql().rpartition(".")[0] for column in condition.find_all(exp.Column)}


def _sides(condition: exp.Expr) -> set[frozenset[str]]:
    parts: Sequence[Any] = list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
    return {frozenset(column.sql().lower() for column in part.find_all(exp.Column)) for part in parts}


class _Generator(SQLiteGenerator):
    # SQLite's own way with a SELECT, which takes QUALIFY apart, is left out.
    TRANSFORMS = {kind: how for kind, how in SQLiteGenerator.TRANSFORMS.items() if kind is not exp.Select} | {
        exp.TimeToStr: lambda self, node: f"strftime({self.format_time(node)}, {self.sql(node, 'this')})"
    }

    def select_sql(self, expression: exp.Select) -> str:
        joins = "".join(self.join_sql(join) for join in expression.args.get("joins") or ())
        clauses = "".join(
            self.sql(expression, name) for name in ("where", "group", "having", "qualify", "order", "limit")
        )
        distinct = " DISTINCT" if expression.args.get("distinct") else ""
        outputs = self.expressions(expression, flat=True)
        return f"{self.sql(expression, 'from_').strip()}{joins} SELECT{distinct} {outputs}{clauses}"

    def join_sql(self, expression: exp.Join, join_op: str | None = None) -> str:
        on = self.sql(expression, "on")
        side = " LEFT" if expression.side else ""
        return f"{side} JOIN {self.sql(expression, 'this')}" + (f" ON {on}" if on else "")

    def ordered_sql(self, expression: exp.Ordered) -> str:
        return self.sql(expression, "this") + (" DESC" if expression.args.get("desc") else "")

    def not_sql(self, expression: exp.Not) -> str:
        inner = expression.this.unnest()
        if isinstance(inner, (exp.In, exp.Like, exp.Between)):
            tested = self.sql(inner, "this")
            return f"{tested} NOT{self.sql(inner).removeprefix(tested)}"
        if isinstance(inner, exp.Is):
            return f"{self.sql(inner, 'this')} IS NOT {self.sql(inner, 'expression')}"
        return super().not_sql(expression)

    def neq_sql(self, expression: exp.NEQ) -> str:
        return self.binary(expression, "!=")


class _Compact(SQLite):
    Generator = _Generator
