"""The first question about a schema that was never read, compared with reading the bare schema with SQLAlchemy.

Run with: `python -m tests.benchmarks.first_question [--tables 200] [--columns 15] [--rows 300]`

Each run has a new cache. A tenth of the tables have 5,000 rows. Times are seconds of wall time, with the CPU time of
this process in parentheses. The prompt of the first question does not wait for the work in the background.
"""

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy import MetaData, create_engine

from agent.retrieval.linked_values import linked_values
from agent.settings import SourceSettings
from agent.sources import profile
from agent.sources.source import open_source
from agent.types import Limits

QUESTION = "How many orders of customer 17 have the status value 42?"


def main() -> None:
    """Print the times of each part, the median of three runs, and their ratio to the bare reading of the schema."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--columns", type=int, default=15)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    times: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "many.sqlite")
        create_tables(path, asked.tables, asked.columns, asked.rows)
        for run in range(asked.runs):
            _measure(path, Path(folder, f"cache{run}"), times)
    bare = statistics.median(wall for wall, _ in times["bare reflection"])
    for name, measured in times.items():
        wall, cpu = (statistics.median(column) for column in zip(*measured, strict=True))
        print(f"{name:42} {wall:7.2f} s ({cpu:.2f})  {wall / bare:6.1f} x bare")


def _measure(path: Path, cache: Path, times: dict[str, list[tuple[float, float]]]) -> None:
    def timed(name: str, work: Callable[[], object]) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        times.setdefault(name, []).append((time.perf_counter() - wall, time.process_time() - cpu))

    engine = create_engine(f"sqlite:///{path}")
    timed("bare reflection", lambda: MetaData().reflect(engine))
    engine.dispose()
    statements = 0
    execute = profile.execute

    def counted(*arguments: object, **options: object) -> object:
        nonlocal statements
        statements += 1
        return execute(*arguments, **options)  # type: ignore[arg-type]

    profile.execute = counted  # type: ignore[assignment]
    settings, limits = SourceSettings(url=SecretStr(f"sqlite:///{path}")), Limits(30, 1000)

    def prepare() -> None:
        source = open_source(settings, limits, cache_dir=cache, question=QUESTION)
        selection = {
            key: list(source.catalog.tables[key].column_names) for key in source.index.rank(QUESTION, limit=15)
        }
        linked_values(QUESTION, source.values, selection)
        opened.append(source)

    opened: list[object] = []
    timed("first question, until the prompt", prepare)
    before = statements
    (source,) = opened
    timed("background: samples and values", lambda: source.background.wait())  # type: ignore[attr-defined]
    source.close()  # type: ignore[attr-defined]
    profile.execute = execute
    print(f"statements: {before} before the prompt, {statements} with the background")


def create_tables(path: Path, tables: int, columns: int, rows: int) -> None:
    """Create the SQLite database `path`; a tenth of its tables have 5,000 rows instead of `rows`."""
    chosen = random.Random(1)
    with closing(sqlite3.connect(path)) as connection:
        for table in range(tables):
            names = [f"field_{table}_{column}" for column in range(1, columns)]
            kinds = ["TEXT" if column % 5 < 3 else "INTEGER" for column in range(1, columns)]
            columns_text = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
            connection.execute(f"CREATE TABLE record_{table} (id INTEGER PRIMARY KEY, {columns_text})")
            connection.executemany(
                f"INSERT INTO record_{table} VALUES ({', '.join('?' * columns)})",
                (
                    (
                        row,
                        *(
                            f"value {chosen.randrange(500)}" if kind == "TEXT" else chosen.randrange(1000)
                            for kind in kinds
                        ),
                    )
                    for row in range(rows if table % 10 else 5000)
                ),
            )
        connection.commit()


if __name__ == "__main__":
    main()
