"""The made-up databases of a school district, a museum and an insurer, which questions are measured on.

`xzcat tests/fixtures/databases/NAME.sql.xz` prints one. Nothing in them has happened after 30 June 2026.
"""

import lzma
import sqlite3
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
