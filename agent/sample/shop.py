"""The sample shop: a SQLite database to ask questions of before pointing the agent at one's own.

`sqlite3` is used directly here, and here only, because this module writes its own file; it never reads a user's data,
so the guard that stands before every reading statement has nothing to guard.
"""

import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from uuid import uuid4

from sqlalchemy import URL

from agent.sample import people
from agent.sample.ddl import INDEXES, TABLES
from agent.sample.sales import CHANNELS, Sales

VERSION = 1
"""To be raised with every change of the content: a copy built before keeps its own name and is not used again."""

SEED = 20230101


def build_shop(path: Path) -> None:
    """Write a complete new database at `path`, in place of what is there; its folder is made where it is missing.

    Until all of it is written it has another name in the same folder, so nobody sees half of it and any number of
    processes may build at once.

    Raises:
        OSError: The folder cannot be made, or the file there cannot be replaced.
        sqlite3.Error: The database cannot be written: no permission, or no space left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        _write(unfinished)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def shop_path(cache_dir: Path) -> Path:
    """Return the path of the sample database in `cache_dir`, which is built there at first use.

    Raises:
        OSError: The folder cannot be made, or the file cannot be put there.
        sqlite3.Error: The database cannot be written: no permission, or no space left.
    """
    path = cache_dir / f"shop-{VERSION}.sqlite"
    if not path.exists():
        build_shop(path)
    return path


def _write(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        # The whole file is thrown away if anything fails, so a journal to roll back with would only be litter.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA foreign_keys = ON")
        for statement in TABLES.values():
            connection.execute(statement)
        for table, rows in _rows().items():
            places = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
        for statement in INDEXES:
            connection.execute(statement)
        connection.commit()


def _rows() -> Mapping[str, Sequence[tuple[object, ...]]]:
    """Return the rows of every table, in an order in which no row comes before one that it points to."""
    rng = Random(SEED)
    employees, customers = people.make_employees(rng), people.make_customers(rng)
    categories = people.make_categories()
    products = people.make_products(rng, categories)
    sales = Sales(rng, employees, customers, categories, products)
    sales.run()
    return {
        "regions": people.make_regions(),
        "employees": employees,
        "customers": customers,
        "categories": categories,
        "products": products,
        "channels": CHANNELS,
        "orders": sales.orders,
        "order_items": sales.items,
        "returns": sales.returns,
    }


def shop_url(folder: Path) -> str:
    """Return the SQLAlchemy URL of the shop in `folder`, which is made where it is missing."""
    return URL.create("sqlite", database=str(shop_path(folder))).render_as_string()
