"""Finds what gold statements compare columns with, so that made-up rows can hold it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agent.models.training.spider import SpiderSchema

Place = tuple[str, str]
"""Table and column, in lower case."""

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.Is)


@dataclass
class Literals:
    """What statements compare columns with, and which columns they compare with each other."""

    values: dict[Place, list[str]] = field(default_factory=dict)
    """Numbers and text as text, each once, in the order of the statements."""
    textual: set[Place] = field(default_factory=set)
    """Columns that are compared with text that is no number."""
    joined: list[tuple[Place, Place]] = field(default_factory=list)
    """Columns that a statement holds against each other."""
    excluding: set[Place] = field(default_factory=set)
    """Columns that stand in a NOT IN, which finds nothing where one of them is NULL."""


def read_literals(schema: SpiderSchema, statements: Sequence[str]) -> Literals:
    """Return what `statements` compare the columns of `schema` with; a statement that cannot be parsed gives nothing.

    As Spider means it, text in double quotes is a literal where no column in scope has its name.
    """
    columns = {table.name.lower(): {column.name.lower() for column in table.columns} for table in schema.tables}
    found = Literals()
    for statement in dict.fromkeys(statements):
        try:
            tree = sqlglot.parse_one(statement, dialect="sqlite")
        except SqlglotError:
            continue
        for node in tree.find_all(*_COMPARISONS, exp.In, exp.Between):
            _read(node, columns, found)
    return found


def _read(node: exp.Expr, columns: Mapping[str, set[str]], found: Literals) -> None:
    sides = list(_sides(node))
    places = [_place(side, columns) for side in sides]
    own = next((place for place in places if place), None)
    if own is None:
        return
    for side, place in zip(sides, places, strict=True):
        if place and place != own:
            found.joined.append((own, place))
            if isinstance(node.parent, exp.Not):
                found.excluding.add(place)
        text = None if place else _literal(side)
        if text is not None:
            known = found.values.setdefault(own, [])
            known.extend([text] if text not in known else [])
            if not _is_number(text) and not isinstance(node, exp.Like):
                found.textual.add(own)


def _sides(node: exp.Expr) -> Iterator[exp.Expr]:
    """Everything that `node` holds against each other; of a subquery what it selects."""
    given = [node.this, node.args.get("expression"), node.args.get("low"), node.args.get("high")]
    for side in (*given, *node.expressions, node.args.get("query")):
        inner = side.find(exp.Select) if isinstance(side, exp.Subquery | exp.Query) else None
        if isinstance(inner, exp.Select):
            yield from (column for column in inner.expressions[:1] if isinstance(column, exp.Column))
        elif isinstance(side, exp.Expr):
            yield side


def _place(side: exp.Expr, columns: Mapping[str, set[str]]) -> Place | None:
    if not isinstance(side, exp.Column):
        return None
    name = side.name.lower()
    select = side.find_ancestor(exp.Select)
    while isinstance(select, exp.Select):
        scope = {table.alias_or_name.lower(): table.name.lower() for table in _tables(select)}
        wanted = [scope[side.table.lower()]] if side.table.lower() in scope else list(scope.values())
        for table in wanted if not side.table or side.table.lower() in scope else []:
            if name in columns.get(table, ()):
                return table, name
        select = select.find_ancestor(exp.Select)
    return None


def _tables(select: exp.Select) -> Iterator[exp.Table]:
    for clause in (select.args.get("from_") or select.args.get("from"), *(select.args.get("joins") or ())):
        if clause is not None and isinstance(clause.this, exp.Table):
            yield clause.this


def _literal(side: exp.Expr) -> str | None:
    if isinstance(side, exp.Neg) and isinstance(side.this, exp.Literal):
        return f"-{side.this.name}"
    if isinstance(side, exp.Column) and not side.table and side.this.args.get("quoted"):
        return str(side.name)
    return str(side.name) if isinstance(side, exp.Literal) else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
