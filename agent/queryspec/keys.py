"""Join keys of different types: what they are compared as, and in which form on each engine."""

from sqlglot import exp

from datasphinx.agent.engines.spelling import formula
from datasphinx.agent.messages import Message
from datasphinx.agent.queryspec.clauses import BoundValues
from datasphinx.agent.queryspec.columns import Datasets, scope_of
from datasphinx.agent.queryspec.spec import Join, KeyType, QuerySpec
from datasphinx.agent.schema.catalog import Column, TypeClass

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
            other = scope.tables[join.dataset].column(right)
            kind = key_type(join, left, place.column, other) if place else None
            if kind and left not in join.cast:
                notes.append(Message(f"keys_compared_as_{kind}", left=left, right=right))
    return notes


def join_key(node: exp.Expr, column: Column, kind: TypeClass, bound: BoundValues) -> exp.Expr:
    """Return `node`, the column `column`, as a number, as the text of a day, or as text; NULL where it is none."""
    spelling = bound.spelling
    if kind == "number":
        if column.type_class != "text":
            return spelling.as_decimal(node)
        text = exp.Trim(this=spelling.as_text(node, column.type))
        number, value = spelling.is_number(text, bound.bind), spelling.as_decimal(text.copy())
        return formula("CASE WHEN number THEN value END", number=number, value=value)
    if kind == "date":
        if column.type_class != "text":
            return spelling.period(spelling.period_key(spelling.as_date(node), "day"), "day")
        return formula("SUBSTRING(TRIM(x), 1, 10)", x=spelling.as_text(node, column.type))
    return spelling.as_text(node, column.type) if kind == "text" else node
