"""DuckDB while a dataset is written. This module alone runs statements for that.

It reads one file and writes to one folder, and can reach nothing else. No text of a file becomes SQL: names are
quoted by `quoted`, values are bound.
"""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent.datasets.limits import Loading
from agent.errors import DriverMissing

Stage = tuple[str, float, float]
"""The name of a stage, and between which shares of it a statement is."""

_POLL_S = 0.2
_THREADS = 2
_CLOSED = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
}


def quoted(name: str) -> str:
    """Return `name` as an identifier."""
    return '"' + name.replace('"', '""') + '"'


class Workspace:
    """A DuckDB file in the making."""

    def __init__(
        self,
        connection: Any,
        loading: Loading,
        readable: Sequence[Path],
        written: Callable[[], int],
        disk_bytes: float,
    ) -> None:
        """Take the open connection, which reads `readable`; at most `disk_bytes` may be `written`."""
        self._connection, self._loading, self._readable = connection, loading, readable
        self._written, self._disk_bytes = written, disk_bytes

    def run(self, sql: str, parameters: Sequence[Any] = (), stage: Stage | None = None) -> list[Any]:
        """Return the rows of `sql`; with `stage` its progress is told as the part of that stage between two shares.

        Raises:
            FileTooLarge: it does not fit into memory.
            ArchiveSuspicious: it fills the disk.
            FileUnreadable: DuckDB cannot read the file.
            StatementCancelled: the loading is to stop.
        """
        import duckdb

        self._loading.cancellation.check()
        try:
            with self._watched(stage):
                rows: list[Any] = self._connection.execute(sql, parameters or None).fetchall()
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise self._loading.too_large("megabytes in memory") from error
        except duckdb.Error as error:
            self._refuse()
            raise self._loading.unreadable(_reason(error), *self._readable) from error
        self._refuse()
        if stage:
            self._loading.told(stage[0], stage[2])
        return rows

    def _refuse(self) -> None:
        self._loading.cancellation.check()
        written = self._written()
        if written > self._disk_bytes:
            raise self._loading.suspicious(written, int(self._disk_bytes))

    def columns(self, sql: str) -> list[tuple[str, str]]:
        """Return names and types of the columns of a table or of what stands in parentheses."""
        return [(name, kind) for name, kind, *_ in self.run(f"DESCRIBE SELECT * FROM {sql}")]

    @contextmanager
    def frame(self, name: str, frame: Any) -> Iterator[None]:
        """Have `frame`, a DataFrame, be the table `name` inside the block."""
        self._connection.register(name, frame)
        yield
        self._connection.unregister(name)

    @contextmanager
    def _watched(self, stage: Stage | None) -> Iterator[None]:
        """Tell how far the statement in the block is, and interrupt it where it is to stop."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(_POLL_S):
                # What comes before the statement has begun is lost, so it is asked again and again.
                if self._loading.cancellation.requested or self._written() > self._disk_bytes:
                    self._connection.interrupt()
                elif stage:
                    name, first, last = stage
                    share = max(0.0, self._connection.query_progress()) / 100
                    self._loading.progress(name, first + (last - first) * min(1.0, share))

        watcher = threading.Thread(target=watch, name="datasphinx-load-watch", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def _reason(error: Exception) -> str:
    """Return what DuckDB complains of, without the line of the file that it may quote."""
    lines = str(error).strip().splitlines()
    long = [line for line in lines if line.startswith("Maximum line size")]
    return (long or lines)[0]


@contextmanager
def workspace(
    target: Path, readable: Sequence[Path], loading: Loading, disk_bytes: float = math.inf
) -> Iterator[Workspace]:
    """Yield a workspace that writes the DuckDB file `target`, in its folder, and reads the files `readable`.

    Its database `scratch`, a file beside `target`, is for tables that are not kept: unlike temporary ones they are
    packed, so that they take little memory and what repeats is computed once. What DuckDB writes may have `disk_bytes`.

    Raises:
        DriverMissing: duckdb is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise DriverMissing("duckdb", "analyst") from None
    spill, scratch = target.with_name("spill"), target.with_name("scratch.duckdb")

    def written() -> int:
        return sum(_size(path) for path in (target, scratch, *spill.glob("*")))

    config: dict[str, str | bool | int | float | list[str]] = {
        **_CLOSED,
        "memory_limit": f"{loading.limits.memory_mb}MB",
        "threads": _THREADS,
        "temp_directory": str(spill),
    }
    with duckdb.connect(str(target), config=config) as connection:
        connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        connection.execute("SET allowed_paths = ?", [[str(path) for path in readable]])
        connection.execute("SET allowed_directories = ?", [[str(target.parent)]])
        connection.execute("SET python_enable_replacements = false")
        connection.execute("SET enable_external_access = false")
        place = "'" + str(scratch).replace("'", "''") + "'"
        connection.execute(f"ATTACH {place} AS scratch")
        yield Workspace(connection, loading, readable, written, disk_bytes)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
