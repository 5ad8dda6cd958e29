"""Join keys of different types: what they are compared as, and in which form on each engine."""

from sqlglot import exp

from agent.messages import Message
from agent.queryspec import sqlite
from agent.queryspec.clauses import BoundValues
from agent.queryspec.columns import Datasets, scope_of
from agent.queryspec.dialect import SpecDialect, as_text, cast, function_call, period, period_key
from agent.queryspec.spec import Join, KeyType, QuerySpec
from agent.schema.catalog import Column, TypeClass

_NUMBER = r"^[+-]?[0-9]{1,28}([.][0-9]{0,10})?$"
"""Text that equals a number. More digits than this fit into no decimal."""
_DECIMALS = {"duckdb": "DECIMAL(38, 10)", "postgres": "DECIMAL", "mysql": "DECIMAL(38, 10)", "sqlite": "NUMERIC"}
_DAY_LENGTH = 10

_COMPARED_AS: dict[frozenset[TypeClass], KeyType] = {
    frozenset(("number", "text")): "number",
    frozenset(("date", "text")): "date",
    frozenset(("datetime", "text")): "date",
    frozenset(("date", "datetime")): "date",
}
CASTS: dict[KeyType, tuple[TypeClass, ...]] = {"number": ("number", "text"), "date": ("date", "datetime", "text")}
"""The types of columns that can be compared as numbers, and as dates."""


def key_type(join: Join, name: str, left: Column, right: Column) -> KeyType | None:
    """Return what the key `name` of a join is compared as; None as it is, or if its types cannot be compared."""
    return join.cast.get(name) or _COMPARED_AS.get(frozenset((left.type_class, right.type_class)))


def can_be_compared(join: Join, name: str, left: Column, right: Column) -> bool:
    """Return whether the two columns of the key `name` can be compared."""
    kind = key_type(join, name, left, right)
    if kind is None:
        return left.type_class == right.type_class
    return {left.type_class, right.type_class} <= set(CASTS[kind])


def converted_keys(spec: QuerySpec, datasets: Datasets) -> list[Message]:
    """Return a note for each key of a join that is compared as a number or day without a `cast`."""
    scope, notes = scope_of(spec, datasets), []
    for join in spec.joins:
        for left, right in join.on.items():
            place = scope.find_column(left)
            other = next(column for column in scope.tables[join.dataset].columns if column.name == right)
            kind = key_type(join, left, place.column, other) if place else None
            if kind and left not in join.cast:
                notes.append(Message(f"keys_compared_as_{kind}", left=left, right=right))
    return notes


def join_key(node: exp.Expr, column: Column, kind: TypeClass, bound: BoundValues) -> exp.Expr:
    """Return `node`, the column `column`, as a number, as the text of a day, or as text; NULL where it is none."""
    dialect = bound.dialect
    if kind == "number":
        if column.type_class != "text":
            return _decimal(node, dialect)
        text = exp.Trim(this=as_text(node, column, dialect))
        return exp.Case().when(_is_number(text, bound), _decimal(text.copy(), dialect))
    if kind == "date":
        if column.type_class != "text":
            return period(period_key(as_date(node, dialect), "day", dialect), "day", dialect)
        text = exp.Trim(this=as_text(node, column, dialect))
        return function_call("SUBSTR", text, exp.Literal.number(1), exp.Literal.number(_DAY_LENGTH))
    return as_text(node, column, dialect) if kind == "text" else node


def as_date(node: exp.Expr, dialect: SpecDialect) -> exp.Expr:
    """Return a date or time as a date."""
    return sqlite.as_comparable(node, "date") if dialect == "sqlite" else cast(node, "date", dialect)


def _is_number(text: exp.Expr, bound: BoundValues) -> exp.Expr:
    """Return the condition that `text` has the form `_NUMBER`."""
    if bound.dialect == "sqlite":
        return sqlite.is_number(text)
    pattern = bound.bind(_NUMBER)
    if bound.dialect == "clickhouse":
        return function_call("match", text, pattern)
    if bound.dialect == "duckdb":
        return function_call("REGEXP_MATCHES", text, pattern)
    return exp.RegexpLike(this=text, expression=pattern)


def _decimal(node: exp.Expr, dialect: SpecDialect) -> exp.Expr:
    """Return a number as a decimal, which compares long identifiers exactly."""
    if dialect == "clickhouse":
        return function_call("accurateCastOrNull", node, exp.Literal.string("Decimal(38, 10)"))
    kind = exp.DataType.build(_DECIMALS[dialect], dialect=dialect)
    return exp.TryCast(this=node, to=kind) if dialect == "duckdb" else exp.cast(node, kind, copy=False)
