"""Compact statements made wrong in the ways in which a small model goes wrong; whether they then fail is for others.

Each corruption changes the text at one place and leaves the rest as it was written, as a slip of the model would.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeVar

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from agent.catalog.schema import Catalog
from agent.models.training.gold import Selection
from agent.sql.compact_joins import conditions_between
from agent.sql.compact_names import quoted
from agent.sql.compact_nodes import table_of
from agent.sql.resolved import key_of

_T = TypeVar("_T")
_JOIN_ENDS = {TokenType.SELECT, TokenType.JOIN, TokenType.LEFT}
_HAVING_ENDS = {
    TokenType.ORDER_BY, TokenType.LIMIT, TokenType.QUALIFY, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.UNION,
}  # fmt: skip
_RANKED = re.compile(r"( WHERE .+?)? ORDER BY ([\w.\"]+)( DESC)? LIMIT 1(?=\)|$)")
_HAVING = re.compile(r"( WHERE .+?)?( GROUP BY .+?) HAVING ")


def corruptions(text: str, catalog: Catalog, shown: Selection, rng: Random) -> Iterator[str]:
    """Return wrong forms of the compact statement `text`, one of each kind that it can have, the kinds in any order.

    Names of tables and columns that do not belong are from those `shown`; names that do not exist are near to one.
    """
    try:
        statement = _Statement(text, catalog, shown, rng)
    except SqlglotError:
        return
    for kind in _order(rng):
        wrong = kind(statement)
        if wrong and wrong != text:
            yield wrong


class _Statement:
    """A compact statement with its names and where they stand."""

    def __init__(self, text: str, catalog: Catalog, shown: Selection, rng: Random) -> None:
        self.text, self.catalog, self.shown, self.rng = text, catalog, shown, rng
        self.tree = sqlglot.parse_one(text, read="sqlite")
        self.tokens: Sequence[Token] = sqlglot.tokenize(text, read="sqlite")
        self.columns = [each for each in self.tree.find_all(exp.Column) if isinstance(each.this, exp.Identifier)]
        self.tables = list(self.tree.find_all(exp.Table))

    def scope(self, column: exp.Column) -> list[str]:
        """Return the keys of the tables that `column` may be of."""
        nodes = [table for table in self.tables if table.parent_select is column.parent_select]
        return [key for key in map(self.key, nodes) if key]

    def key(self, table: exp.Table) -> str | None:
        """Return the key of `table`."""
        return key_of(table, self.catalog)

    def replaced(self, first: exp.Expr, last: exp.Expr, new: str) -> str:
        """Return the text with `new` in place of what stands from the identifier `first` to `last`."""
        return self.text[: first.meta["start"]] + new + self.text[last.meta["end"] + 1 :]


def _other_tables_column(statement: _Statement) -> str | None:
    """A column is said to be of a table that has none of that name, sooner one in scope than another."""
    rng = statement.rng
    column = _choice(statement.columns, rng)
    scope = statement.scope(column) if column else []
    if column is None or not scope:
        return None
    taken = {name.lower() for key in scope for name in statement.catalog.tables[key].column_names}
    if column.table:
        owner = statement.catalog.key_of(column.table)
        own = {name.lower() for name in statement.catalog.tables[owner].column_names} if owner else set()
        names = [n for key in scope for n in statement.catalog.tables[key].column_names if n.lower() not in own]
    else:
        names = [n for columns in statement.shown.values() for n in columns if n.lower() not in taken]
    name = _choice(names, rng)
    return statement.replaced(column.this, column.this, quoted(name)) if name else None


def _table_out_of_scope(statement: _Statement) -> str | None:
    """A column of a table that is not joined, with its table's name or without."""
    column = _choice(statement.columns, statement.rng)
    scope = statement.scope(column) if column else []
    others = [key for key in statement.shown if key not in scope]
    key = _choice(others, statement.rng)
    if column is None or key is None:
        return None
    name = quoted(statement.rng.choice(statement.shown[key]))
    new = name if not column.table and statement.rng.random() < 0.5 else f"{_written(key, statement)}.{name}"
    return statement.replaced(column.parts[0], column.this, new)


def _near_column(statement: _Statement) -> str | None:
    column = _choice(statement.columns, statement.rng)
    if column is None:
        return None
    taken = {name.lower() for columns in statement.shown.values() for name in columns}
    name = _choice([near for near in _near(column.name, column.table) if near.lower() not in taken], statement.rng)
    return statement.replaced(column.this, column.this, quoted(name)) if name else None


def _near_table(statement: _Statement) -> str | None:
    """A table under a near name, wherever the statement names it."""
    table = _choice(statement.tables, statement.rng)
    names = [] if table is None else [n for n in _near(table.name, "") if statement.catalog.key_of(n) is None]
    name = _choice(names, statement.rng)
    if table is None or name is None:
        return None
    same = [each.this for each in statement.tables] + [each.args.get("table") for each in statement.columns]
    places = [each for each in same if each is not None and each.name.lower() == table.name.lower()]
    text = statement.text
    for place in sorted(places, key=lambda place: -place.meta["start"]):
        text = text[: place.meta["start"]] + quoted(name) + text[place.meta["end"] + 1 :]
    return text


def _without_join(statement: _Statement) -> str | None:
    """One JOIN left out, so that its columns are of no table, or the next join has no key."""
    spans = _joins(statement)
    span = _choice(spans, statement.rng)
    return f"{statement.text[: span[0]].rstrip()} {statement.text[span[1] :]}" if span else None


def _without_condition(statement: _Statement) -> str | None:
    """A JOIN whose ON is left out although no key, or more than one, could stand for it."""
    spans = [(begin, end) for begin, end in _joins(statement) if " ON " in statement.text[begin:end]]
    span = _choice(spans, statement.rng)
    if span is None:
        return None
    joined = statement.text[span[0] : span[1]].partition(" ON ")[0]
    return f"{statement.text[: span[0]]}{joined} {statement.text[span[1] :]}"


def _join_without_key(statement: _Statement) -> str | None:
    """A JOIN too many, to a table that no key links with those before it."""
    select = statement.tree.find(exp.Select)
    nodes = [each for each in statement.tables if each.parent_select is select]
    keys = [key for key in map(statement.key, nodes) if key]
    others = [k for k in statement.shown if k not in keys and not conditions_between(statement.catalog, k, keys)]
    other = _choice(others, statement.rng)
    if other is None:
        return None
    at = statement.text.find(" SELECT ")
    return f"{statement.text[:at]} JOIN {_written(other, statement)}{statement.text[at:]}"


def _aggregate_in_where(statement: _Statement) -> str | None:
    """The condition of HAVING before the groups, or the highest value by a condition in place of an order."""
    having = _HAVING.search(statement.text)
    if having:
        end = next((t.start for t in statement.tokens if t.start > having.end() and t.token_type in _HAVING_ENDS), None)
        condition = statement.text[having.end() : end].rstrip()
        where = f"{having[1]} AND" if having[1] else " WHERE"
        rest = f" {statement.text[end:]}" if end else ""
        return f"{statement.text[: having.start()]}{where} {condition}{having[2]}{rest}"
    ranked = _RANKED.search(statement.text)
    if ranked is None or " GROUP BY " in statement.text:
        return None
    where = f"{ranked[1]} AND" if ranked[1] else " WHERE"
    best = f"{ranked[2]} = {'MAX' if ranked[3] else 'MIN'}({ranked[2]})"
    return f"{statement.text[: ranked.start()]}{where} {best}{statement.text[ranked.end() :]}"


def _unqualified(statement: _Statement) -> str | None:
    """A column without its table where several have one of that name."""
    column = _choice([each for each in statement.columns if each.table], statement.rng)
    return statement.replaced(column.parts[0], column.this, quoted(column.name)) if column else None


_Kind = Callable[[_Statement], str | None]
_COMMON: tuple[_Kind, ...] = (_other_tables_column, _table_out_of_scope, _near_column, _near_table, _join_without_key)
_RARE: tuple[_Kind, ...] = (_without_join, _without_condition, _aggregate_in_where, _unqualified)
"""What few statements can have; it goes first every other time, or there would be next to none of it."""


def _order(rng: Random) -> list[_Kind]:
    if rng.random() < 0.5:
        return [*rng.sample(_RARE, len(_RARE)), *rng.sample(_COMMON, len(_COMMON))]
    kinds = _COMMON + _RARE
    return rng.sample(kinds, len(kinds))


def _choice(of: Sequence[_T], rng: Random) -> _T | None:
    return rng.choice(of) if of else None


def _near(name: str, table: str) -> Iterator[str]:
    parts = [part for part in name.split("_") if part]
    yield name[:-1] if name.endswith("s") else f"{name}s"
    if len(parts) > 1:
        yield from (parts[0], parts[-1], "".join(parts))
    if table:
        yield f"{table}_{name}"
    yield from (f"{name}_id", f"{name}_name")
    if name.lower().endswith("id") and len(name) > 3:
        yield "id"


def _written(key: str, statement: _Statement) -> str:
    return table_of(statement.catalog, key).sql()


def _joins(statement: _Statement) -> list[tuple[int, int]]:
    """Return where each JOIN with its ON stands: from the blank before it to the next clause."""
    tokens = statement.tokens
    spans = []
    for at, token in enumerate(tokens):
        if token.token_type == TokenType.JOIN:
            begin = tokens[at - 1].start if tokens[at - 1].token_type == TokenType.LEFT else token.start
            end = next((each.start for each in tokens[at + 1 :] if each.token_type in _JOIN_ENDS), len(statement.text))
            spans.append((begin, end))
    return spans
