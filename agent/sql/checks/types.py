"""Types: sums of text, and columns compared with literals that their type cannot hold."""

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from agent.sql.checks.remark import Remark
from agent.sql.resolved import Place, Resolved

_STRICT = {"postgres", "duckdb", "clickhouse", "trino"}
"""Engines that refuse what the others convert, to zero or NULL where it is no number."""

_REFUSES_NUMBER_FOR_TEXT = {"postgres", "trino"}
"""Engines that compare a text with no number at all."""

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In)
_NUMBER_WORDS = {"nan", "inf", "infinity"}
_DATE_WORDS = {"now", "today", "tomorrow", "yesterday", "epoch", "infinity", "allballs"}
_DIGIT = re.compile(r"\d")


def sums_of_text(query: Resolved) -> Iterator[Remark]:
    """SUM and AVG of a text column, unless its values are numbers kept as text where the engine adds those up."""
    for scope, _ in query.selects():
        for call in scope.find_all(exp.Sum, exp.Avg):
            place = query.place(_argument(call), scope)
            if place and place.column.type_class == "text" and not _holds_numbers(place, query):
                text = f"{call.key.upper()} of {place}, which is text ({place.column.type})"
                yield Remark(text, query.dialect in _STRICT)


def comparisons(query: Resolved) -> Iterator[Remark]:
    """A number column compared with a text that is no number, a date column with one that is no date, and the like."""
    is_strict = query.dialect in _STRICT
    for scope, _ in query.selects():
        for node in scope.find_all(*_COMPARISONS):
            for place, literal in _compared(node, query, scope):
                if _is_nonsense(place.column.type_class, literal, query.dialect):
                    shown = literal.sql(dialect=query.dialect)
                    yield Remark(f"{place} ({place.column.type}) is compared with {shown}", is_strict)


def _argument(call: exp.Expr) -> exp.Expr | None:
    inner: exp.Expr | None = call.this
    return inner.expressions[0] if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1 else inner


def _holds_numbers(place: Place, query: Resolved) -> bool:
    """True where the engine would add up texts and the values that were seen of this column look like numbers."""
    seen = place.column.examples or query.catalog.values.get((place.table.key, place.column.name), ())
    return query.dialect not in _STRICT and bool(seen) and all(_DIGIT.search(value) for value in seen)


def _compared(node: exp.Expr, query: Resolved, scope: Scope) -> Iterator[tuple[Place, exp.Literal]]:
    parts = [node.this, *node.args.get("expressions", ())]
    parts += [node.args[name] for name in ("expression", "low", "high") if node.args.get(name) is not None]
    places = [place for part in parts if (place := query.place(part, scope))]
    yield from ((place, part) for place in places[:1] for part in parts if isinstance(part, exp.Literal))


def _is_nonsense(kind: str, literal: exp.Literal, dialect: str) -> bool:
    if not literal.is_string:
        return dialect in _REFUSES_NUMBER_FOR_TEXT and kind == "text"
    if _DIGIT.search(literal.name):
        return False
    word = literal.name.strip().lower().lstrip("+-")
    is_number, is_moment = kind == "number", kind in {"date", "datetime"}
    return (is_number and word not in _NUMBER_WORDS) or (is_moment and word not in _DATE_WORDS)
