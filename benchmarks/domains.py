"""The made-up databases of a school district, a museum and an insurer, which questions are measured on.

`xzcat tests/fixtures/databases/NAME.sql.xz` prints one. Nothing in them has happened after 30 June 2026.
"""

import lzma
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path

DOMAINS = ("schools", "museum", "insurer")
AS_OF = date(2026, 7, 1)
"""The date in prompts about them."""
_SCRIPTS = Path(__file__).parents[1] / "tests/fixtures/databases"


def create_domain(name: str, path: Path) -> None:
    """Create the database of a domain at the path, replacing a file that is there."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(lzma.decompress((_SCRIPTS / f"{name}.sql.xz").read_bytes()).decode())


def create(path: Path, schema: str, tables: Mapping[str, Sequence[tuple[object, ...]]]) -> None:
    """Create a database at the path, replacing a file that is there; dates are written as text."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        # One transaction for all of it: a commit per statement is what takes the time.
        connection.executescript("BEGIN;" + schema)
        for table, rows in tables.items():
            marks = ", ".join("?" * len(rows[0]))
            texts = ([one.isoformat() if isinstance(one, date) else one for one in row] for row in rows)
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", texts)
        connection.commit()
