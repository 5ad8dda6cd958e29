"""Meanings of stored codes: from the comments of columns, and from small tables that list codes with their meanings."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from heapq import nsmallest
from itertools import permutations

from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.record.step import not_recorded
from datasphinx.agent.schema.catalog import Catalog, Column, ColumnKey, Table
from datasphinx.agent.schema.codes import codes_of
from datasphinx.agent.schema.describe import Meanings, quoted_key
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.schema.words import words
from datasphinx.agent.sources.profile import is_personal
from datasphinx.agent.types import Result

_MAX_SEARCHED, _MAX_LISTED, _MAX_TABLES = 1000, 1000, 20
_MAX_COLUMNS = 6
_MAX_CODES, _MAX_CODE_CHARS, _MAX_WORD_CHARS = 60, 12, 40
"""Codes of more characters than the second are one word, of up to the third."""

_Place = tuple[ColumnKey, Set[str], Set[str]]
"""A column, with the words of the names of its table and its own."""


def code_meanings(
    catalog: Catalog,
    keys: Iterable[str],
    quote: Callable[[str], str],
    execute: Callable[[str], Result],
    personal: frozenset[str] = frozenset(),
) -> Meanings:
    """Return the meanings of the codes in the columns of the tables `keys`.

    A comment that lists codes comes first. Otherwise a small table with a column of distinct codes and one with their
    meanings explains the columns that refer to it, or whose stored values are all among its codes if no other table
    explains them. Numbers are codes of a column that has the name of theirs. One or two further columns may name the
    explained column, alone or with its table. Of several meanings the first is taken. Tables that cannot be read or
    have values of persons are left out, and so are all tables of codes in a catalog of more than a thousand tables.
    `personal` are columns with such values, as `table.column` in lower case.
    """
    tables = {key: catalog.tables[key] for key in keys if key in catalog.tables}
    meanings: Meanings = {
        (key, column.name): codes
        for key, table in tables.items()
        for column in table.columns
        if column.comment
        and not column.secret
        and (codes := codes_of(column, catalog.values.get((key, column.name), ())))
    }
    if len(catalog.tables) > _MAX_SEARCHED:
        return meanings
    shown = replace(catalog, tables=tables)
    places = [
        ((key, column.name), words(key), words(column.name))
        for key, table in tables.items()
        for column in table.columns
        if not column.secret
    ]
    explained: dict[ColumnKey, list[Mapping[str, str]]] = {}
    listings = set()
    candidates = (table for table in catalog.tables.values() if _may_list_codes(table, catalog, personal))
    for table in nsmallest(_MAX_TABLES, candidates, key=lambda table: len(table.columns)):
        for place, listed in _explained(table, _rows(table, quote, execute), shown, places):
            explained.setdefault(place, []).append(listed)
            listings.add(table.key)
    unique = {place: found[0] for place, found in explained.items() if len(found) == 1 and place[0] not in listings}
    return {**unique, **meanings}


def _listing(table: Table) -> list[Column]:
    """Return the columns of `table` that may hold codes, meanings or names of columns."""
    return [column for column in table.columns if column.type_class in ("text", "number") and not column.secret]


def _may_list_codes(table: Table, catalog: Catalog, personal: frozenset[str]) -> bool:
    return (
        len(table.columns) <= _MAX_COLUMNS
        and len(_listing(table)) > 1
        and any(column.type_class == "text" for column in _listing(table))
        and table.rows is not None
        and 1 < table.rows <= _MAX_LISTED
        and not any(
            is_personal(table, each, personal) or personal_content(catalog, table, each) for each in table.columns
        )
    )


def _rows(table: Table, quote: Callable[[str], str], execute: Callable[[str], Result]) -> list[list[str | None]]:
    """Return the texts and numbers of `table` as texts."""
    names = ", ".join(quote(column.name) for column in _listing(table))
    try:
        with not_recorded():
            result = execute(f"SELECT {names} FROM {quoted_key(table, quote)}")
    except DatasphinxError:
        return []
    return [[None if cell is None else str(cell) for cell in row] for row in result["rows"]]


def _explained(
    table: Table, rows: Sequence[Sequence[str | None]], catalog: Catalog, places: Sequence[_Place]
) -> Iterator[tuple[ColumnKey, Mapping[str, str]]]:
    """Yield those of `places`, the columns of `catalog`, whose codes the rows of `table` explain, with the meanings."""
    columns = _listing(table)
    texts = [at for at, column in enumerate(columns) if column.type_class == "text"]
    others = [place for place in places if place[0][0] != table.key]
    for fields in (*permutations(texts, 2), *permutations(texts, 1), ()):
        names = {tuple(row[at] for at in fields) for row in rows}
        if len(names) > _MAX_CODES:
            continue
        named = {name: _named(name, others) for name in names}
        if not any(named.values()):
            continue
        for code, meaning in permutations(range(len(columns)), 2):
            if meaning not in texts or {code, meaning} & {*fields} or not (fields or _is_pair(code, meaning, table)):
                continue
            listed = _listed(rows, fields, code, meaning)
            found = [
                (place, codes)
                for name, codes in listed.items()
                for place in named[name]
                if _are_codes_of(place, codes, table, columns[code], catalog, is_named=bool(fields))
            ]
            if found:
                yield from found
                return


def _is_pair(code: int, meaning: int, table: Table) -> bool:
    """Return whether two columns of a table without names of columns may be codes and meanings: the first ones may."""
    columns = _listing(table)
    texts = [at for at, column in enumerate(columns) if column.type_class == "text"]
    if code in texts:
        return len(texts) == 2 and len(table.columns) <= 3 or [code, meaning] == texts[:2]
    return meaning == texts[0]


def _listed(
    rows: Sequence[Sequence[str | None]], fields: Sequence[int], code: int, meaning: int
) -> dict[tuple[str | None, ...], dict[str, str]]:
    """Return the meanings of codes by the names of columns; empty if a code has two or is none.

    Without names of columns, codes with one meaning are a group, and not explained.
    """
    listed: dict[tuple[str | None, ...], dict[str, str]] = {}
    count = 0
    for row in rows:
        word, text = row[code], row[meaning]
        if word is None or text is None:
            continue
        if len(word) > (_MAX_CODE_CHARS if len(word.split()) > 1 else _MAX_WORD_CHARS):
            return {}
        count += 1
        listed.setdefault(tuple(row[at] for at in fields), {})[word] = text
    is_group = not fields and any(len({*codes.values()}) < len(codes) for codes in listed.values())
    is_repeated = all(word == text for codes in listed.values() for word, text in codes.items())
    return {} if is_group or is_repeated or sum(map(len, listed.values())) < count else listed


def _named(name: Sequence[str | None], places: Sequence[_Place]) -> list[ColumnKey]:
    """Return the columns whose name `name` is, with or without their table; any column has an empty one."""
    said = [words(part or "") for part in name]
    if len(said) == 2:
        return [place for place, table, column in places if [table, column] == said]
    return [place for place, table, column in places if not said or column <= said[0] <= column | table]


def _are_codes_of(
    place: ColumnKey, codes: Mapping[str, str], table: Table, code: Column, catalog: Catalog, *, is_named: bool
) -> bool:
    """Return whether the column `place` refers to the column `code` of `table`, or has stored only `codes`.

    Numbers, and the codes of a table with more columns than codes and meanings need, are those of a column only if
    something else tells it: the name of a column that repeats them, or that they are shorter than their meanings.
    """
    name, owner = place[1], catalog.tables[place[0]]
    column = owner.column(name)
    keys = [foreign for foreign in owner.foreign_keys if foreign.columns == (name,)]
    if code.type_class == "number" and not is_named:
        is_unique = name in owner.primary_key or (column.distinct or 0) >= (owner.rows or 0)
        if keys or is_unique or words(name) != words(code.name):
            return False
    if any(foreign.target == table.key for foreign in keys):
        return any(foreign.target == table.key and foreign.target_columns == (code.name,) for foreign in keys)
    if len(table.columns) > 3 and not is_named and any(len(word) >= len(text) for word, text in codes.items()):
        return False
    if column.type_class not in ("text", "number") or not 1 < (column.distinct or 0) <= _MAX_CODES:
        return False
    known = catalog.values.get(place) or (*column.examples, *filter(None, (column.minimum, column.maximum)))
    return codes.keys() >= set(known)
