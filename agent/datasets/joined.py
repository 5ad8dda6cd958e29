"""Files that hold copies of several datasets, since a statement may read only one file."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence, Set
from pathlib import Path

_MEMBERS = "datasets.json"


class JoinedFiles:
    """A folder for each set of datasets that was asked together. Any number of processes may use them at once."""

    def __init__(self, folder: Path) -> None:
        """Take the folder that holds them."""
        self._folder = folder

    def folder_of(self, dataset_ids: Sequence[str]) -> Path:
        """Return the folder of a set of datasets, which goes with any of them."""
        return self._folder / hashlib.sha256("".join(dataset_ids).encode()).hexdigest()

    def path(self, dataset_ids: Sequence[str], work: Path, build: Callable[[Path], None]) -> Path:
        """Return the DuckDB file of a set of datasets, which `build` writes in the folder `work` where it is missing.

        Raises:
            OSError: it cannot be kept.
        """
        joined = self.folder_of(dataset_ids)
        path = joined / "joined.duckdb"
        if not path.exists():
            made = work / "made"
            made.mkdir(mode=0o700)
            build(work / path.name)
            os.replace(work / path.name, made / path.name)
            (made / _MEMBERS).write_text(json.dumps(list(dataset_ids)), encoding="utf-8")
            try:
                os.rename(made, joined)
            except OSError:
                # Another process may have been faster.
                if not path.exists():
                    raise
        return path

    def forget(self, gone: Set[str]) -> None:
        """Remove the files that hold copies of datasets that are gone, with what was read of them."""
        for joined in self._folder.iterdir():
            try:
                members = set(json.loads((joined / _MEMBERS).read_text(encoding="utf-8")))
            except FileNotFoundError:
                members = set(gone)
            if members & gone:
                shutil.rmtree(joined, ignore_errors=True)
