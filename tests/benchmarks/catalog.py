"""What the catalog costs on 10,000 tables x 20 columns, and the index of values on a million values.

    python -m tests.benchmarks.catalog sqlite
    python -m tests.benchmarks.catalog postgres [URL]    (in a database of its own, which is dropped afterwards)
    python -m tests.benchmarks.catalog values [HOW_MANY]

Each figure of memory is the peak of a process of its own, as the system counts it, with the interpreter and libraries.
"""

import json
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from sqlalchemy import create_engine, make_url, text

from agent.catalog.cache import CatalogCache
from agent.catalog.index import SchemaIndex
from agent.catalog.learning import Learning
from agent.catalog.schema import Catalog
from agent.catalog.value_index import ValueIndex
from agent.catalog.values import ColumnValues
from agent.source_settings import SourceSettings
from agent.sql.database import Database

TABLES, COLUMNS, ROWS = 10_000, 20, 3
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
    parts = {"sqlite": on_sqlite, "postgres": on_postgres, "values": on_values, "measure": measure}
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
    # From another database than the one of `url`, whose sessions a test may end.
    server = create_engine(make_url(url).set(database="postgres"), isolation_level="AUTOCOMMIT", pool_pre_ping=True)
    own = make_url(url).set(database=NAME)
    try:
        with server.connect() as connection:
            connection.execute(text(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)"))
            connection.execute(text(f"CREATE DATABASE {NAME}"))
        engine = create_engine(own)
        statements = definitions()
        while batch := list(islice(statements, 200)):
            with engine.begin() as connection:
                for statement in batch:
                    connection.execute(text(statement))
        engine.dispose()
        with tempfile.TemporaryDirectory() as folder:
            return _phases(own.render_as_string(hide_password=False), folder)
    finally:
        with server.connect() as connection:
            connection.execute(text(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)"))
        server.dispose()


def _phases(url: str, folder: str) -> dict[str, Any]:
    return {phase: _alone(phase, url, folder) for phase in ("imports", "cold", "warm")}


def _alone(*arguments: str) -> Any:
    command = [sys.executable, "-m", "tests.benchmarks.catalog", "measure", *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(phase: str, url: str, folder: str) -> dict[str, float]:
    """Run one phase in this process: nothing, a cold start that is stored, or a start from what is stored."""
    learning = Learning(Database(url), SourceSettings(url=SecretStr(url)), Path(folder))
    figures: dict[str, float] = {}
    if phase == "cold":
        figures["reflect_s"], catalog = timed(learning.reflect)
        figures["profile_s"], catalog = timed(lambda: learning.profile(catalog, 3))
        figures["profiled_tables"] = sum(table.columns[0].distinct is not None for table in catalog.tables.values())
        catalog = filled(catalog)
        figures["store_s"], _ = timed(lambda: learning.store(catalog))
        figures["tables"] = len(catalog.tables)
        figures["columns"] = sum(len(table.columns) for table in catalog.tables.values())
        figures["file_mb"] = round(next(Path(folder).glob("catalogs/*.catalog")).stat().st_size / 1e6, 1)
    if phase == "warm":
        figures["load_s"], entry = timed(learning.load)
        assert entry, CatalogCache
        figures["peak_mb_with_catalog"] = _peak_mb()
        figures["schema_index_s"], _index = timed(lambda: SchemaIndex(entry.catalog))
    return {**figures, "peak_mb": _peak_mb()}


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


def on_values(how_many: str = "1000000") -> dict[str, Any]:
    """An index in a file of names made of syllables, and phrases with and without errors."""
    chance = random.Random(5)
    values = list(_names(chance, int(how_many)))
    parts = [ColumnValues(f"table_{n}", "name", tuple(values[n::20]), True) for n in range(20)]
    states = ColumnValues("places", "state", ("TX", "CA", "NY"), True)
    asked = chance.sample(values, 300)
    phrases = {
        "as stored": asked,
        "in capitals": [value.upper() for value in asked],
        "two letters swapped": [_swapped(chance, value) for value in asked],
        "one word of it": [max(value.split(), key=len) for value in asked],
        "not there": [value[::-1] + " qx" for value in asked],
        "a state's name": ["Texas", "California", "New York"] * 100,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.values"
        seconds, index = timed(lambda: ValueIndex.build([*parts, states], path))
        figures: dict[str, Any] = {
            "values": len(values),
            "build_s": seconds,
            "file_mb": round(path.stat().st_size / 1e6),
        }
        index.find("Germany")
        for name, texts in phrases.items():
            figures[name] = _latencies(index, texts)
        figures["found again with two letters swapped"] = sum(
            value in {match.value for match in index.find(phrase)}
            for value, phrase in zip(asked, phrases["two letters swapped"], strict=True)
        ) / len(asked)
        figures["peak_mb"] = _peak_mb()
        index.close()
    return figures


def _names(chance: random.Random, how_many: int) -> Iterator[str]:
    onsets, vowels, ends = (
        "b br c ch d f g gr h k l m n p r s st t tr v w".split(),
        "aeiou",
        ["", "n", "r", "s", "l", "ck"],
    )
    seen: set[str] = set()

    def word() -> str:
        syllables = chance.choice((1, 2, 2, 3))
        made = (chance.choice(onsets) + chance.choice(vowels) + chance.choice(ends) for _ in range(syllables))
        return "".join(made).capitalize()

    while len(seen) < how_many:
        name = " ".join(word() for _ in range(chance.choice((1, 2, 2, 3))))
        if name not in seen:
            seen.add(name)
            yield name


def _swapped(chance: random.Random, value: str) -> str:
    at = chance.randrange(len(value) - 1)
    return value[:at] + value[at + 1] + value[at] + value[at + 2 :]


def _latencies(index: ValueIndex, texts: list[str]) -> dict[str, float]:
    seconds = sorted(timed(lambda phrase=phrase: index.find(phrase), 6)[0] for phrase in texts)
    return {
        "median_ms": round(statistics.median(seconds) * 1000, 2),
        "p95_ms": round(seconds[int(len(seconds) * 0.95)] * 1000, 2),
    }


def timed(work: Callable[[], Any], digits: int = 2) -> tuple[float, Any]:
    """Return how many seconds `work` took, and its result."""
    started = time.perf_counter()
    result = work()
    return round(time.perf_counter() - started, digits), result


def _peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main(*sys.argv[1:])
