"""Files and datasets shared by all processes of a server, also across machines."""

import os
import shutil
import threading
from pathlib import Path
from typing import Any

from datasphinx.agent.datasets.dataset import Dataset, Upload
from datasphinx.agent.datasets.limits import LoadLimits
from datasphinx.agent.datasets.registry import Registry, is_id
from datasphinx.agent.errors import NotFound
from datasphinx.agent.settings import Settings
from datasphinx.agent.storage.database import SharedDatabase
from datasphinx.agent.storage.files import SharedFiles


class SharedRegistry(Registry):
    """Store files and datasets in the shared database, with local copies in a folder of `data_dir`.

    Copies are fetched on first use. A deletion takes effect in all processes at once; the copies on other machines are
    removed at their next listing. Every method raises `Unavailable` if the database is unavailable.
    """

    def __init__(self, data_dir: Path, limits: LoadLimits, shared: SharedFiles) -> None:
        """Create the folders if they are missing."""
        super().__init__(data_dir / "shared", limits)
        self._shared, self._fetching = shared, threading.Lock()

    def file(self, file_id: str) -> Upload:
        """Return the file with this id; fetch its content if it is missing here.

        Raises:
            NotFound: There is no such file.
        """
        file = super().file(file_id)
        if not self._fetch(file_id, file.path):
            raise NotFound("file_unknown", file_id=file_id)
        return file

    def delete_file(self, file_id: str) -> None:
        """Delete a file; datasets loaded from it remain. Raise NotFound if there is no such file."""
        if not (is_id("file", file_id) and self._shared.delete(file_id)):
            raise NotFound("file_unknown", file_id=file_id)
        self._sync()

    def path_of(self, dataset_id: str) -> Path:
        """Return the DuckDB file with the table of a dataset; fetch it if it is missing here.

        Raises:
            NotFound: There is no such dataset.
        """
        path = super().path_of(dataset_id)
        if not self._fetch(dataset_id, path):
            raise NotFound("dataset_unknown", dataset_id=dataset_id)
        return path

    def delete_dataset(self, dataset_id: str) -> None:
        """Delete a dataset. Raise NotFound if there is no such dataset."""
        if not (is_id("ds", dataset_id) and self._shared.delete(dataset_id)):
            raise NotFound("dataset_unknown", dataset_id=dataset_id)
        self._sync()

    def _kept(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        return [(kept_id, body) for kept_id, body in self._sync().items() if kept_id.startswith(f"{kind}_")]

    def _body(self, kind: str, kept_id: str) -> dict[str, Any] | None:
        return self._shared.body(kept_id) if is_id(kind, kept_id) else None

    def _find_dataset(self, dataset_id: str) -> Dataset | None:
        dataset = super()._find_dataset(dataset_id)
        if dataset is None:
            self._sync()
        return dataset

    def _keep_file(self, file_id: str, body: dict[str, Any], copy: Path) -> None:
        # Store in the database first: a local copy that it does not know is then always outdated.
        self._shared.put(file_id, body, copy)
        os.replace(copy, self._files / file_id)

    def _keep_dataset(self, dataset: Dataset, path: Path) -> None:
        self._shared.put(dataset.dataset_id, dataset.to_json(), path)
        os.replace(path, self._path(dataset.dataset_id))

    def _fetch(self, kept_id: str, path: Path) -> bool:
        """Fetch the content if it is missing here; return whether it exists."""
        with self._fetching:
            if path.exists():
                return True
            with self.folder() as folder:
                copy = folder / kept_id
                exists = self._shared.read(kept_id, copy)
                if exists:
                    copy.chmod(0o400)
                    os.replace(copy, path)
        return exists

    def _sync(self) -> dict[str, dict[str, Any]]:
        """Return the metadata of all files and datasets by id, and remove local copies of deleted ones."""
        copies = [*self._files.iterdir(), *self._datasets.iterdir()]
        stored = self._shared.bodies()
        outdated = [path for path in copies if path.stem not in stored]
        for path in outdated:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        if outdated:
            self._joined.forget({path.stem for path in outdated})
        return stored


def open_registry(settings: Settings, shared: SharedDatabase | None, owner: str) -> Registry:
    """Return the registry of `owner`: in the shared database if there is one, else in the data directory."""
    limits = LoadLimits.of(settings)
    if shared is None:
        return Registry(settings.data_dir, limits)
    return SharedRegistry(settings.data_dir, limits, SharedFiles(shared, owner))
