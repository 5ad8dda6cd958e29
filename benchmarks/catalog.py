"""What the catalog costs on 10,000 tables x 20 columns: read cold, and started from the cache.

    python -m benchmarks.catalog sqlite
    python -m benchmarks.catalog postgres [URL]    (in a database of its own, which is dropped afterwards)

Each figure of memory is the peak of a process of its own, as the system counts it, with the interpreter and libraries.
A warm start is from the settings of a source to the first ranking of tables; imports and the load of the packaged
embedder, which a process does once, are timed apart. The warm figures are medians of five processes.
"""

import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from pydantic import SecretStr
from sqlalchemy import create_engine, text

from benchmarks.common import own_database, peak_mb, timed
from datasphinx.agent.retrieval.semantic import packaged_embedder
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.schema.describe import describe
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.catalog_loader import CatalogLoader
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.validation import validated_sql
from datasphinx.agent.types import Limits

TABLES, COLUMNS, ROWS = 10_000, 20, 3
STARTS = 5
QUESTION = "What is the average unit price of the items that each customer ordered, by city?"
NAME = "sphinx_catalog_benchmark"
POSTGRES = "postgresql+psycopg://postgres@127.0.0.1:5432/test"
WORDS = """account address agent amount area article asset balance batch branch brand budget building campaign carrier
category channel city claim client code color contact contract cost country course currency customer date delivery
department description device discount district document email employee end event factory fee file first flag gender
grade group height house image index invoice item job journal label language last length level line list location lot
manager margin market material member message method model month name network note number office operator option order
origin owner package page parent part partner payment period person phone place plan plant point policy position price
process product profile profit project province provider quality quantity quarter question rank rate rating reason
receipt record region remark report request result return revenue review role room route salary sale sample schedule
score section segment seller series service session shift ship shop size source staff stage start state station status
step stock storage store street student subject supplier system target task tax team term ticket time title total track
trade transfer trip type unit user value vehicle vendor version visit volume warehouse week weight worker year zone
""".split()


def main(what: str, *rest: str) -> None:
    """Run one part and print its figures as JSON."""
    parts: dict[str, Callable[..., object]] = {"sqlite": on_sqlite, "postgres": on_postgres, "measure": measure}
    print(json.dumps(parts[what](*rest), indent=2))


def definitions() -> Iterator[str]:
    """Yield the statements that make the tables; each has a key to an earlier one."""
    chance = random.Random(3)
    kinds = ("INTEGER", "VARCHAR(40)", "DATE", "NUMERIC(12, 2)", "VARCHAR(200)")
    for number in range(TABLES):
        names = {f"{chance.choice(WORDS)}_{chance.choice(WORDS)}" for _ in range(COLUMNS * 2)}
        columns = ", ".join(f"{name} {chance.choice(kinds)}" for name in sorted(names)[: COLUMNS - 2])
        parent = _table(chance.randrange(number) if number else 0)
        yield (
            f"CREATE TABLE {_table(number)} (id INTEGER PRIMARY KEY, {columns},"
            f" upper_id INTEGER REFERENCES {parent} (id))"
        )


def _table(number: int) -> str:
    return f"{WORDS[number % len(WORDS)]}_{WORDS[number // len(WORDS) % len(WORDS)]}_{number}"


def on_sqlite() -> dict[str, Any]:
    """A generated file, three rows in each table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.sqlite"
        with closing(sqlite3.connect(path)) as connection:
            for statement in definitions():
                connection.execute(statement)
            for number in range(TABLES):
                rows = [(row, *[f"value {row}"] * (COLUMNS - 2), row) for row in range(ROWS)]
                marks = ", ".join("?" * COLUMNS)
                connection.executemany(f"INSERT INTO {_table(number)} VALUES ({marks})", rows)
            connection.commit()
        return _phases(f"sqlite:///{path}", folder)


def on_postgres(url: str = POSTGRES) -> dict[str, Any]:
    """A database of its own on the server of `url`, without rows."""
    with own_database(url, NAME) as own, tempfile.TemporaryDirectory() as folder:
        engine = create_engine(own)
        statements = definitions()
        while batch := list(islice(statements, 200)):
            with engine.begin() as connection:
                for statement in batch:
                    connection.execute(text(statement))
        engine.dispose()
        return _phases(own, folder)


def _phases(url: str, folder: str) -> dict[str, Any]:
    found = {phase: _alone(phase, url, folder) for phase in ("imports", "cold")}
    runs = [_alone("warm", url, folder) for _ in range(STARTS)]
    return {**found, "warm": {name: round(median(run[name] for run in runs), 3) for name in runs[0]}, "warm runs": runs}


def _alone(*arguments: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.catalog", "measure", *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(phase: str, url: str, folder: str) -> dict[str, float]:
    """Run one phase in this process: nothing, a cold start that is stored, or a start from what is stored."""
    phases = {"imports": lambda *_: {}, "cold": cold, "warm": warm}
    return {**phases[phase](url, Path(folder)), "peak_mb": peak_mb()}


def cold(url: str, folder: Path) -> dict[str, float]:
    """Read the database, sample it for three seconds, fill up what was not sampled, and store all."""
    figures: dict[str, float] = {}
    loader = CatalogLoader(Database(url), SourceSettings(url=SecretStr(url)), folder, packaged_embedder())
    catalog = _timed(figures, "reflect_s", loader.reflect)
    catalog = _timed(figures, "profile_s", lambda: loader.profile(catalog, 3))
    figures["profiled_tables"] = sum(table.columns[0].distinct is not None for table in catalog.tables.values())
    catalog = filled(catalog)
    digest = _timed(figures, "store_s", lambda: loader.store(catalog))
    _timed(figures, "index_s", lambda: loader.index(catalog, digest))
    figures["tables"] = len(catalog.tables)
    figures["columns"] = sum(len(table.columns) for table in catalog.tables.values())
    for kind in ("catalog", "index"):
        figures[f"{kind}_mb"] = round(next(folder.glob(f"catalogs/*.{kind}")).stat().st_size / 1e6, 1)
    return figures


def warm(url: str, folder: Path) -> dict[str, float]:
    """Open the source and rank once, then describe the tables that were found and check a statement on one."""
    figures: dict[str, float] = {}
    embedder = _timed(figures, "embedder_s", packaged_embedder)
    settings = SourceSettings(url=SecretStr(url), allow_writable_account=True)
    before = time.process_time()
    source = _timed(
        figures, "open_s", lambda: open_source(settings, Limits(10, 1_000), cache_dir=folder, embedder=embedder)
    )
    ranked = _timed(figures, "rank_s", lambda: source.index.rank(QUESTION, limit=15))
    figures["start_s"] = round(figures["open_s"] + figures["rank_s"], 3)
    figures["start_cpu_s"] = round(time.process_time() - before, 3)
    assert source.background is None and len(ranked) == 15
    _timed(figures, "describe_s", lambda: _described(source, ranked))
    _timed(figures, "check_s", lambda: validated_sql(f"SELECT id FROM {ranked[0]}", source.catalog))
    source.close()
    return figures


def _timed(figures: dict[str, float], name: str, work: Callable[[], Any]) -> Any:
    result, took = timed(work)
    figures[name] = round(took.wall, 3)
    return result


def _described(source: Source, keys: list[str]) -> str:
    tables = {key: source.catalog.tables[key].column_names for key in keys}
    return describe(source.catalog, tables, source.database.quote)


def filled(catalog: Catalog) -> Catalog:
    """Return `catalog` as it is once all was sampled: three examples for each column, three values for each text."""
    values = ("value 0", "value 1", "value 2")
    tables = {
        key: replace(
            table,
            rows=ROWS,
            columns=tuple(column._replace(null_share=0.0, distinct=3, examples=values) for column in table.columns),
        )
        for key, table in catalog.tables.items()
    }
    texts = ((key, column) for key, table in tables.items() for column in table.columns if column.type_class == "text")
    return replace(catalog, tables=tables, values={(key, column.name): values for key, column in texts})


if __name__ == "__main__":
    main(*sys.argv[1:])
