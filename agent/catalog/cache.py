"""A catalog on disk: compressed JSON that is checked as it is read, so that a broken or foreign file does no harm."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent.catalog.archive import UNUSABLE, packed, read_arrays, unpacked, write_arrays
from agent.catalog.encoding import as_text
from agent.catalog.schema import Catalog
from agent.catalog.stored import decode, encode
from agent.sql.database import Database

_FORMAT = 4


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

    def load(self, reread: Callable[[], Catalog]) -> Entry | None:
        """Return what is stored; None where there is nothing usable, and then the files are removed.

        The tables and values of the catalog are decoded when they are asked for. Damage to the file shows here; should
        a table be unreadable for another reason, the files are removed and `reread` reads the database.
        """
        try:
            return self._read(reread)
        except UNUSABLE:
            self.clear()
        return None

    def store(self, catalog: Catalog, stamp: str) -> str:
        """Write `catalog` at once or not at all, and return its digest.

        Raises:
            OSError: the folder cannot be written, or the disk is full.
        """
        contents = encode(catalog)
        facts = [
            catalog.dialect,
            catalog.default_schema,
            catalog.warnings,
            sorted(catalog.routines),
            sorted(catalog.composite_fields),
        ]
        digest = hashlib.sha256(json.dumps([self._options, facts]).encode())
        for array in contents.values():
            digest.update(array.tobytes())
        head = [self._options, time.time(), stamp, digest.hexdigest(), *facts]
        write_arrays(self.path, {"head": packed(head), **contents})
        return digest.hexdigest()

    def clear(self) -> None:
        """Remove all that is stored of this source."""
        _remove(self.path)
        _remove(self.index_path)
        self.forget_values()

    def forget_values(self) -> None:
        """Remove the values alone."""
        _remove(self.values_path)

    def _read(self, reread: Callable[[], Catalog]) -> Entry:
        arrays = read_arrays(self.path)
        options, stored_at, stamp, digest, dialect, default, warnings, routines, fields = unpacked(arrays["head"])
        if options != self._options:
            raise ValueError("the file was made for other options")

        def rebuild() -> Catalog:
            self.clear()
            return reread()

        tables, values = decode(arrays, rebuild)
        default = None if default is None else as_text(default)
        catalog = Catalog(
            as_text(dialect),
            tables,
            default,
            values,
            tuple(map(as_text, warnings)),
            frozenset(map(as_text, routines)),
            frozenset((as_text(column), as_text(field)) for column, field in fields),
        )
        return Entry(catalog, float(stored_at), as_text(stamp), as_text(digest))


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
    names = (catalog.dialect, catalog.default_schema, sorted(catalog.routines), sorted(catalog.composite_fields))
    digest = hashlib.sha256(repr(names).encode("utf-8", "surrogatepass"))
    for table in catalog.tables.values():
        columns = [(c.name, c.type, c.nullable, c.comment, c.secret) for c in table.columns]
        keys = [(f.columns, f.target, f.target_columns, f.inferred) for f in table.foreign_keys]
        facts = (
            table.schema,
            table.name,
            table.comment,
            table.is_view,
            table.parents,
            table.shares_rows,
            table.computes_columns,
            table.primary_key,
            keys,
            columns,
        )
        digest.update(repr(facts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _remove(path: Path) -> None:
    # What cannot be removed could not be written either; the source works without.
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
