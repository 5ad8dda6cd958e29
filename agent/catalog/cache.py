"""A catalog on disk: compressed JSON that is checked as it is read, so that a broken or foreign file does no harm."""

import gc
import hashlib
import json
import os
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Any

from agent.catalog.schema import Catalog, Column, ForeignKey, Table
from agent.sql.database import Database

_FORMAT = 2
_BOOLEANS, _LISTS = frozenset([bool]), frozenset([list])
_TEXTS, _NUMBERS = frozenset([str, type(None)]), frozenset([int, float, type(None)])
_make_column = partial(tuple.__new__, Column)
_MAX_BYTES = 512 * 1024 * 1024
"""No catalog that is worth reading unpacks to more."""


@dataclass(frozen=True)
class Entry:
    """A catalog as it was stored: when, in seconds since 1970, and how the database looked, if it is a file."""

    catalog: Catalog
    stored_at: float
    stamp: str
    digest: str
    """What tells this catalog, samples included, from any other."""


class CatalogCache:
    """The files of one source in a folder. A change of `options`, such as what is secret, makes them worthless."""

    def __init__(self, folder: Path, database: Database, options: Sequence[str]) -> None:
        """Name the files by the URL without its password; nothing is read or written yet."""
        self._options = _digest(str(_FORMAT), *options)
        name = _digest(source_identity(database))[:32]
        self.path = folder / "catalogs" / f"{name}.catalog"
        self.values_path = folder / "catalogs" / f"{name}.values"
        self.index_path = folder / "catalogs" / f"{name}.index"

    def load(self) -> Entry | None:
        """Return what is stored; None where there is nothing usable, and then the files are removed."""
        try:
            with _no_collection():
                return self._read()
        except FileNotFoundError:
            self.clear()
        except (OSError, ValueError, TypeError, KeyError, IndexError, RecursionError, zlib.error):
            self.clear()
        return None

    def store(self, catalog: Catalog, stamp: str) -> str:
        """Write `catalog` at once or not at all, and return its digest.

        Raises:
            OSError: the folder cannot be written, or the disk is full.
        """
        contents = _encode(catalog)
        digest = _digest(json.dumps(contents))
        head = {"options": self._options, "stored_at": time.time(), "stamp": stamp, "digest": digest}
        document = json.dumps({**head, **contents}, ensure_ascii=False, separators=(",", ":"))
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=self.path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(zlib.compress(document.encode("utf-8", "surrogatepass"), 1))
            os.replace(name, self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return digest

    def clear(self) -> None:
        """Remove all that is stored of this source."""
        _remove(self.path)
        _remove(self.index_path)
        self.forget_values()

    def forget_values(self) -> None:
        """Remove the values alone."""
        _remove(self.values_path)

    def _read(self) -> Entry:
        if hasattr(os, "getuid") and self.path.stat().st_uid != os.getuid():
            raise ValueError("the file is another user's")
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(self.path.read_bytes(), _MAX_BYTES)
        if not unpacker.eof:
            raise ValueError("the file is cut, or far too large")
        document = json.loads(text.decode("utf-8", "surrogatepass"))
        if document["options"] != self._options:
            raise ValueError("the file was made for other options")
        return Entry(_decode(document), float(document["stored_at"]), str(document["stamp"]), _text(document["digest"]))


def source_identity(database: Database) -> str:
    """Return what tells one source from another: its URL without password, a file by its full path."""
    url = database.url.set(password=None)
    path = Path(url.database) if url.database and not url.host else None
    return url.set(database=str(path.absolute())).render_as_string() if path else url.render_as_string()


def file_stamp(database: Database) -> str:
    """Return a text that changes with every write to a database that is a file; empty for a server."""
    if database.url.host or not database.url.database:
        return ""
    states = []
    for suffix in ("", "-wal", ".wal"):
        try:
            state = os.stat(database.url.database + suffix)
        except OSError:
            continue
        states.append(f"{suffix}:{state.st_mtime_ns}:{state.st_size}")
    return " ".join(states)


def fingerprint(catalog: Catalog) -> str:
    """Return a digest of the schema alone: names, types, keys and comments, not of what samples say."""
    digest = hashlib.sha256(repr((catalog.dialect, catalog.default_schema)).encode())
    for table in catalog.tables.values():
        columns = [(c.name, c.type, c.nullable, c.comment, c.secret) for c in table.columns]
        keys = [(f.columns, f.target, f.target_columns, f.inferred) for f in table.foreign_keys]
        facts = (table.schema, table.name, table.comment, table.is_view, table.primary_key, keys, columns)
        digest.update(repr(facts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _remove(path: Path) -> None:
    # What cannot be removed could not be written either; the source works without.
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _encode(catalog: Catalog) -> dict[str, Any]:
    return {
        "dialect": catalog.dialect,
        "default_schema": catalog.default_schema,
        "warnings": catalog.warnings,
        "tables": [_encode_table(table) for table in catalog.tables.values()],
        "values": [[*place, *values] for place, values in catalog.values.items()],
    }


def _encode_table(table: Table) -> list[Any]:
    keys = [[key.columns, key.target, key.target_columns, key.inferred] for key in table.foreign_keys]
    return [table.name, table.columns, table.schema, table.primary_key, keys, table.comment, table.is_view, table.rows]


def _decode(document: dict[str, Any]) -> Catalog:
    tables = [_decode_table(row) for row in document["tables"]]
    values = {(key, name): tuple(rest) for key, name, *rest in document["values"]}
    if not {str}.issuperset(map(type, chain(chain.from_iterable(values), chain.from_iterable(values.values())))):
        raise TypeError("a value is no text")
    default = document["default_schema"]
    return Catalog(
        _text(document["dialect"]),
        {table.key: table for table in tables},
        None if default is None else _text(default),
        values,
        tuple(map(_text, document["warnings"])),
    )


def _decode_table(row: list[Any]) -> Table:
    name, columns, schema, primary, keys, comment, is_view, rows = row
    return Table(
        _text(name),
        _decode_columns(columns),
        None if schema is None else _text(schema),
        tuple(map(_text, primary)),
        tuple(
            ForeignKey(tuple(map(_text, own)), _text(to), tuple(map(_text, its)), bool(i)) for own, to, its, i in keys
        ),
        None if comment is None else _text(comment),
        bool(is_view),
        None if rows is None else int(rows),
    )


def _decode_columns(rows: list[Any]) -> tuple[Column, ...]:
    """Column by column of the rows, since calls for each of 200,000 columns would take most of a second."""
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


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("not a text")
    return value


@contextmanager
def _no_collection() -> Iterator[None]:
    """Hundreds of thousands of new objects, none of them garbage: looking through them again and again takes longer."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
