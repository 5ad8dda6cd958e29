"""Files and datasets that every process of a server finds, on whatever machine."""

import os
import re
import shutil
import threading
from pathlib import Path
from typing import Any

from agent.datasets.dataset import Dataset
from agent.datasets.limits import LoadLimits
from agent.datasets.load import Upload
from agent.datasets.registry import Registry
from agent.errors import DatasetUnknown, FileUnknown
from agent.settings import Settings
from agent.shared.database import SharedDatabase
from agent.shared.files import SharedFiles

# What a model or a client names may be any text.
_FILE_ID, _DATASET_ID = (re.compile(rf"{kind}_[0-9a-f]{{16}}") for kind in ("file", "ds"))


class SharedRegistry(Registry):
    """Keeps all in the shared database; a folder of `data_dir` has copies, fetched when they are first needed here.

    What is deleted by any process is at once found by none. Its copies elsewhere go when datasets are looked at there.
    Every method raises `ThreadsUnavailable` where the database cannot be used.
    """

    def __init__(self, data_dir: Path, limits: LoadLimits, shared: SharedFiles) -> None:
        """Make the folders where they are missing.

        Raises:
            OSError: they cannot be made.
        """
        super().__init__(data_dir / "shared", limits)
        self._shared, self._fetching = shared, threading.Lock()

    def files(self) -> list[Upload]:
        """Return all files by name; the content of one may be there only after `file` was called."""
        found = [self._upload(each, body) for each, body in self._kept().items() if each.startswith("file_")]
        return sorted(found, key=lambda file: (file.name, file.file_id))

    def file(self, file_id: str) -> Upload:
        """Return the file with this id, its content fetched where it is not here.

        Raises:
            FileUnknown: there is none.
        """
        body = self._shared.body(file_id) if _FILE_ID.fullmatch(file_id) else None
        if body is None or not self._fetched(file_id, self._files / file_id):
            raise FileUnknown(file_id)
        return self._upload(file_id, body)

    def delete_file(self, file_id: str) -> None:
        """Remove a file; datasets that were made of it stay.

        Raises:
            FileUnknown: there is none.
        """
        if not (_FILE_ID.fullmatch(file_id) and self._shared.delete(file_id)):
            raise FileUnknown(file_id)
        self._kept()

    def datasets(self) -> list[Dataset]:
        """Return all datasets by name."""
        found = [Dataset.from_json(body) for each, body in self._kept().items() if each.startswith("ds_")]
        return sorted(found, key=lambda each: (each.name, each.dataset_id))

    def path_of(self, dataset_id: str) -> Path:
        """Return the DuckDB file with the table of a dataset, fetched where it is not here.

        Raises:
            DatasetUnknown: there is none.
        """
        path = super().path_of(dataset_id)
        if not self._fetched(dataset_id, path):
            raise DatasetUnknown(dataset_id)
        return path

    def delete_dataset(self, dataset_id: str) -> None:
        """Remove a dataset.

        Raises:
            DatasetUnknown: there is none.
        """
        if not (_DATASET_ID.fullmatch(dataset_id) and self._shared.delete(dataset_id)):
            raise DatasetUnknown(dataset_id)
        self._kept()

    def _upload(self, file_id: str, body: dict[str, Any]) -> Upload:
        return Upload(file_id, self._files / file_id, **body)

    def _known(self, dataset_id: str) -> Dataset | None:
        body = self._shared.body(dataset_id) if _DATASET_ID.fullmatch(dataset_id) else None
        if body is None:
            self._kept()
        return Dataset.from_json(body) if body else None

    def _keep_file(self, file_id: str, body: dict[str, Any], copy: Path) -> None:
        # What is here was there before: so a copy that the database does not know is known to be old.
        self._shared.put(file_id, body, copy)
        os.replace(copy, self._files / file_id)

    def _keep_dataset(self, dataset: Dataset, made: Path) -> None:
        self._shared.put(dataset.dataset_id, dataset.to_json(), made)
        os.replace(made, self._path(dataset.dataset_id))

    def _fetched(self, kept_id: str, path: Path) -> bool:
        """Return whether the content is here, or could be fetched."""
        with self._fetching:
            if path.exists():
                return True
            with self.folder() as folder:
                copy = folder / kept_id
                is_there = self._shared.read(kept_id, copy)
                if is_there:
                    copy.chmod(0o400)
                    os.replace(copy, path)
        return is_there

    def _kept(self) -> dict[str, dict[str, Any]]:
        """Return what is known of all files and datasets, and remove the copies of others."""
        copies = [*self._files.iterdir(), *self._datasets.iterdir()]
        kept = self._shared.bodies()
        old = [path for path in copies if path.stem not in kept]
        for path in old:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        if old:
            self._joined.forget({path.stem for path in old})
        return kept


def open_registry(settings: Settings, shared: SharedDatabase | None, owner: str) -> Registry:
    """Return what is kept for `owner`: in the shared database, where there is one, else in the data directory.

    Raises:
        OSError: its folders cannot be made.
    """
    limits = LoadLimits.of(settings)
    if shared is None:
        return Registry(settings.data_dir, limits)
    return SharedRegistry(settings.data_dir, limits, SharedFiles(shared, owner))
