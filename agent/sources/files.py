"""Sources over files: the files that match the settings now, and the SELECT of each view."""

import glob
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from pydantic import SecretStr

from datasphinx.agent.core.duckdb_text import literal
from datasphinx.agent.engines import FILES_ENGINE, engine_of
from datasphinx.agent.errors import ConfigurationError, DriverMissing, SourceNotFound
from datasphinx.agent.messages import Message
from datasphinx.agent.settings import FilesSettings, SourceSettings, files_root, has_pattern
from datasphinx.agent.sql.database import Database, FileList
from datasphinx.agent.sql.view_files import StoredFile, ViewFiles, view_url

_ENDINGS = {"parquet": "parquet", "pq": "parquet", "csv": "csv", "tsv": "csv"}
_COMPRESSED = ("gz", "zst")


def database_of(settings: SourceSettings) -> Database:
    """Return the database that `settings` describe, without connecting to a server.

    The database of a source over files has a function that lists them.

    Raises:
        SourceNotFound: the URL is invalid, or a file does not exist.
    """
    url = settings.url.get_secret_value()
    if not settings.files:
        arguments = {
            name: value.get_secret_value() if isinstance(value, SecretStr) else value
            for name, value in settings.connect_args.items()
        }
        return Database(url, connect_args=arguments)
    name = ", ".join(files.path for files in settings.files.values())
    paths = ", ".join(_absolute(files.path) for files in settings.files.values())
    views = {view: files.model_dump() for view, files in settings.files.items()}
    digest = hashlib.sha256(json.dumps(views).encode()).hexdigest()
    identity = f"files:{paths}#{digest[:16]}"
    return Database(url, FileList(name, identity, lambda: list_view_files(settings)))


def list_view_files(settings: SourceSettings) -> ViewFiles:
    """Return the views of a source over files, with the files that exist now."""
    for package in ("fsspec", *engine_of(FILES_ENGINE).packages):
        if find_spec(package) is None:
            raise DriverMissing(package, "lakes")
    views: dict[str, str] = {}
    files: dict[str, StoredFile] = {}
    for name, each in settings.files.items():
        select, found = _view(name, each)
        views[name] = select
        files |= {view_url(name, path): file for path, file in found.items()}
    return ViewFiles(views, files)


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _view(name: str, settings: FilesSettings) -> tuple[str, dict[str, StoredFile]]:
    """Return the SELECT of a view, and its files by their path in the view."""
    path = _absolute(settings.path)
    pattern, found = _find(path)
    root = files_root(pattern)
    files = {file.location[len(root) :]: file for file in found}
    if has_pattern(pattern):
        # Writers keep files such as `_SUCCESS` for themselves; `_part=1` is a Hive partition.
        files = {
            file_path: file
            for file_path, file in files.items()
            if not any(part.startswith(("_", ".")) and "=" not in part for part in file_path.split("/"))
        }
    if not files:
        is_missing = not has_pattern(path) and not os.path.isdir(path)
        raise SourceNotFound(settings.path, Message("source_file_missing" if is_missing else "no_file_matches"))
    format = settings.format or _format_of(settings, files)
    options = []
    if settings.columns:
        if format != "csv":
            raise ConfigurationError("DATASPHINX_SOURCES", Message("columns_need_csv", format=format))
        columns = ", ".join(f"{literal(column)}: {literal(kind)}" for column, kind in settings.columns.items())
        options.append(f"columns = {{{columns}}}")
    elif format == "csv":
        # A sample would fix types that later values do not have, and those would be rounded or cut.
        options.append("sample_size = -1")
    arguments = ", ".join([literal(view_url(name, "**")), *options])
    return f"SELECT * FROM read_{format}({arguments})", files


def _find(path: str) -> tuple[str, Sequence[StoredFile]]:
    """Return the pattern and the files at `path`. Raise ConfigurationError for a lake table, with deleted rows."""
    found = _files_matching(path)
    if found or has_pattern(path):
        return path, found
    folder = glob.escape(path)
    if any(_files_matching(f"{folder}/{part}") for part in ("_delta_log/*", "metadata/*.metadata.json")):
        raise ConfigurationError("DATASPHINX_SOURCES", Message("lake_table", path=path))
    return f"{path}/**", _files_matching(f"{path}/**")


def _files_matching(pattern: str) -> list[StoredFile]:
    """Return the files that match `pattern`, sorted by location."""
    files = []
    for path in sorted(set(glob.glob(pattern, recursive=True))):
        if os.path.isfile(path):
            state = os.stat(path)
            files.append(StoredFile(path, state.st_size, state.st_mtime))
    return files


def _format_of(settings: FilesSettings, files: Mapping[str, StoredFile]) -> str:
    """Return the format of `files` by their name extensions.

    Raises:
        ConfigurationError: an extension is unknown, or there are several formats.
    """
    formats: dict[str, str] = {}
    for path, file in files.items():
        name = path.rpartition("/")[2] or file.location.rpartition("/")[2]
        parts = name.lower().split(".")[1:]
        ending = parts[-2] if len(parts) > 1 and parts[-1] in _COMPRESSED else parts[-1] if parts else ""
        if ending not in _ENDINGS:
            reason = Message("file_format_unknown", file=name, path=settings.path)
            raise ConfigurationError("DATASPHINX_SOURCES", reason)
        formats[_ENDINGS[ending]] = name
    if len(formats) > 1:
        first, second = list(formats.values())[:2]
        reason = Message("file_formats_differ", first=first, second=second, path=settings.path)
        raise ConfigurationError("DATASPHINX_SOURCES", reason)
    return next(iter(formats))
