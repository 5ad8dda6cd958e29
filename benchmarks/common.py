"""What several benchmarks share: lines of JSON, a database of their own on a server, and what a run took."""

import json
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import create_engine, make_url

Line = dict[str, Any]
Result = TypeVar("Result")


class Took(NamedTuple):
    """How many seconds a run took: on the clock, and of this process's CPU time."""

    wall: float
    cpu: float


def read_lines(*paths: Path) -> list[Line]:
    """Return the lines of JSON in `paths`."""
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line]


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    """Write `lines` as JSON to `path`."""
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")


@contextmanager
def own_database(server: str, name: str) -> Iterator[str]:
    """Yield the URL of a new PostgreSQL database `name` on the server of the URL `server`; drop it at the end.

    Raises:
        OperationalError: no server answers.
    """
    # From another database than the one of `server`, whose sessions a test may end.
    url = make_url(server)
    engine = create_engine(url.set(database="postgres"), isolation_level="AUTOCOMMIT")
    drop = f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"
    with engine.connect() as connection:
        connection.exec_driver_sql(drop)
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        try:
            yield url.set(database=name).render_as_string(hide_password=False)
        finally:
            connection.exec_driver_sql(drop)
    engine.dispose()


def timed(work: Callable[[], Result]) -> tuple[Result, Took]:
    """Return what `work` returns, and how long it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Took(time.perf_counter() - wall, time.process_time() - cpu)


def percentile_95(values: Iterable[float]) -> float:
    """Return the value that 95 % of `values` are not above."""
    ordered = sorted(values)
    return ordered[int(0.95 * len(ordered))]


def peak_mb() -> int:
    """Return the most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
