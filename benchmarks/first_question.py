"""The first question about a schema that was never read, compared with reading the bare schema with SQLAlchemy.

Run with: `python -m benchmarks.first_question [--tables 200] [--columns 15] [--rows 300] [--postgres URL]
[--question]`

Each run has a new cache. A tenth of the tables have 5,000 rows, or `--rows` if there are more than 1,000 tables. Times
are seconds of wall time, with the CPU time of this process in parentheses. The prompt of the first question does not
wait for the work in the background. `--postgres` is the URL of a server where a database may be created, and
`--question` asks the question through the graph, with a model that responds at once.
"""

import argparse
import random
import sqlite3
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData, create_engine

from benchmarks.common import Took, own_database, timed
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.retrieval.linked_values import linked_values
from datasphinx.agent.services import Services
from datasphinx.agent.settings import SourceSettings, load_settings
from datasphinx.agent.sources import profile
from datasphinx.agent.sources.background import stop_all
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import Limits

QUESTION = "How many records of table 17 have the value 42?"
SQL = "SELECT COUNT(*) FROM record_17 WHERE field_17_1 = 'value 42'"
_DATABASE = "sphinx_first_question"


def main() -> None:
    """Print the times of each part, the median of the runs, and their ratio to the bare reading of the schema."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--columns", type=int, default=15)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--postgres", metavar="URL", help="account that may create a database, instead of SQLite")
    parser.add_argument("--question", action="store_true", help="ask through the graph")
    asked = parser.parse_args()
    times: dict[str, list[Took]] = defaultdict(list)
    measure = _ask if asked.question else _open
    with tempfile.TemporaryDirectory() as folder, _database(asked, Path(folder)) as url:
        for run in range(asked.runs):
            engine = create_engine(url)
            times["bare reflection"].append(timed(lambda engine=engine: MetaData().reflect(engine))[1])
            engine.dispose()
            measure(url, Path(folder, f"cache{run}"), times)
    bare = statistics.median(wall for wall, _ in times["bare reflection"])
    for name, measured in times.items():
        wall, cpu = (statistics.median(column) for column in zip(*measured, strict=True))
        print(f"{name:42} {wall:7.2f} s ({cpu:.2f})  {wall / bare:6.1f} x bare")


@contextmanager
def _counted_statements() -> Iterator[list[int]]:
    """Count the statements that sample tables and read values, in the only item of the list."""
    count: list[int] = [0]
    execute: Callable[..., object] = profile.execute  # type: ignore[attr-defined]

    def counted(*arguments: object, **options: object) -> object:
        count[0] += 1
        return execute(*arguments, **options)

    profile.execute = counted  # type: ignore[attr-defined, assignment]
    try:
        yield count
    finally:
        profile.execute = execute  # type: ignore[attr-defined, assignment]


def _open(url: str, cache: Path, times: dict[str, list[Took]]) -> None:
    settings = SourceSettings.model_validate({"url": url, "allow_writable_account": True})

    def prepare() -> Source:
        source = open_source(settings, Limits(30, 1000), cache_dir=cache, question=QUESTION)
        selection = {
            key: list(source.catalog.tables[key].column_names) for key in source.index.rank(QUESTION, limit=15)
        }
        linked_values(QUESTION, source.values, selection)
        return source

    with _counted_statements() as statements:
        source, took = timed(prepare)
        before = statements[0]
        assert source.background is not None
        times["first question, until the prompt"].append(took)
        times["background: samples and values"].append(timed(source.background.wait)[1])
        source.close()
        print(f"statements: {before} before the prompt, {statements[0]} with the background")


def _ask(url: str, cache: Path, times: dict[str, list[Took]]) -> None:
    answers: dict[str, Any] = {
        "TableSelection": [{"tables": ["record_17"]}],
        "ColumnSelection": [{"tables": [{"table": "record_17", "columns": ["id", "field_17_1"]}]}],
        "GeneratedSQL": [{"sql": SQL}],
        "SQLValidation": [{"is_valid": True, "reason": "", "issues": [], "corrected_sql": None}],
    }
    sources = {"many": {"url": url, "allow_writable_account": True}}
    settings = load_settings(cache_dir=cache, data_dir=cache, sources=sources)
    services = Services(settings, model=ScriptedModel(answers, repeat_last=True))
    graph = build_graph(services)

    def ask() -> None:
        output = graph.invoke({"question": QUESTION, "clarify": "never"})
        if output["error"]:
            raise SystemExit(f"the question failed: {output['answer']}")

    with _counted_statements() as statements:
        times["first question, until the answer"].append(timed(ask)[1])
        print(f"statements: {statements[0]} until the answer")
    times["second question, until the answer"].append(timed(ask)[1])
    services.close()
    # The work in the background would take time of the next run.
    stop_all()


@contextmanager
def _database(asked: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Create the database; yield its URL, and drop it at the end."""
    large = 5000 if asked.tables <= 1000 else asked.rows
    if not asked.postgres:
        path = folder / "many.sqlite"
        create_tables(path, asked.tables, asked.columns, asked.rows, large)
        yield f"sqlite:///{path}"
        return
    with own_database(asked.postgres, _DATABASE) as url:
        _create_postgres(url, asked.tables, asked.columns, asked.rows, large)
        yield url


def _columns(table: int, columns: int) -> list[tuple[str, str]]:
    """Return the names and types of the columns after the key."""
    return [(f"field_{table}_{at}", "TEXT" if at % 5 < 3 else "INTEGER") for at in range(1, columns)]


def create_tables(path: Path, tables: int, columns: int, rows: int, large: int = 5000) -> None:
    """Create the SQLite database `path`; a tenth of its tables have `large` rows instead of `rows`."""
    chosen = random.Random(1)
    with closing(sqlite3.connect(path)) as connection:
        for table in range(tables):
            kinds = [kind for _, kind in _columns(table, columns)]
            declared = ", ".join(f"{name} {kind}" for name, kind in _columns(table, columns))
            connection.execute(f"CREATE TABLE record_{table} (id INTEGER PRIMARY KEY, {declared})")
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
                    for row in range(rows if table % 10 else large)
                ),
            )
        connection.commit()


def _create_postgres(url: str, tables: int, columns: int, rows: int, large: int) -> None:
    engine = create_engine(url)
    # A transaction holds a lock for each table that it creates, and their number is limited.
    for start in range(0, tables, 500):
        with engine.begin() as connection:
            connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
            for table in range(start, min(tables, start + 500)):
                declared = ", ".join(f"{name} {kind}" for name, kind in _columns(table, columns))
                values = ", ".join(
                    "'value ' || floor(random() * 500)" if kind == "TEXT" else "floor(random() * 1000)"
                    for _, kind in _columns(table, columns)
                )
                count = rows if table % 10 else large
                connection.exec_driver_sql(f"CREATE TABLE record_{table} (id INTEGER PRIMARY KEY, {declared})")
                connection.exec_driver_sql(
                    f"INSERT INTO record_{table} SELECT n, {values} FROM generate_series(1, {count}) n"
                )
    engine.dispose()


if __name__ == "__main__":
    main()
