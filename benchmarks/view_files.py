"""Grouped queries on views over Parquet files: seconds, and the peak memory of the worker.

    python -m benchmarks.view_files
    python -m benchmarks.view_files --millions 10

DuckDB writes the files into a temporary folder with one Hive partition for each year. The statements run as those of a
question: with the guard, in a worker process with two threads and the default limits of time and memory.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import median

import duckdb

from datasphinx.agent.settings import Settings, SourceSettings
from datasphinx.agent.sources.source import open_source

RUNS = 3
YEARS = 10
ROWS = """
    SELECT range AS sale_id, ['north', 'south', 'west', 'east'][1 + range * 7919 % 4] AS region,
        (random() * 100000)::INT AS customer_id, DATE '{year}-01-01' + (random() * 364)::INT AS day,
        round(random() * 999, 2) AS amount
    FROM range({rows})
"""
STATEMENTS = {
    "count": "SELECT count(*) FROM sales",
    "by region": "SELECT region, count(*), sum(amount), avg(amount) FROM sales GROUP BY region",
    "by year and month": "SELECT year, month(day), sum(amount) FROM sales GROUP BY 1, 2 ORDER BY 1, 2",
    "100,000 groups": "SELECT customer_id, sum(amount) AS s FROM sales GROUP BY 1 ORDER BY s DESC LIMIT 10",
    "distinct customers": "SELECT region, count(DISTINCT customer_id) FROM sales GROUP BY region",
    "one year": "SELECT region, sum(amount) FROM sales WHERE year = 2020 GROUP BY region",
}


def write_files(folder: Path, rows: int) -> int:
    """Write one file of `rows` / `YEARS` rows for each year; return their size in bytes."""
    for year in range(2015, 2015 + YEARS):
        path = folder / f"sales/year={year}/part-0.parquet"
        path.parent.mkdir(parents=True)
        with duckdb.connect(config={"threads": 2, "memory_limit": "1GB"}) as connection:
            connection.execute(f"COPY ({ROWS.format(year=year, rows=rows // YEARS)}) TO '{path}'")
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def worker_peak_mb() -> float:
    """Return the largest resident memory of a worker process so far, in megabytes."""
    process = os.getpid()
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    lines = [line for child in children for line in Path(f"/proc/{child}/status").read_text().splitlines()]
    return max((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), default=0.0)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--millions", type=float, default=100)
    rows = int(parser.parse_args().millions * 1_000_000)
    limits = Settings().statement_limits
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        size = write_files(Path(folder), rows)
        print(f"{rows:,} rows, {size / 1e6:,.0f} MB, written in {time.perf_counter() - started:.1f} s")
        started = time.perf_counter()
        source = open_source(SourceSettings.model_validate({"files": [f"{folder}/sales"]}), limits)
        print(f"opened, with catalog and samples: {time.perf_counter() - started:.1f} s")
        for name, sql in STATEMENTS.items():
            taken = []
            for _ in range(RUNS):
                started = time.perf_counter()
                source.execute(sql)
                taken.append(time.perf_counter() - started)
            print(f"{name}: {median(taken):.2f} s, slowest {max(taken):.2f} s, limit {limits.timeout_s:.0f} s")
        print(f"peak memory of a worker: {worker_peak_mb():.0f} MB, limit {limits.memory_mb} MB")
        source.close()


if __name__ == "__main__":
    main()
