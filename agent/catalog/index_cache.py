"""The index over a catalog on disk, so that a start does not read ten thousand tables to build it again."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from agent.catalog.archive import UNUSABLE, packed, read_arrays, unpacked, write_arrays
from agent.catalog.index import SchemaIndex
from agent.catalog.semantic import Embedder, identity_of

_FORMAT = 1
"""Counted up with every change of what is stored, or of how texts become terms."""


class IndexCache:
    """The file of one index. It is worth something for one catalog and one embedder only."""

    def __init__(self, path: Path, embedder: Embedder | None) -> None:
        """Name the file; nothing is read or written yet. An embedder without `identity` makes that nothing ever is."""
        self._path, self._embedder = path, embedder

    def load(self, keys: Sequence[str], digest: str) -> SchemaIndex | None:
        """Return the index over the catalog with `digest` and tables `keys`; None, and no file, if none is there."""
        wanted = self._name(digest)
        try:
            arrays = read_arrays(self._path)
            if wanted is None or unpacked(arrays["made_of"]) != wanted:
                raise ValueError("the index of something else")
            return SchemaIndex.of_arrays(keys, arrays, self._embedder)
        except UNUSABLE:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        return None

    def store(self, index: SchemaIndex, digest: str) -> None:
        """Keep `index`, of the catalog with `digest`; a folder that cannot be written is no reason to fail."""
        made_of = self._name(digest)
        if made_of is not None:
            with suppress(OSError):
                write_arrays(self._path, {"made_of": packed(made_of), **index.arrays()})

    def _name(self, digest: str) -> str | None:
        identity = identity_of(self._embedder)
        if identity is None:
            return None
        # Another stemmer finds other terms.
        parts = (str(_FORMAT), version("snowballstemmer"), digest, identity)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()
