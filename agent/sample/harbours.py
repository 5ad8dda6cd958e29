"""A SQLite database of a few boats and their harbours, on which a model's abilities are measured."""

import sqlite3
from contextlib import closing
from pathlib import Path

_SCRIPT = """
CREATE TABLE harbours (id INTEGER PRIMARY KEY, name TEXT, country TEXT);
CREATE TABLE boats (
    id INTEGER PRIMARY KEY, name TEXT, kind TEXT, length_m REAL, harbour_id INTEGER REFERENCES harbours (id)
);
INSERT INTO harbours VALUES
    (1, 'Bergen', 'Norway'), (2, 'Aarhus', 'Denmark'), (3, 'Visby', 'Sweden'), (4, 'Molde', 'Norway');
INSERT INTO boats VALUES
    (1, 'Alma', 'ferry', 62.0, 2), (2, 'Brage', 'ferry', 35.5, 2), (3, 'Cora', 'yacht', 48.0, 1),
    (4, 'Dina', 'ferry', 71.5, 1), (5, 'Embla', 'trawler', 28.0, 2), (6, 'Frida', 'yacht', 12.5, 3);
"""


def build_harbours(path: Path) -> None:
    """Write the database to a new file at `path`."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_SCRIPT)
