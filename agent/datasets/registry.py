"""Files and datasets as they are kept on disk, by ids that come from their content."""

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from agent.datasets.dataset import Dataset, SourceType
from agent.datasets.frames import write_frame
from agent.datasets.joined import JoinedFiles
from agent.datasets.limits import Loading, LoadLimits, LoadProgress, unheard
from agent.datasets.load import Job, Upload, load
from agent.errors import DatasetUnknown, FileUnknown
from agent.sql.limits import Cancellation
from agent.text import valid_text

_ID = re.compile(r"(file|ds)_[0-9a-f]{16}")
_CHUNK = 1 << 20
_DIGITS = 16
_STALE_S = 86_400.0
"""After a day, what a process left that was killed while it loaded is removed."""


class Registry:
    """What is kept in `data_dir`. Any number of processes may use it at once; nobody sees what is half written."""

    def __init__(self, data_dir: Path, limits: LoadLimits | None = None) -> None:
        """Make the folders where they are missing.

        Raises:
            OSError: they cannot be made.
        """
        self.limits = limits or LoadLimits()
        folders = [data_dir / name for name in ("files", "datasets", "joined", "work")]
        for folder in folders:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._files, self._datasets, joined, self._work = folders
        self._joined = JoinedFiles(joined)
        for left in self._work.iterdir():
            if time.time() - left.stat().st_mtime > _STALE_S:
                shutil.rmtree(left, ignore_errors=True)

    def add_file(self, path: Path, name: str | None = None) -> str:
        """Keep a copy of the file at `path` and return its id; `name` is what it is called, left out: as it is.

        Raises:
            FileTooLarge: it has too many bytes.
            OSError: it cannot be read or kept.
        """
        with path.open("rb") as source:
            return self.add_stream(source, name or path.name)

    def add_stream(self, source: BinaryIO, name: str, source_type: SourceType | None = None) -> str:
        """Keep what `source` gives and return its id.

        Raises:
            FileTooLarge: there are too many bytes.
            OSError: it cannot be read or kept.
        """
        name = valid_text(name)
        with self.folder() as folder:
            copy, digest, size = folder / "copy", hashlib.sha256(), 0
            with copy.open("wb") as target:
                while chunk := source.read(_CHUNK):
                    size += len(chunk)
                    if size > self.limits.max_bytes:
                        raise self.limits.too_large(name, "bytes")
                    digest.update(chunk)
                    target.write(chunk)
            file_id = f"file_{digest.hexdigest()[:_DIGITS]}"
            self._keep_file(file_id, {"name": Path(name).name, "source_type": source_type}, copy)
        return file_id

    def files(self) -> list[Upload]:
        """Return all files by name."""
        found = (self.file(path.stem) for path in self._files.glob("file_*.json"))
        return sorted(found, key=lambda file: (file.name, file.file_id))

    def file(self, file_id: str) -> Upload:
        """Return the file with this id.

        Raises:
            FileUnknown: there is none.
        """
        known = _get(self._files, file_id)
        if known is None:
            raise FileUnknown(file_id)
        return Upload(file_id, self._files / file_id, **known)

    def delete_file(self, file_id: str) -> None:
        """Remove a file; datasets that were made of it stay.

        Raises:
            FileUnknown: there is none.
        """
        path = self.file(file_id).path
        path.with_name(f"{file_id}.json").unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def create(
        self,
        file_id: str,
        sheet: str | None = None,
        header_row: int | None = None,
        progress: LoadProgress = unheard,
        cancellation: Cancellation | None = None,
    ) -> Dataset:
        """Return the dataset of a file, made now or before; `sheet` and `header_row` are as in `load`.

        Raises:
            FileUnknown: there is no such file.
            StatementCancelled: `cancellation` asked for it.
            DatasphinxError: everything that `load` raises; nothing is left behind.
        """
        upload = self.file(file_id)
        with self.folder() as folder:
            # Somebody who deletes the file meanwhile takes its name away, and not what is read.
            own = folder / "upload"
            try:
                os.link(upload.path, own)
            except FileNotFoundError:
                raise FileUnknown(file_id) from None
            loading = Loading(upload.name, self.limits, progress, cancellation or Cancellation())
            job = Job(replace(upload, path=own), folder, loading, self._known)
            dataset = load(job, sheet, header_row)
            if job.target.exists():
                job.target.chmod(0o400)
                self._keep_dataset(dataset, job.target)
        return dataset

    def create_from_frame(self, frame: Any, name: str) -> Dataset:
        """Return the dataset of a pandas DataFrame.

        Raises:
            DatasphinxError: everything that `write_frame` and `load` raise; nothing is left behind.
        """
        with self.folder() as folder:
            path = write_frame(frame, name, folder, self.limits)
            with path.open("rb") as source:
                file_id = self.add_stream(source, f"{name}.parquet", "dataframe")
        return self.create(file_id)

    def datasets(self) -> list[Dataset]:
        """Return all datasets by name."""
        found = (self._known(path.stem) for path in self._datasets.glob("ds_*.json"))
        return sorted((dataset for dataset in found if dataset), key=lambda each: (each.name, each.dataset_id))

    def dataset(self, dataset_id: str) -> Dataset:
        """Return the dataset with this id.

        Raises:
            DatasetUnknown: there is none.
        """
        known = self._known(dataset_id)
        if known is None:
            raise DatasetUnknown(dataset_id)
        return known

    def path_of(self, dataset_id: str) -> Path:
        """Return the DuckDB file with the table of a dataset.

        Raises:
            DatasetUnknown: there is none.
        """
        return self._path(self.dataset(dataset_id).dataset_id)

    def delete_dataset(self, dataset_id: str) -> None:
        """Remove a dataset, and the files that hold a copy of its table beside others.

        Raises:
            DatasetUnknown: there is none.
        """
        path = self.path_of(dataset_id)
        path.with_suffix(".json").unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        shutil.rmtree(self.cache_of([dataset_id]), ignore_errors=True)
        self._joined.forget({dataset_id})

    def cache_of(self, dataset_ids: Sequence[str]) -> Path:
        """Return the folder for what can be read from the datasets again; it goes with any of them."""
        only = dataset_ids[0] if len(dataset_ids) == 1 else None
        return self._datasets / f"{only}.cache" if only else self._joined.folder_of(dataset_ids)

    def joined_path(self, dataset_ids: Sequence[str], build: Callable[[Path], None]) -> Path:
        """Return the DuckDB file with the tables of several datasets, which `build` writes where it is missing."""
        with self.folder() as work:
            return self._joined.path(dataset_ids, work, build)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Yield a folder of its own for what is in the making, gone after the block."""
        with TemporaryDirectory(dir=self._work) as folder:
            yield Path(folder)

    def _keep_file(self, file_id: str, body: dict[str, Any], copy: Path) -> None:
        """Move a file from the folder that it was made in to where it is kept, with what is known of it."""
        os.replace(copy, self._files / file_id)
        _put(self._files, file_id, body, copy.parent)

    def _keep_dataset(self, dataset: Dataset, made: Path) -> None:
        os.replace(made, self._path(dataset.dataset_id))
        _put(self._datasets, dataset.dataset_id, dataset.to_json(), made.parent)

    def _path(self, dataset_id: str) -> Path:
        return self._datasets / f"{dataset_id}.duckdb"

    def _known(self, dataset_id: str) -> Dataset | None:
        known = _get(self._datasets, dataset_id)
        return Dataset.from_json(known) if known else None


def _put(folder: Path, name: str, content: dict[str, Any], work: Path) -> None:
    unfinished = work / f"{name}.json"
    unfinished.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    os.replace(unfinished, folder / unfinished.name)


def _get(folder: Path, name: str) -> dict[str, Any] | None:
    """Return what is known of an id that may come from a model; nothing but an id becomes a path."""
    if not _ID.fullmatch(name):
        return None
    try:
        known: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return known
