"""The translation of ordinary SQL into compact statements, the form in which the embedded model writes SQL."""

import re
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import SqlglotError
from sqlglot.generators.sqlite import SQLiteGenerator

from datasphinx.agent.embedded.compact import column_of, conditions_between, join_condition, table_of
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.names import key_of

_NUMBER = re.compile(r"\d+(\.\d+)?")
_MAX_OUTPUTS = 8
_UNSUPPORTED = (exp.With, exp.Exists, exp.Cast, exp.Values, exp.Lateral, exp.Offset)


class _NotExpressible(Exception):
    """The statement has no compact form."""


def compact(sql: str, catalog: Catalog) -> str | None:
    """Return ordinary `sql` as a compact statement; None if it has no compact form or uses unknown names.

    As in SQLite, a name in double quotes that no table in scope has is a string.
    """
    try:
        tree = sqlglot.parse_one(sql, read="sqlite")
        if not isinstance(tree, exp.Query) or tree.find(*_UNSUPPORTED):
            return None
        if any(node.args.get("order") or node.args.get("limit") for node in tree.find_all(exp.SetOperation)):
            return None
        for select in list(tree.find_all(exp.Select)):
            _replace_filter_joins(select, catalog)
        for select in list(tree.find_all(exp.Select)):
            _Scope(select, catalog).rewrite()
    except (_NotExpressible, SqlglotError):
        return None
    return tree.sql(dialect=_Compact, comments=False)


def _replace_filter_joins(select: exp.Select, catalog: Catalog) -> None:
    """Replace the second occurrence of a table that only filters rows by a subquery over its key, in place.

    `JOIN t AS b ON a.b_id = b.id ... WHERE b.name = 'x'` becomes `WHERE a.b_id IN (SELECT id FROM t WHERE name = 'x')`.
    The rows are the same, since the key is unique.
    """
    source, joins, where = select.args.get("from_"), select.args.get("joins") or [], select.args.get("where")
    if source is None or where is None or not joins:
        return
    names = [node.name.lower() for node in (source.this, *(join.this for join in joins))]
    for join in list(joins):
        alias, condition = join.this.alias_or_name, join.args.get("on")
        key = key_of(join.this, catalog) if isinstance(join.this, exp.Table) else None
        is_inner = join.side == "" and join.kind in ("", "INNER") and isinstance(condition, exp.EQ)
        if key is None or not is_inner or names.count(join.this.name.lower()) < 2:
            continue
        sides = [condition.this, condition.expression]
        own = [side for side in sides if isinstance(side, exp.Column) and side.table == alias]
        other = [side for side in sides if isinstance(side, exp.Column) and side.table not in ("", alias)]
        conjuncts = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
        filters = [
            part for part in conjuncts if {column.table for column in part.find_all(exp.Column)} - {""} == {alias}
        ]
        uses = [column for column in select.find_all(exp.Column) if column.table == alias]
        in_filters = [column for part in filters for column in part.find_all(exp.Column) if column.table == alias]
        is_key = [side.name.lower() for side in own] == [name.lower() for name in catalog.tables[key].primary_key]
        if not is_key or not other or not filters or len(uses) != len(in_filters) + 1:
            continue
        subquery = exp.select(own[0].copy()).from_(join.this.copy()).where(*(part.copy() for part in filters))
        rest = [part.copy() for part in conjuncts if part not in filters]
        select.set("joins", [other_join for other_join in joins if other_join is not join])
        select.set("where", exp.Where(this=exp.and_(*rest, exp.In(this=other[0].copy(), query=subquery.subquery()))))
        return


class _Scope:
    """One SELECT with its tables, by their names or aliases."""

    def __init__(self, select: exp.Select, catalog: Catalog) -> None:
        self.select, self.catalog = select, catalog
        source = select.args.get("from_")
        if source is None:
            raise _NotExpressible
        self.joins: list[exp.Join] = list(select.args.get("joins") or ())
        self.nodes = [source.this, *(join.this for join in self.joins)]
        self.keys = [self._key(node) for node in self.nodes]
        self.by_name = {node.alias_or_name.lower(): key for node, key in zip(self.nodes, self.keys, strict=True)}
        if len(set(self.keys)) < len(self.keys) or len(self.by_name) < len(self.keys):
            raise _NotExpressible

    def rewrite(self) -> None:
        """Rewrite the SELECT into its compact form, in place."""
        self._expand_star()
        self._replace_aliases()
        for column in list(self.select.find_all(exp.Column)):
            if column.parent_select is self.select:
                self._rewrite_column(column)
        self._unquote_numbers()
        self._move_conditions_to_joins()
        for node, key in zip(self.nodes, self.keys, strict=True):
            node.replace(table_of(self.catalog, key))
        self._drop_implied_conditions()

    def _key(self, node: exp.Expr) -> str:
        key = key_of(node, self.catalog) if isinstance(node, exp.Table) else None
        if key is None:
            raise _NotExpressible
        return key

    def _expand_star(self) -> None:
        if any(isinstance(item, exp.Star) for item in self.select.expressions):
            names = self.catalog.tables[self.keys[0]].column_names
            if len(self.keys) > 1 or len(self.select.expressions) > 1 or len(names) > _MAX_OUTPUTS:
                raise _NotExpressible
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
                    if not number.name.isdigit() or not 0 < int(number.name) <= len(self.select.selects):
                        raise _NotExpressible
                    number.replace(self.select.selects[int(number.name) - 1].unalias().copy())
        self.select.set("expressions", [item.unalias().unnest() for item in self.select.expressions])

    def _rewrite_column(self, column: exp.Column) -> None:
        if isinstance(column.this, exp.Star):
            raise _NotExpressible
        owners = self._owners(column)
        if not owners and column.this.quoted and not column.table:
            column.replace(exp.Literal.string(column.name))
            return
        if len(owners) != 1:
            raise _NotExpressible
        key = owners[0]
        name = next(name for name in self.catalog.tables[key].column_names if name.lower() == column.name.lower())
        column.replace(column_of(self.catalog, key, name, qualified=len(self.keys) > 1))

    def _unquote_numbers(self) -> None:
        """Replace texts that are compared with columns of numbers by numbers, as the databases do."""
        for comparison in self.select.find_all(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE):
            for column, text in permutations((comparison.this, comparison.expression)):
                is_text = isinstance(text, exp.Literal) and text.is_string and _NUMBER.fullmatch(text.name)
                if is_text and isinstance(column, exp.Column) and column.parent_select is self.select:
                    (key,) = [
                        key for key in self.keys if table_of(self.catalog, key).name == column.table
                    ] or self.keys[:1]
                    columns = {column.name: column.type_class for column in self.catalog.tables[key].columns}
                    if columns.get(column.name) == "number":
                        text.replace(exp.Literal.number(text.name))

    def _owners(self, column: exp.Column) -> list[str]:
        keys = [self.by_name[column.table.lower()]] if column.table.lower() in self.by_name else []
        candidates = keys if column.table else self.keys
        column_name = column.name.lower()
        return [
            key for key in candidates if column_name in {name.lower() for name in self.catalog.tables[key].column_names}
        ]

    def _move_conditions_to_joins(self) -> None:
        """Move join conditions from WHERE to the joins that were written with a comma."""
        where = self.select.args.get("where")
        for number, join in enumerate(self.joins, 1):
            if join.args.get("on") or not where:
                continue
            joined_tables = {table_of(self.catalog, key).sql() for key in self.keys[: number + 1]}
            for condition in list(where.this.flatten() if isinstance(where.this, exp.And) else [where.this]):
                if (
                    isinstance(condition, exp.EQ)
                    and _tables_of(condition) <= joined_tables
                    and len(_tables_of(condition)) == 2
                ):
                    join.set("on", condition.copy())
                    _remove(condition)
                    break
            where = self.select.args.get("where")

    def _drop_implied_conditions(self) -> None:
        for number, join in enumerate(self.joins, 1):
            if join.args.get("using") or join.side not in ("", "LEFT") or join.kind not in ("", "INNER", "CROSS"):
                raise _NotExpressible
            condition = join.args.get("on")
            if condition is None:
                raise _NotExpressible
            key_pairs = conditions_between(self.catalog, self.keys[number], self.keys[:number])
            join.set("kind", None)
            if len(key_pairs) == 1:
                if _sides(condition) != _sides(join_condition(self.catalog, key_pairs[0])):
                    raise _NotExpressible
                join.set("on", None)
            elif not isinstance(condition, exp.EQ):
                raise _NotExpressible


def _remove(condition: exp.Expr) -> None:
    parent = condition.parent
    if isinstance(parent, exp.Where) and parent.parent:
        parent.parent.set("where", None)
    elif isinstance(parent, exp.And):
        parent.replace(parent.right if condition is parent.left else parent.left)
    else:
        raise _NotExpressible


def _tables_of(condition: exp.Expr) -> set[str]:
    return {column.sql().rpartition(".")[0] for column in condition.find_all(exp.Column)}


def _sides(condition: exp.Expr) -> set[frozenset[str]]:
    parts: Sequence[Any] = list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
    return {frozenset(column.sql().lower() for column in part.find_all(exp.Column)) for part in parts}


class _Generator(SQLiteGenerator):
    # Without SQLite's transformation of SELECT, which rewrites QUALIFY.
    TRANSFORMS = {
        kind: transform for kind, transform in SQLiteGenerator.TRANSFORMS.items() if kind is not exp.Select
    } | {exp.TimeToStr: lambda self, node: f"strftime({self.format_time(node)}, {self.sql(node, 'this')})"}

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
            operand = self.sql(inner, "this")
            return f"{operand} NOT{self.sql(inner).removeprefix(operand)}"
        if isinstance(inner, exp.Is):
            return f"{self.sql(inner, 'this')} IS NOT {self.sql(inner, 'expression')}"
        return super().not_sql(expression)

    def neq_sql(self, expression: exp.NEQ) -> str:
        return self.binary(expression, "!=")


class _Compact(SQLite):
    Generator = _Generator
