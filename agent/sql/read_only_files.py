"""Views over files in DuckDB: a read-only file system that contains only the listed files, and a connection to it.

DuckDB reads local files through this file system, which has the exact list of files, and its own is disabled. A
statement therefore cannot read or write any other file, whatever it names. Requires the extra `lakes`.
"""

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any

from fsspec import AbstractFileSystem

from datasphinx.agent.core.duckdb_text import quote_name
from datasphinx.agent.engines.read_only import LOCKED_CONFIG
from datasphinx.agent.sql.view_files import PROTOCOL, StoredFile, ViewFiles, view_of

_THREADS = 2


class ReadOnlyFiles(AbstractFileSystem):  # type: ignore[misc]
    """The file system of DuckDB. It knows only the files of a `ViewFiles`, and opens them for reading only."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self, view_files: ViewFiles) -> None:
        super().__init__()
        self.failure: OSError | None = None
        """The last failure to read a file. DuckDB reports it as a Python traceback."""
        self._files = view_files.files
        self._urls: dict[str, list[str]] = {}
        for url in self._files:
            self._urls.setdefault(view_of(url), []).append(url)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path

    def glob(self, path: str, **_: Any) -> list[str]:
        """Return the files of a view for its pattern `files://VIEW/**`; for any other path, itself if it is a file."""
        if path.endswith("/**"):
            return list(self._urls.get(path.removesuffix("**"), ()))
        return [path] if path in self._files else []

    def exists(self, path: str, **_: Any) -> bool:
        """Return whether `path` is one of the files."""
        return path in self._files

    def isdir(self, path: str) -> bool:
        """Return False: there are no folders."""
        return False

    def size(self, path: str) -> int:
        """Return the size in bytes."""
        return self._file(path).size

    def modified(self, path: str) -> datetime:
        """Return the time of the last change."""
        return datetime.fromtimestamp(self._file(path).modified, UTC)

    def open(self, path: str, mode: str = "rb", **_: Any) -> "_OpenFile":
        """Open one of the files for reading.

        Raises:
            PermissionError: `path` is not one of the files, or `mode` is not `rb`.
        """
        if mode != "rb":
            raise PermissionError("files are opened for reading only")
        location = self._file(path).location
        with self._failures(path):
            descriptor = os.open(location, os.O_RDONLY)

        def read(start: int, length: int) -> bytes:
            with self._failures(path):
                return os.pread(descriptor, length, start)

        return _OpenFile(read, lambda: os.close(descriptor))

    def _file(self, path: str) -> StoredFile:
        if path not in self._files:
            raise PermissionError(f"{path} is not a file of the source")
        return self._files[path]

    @contextmanager
    def _failures(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            self.failure = OSError(f"{path.removeprefix(f'{PROTOCOL}://')}: {reason}")
            raise self.failure from None


class _OpenFile:
    """An open file. Threads that read the same file have positions of their own."""

    def __init__(self, read: Callable[[int, int], bytes], close: Callable[[], None]) -> None:
        self._read, self._close = read, close
        self._position = threading.local()
        self.closed = False

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position of this thread from the start of the file, and return it."""
        self._position.value = offset
        return offset

    def tell(self) -> int:
        """Return the position of this thread."""
        return getattr(self._position, "value", 0)

    def read(self, length: int) -> bytes:
        """Return up to `length` bytes from the position of this thread; empty at the end."""
        content = self._read(self.tell(), length)
        self._position.value = self.tell() + len(content)
        return content

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._close()


class ViewUnreadable(Exception):
    """The files of a view cannot be read. The arguments are the name of the view and the reason."""


def open_views(view_files: ViewFiles, memory_mb: int = 1024) -> tuple[Any, ReadOnlyFiles]:
    """Return a read-only DuckDB connection with the views, limited to `memory_mb` megabytes, and its file system.

    `close_views` closes it. The views are in a database file that is deleted while it is open, because a database in
    memory cannot be read-only.

    Raises:
        ViewUnreadable: the files of a view cannot be read, or they have another format.
    """
    import duckdb

    files = ReadOnlyFiles(view_files)
    config: dict[str, Any] = {
        **LOCKED_CONFIG,
        # Both are set below, after the file system is registered.
        "enable_external_access": True,
        "lock_configuration": False,
        "python_enable_replacements": False,
        "memory_limit": f"{memory_mb}MB",
        "threads": _THREADS,
    }
    with tempfile.TemporaryDirectory(prefix="datasphinx-views-") as folder:
        path = os.path.join(folder, "views.duckdb")
        with closing(duckdb.connect(path, config=config)) as connection:
            connection.register_filesystem(files)
            try:
                for name, select in view_files.views.items():
                    try:
                        connection.execute(f"CREATE VIEW {quote_name(name)} AS {select}")
                    except duckdb.Error as error:
                        raise ViewUnreadable(name, str(files.failure or error).strip().splitlines()[0]) from error
            finally:
                connection.unregister_filesystem(PROTOCOL)
        connection = duckdb.connect(path, read_only=True, config=config)
    connection.register_filesystem(files)
    connection.execute(f"SET allowed_directories = ['{PROTOCOL}://']")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET disabled_filesystems = 'LocalFileSystem'")
    connection.execute("SET lock_configuration = true")
    return connection, files


def close_views(connection: Any) -> None:
    """Close a connection of `open_views`; a file system that stays registered would keep it alive."""
    connection.unregister_filesystem(PROTOCOL)
    connection.close()
