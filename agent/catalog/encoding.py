"""Tables as JSON and back, checked as they are read."""

from collections.abc import Iterable
from itertools import chain
from sys import intern
from typing import Any

from agent.catalog.schema import Column, ForeignKey, Table

Values = dict[tuple[str, str], tuple[str, ...]]

_BOOLEANS, _LISTS = frozenset([bool]), frozenset([list])
_TEXTS, _NUMBERS = frozenset([str, type(None)]), frozenset([int, float, type(None)])


def encode_table(table: Table) -> list[Any]:
    """Return `table` as lists that JSON can say."""
    keys = [[key.columns, key.target, key.target_columns, key.inferred] for key in table.foreign_keys]
    facts = [table.name, table.columns, table.schema, table.primary_key, keys, table.comment, table.is_view]
    return [*facts, table.parents, table.shares_rows, table.computes_columns, table.rows]


def decode_table(row: list[Any]) -> Table:
    """Return the table that `encode_table` took.

    Raises:
        TypeError, ValueError: it is anything else.
    """
    name, columns, schema, primary, keys, comment, is_view, parents, shares_rows, computes_columns, rows = row
    return Table(
        as_text(name),
        _decode_columns(columns),
        None if schema is None else as_text(schema),
        tuple(map(as_text, primary)),
        tuple(
            ForeignKey(tuple(map(as_text, own)), as_text(to), tuple(map(as_text, its)), bool(i))
            for own, to, its, i in keys
        ),
        None if comment is None else as_text(comment),
        bool(is_view),
        tuple(map(as_text, parents)),
        bool(shares_rows),
        bool(computes_columns),
        None if rows is None else int(rows),
    )


def decode_values(rows: Iterable[list[Any]]) -> Values:
    """Return values by table key and column name, as each row has them.

    Raises:
        TypeError, ValueError: it has anything else.
    """
    values = {(key, name): tuple(rest) for key, name, *rest in rows}
    if not {str}.issuperset(map(type, chain(chain.from_iterable(values), chain.from_iterable(values.values())))):
        raise TypeError("a value is no text")
    return values


def as_text(value: Any) -> str:
    """Return `value`.

    Raises:
        TypeError: it is no text.
    """
    if type(value) is not str:
        raise TypeError("not a text")
    return value


def _decode_columns(rows: list[Any]) -> tuple[Column, ...]:
    """Column by column of the rows, since there are hundreds of thousands of them."""
    if not rows:
        return ()
    names, kinds, nullable, comments, shares, distincts, examples, secret = zip(*rows, strict=True)
    checked = (
        (nullable, _BOOLEANS), (secret, _BOOLEANS), (comments, _TEXTS), (shares, _NUMBERS), (distincts, _NUMBERS),
        (examples, _LISTS), (chain.from_iterable(examples), frozenset([str])),
    )  # fmt: skip
    if not all(allowed.issuperset(map(type, values)) for values, allowed in checked):
        raise TypeError("not the columns of a table")
    shown = map(tuple, examples)
    fields = zip(
        map(intern, names), map(intern, kinds), nullable, comments, shares, distincts, shown, secret, strict=True
    )
    return tuple(map(Column._make, fields))
