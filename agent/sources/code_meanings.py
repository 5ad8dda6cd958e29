"""Meanings of stored codes: from the comments of columns, and from small tables that list codes with their meanings."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, permutations

from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.record.step import not_recorded
from datasphinx.agent.schema.catalog import Catalog, Column, ColumnKey, Table
from datasphinx.agent.schema.codes import codes_in
from datasphinx.agent.schema.describe import Meanings, quoted_key
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.schema.words import words
from datasphinx.agent.sources.profile import is_personal
from datasphinx.agent.types import Result

_MAX_SEARCHED, _MAX_LISTED, _MAX_TABLES = 1000, 1000, 20
_MAX_CODES, _MAX_CODE_CHARS = 60, 12


def code_meanings(
    catalog: Catalog,
    keys: Iterable[str],
    quote: Callable[[str], str],
    execute: Callable[[str], Result],
    personal: frozenset[str] = frozenset(),
) -> Meanings:
    """Return the meanings of the codes in the columns of the tables `keys`.

    A comment that lists codes comes first. Otherwise a table of a text column with distinct codes and one with their
    meanings explains the columns that refer to it, or whose stored values are all among its codes if no other table
    explains them. In a table with a third text column, that column has the name of the explained column. Tables that
    cannot be read or have values of persons are left out, and so are all tables of codes in a catalog of more than a
    thousand tables. `personal` are columns with such values, as `table.column` in lower case.
    """
    tables = {key: catalog.tables[key] for key in keys if key in catalog.tables}
    meanings: Meanings = {
        (key, column.name): codes
        for key, table in tables.items()
        for column in table.columns
        if column.comment and not column.secret and (codes := codes_in(column.comment))
    }
    if len(catalog.tables) > _MAX_SEARCHED:
        return meanings
    shown = replace(catalog, tables=tables)
    explained: dict[ColumnKey, list[Mapping[str, str]]] = {}
    listings = set()
    candidates = (table for table in catalog.tables.values() if _may_list_codes(table, catalog, personal))
    for table in islice(candidates, _MAX_TABLES):
        for place, listed in _explained(table, _rows(table, quote, execute), shown):
            explained.setdefault(place, []).append(listed)
            listings.add(table.key)
    unique = {place: found[0] for place, found in explained.items() if len(found) == 1 and place[0] not in listings}
    return {**unique, **meanings}


def _texts(table: Table) -> list[Column]:
    return [column for column in table.columns if column.type_class == "text" and not column.secret]


def _may_list_codes(table: Table, catalog: Catalog, personal: frozenset[str]) -> bool:
    return (
        len(_texts(table)) in (2, 3)
        and len(table.columns) <= len(_texts(table)) + 1
        and table.rows is not None
        and 1 < table.rows <= _MAX_LISTED
        and not any(
            is_personal(table, each, personal) or personal_content(catalog, table, each) for each in table.columns
        )
    )


def _rows(table: Table, quote: Callable[[str], str], execute: Callable[[str], Result]) -> list[list[str]]:
    """Return the texts of `table`, without rows that have a NULL."""
    names = ", ".join(quote(column.name) for column in _texts(table))
    try:
        with not_recorded():
            result = execute(f"SELECT {names} FROM {quoted_key(table, quote)}")
    except DatasphinxError:
        return []
    return [list(map(str, row)) for row in result["rows"] if None not in row]


def _explained(
    table: Table, rows: Sequence[Sequence[str]], catalog: Catalog
) -> Iterator[tuple[ColumnKey, Mapping[str, str]]]:
    """Yield the columns of `catalog` whose codes the rows of `table` explain, with the meanings."""
    if not rows:
        return
    names = [column.name for column in _texts(table)]
    others = [other for key, other in catalog.tables.items() if key != table.key]
    places = [(other.key, column.name) for other in others for column in other.columns if not column.secret]
    for order in permutations(range(len(names))):
        *field, code, meaning = order
        listed: dict[str, dict[str, str]] = {}
        for row in rows:
            listed.setdefault(row[field[0]] if field else "", {})[row[code]] = row[meaning]
        is_unique = (
            sum(map(len, listed.values())) == len(rows) == len({(*row[: len(field)], row[meaning]) for row in rows})
        )
        if not is_unique or any(len(row[code]) > _MAX_CODE_CHARS for row in rows):
            continue
        found = [
            (place, codes)
            for name, codes in listed.items()
            for place in places
            if (_is_named(place, name) if field else True) and _are_codes_of(place, codes, table, names[code], catalog)
        ]
        if found:
            yield from found
            return


def _is_named(place: ColumnKey, name: str) -> bool:
    """Return whether `name` is that of the column `place`, with or without its table."""
    table, column = map(words, place)
    return column <= words(name) <= column | table


def _are_codes_of(place: ColumnKey, codes: Mapping[str, str], table: Table, code: str, catalog: Catalog) -> bool:
    """Return whether the column `place` refers to the column `code` of `table`, or has stored only `codes`."""
    key, name = place
    keys = catalog.tables[key].foreign_keys
    if any(foreign.columns == (name,) and foreign.target == table.key for foreign in keys):
        return any(foreign.columns == (name,) and foreign.target_columns == (code,) for foreign in keys)
    column = catalog.tables[key].column(name)
    if column.type_class not in ("text", "number") or not 1 < (column.distinct or 0) <= _MAX_CODES:
        return False
    return codes.keys() >= set(catalog.values.get(place) or column.examples)
