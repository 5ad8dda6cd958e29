"""Compact statements, the form in which the embedded model writes SQL, and the translation of ordinary SQL into it.

The form is SQLite's SQL in the order of decisions and without information that the catalog already has: FROM comes
first, tables have no aliases, columns are qualified only if several tables are in scope, a join along the only foreign
key has no ON, and outputs have no aliases. Omitting conditions that keys imply follows NatSQL (Gan et al. 2021).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import sqlglot
from sqlalchemy.dialects.mysql.reserved_words import RESERVED_WORDS_MYSQL
from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS as RESERVED_WORDS_POSTGRESQL
from sqlalchemy.dialects.sqlite.base import SQLiteIdentifierPreparer
from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import SqlglotError
from sqlglot.generators.sqlite import SQLiteGenerator

from datasphinx.agent.engines import engine_of
from datasphinx.agent.schema.catalog import Catalog, Table
from datasphinx.agent.sql.names import key_of

_RESERVED = RESERVED_WORDS_MYSQL | RESERVED_WORDS_POSTGRESQL | SQLiteIdentifierPreparer.reserved_words
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"\d+(\.\d+)?")
_MAX_OUTPUTS = 8
_UNSUPPORTED = (exp.With, exp.Exists, exp.Cast, exp.Values, exp.Lateral, exp.Offset)


def quoted(name: str) -> str:
    """Return `name` as in a compact statement: bare if that is unambiguous, otherwise in double quotes.

    >>> quoted("amount"), quoted("order date"), quoted("group")
    ('amount', '"order date"', '"group"')
    """
    if _PLAIN.fullmatch(name) and name.lower() not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def table_of(catalog: Catalog, key: str) -> exp.Table:
    """Return the table with the catalog key `key`, with its schema if there is one."""
    name = catalog.full_names[key]
    return exp.Table(this=identifier(name.name), db=identifier(name.schema) if name.schema else None)


def table_name(table: Table) -> str:
    """Return the name of `table` as in a compact statement."""
    return ".".join(quoted(part) for part in (table.schema, table.name) if part)


def column_of(catalog: Catalog, key: str, name: str, *, qualified: bool) -> exp.Column:
    """Return the column `name` of the table `key`, prefixed by the table's name if `qualified`."""
    if not qualified:
        return exp.Column(this=identifier(name))
    table = table_of(catalog, key)
    return exp.Column(this=identifier(name), table=table.this, db=table.args.get("db"))


def identifier(name: str, dialect: str = "sqlite") -> exp.Identifier:
    """Return `name` as an identifier, in quotes if `dialect` or a compact statement needs them."""
    is_folded = not engine_of(dialect).preserves_case and name != name.lower()
    return exp.to_identifier(name, quoted=is_folded or quoted(name) != name)


def table_nodes(select: exp.Select) -> list[exp.Table]:
    """Return the tables after FROM and JOIN in `select`, without subqueries."""
    source = select.args.get("from_")
    nodes = [source.this, *(join.this for join in select.args.get("joins") or ())] if source else []
    return [node for node in nodes if isinstance(node, exp.Table)]


class KeyPair(NamedTuple):
    """A foreign key: columns of the table `left` that equal columns of the table `right`, both as catalog keys."""

    left: str
    left_columns: tuple[str, ...]
    right: str
    right_columns: tuple[str, ...]


def conditions_between(catalog: Catalog, new: str, tables: Sequence[str]) -> list[KeyPair]:
    """Return the foreign keys, in either direction, between the table `new` and `tables`."""
    pairs = []
    for other in tables:
        pairs += [pair for pair in keys_of(catalog, new) if pair.right == other]
        pairs += [pair for pair in keys_of(catalog, other) if pair.right == new]
    return list({frozenset(zip(*_ends(pair), strict=True)): pair for pair in pairs}.values())


def join_condition(catalog: Catalog, pair: KeyPair) -> exp.Expr:
    """Return the join condition of `pair`, with qualified columns."""
    equalities = [
        exp.EQ(
            this=column_of(catalog, pair.left, left, qualified=True),
            expression=column_of(catalog, pair.right, right, qualified=True),
        )
        for left, right in zip(pair.left_columns, pair.right_columns, strict=True)
    ]
    return exp.and_(*equalities) if len(equalities) > 1 else equalities[0]


def keys_of(catalog: Catalog, key: str) -> Iterator[KeyPair]:
    """Return the foreign keys of the table `key`, except those that reference the table itself."""
    for foreign in catalog.tables[key].foreign_keys:
        if foreign.target != key and len(foreign.columns) == len(foreign.target_columns):
            yield KeyPair(key, foreign.columns, foreign.target, foreign.target_columns)


def _ends(pair: KeyPair) -> tuple[list[str], list[str]]:
    ends = [
        sorted((f"{pair.left}.{left}".lower(), f"{pair.right}.{right}".lower()))
        for left, right in zip(pair.left_columns, pair.right_columns, strict=True)
    ]
    return [first for first, _ in ends], [second for _, second in ends]


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
