"""The sample shop: a SQLite database for trying out datasphinx.

This module uses `sqlite3` directly, because it writes its own file; it never reads a user's data. Comments inside the
CREATE statements are part of the sample: SQLite keeps them in the schema.
"""

import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from uuid import uuid4

from sqlalchemy import URL

from datasphinx.agent.sample import people
from datasphinx.agent.sample.sales import CHANNELS, Sales

TABLES = {
    "regions": """
CREATE TABLE regions (
    region_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
)""",
    "employees": """
CREATE TABLE employees (
    employee_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    job_title TEXT NOT NULL,
    manager_id INTEGER REFERENCES employees (employee_id),
    region_id INTEGER REFERENCES regions (region_id), -- NULL: works at head office
    hired_on DATE NOT NULL,
    salary INTEGER NOT NULL -- US dollars a year
)""",
    "customers": """
CREATE TABLE customers (
    customer_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE,
    phone TEXT,
    city TEXT NOT NULL,
    country TEXT NOT NULL,
    region_id INTEGER NOT NULL REFERENCES regions (region_id),
    segment TEXT NOT NULL CHECK (segment IN ('Consumer', 'Small Business', 'Enterprise')),
    signed_up_on DATE NOT NULL
)""",
    "categories": """
CREATE TABLE categories (
    category_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    parent_id INTEGER REFERENCES categories (category_id) -- NULL: a top-level category
)""",
    "products": """
CREATE TABLE products (
    product_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    category_id INTEGER NOT NULL REFERENCES categories (category_id),
    price REAL NOT NULL, -- today's list price, US dollars
    cost REAL NOT NULL, -- what the shop pays for one
    discontinued INTEGER NOT NULL CHECK (discontinued IN (0, 1)) -- 1: no longer sold
)""",
    "channels": """
CREATE TABLE channels (
    code TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
)""",
    "orders": """
CREATE TABLE orders (
    order_id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
    employee_id INTEGER REFERENCES employees (employee_id), -- NULL: web order, nobody sold it
    ordered_on DATE NOT NULL,
    shipped_on DATE, -- NULL: not shipped
    status TEXT NOT NULL CHECK (status IN ('delivered', 'shipped', 'pending', 'cancelled')),
    channel TEXT NOT NULL REFERENCES channels (code), -- W = web, S = store, P = phone
    total_amount REAL NOT NULL -- sum of its items, US dollars
)""",
    "order_items": """
CREATE TABLE order_items (
    order_item_id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders (order_id),
    product_id INTEGER NOT NULL REFERENCES products (product_id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    unit_price REAL NOT NULL, -- list price on the day of the order
    discount REAL NOT NULL, -- a fraction: 0.1 is 10 percent off
    line_total REAL NOT NULL -- quantity * unit_price * (1 - discount)
)""",
    "returns": """
CREATE TABLE returns (
    return_id INTEGER PRIMARY KEY,
    order_item_id INTEGER NOT NULL UNIQUE REFERENCES order_items (order_item_id),
    returned_on DATE NOT NULL,
    reason TEXT,
    refund_amount REAL NOT NULL
)""",
}

INDEXES = (
    "CREATE INDEX orders_by_customer ON orders (customer_id)",
    "CREATE INDEX orders_by_date ON orders (ordered_on)",
    "CREATE INDEX order_items_by_order ON order_items (order_id)",
    "CREATE INDEX order_items_by_product ON order_items (product_id)",
)


VERSION = 1
"""Increased with every change of the content, so that earlier copies are no longer used."""

SEED = 20230101


def build_shop(path: Path) -> None:
    """Write a new database at `path`, replacing an existing one; missing directories are created.

    The file is written under a temporary name in the same directory and then renamed, so any number of processes may
    build at the same time.

    Raises:
        OSError: the directory cannot be created, or the file cannot be replaced.
        sqlite3.Error: the database cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        _write(unfinished)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def shop_path(cache_dir: Path) -> Path:
    """Return the path of the sample database in `cache_dir`; it is built on first use.

    Raises:
        OSError: the directory or the file cannot be created.
        sqlite3.Error: the database cannot be written.
    """
    path = cache_dir / f"shop-{VERSION}.sqlite"
    if not path.exists():
        build_shop(path)
    return path


def _write(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        # If anything fails the whole file is deleted, so no rollback journal is needed.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA foreign_keys = ON")
        for statement in TABLES.values():
            connection.execute(statement)
        for table, rows in _rows().items():
            placeholders = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({placeholders})", rows)
        for statement in INDEXES:
            connection.execute(statement)
        connection.commit()


def _rows() -> Mapping[str, Sequence[tuple[object, ...]]]:
    """Return the rows of every table; referenced tables come first."""
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
    """Return the SQLAlchemy URL of the shop in `folder`; it is built on first use."""
    return URL.create("sqlite", database=str(shop_path(folder))).render_as_string()
