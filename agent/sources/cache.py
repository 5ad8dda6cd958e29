"""Catalogs on disk: compressed JSON with a checksum, so that damaged files and those of other users are harmless."""

import hashlib
import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from datasphinx.agent.retrieval.arrays import READ_ERRORS, pack_json, read_arrays, unpack_json, write_arrays
from datasphinx.agent.schema.catalog import CELL_TYPES, NO_TYPE, Catalog, Column
from datasphinx.agent.sources.packed_tables import decode, encode, encode_table
from datasphinx.agent.sql.database import Database

_FORMAT = 7


@dataclass(frozen=True)
class CacheEntry:
    """A cached catalog, with the time in seconds since 1970 and, for a file, the stamp of the database."""

    catalog: Catalog
    stored_at: float
    stamp: str
    digest: str
    """Digest of the catalog, including samples."""


class CatalogCache:
    """The cache files of one source. They are valid only for the same `options`, such as the secret columns."""

    def __init__(self, folder: Path, database: Database, options: Sequence[str]) -> None:
        """Derive the file names from the URL without its password; does not access the files."""
        self._options = _digest(str(_FORMAT), database.dialect, *options)
        name = _digest(database.identity)[:32]
        self.path = folder / "catalogs" / f"{name}.catalog"
        # Background work of a source with other options may still write its values.
        self.values_path = folder / "catalogs" / f"{name}-{self._options[:16]}.values"
        self.index_path = folder / "catalogs" / f"{name}.index"

    def load(self) -> CacheEntry | None:
        """Return the cached catalog; if there is no usable one, delete the files and return None.

        Tables and values are decoded when they are accessed; damage to the file is detected here.
        """
        try:
            return self._read()
        except READ_ERRORS:
            self.clear()
        return None

    def store(self, catalog: Catalog, stamp: str) -> str:
        """Write `catalog` atomically and return its digest."""
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
        write_arrays(self.path, {"head": pack_json(head), **contents})
        return digest.hexdigest()

    def clear(self) -> None:
        """Delete all cache files of this source."""
        _remove(self.path)
        _remove(self.index_path)
        self.clear_values()

    def clear_values(self) -> None:
        """Delete the file of the value index, also that for other options."""
        for path in self.path.parent.glob(f"{self.path.stem}*.values"):
            _remove(path)

    def _read(self) -> CacheEntry:
        arrays = read_arrays(self.path)
        options, stored_at, stamp, digest, dialect, default, warnings, routines, fields = unpack_json(arrays["head"])
        if options != self._options:
            raise ValueError("the file belongs to other options")
        known = tuple(warnings), frozenset(routines), frozenset(map(tuple, fields))
        tables, values = decode(arrays)
        return CacheEntry(Catalog(dialect, tables, default, values, *known), stored_at, stamp, digest)


def file_stamp(database: Database) -> str:
    """Return a text that changes with every write to a database file or files of views; empty for a server."""
    if database.view_files:
        return database.view_files.stamp
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
    """Return a digest of the schema: names, declared types, keys and comments, without sampled data."""
    names = (catalog.dialect, catalog.default_schema, sorted(catalog.routines), sorted(catalog.composite_fields))
    digest = hashlib.sha256(repr(names).encode("utf-8", "surrogatepass"))
    for table in catalog.tables.values():
        columns = tuple(
            Column(c.name, NO_TYPE if c.type in CELL_TYPES.values() else c.type, c.nullable, c.comment, secret=c.secret)
            for c in table.columns
        )
        facts = encode_table(replace(table, columns=columns, rows=None))
        digest.update(repr(facts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _remove(path: Path) -> None:
    # A file that cannot be removed cannot be written either; the source works without it.
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
