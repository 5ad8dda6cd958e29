"""Store files and datasets on disk, by ids derived from their content."""

import hashlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.core.duckdb_text import quote_name
from datasphinx.agent.core.text import valid_json, valid_text
from datasphinx.agent.datasets.dataset import Dataset, SourceType, Upload
from datasphinx.agent.datasets.limits import Loading, LoadLimits, LoadProgress, ignore_progress
from datasphinx.agent.datasets.options import DETECT, LoadOptions
from datasphinx.agent.datasets.workspace import workspace
from datasphinx.agent.errors import NotFound

if TYPE_CHECKING:
    from datasphinx.agent.datasets.load import Job, Preview

_CHUNK = 1 << 20
_DIGITS = 16
_STALE_S = 86_400.0
"""Age in seconds after which temporary folders of killed processes are removed."""


_MEMBERS = "datasets.json"


class Registry:
    """The files and datasets in `data_dir`. Several processes may use it at once; writes are atomic."""

    def __init__(self, data_dir: Path, limits: LoadLimits | None = None) -> None:
        """Create the folders if they are missing.

        Raises:
            OSError: The folders cannot be created.
        """
        self.limits = limits or LoadLimits()
        folders = [data_dir / name for name in ("files", "datasets", "joined", "work")]
        for folder in folders:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._files, self._datasets, joined, self._work = folders
        self._joined = JoinedFiles(joined)
        for folder in self._work.iterdir():
            if time.time() - folder.stat().st_mtime > _STALE_S:
                shutil.rmtree(folder, ignore_errors=True)

    def add_file(self, path: Path) -> str:
        """Store a copy of the file at `path` and return its id.

        Raises:
            TooLarge: The file has too many bytes.
            OSError: The file cannot be read or stored.
        """
        with path.open("rb") as source:
            return self.add_stream(source, path.name)

    def add_stream(self, source: BinaryIO, name: str, source_type: SourceType | None = None) -> str:
        """Store the content of `source` and return its id.

        Raises:
            TooLarge: There are too many bytes.
            OSError: The content cannot be read or stored.
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
        """Return all files, sorted by name."""
        files = (self._upload(file_id, body) for file_id, body in self._kept("file"))
        return sorted(files, key=lambda file: (file.name, file.file_id))

    def file(self, file_id: str) -> Upload:
        """Return the file with this id. Raise NotFound if there is no such file."""
        body = self._body("file", file_id)
        if body is None:
            raise NotFound("file_unknown", file_id=file_id)
        return self._upload(file_id, body)

    def delete_file(self, file_id: str) -> None:
        """Delete a file; datasets loaded from it remain. Raise NotFound if there is no such file."""
        path = self.file(file_id).path
        path.with_name(f"{file_id}.json").unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def create(
        self,
        file_id: str,
        options: LoadOptions = DETECT,
        progress: LoadProgress = ignore_progress,
        cancellation: Cancellation | None = None,
    ) -> Dataset:
        """Return the dataset of a file, loading it with `options` if necessary.

        Raises:
            NotFound: There is no such file.
            StatementCancelled: The loading was cancelled through `cancellation`.
            DatasphinxError: Any error of `load`. Temporary files are removed.
        """
        # A question to a database opens no file: the readers of all formats are imported for files alone.
        from datasphinx.agent.datasets.load import load

        with self._job(file_id, progress, cancellation) as job:
            dataset = load(job, options)
            if job.target.exists():
                job.target.chmod(0o400)
                self._keep_dataset(dataset, job.target)
        return dataset

    def preview(self, file_id: str, sheet: str | None, cancellation: Cancellation | None = None) -> "Preview | None":
        """Return the first and last rows of a file; see `datasphinx.agent.datasets.load.preview`.

        Raises:
            DatasphinxError: As for `create`.
        """
        from datasphinx.agent.datasets.load import preview

        with self._job(file_id, ignore_progress, cancellation) as job:
            return preview(job, sheet)

    @contextmanager
    def _job(self, file_id: str, progress: LoadProgress, cancellation: Cancellation | None) -> Iterator["Job"]:
        from datasphinx.agent.datasets.load import Job

        upload = self.file(file_id)
        with self.folder() as folder:
            # A hard link keeps the content readable if the file is deleted meanwhile.
            link = folder / "upload"
            try:
                os.link(upload.path, link)
            except FileNotFoundError:
                raise NotFound("file_unknown", file_id=file_id) from None
            loading = Loading(upload.name, self.limits, progress, cancellation or Cancellation())
            yield Job(replace(upload, path=link), folder, loading, self._find_dataset)

    def create_from_frame(self, frame: Any, name: str) -> Dataset:
        """Return the dataset of a pandas DataFrame, or of a table that other libraries can read as an Arrow stream.

        Raises:
            DatasphinxError: Any error of `write_frame` and `load`. Temporary files are removed.
        """
        with self.folder() as folder:
            path = write_frame(frame, name, folder, self.limits)
            with path.open("rb") as source:
                file_id = self.add_stream(source, f"{name}.parquet", "dataframe")
        return self.create(file_id)

    def datasets(self) -> list[Dataset]:
        """Return all datasets, sorted by name."""
        datasets = (Dataset.from_json(body) for _, body in self._kept("ds"))
        return sorted(datasets, key=lambda dataset: (dataset.name, dataset.dataset_id))

    def dataset(self, dataset_id: str) -> Dataset:
        """Return the dataset with this id. Raise NotFound if there is no such dataset."""
        dataset = self._find_dataset(dataset_id)
        if dataset is None:
            raise NotFound("dataset_unknown", dataset_id=dataset_id)
        return dataset

    def path_of(self, dataset_id: str) -> Path:
        """Return the DuckDB file with the table of a dataset. Raise NotFound if there is no such dataset."""
        return self._path(self.dataset(dataset_id).dataset_id)

    def delete_dataset(self, dataset_id: str) -> None:
        """Delete a dataset, and the joined files that contain a copy of its table.

        Raises:
            NotFound: There is no such dataset.
        """
        path = self.path_of(dataset_id)
        path.with_suffix(".json").unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        shutil.rmtree(self.cache_of([dataset_id]), ignore_errors=True)
        self._joined.forget({dataset_id})

    def cache_of(self, dataset_ids: Sequence[str]) -> Path:
        """Return the folder for cached profiles of these datasets; it is deleted with any of them."""
        only = dataset_ids[0] if len(dataset_ids) == 1 else None
        return self._datasets / f"{only}.cache" if only else self._joined.folder_of(dataset_ids)

    def joined_path(self, dataset_ids: Sequence[str], build: Callable[[Path], None]) -> Path:
        """Return the DuckDB file with the tables of several datasets; `build` writes it if it is missing."""
        with self.folder() as work:
            return self._joined.path(dataset_ids, work, build)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Yield a temporary folder, deleted after the block."""
        with TemporaryDirectory(dir=self._work) as folder:
            yield Path(folder)

    def _keep_file(self, file_id: str, body: dict[str, Any], copy: Path) -> None:
        """Move a file from its temporary folder to its final path, and store its metadata."""
        os.replace(copy, self._files / file_id)
        _put(self._files, file_id, body, copy.parent)

    def _keep_dataset(self, dataset: Dataset, path: Path) -> None:
        os.replace(path, self._path(dataset.dataset_id))
        _put(self._datasets, dataset.dataset_id, dataset.to_json(), path.parent)

    def _path(self, dataset_id: str) -> Path:
        return self._datasets / f"{dataset_id}.duckdb"

    def _find_dataset(self, dataset_id: str) -> Dataset | None:
        body = self._body("ds", dataset_id)
        return Dataset.from_json(body) if body else None

    def _upload(self, file_id: str, body: dict[str, Any]) -> Upload:
        return Upload(file_id, self._files / file_id, **body)

    def _kept(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        """Return the ids and metadata of all files (`file`) or datasets (`ds`)."""
        folder = self._files if kind == "file" else self._datasets
        kept = [(path.stem, self._body(kind, path.stem)) for path in folder.glob(f"{kind}_*.json")]
        return [(kept_id, body) for kept_id, body in kept if body is not None]

    def _body(self, kind: str, kept_id: str) -> dict[str, Any] | None:
        """Return the metadata of an id, which may come from a model: only a valid one becomes part of a path."""
        if not is_id(kind, kept_id):
            return None
        path = (self._files if kind == "file" else self._datasets) / f"{kept_id}.json"
        try:
            body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return body


def _put(folder: Path, name: str, content: dict[str, Any], work: Path) -> None:
    unfinished = work / f"{name}.json"
    unfinished.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    os.replace(unfinished, folder / unfinished.name)


def is_id(kind: str, text: str) -> bool:
    """Return whether `text` has the form of the id of a file (`file`) or dataset (`ds`)."""
    return re.fullmatch(rf"{kind}_[0-9a-f]{{{_DIGITS}}}", text) is not None


class JoinedFiles:
    """DuckDB files with copies of several datasets, since a statement can read only one file.

    There is one folder for each set of datasets. Several processes may use them at once.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder_of(self, dataset_ids: Sequence[str]) -> Path:
        """Return the folder of a set of datasets."""
        return self._folder / hashlib.sha256("".join(dataset_ids).encode()).hexdigest()

    def path(self, dataset_ids: Sequence[str], work: Path, build: Callable[[Path], None]) -> Path:
        """Return the DuckDB file of a set of datasets; if it is missing, `build` writes it in the folder `work`.

        Raises:
            OSError: The file cannot be stored.
        """
        joined = self.folder_of(dataset_ids)
        path = joined / "joined.duckdb"
        if not path.exists():
            new = work / "new"
            new.mkdir(mode=0o700)
            build(work / path.name)
            os.replace(work / path.name, new / path.name)
            (new / _MEMBERS).write_text(json.dumps(list(dataset_ids)), encoding="utf-8")
            try:
                os.rename(new, joined)
            except OSError:
                # Another process may have been faster.
                if not path.exists():
                    raise
        return path

    def forget(self, dataset_ids: Set[str]) -> None:
        """Delete the files that contain copies of deleted datasets, with their caches."""
        for joined in self._folder.iterdir():
            try:
                members = set(json.loads((joined / _MEMBERS).read_text(encoding="utf-8")))
            except FileNotFoundError:
                members = set(dataset_ids)
            if members & dataset_ids:
                shutil.rmtree(joined, ignore_errors=True)


class _Stream:
    """A table as an Arrow stream alone: DuckDB would convert the tables of some libraries with pyarrow."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def write_frame(frame: Any, name: str, folder: Path, limits: LoadLimits) -> Path:
    """Write a pandas DataFrame, or a table with `__arrow_c_stream__`, as Parquet into `folder`; return the path.

    A named index of a DataFrame becomes a column.

    Raises:
        FileUnreadable: DuckDB cannot store one of the columns.
        TooLarge: The data does not fit into memory.
        DriverMissing: duckdb is not installed.
    """
    path = folder / "frame.parquet"
    with workspace(folder / "frame.duckdb", [], Loading(name, limits)) as work:
        with work.frame("frame", _valid_frame(frame) if is_data_frame(frame) else _Stream(frame)):
            given = [column for column, _ in work.columns("frame")]
            renamed = ", ".join(
                f"{quote_name(old)} AS {quote_name(new)}" for old, new in zip(given, _valid_names(given), strict=True)
            )
            work.run(f"COPY (SELECT {renamed} FROM frame) TO ? (FORMAT parquet)", [str(path)])
    return path


def is_data_frame(table: Any) -> bool:
    """Return whether `table` is a pandas DataFrame; pandas, which is optional, is not imported."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(table, pandas.DataFrame)


def _valid_frame(frame: Any) -> Any:
    """Return `frame` with its named index as a column, and texts and names that can be stored."""
    if any(label is not None for label in frame.index.names):
        frame = frame.reset_index()
    names = _valid_names(frame.columns)
    frame = frame.set_axis(names, axis=1)
    # Columns of other types hold no text, or text that pandas has validated.
    mixed = [name for name in names if frame[name].dtype == object]
    return frame.assign(**{name: frame[name].map(valid_json) for name in mixed})


def _valid_names(names: Iterable[Any]) -> list[str]:
    from datasphinx.agent.datasets.header import Header, column_names

    return column_names(Header(tuple(valid_text(str(name)) for name in names), 0, 1))[0]
