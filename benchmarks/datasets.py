"""Loading files, and grouped queries on them beside pandas: seconds, peak memory, progress, cancellation, medians.

    python -m benchmarks.datasets
    python -m benchmarks.datasets --megabytes 100 --millions 1
    python -m benchmarks.datasets --megabytes 2000 --millions 0

Files are made in a temporary folder, by DuckDB, with no two rows alike. Each is loaded in a process of its own, so that
its peak is its own; so are the reader of workbooks and what runs the queries. Before it is loaded, a load of it is
cancelled while it is read.
"""

import argparse
import contextlib
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import openpyxl

from benchmarks.common import timed
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.datasets.limits import LoadLimits
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.datasets.source import open_datasets
from datasphinx.agent.errors import StatementCancelled
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import run
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.types import Limits

MEMORY_MB = 1024
RUNS = 5
ROW_BYTES = 77
BATCH = 10_000

ROWS = """
    SELECT range AS id, ['Kazan', 'Tver', 'Omsk', 'Sochi', '北京', 'Москва'][1 + range * 7919 % 6] AS city,
        strftime(DATE '2019-01-01' + (random() * 2000)::INT, '%d.%m.%Y') AS day,
        strftime(TIMESTAMP '2024-01-01' + to_seconds((random() * 3e7)::BIGINT), '%Y-%m-%d %H:%M:%S') AS created,
        round(random() * 9999, 2) AS price, round(random() * 100, 1)::VARCHAR || ' %' AS share,
        (random() * 500)::INT AS units, 'note ' || (random() * 1e6)::INT AS note
    FROM range(?)
"""
SPECS = {
    "by city": ["city"],
    "by city and month": ["city", {"col": "created", "by": "month"}],
}
FIGURES = [
    {"as": "rows", "agg": "count", "col": "*"},
    {"as": "units", "agg": "sum", "col": "units"},
    {"as": "price", "agg": "avg", "col": "price"},
]


def write_workbook(path: Path, rows: int, columns: int) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("data")
    found = made().execute(ROWS, [rows])
    names = [column[0] for column in found.description]
    copies = -(-columns // len(names))
    sheet.append([name if not copy else f"{name} {copy}" for copy in range(copies) for name in names][:columns])
    while batch := found.fetchmany(BATCH):
        for row in batch:
            sheet.append((row * copies)[:columns])
    book.save(path)


def write_csv(path: Path, megabytes: float) -> None:
    made().execute(f"COPY ({ROWS}) TO '{path}' (HEADER)", [int(megabytes * 1e6 / ROW_BYTES)])


def write_parquet(path: Path, rows: int) -> None:
    typed = f"SELECT * REPLACE (strptime(day, '%d.%m.%Y')::DATE AS day, created::TIMESTAMP AS created) FROM ({ROWS})"
    made().execute(f"COPY ({typed}) TO '{path}' (FORMAT parquet)", [rows])


def made() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 2})
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SELECT setseed(0.5)")
    return connection


def load(path: Path, data_dir: Path) -> None:
    registry = Registry(data_dir, LoadLimits(memory_mb=MEMORY_MB))
    started = time.perf_counter()
    file_id = registry.add_file(path)
    kept = time.perf_counter()
    times = [kept]

    def progress(stage: str, share: float) -> None:
        times.append(time.perf_counter())
        show(stage, share)

    dataset = registry.create(file_id, progress=progress)
    took = time.perf_counter() - kept
    silence = max(after - before for before, after in pairwise([*times, kept + took]))
    own, child = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    size, made_size = (each.stat().st_size / 1e6 for each in (path, registry.path_of(dataset.dataset_id)))
    cpu = sum(who.ru_utime + who.ru_stime for who in (own, child))
    print(f"\r{path.name}: {size:.1f} MB, {dataset.row_count:,} rows: {took:.1f} s, and {kept - started:.1f} s to keep "
          f"the file; {cpu:.1f} s of processors in all; peak {own.ru_maxrss / 1024:.0f} MB, its reader "
          f"{child.ru_maxrss / 1024:.0f} MB; the dataset has {made_size:.0f} MB; progress {len(times) - 1} times, at "
          f"least every {silence:.1f} s")  # fmt: skip
    print("  " + ", ".join(f"{column.name} {column.type}" for column in dataset.schema))


def cancel(path: Path, data_dir: Path) -> None:
    registry = Registry(data_dir, LoadLimits(memory_mb=MEMORY_MB))
    file_id = registry.add_file(path)
    before = files_in(data_dir)
    stop, times = Cancellation(), list[float]()

    def progress(stage: str, share: float) -> None:
        if share >= 0.5 and not times:
            times.append(time.perf_counter())
            stop.cancel()

    with contextlib.suppress(StatementCancelled):
        registry.create(file_id, progress=progress, cancellation=stop)
    took = time.perf_counter() - times[0]
    print(f"{path.name}: cancelled in the middle, ended after {took:.1f} s, left {files_in(data_dir) - before} files")


def files_in(folder: Path) -> int:
    return sum(each.is_file() for each in folder.rglob("*"))


def show(stage: str, share: float) -> None:
    if sys.stderr.isatty():
        print(f"\r{stage:<8}{'█' * int(share * 40):<40}{share:5.0%}", end="", file=sys.stderr)


def compare(path: Path, data_dir: Path) -> None:
    """Time grouped queries as the analyst makes them, and the same on a DataFrame that is in memory."""
    registry = Registry(data_dir, LoadLimits(memory_mb=MEMORY_MB))
    dataset = registry.create(registry.add_file(path))
    with duckdb.connect(str(registry.path_of(dataset.dataset_id)), read_only=True) as connection:
        connection.execute("SET enable_progress_bar = false")
        frame = connection.execute(f"SELECT city, created, price, units FROM {dataset.table}").df()
    source = open_datasets(registry, [dataset.dataset_id], Limits(60, 10_000, memory_mb=MEMORY_MB))
    # Each time is that of a statement that runs: what was asked before would be known.
    source.database.result_cache = None
    datasets = Datasets(dataset.table, source.catalog.tables)
    for name, groups in SPECS.items():
        spec = read_spec({"group_by": groups, "aggregations": FIGURES})
        ours = seconds_of(lambda spec=spec: run(spec, datasets, source))
        theirs = seconds_of(lambda groups=groups: grouped(frame, groups))
        seconds = [f"{median(each) * 1000:,.0f} ms ({min(each) * 1000:,.0f} to {max(each) * 1000:,.0f})"
                   for each in (ours, theirs)]  # fmt: skip
        print(f"{dataset.row_count:,} rows {name}: {seconds[0]}, pandas {seconds[1]}, "
              f"ratio {median(theirs) / median(ours):.1f}")  # fmt: skip
    source.close()


def grouped(frame: Any, groups: list[Any]) -> Any:
    keys = [frame[each["col"]].dt.to_period("M") if isinstance(each, dict) else frame[each] for each in groups]
    return frame.groupby(keys).agg(rows=("units", "size"), units=("units", "sum"), price=("price", "mean"))


def seconds_of(work: Callable[[], Any]) -> list[float]:
    """Seconds of five runs, after one that is not counted."""
    return [timed(work)[1].wall for _ in range(RUNS + 1)][1:]


def apart(work: Callable[[Path, Path], None], path: Path) -> None:
    process = get_context("spawn").Process(target=work, args=(path, path.parent / "data"))
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(f"{path.name} could not be measured")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the workbook and of the small table")
    parser.add_argument("--columns", type=int, default=8, help="columns of the workbook")
    parser.add_argument("--megabytes", type=float, default=1000, help="size of the CSV")
    parser.add_argument("--millions", type=float, default=10, help="rows of the large table, in millions; 0: none")
    options = parser.parse_args()
    print(f"memory limit {MEMORY_MB} MB, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        names = ("book.xlsx", "big.csv", "small.parquet", "large.parquet")
        book, text, small, large = (Path(folder, name) for name in names)
        write_workbook(book, options.rows, options.columns)
        apart(cancel, book)
        apart(load, book)
        write_csv(text, options.megabytes)
        apart(cancel, text)
        apart(load, text)
        if not options.millions:
            return
        write_parquet(small, options.rows)
        apart(compare, small)
        write_parquet(large, int(options.millions * 1e6))
        apart(compare, large)


if __name__ == "__main__":
    main()
