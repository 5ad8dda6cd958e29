"""The file of the value index: normal forms of texts, their occurrences, and keys to find similar forms.

A SQLite file that only this module reads and writes; it holds no table of a user's database. Typing errors are found by
Pass-Join: a text within `n` edits of another shares one of its `n + 1` segments with it at about the same position (Li,
Deng, Wang, Feng: Pass-Join, PVLDB 5(3), 2011).
"""

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from datasphinx.agent.retrieval.abbreviations import acronym
from datasphinx.agent.schema.words import normal_form

MAX_VALUE_LENGTH = 200
"""Maximum length of an indexed text, in characters; longer texts are prose, not values to look up."""


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Distinct values of one column. `complete` is True if the column has no other values up to the maximum length."""

    table: str
    column: str
    values: tuple[str, ...]
    complete: bool
    read: bool = True
    """False if the column could not be read now, and `values` are those of a sample."""


Connection = sqlite3.Connection
StoreError = sqlite3.DatabaseError
"""Raised if the file is damaged, locked, not writable, or in another format."""

Row = tuple[str, str, str, str]
"""Form, table, column, value."""

_SCHEMA = """
CREATE TABLE columns (id INTEGER PRIMARY KEY, place TEXT, name TEXT, complete INTEGER);
CREATE TABLE forms (id INTEGER PRIMARY KEY, form TEXT);
CREATE TABLE entries (form INTEGER, place INTEGER, value TEXT);
CREATE TABLE segments (key INTEGER, form INTEGER, PRIMARY KEY (key, form)) WITHOUT ROWID;
CREATE TABLE initials (key TEXT, form INTEGER, PRIMARY KEY (key, form)) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, fact TEXT);
CREATE VIRTUAL TABLE words USING fts5(form, content='', detail='none', columnsize=0, tokenize='unicode61');
CREATE TEMP TABLE read (form TEXT, place INTEGER, value TEXT);
CREATE TEMP TABLE keys (key INTEGER, form INTEGER);
"""
_FINISH = (
    "INSERT INTO forms (form) SELECT DISTINCT form FROM read ORDER BY length(form), form",
    "CREATE UNIQUE INDEX form_of ON forms (form)",
    "INSERT INTO entries SELECT forms.id, read.place, read.value FROM read JOIN forms ON forms.form = read.form"
    " ORDER BY forms.id, read.place, read.value",
    "CREATE INDEX entries_of ON entries (form)",
    "CREATE INDEX entries_in ON entries (place)",
)
_BATCH = 50_000
_VERSION = "1"
_FROM_ENTRIES = "FROM entries JOIN columns ON columns.id = entries.place JOIN forms ON forms.id = entries.form"
_SELECT_ROWS = f"SELECT forms.form, columns.place, columns.name, entries.value {_FROM_ENTRIES}"


def build(
    path: Path | None, columns: Iterable[ColumnValues], *, folds_case: bool, stop: Callable[[], bool]
) -> sqlite3.Connection:
    """Write `columns` into a new file at `path`, or into memory, and return the connection to it.

    Columns are read until `stop` returns True.
    """
    connection = sqlite3.connect(str(path) if path else ":memory:", check_same_thread=False, isolation_level=None)
    try:
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "temp_store=MEMORY", "trusted_schema=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.executescript("BEGIN;" + _SCHEMA)
        unread = 0
        for number, column in enumerate(columns):
            if stop():
                break
            row = (number, column.table, column.column, int(column.complete))
            connection.execute("INSERT INTO columns VALUES (?, ?, ?, ?)", row)
            texts = (value.encode("utf-8", "replace").decode() for value in column.values)
            rows = ((normal_form(text), number, text) for text in texts)
            connection.executemany("INSERT INTO temp.read VALUES (?, ?, ?)", rows)
            unread += not column.read
        for statement in _FINISH:
            connection.execute(statement)
        _add_keys(connection)
        facts = [("version", _VERSION), ("folds_case", str(int(folds_case))), ("unread", str(unread))]
        connection.executemany("INSERT INTO facts VALUES (?, ?)", facts)
        connection.executescript("DROP TABLE temp.read; DROP TABLE temp.keys;")
    except BaseException:
        connection.close()
        raise
    return connection


def open_file(path: Path) -> sqlite3.Connection | None:
    """Return a read-only connection to a file written by `build`; None if it is missing or unreadable."""
    if not path.is_file():
        return None
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA cell_size_check=ON")
        if read_fact(connection, "version") == _VERSION:
            return connection
    connection.close()
    return None


def read_fact(connection: sqlite3.Connection, name: str) -> str | None:
    """Return a property of the file; None if it is not set."""
    row = connection.execute("SELECT fact FROM facts WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else None


def rows_by_form(
    connection: sqlite3.Connection, wanted: Sequence[str | int], limit: int, column: Literal["form", "id"] = "form"
) -> list[Row]:
    """Return up to `limit` values whose form, or its id, is one of `wanted`."""
    placeholders = ", ".join("?" * len(wanted))
    sql = f"{_SELECT_ROWS} WHERE forms.{column} IN ({placeholders}) LIMIT ?"
    return connection.execute(sql, (*wanted, limit)).fetchall() if wanted else []


def forms_with_initials(connection: sqlite3.Connection, key: str, limit: int) -> list[int]:
    """Return the ids of forms whose words begin with the letters of `key`."""
    return [
        form_id for (form_id,) in connection.execute("SELECT form FROM initials WHERE key = ? LIMIT ?", (key, limit))
    ]


def similar_forms(connection: sqlite3.Connection, form: str, limit: int) -> list[tuple[int, str]]:
    """Return id and text of forms that may be within a few edits of `form`; callers compute the distance."""
    keys = list(query_keys(form))
    placeholders = ", ".join("?" * len(keys))
    sql = "SELECT DISTINCT forms.id, forms.form FROM segments JOIN forms ON forms.id = segments.form"
    return connection.execute(f"{sql} WHERE key IN ({placeholders}) LIMIT ?", (*keys, limit)).fetchall()


def forms_with_words(connection: sqlite3.Connection, form: str, limit: int) -> list[tuple[int, str]]:
    """Return id and text of the shortest forms that contain every word of `form`."""
    query = " ".join(f'"{word}"' for word in form.split())
    sql = "SELECT id, form FROM forms WHERE id IN (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)"
    return connection.execute(sql, (query, limit)).fetchall()


def column_id(connection: sqlite3.Connection, table: str, column: str) -> tuple[int, bool] | None:
    """Return the id of a column and whether it is complete; None if it is not indexed."""
    sql = "SELECT id, complete FROM columns WHERE place = ? AND name = ?"
    row = connection.execute(sql, (table, column)).fetchone()
    return (int(row[0]), bool(row[1])) if row else None


def column_rows(connection: sqlite3.Connection, place: int, limit: int) -> list[tuple[str, str]]:
    """Return form and value of up to `limit` values of one column."""
    sql = f"SELECT forms.form, entries.value {_FROM_ENTRIES} WHERE entries.place = ? LIMIT ?"
    return connection.execute(sql, (place, limit)).fetchall()


def max_edits(length: int) -> int:
    """Return the number of typing errors allowed in a text of this length."""
    return 0 if length < 4 else 1 if length == 4 else 2


def query_keys(form: str) -> Iterator[int]:
    """Yield the keys of all texts that may be within the allowed number of edits of `form`."""
    edits, keys = max_edits(len(form)), set()
    for length in range(max(1, len(form) - edits), len(form) + edits + 1):
        for number, (start, end) in enumerate(_segments(length)):
            shift = max_edits(length)
            for at in range(max(0, start - shift), min(len(form) - (end - start), start + shift) + 1):
                keys.add(_key(length, number, form[at : at + end - start]))
    yield from keys


def _segments(length: int) -> list[tuple[int, int]]:
    """Return the bounds of the segments of a text: one more than its allowed edits, longer segments last."""
    parts = max_edits(length) + 1
    size, longer = divmod(length, parts)
    ends = [size * (number + 1) + max(0, number + 1 - (parts - longer)) for number in range(parts)]
    return list(zip([0, *ends], ends, strict=False))


def _key(length: int, number: int, segment: str) -> int:
    return zlib.crc32(f"{length}:{number}:{segment}".encode("utf-8", "surrogatepass"))


def _add_keys(connection: sqlite3.Connection) -> None:
    cursor = connection.execute("SELECT id, form FROM forms")
    while forms := list(islice(cursor, _BATCH)):
        keys = (
            (_key(len(form), number, form[start:end]), form_id)
            for form_id, form in forms
            if max_edits(len(form))
            for number, (start, end) in enumerate(_segments(len(form)))
        )
        connection.executemany("INSERT INTO temp.keys VALUES (?, ?)", keys)
        connection.executemany(
            "INSERT INTO words (rowid, form) VALUES (?, ?)", ((form_id, form) for form_id, form in forms if " " in form)
        )
        initials = ((acronym(form), form_id) for form_id, form in forms)
        connection.executemany(
            "INSERT INTO initials VALUES (?, ?)", ((key, form_id) for key, form_id in initials if key)
        )
    connection.execute("INSERT OR IGNORE INTO segments SELECT key, form FROM temp.keys ORDER BY key, form")
