import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

SHOP = """
CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT, price REAL, stock TEXT);
INSERT INTO product VALUES (1, 'tea', 2.5, '7'), (2, 'coffee', 4.0, '9'), (3, 'cocoa', 3.0, NULL);
"""
CITY = """
CREATE TABLE city (name TEXT, people INTEGER);
INSERT INTO city VALUES ('Riga', 600), ('Oslo', 700);
"""
WIDE = f"CREATE TABLE product ({', '.join(f'measure_of_something_{number} INTEGER' for number in range(80))})"


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    """A maker of JSON lines files: each record on a line, text as it is."""

    def write(name: str, *records: Any) -> Path:
        lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def databases(tmp_path: Path) -> Path:
    """A folder with `shop`, `wide` (a schema of over 100 tokens) and `city` as Spider lays it out.

    Its name holds what a URL has to escape.
    """
    folder = tmp_path / "data bases? 100%20#"
    (folder / "city").mkdir(parents=True)
    for name, script in {"shop": SHOP, "city/city": CITY, "wide": WIDE}.items():
        with closing(sqlite3.connect(folder / f"{name}.sqlite")) as connection:
            connection.executescript(script)
    return folder
