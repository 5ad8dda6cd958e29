"""The sample shop: a SQLite database for trying out datasphinx.

Its content is the script `shop.sql.xz`, which `xzcat` prints: a shop with three years of orders, 2023 to 2025, whose
customers and employees are invented; domains of email addresses are reserved ones. This module uses `sqlite3` directly,
because it writes its own file; it never reads a user's data.
"""

import lzma
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from sqlalchemy import URL

VERSION = 1
"""Increased with every change of the content, so that earlier copies are no longer used."""
_SCRIPT = Path(__file__).with_name("shop.sql.xz")


def build_shop(path: Path) -> None:
    """Write a new database at `path`, replacing an existing one; missing directories are created.

    The file is written under a temporary name in the same directory and then renamed, so any number of processes may
    build at the same time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        with closing(sqlite3.connect(unfinished)) as connection:
            # If anything fails the whole file is deleted, so no rollback journal is needed.
            connection.execute("PRAGMA journal_mode = OFF")
            connection.executescript(lzma.decompress(_SCRIPT.read_bytes()).decode())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def shop_path(cache_dir: Path) -> Path:
    """Return the path of the sample database in `cache_dir`; it is built on first use."""
    path = cache_dir / f"shop-{VERSION}.sqlite"
    if not path.exists():
        build_shop(path)
    return path


def shop_url(folder: Path) -> str:
    """Return the SQLAlchemy URL of the shop in `folder`; it is built on first use."""
    return URL.create("sqlite", database=str(shop_path(folder))).render_as_string()
