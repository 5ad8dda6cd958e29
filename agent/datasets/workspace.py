"""DuckDB while a dataset is written. Only this module runs statements for that.

DuckDB can read only the given files and write only to one folder. No text of a file becomes SQL: names are quoted by
`quote_name`, values are bound as parameters.
"""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

from datasphinx.agent.core.duckdb_text import literal
from datasphinx.agent.datasets.limits import Loading
from datasphinx.agent.errors import DriverMissing

Stage = tuple[str, float, float]
"""Name of a stage, and the shares of it at which a statement starts and ends."""

_POLL_S = 0.2
_THREADS = 2
_CLOSED = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
}


class Workspace:
    """A DuckDB file while it is written."""

    def __init__(
        self,
        connection: Any,
        loading: Loading,
        readable: Sequence[Path],
        written: Callable[[], int],
        disk_bytes: float,
    ) -> None:
        """Wrap an open connection that may read the files `readable`.

        `written` returns the bytes on disk; more than `disk_bytes` is an error.
        """
        self._connection, self._loading, self._readable = connection, loading, readable
        self._written, self._disk_bytes = written, disk_bytes

    def run(self, sql: str, parameters: Sequence[Any] = (), stage: Stage | None = None) -> list[Any]:
        """Run `sql` and return its rows; with `stage`, report progress between the two shares of that stage.

        Raises:
            FileUnreadable: DuckDB cannot read the file.
        """
        import duckdb

        self._loading.cancellation.check()
        try:
            with self._watch(stage):
                rows: list[Any] = self._connection.execute(sql, parameters or None).fetchall()
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise self._loading.too_large("megabytes in memory") from error
        except duckdb.Error as error:
            self._check_limits()
            raise self._loading.unreadable(_reason(error), *self._readable) from error
        self._check_limits()
        if stage:
            self._loading.report_progress(stage[0], stage[2])
        return rows

    def _check_limits(self) -> None:
        self._loading.cancellation.check()
        written = self._written()
        if written > self._disk_bytes:
            raise self._loading.suspicious(written, int(self._disk_bytes))

    def columns(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[str, str]]:
        """Return the names and types of the columns of a table or of a subquery in parentheses."""
        return [(name, kind) for name, kind, *_ in self.run(f"DESCRIBE SELECT * FROM {sql}", parameters)]

    @contextmanager
    def frame(self, name: str, frame: Any) -> Iterator[None]:
        """Register a DataFrame or an Arrow stream as the table `name` inside the block."""
        self._connection.register(name, frame)
        yield
        self._connection.unregister(name)

    @contextmanager
    def _watch(self, stage: Stage | None) -> Iterator[None]:
        """Report the progress of the statement in the block, and interrupt it when it has to stop.

        The progress callback runs in the context of the caller, such as that of a node of a graph.
        """
        finished = threading.Event()

        def watch() -> None:
            while not finished.wait(_POLL_S):
                # DuckDB ignores an interrupt that arrives before the statement starts, so repeat it.
                if self._loading.cancellation.requested or self._written() > self._disk_bytes:
                    self._connection.interrupt()
                elif stage:
                    name, first, last = stage
                    share = max(0.0, self._connection.query_progress()) / 100
                    self._loading.progress(name, first + (last - first) * min(1.0, share))

        watcher = threading.Thread(target=copy_context().run, args=(watch,), name="datasphinx-load-watch", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()


def _reason(error: Exception) -> str:
    """Return DuckDB's reason without the line of the file that the message may quote."""
    lines = str(error).strip().splitlines()
    line_size = [line for line in lines if line.startswith("Maximum line size")]
    return (line_size or lines)[0]


@contextmanager
def workspace(
    target: Path, readable: Sequence[Path], loading: Loading, disk_bytes: float = math.inf, *, is_small: bool = False
) -> Iterator[Workspace]:
    """Open a workspace that writes the DuckDB file `target`, in its own folder, and reads the files `readable`.

    Its database `scratch` is for intermediate tables: a file next to `target`, whose tables are compressed, which saves
    memory; in memory if `is_small`, which saves time. DuckDB may write at most `disk_bytes`.

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
        place = "':memory:'" if is_small else literal(str(scratch))
        connection.execute(f"ATTACH {place} AS scratch")
        yield Workspace(connection, loading, readable, written, disk_bytes)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
