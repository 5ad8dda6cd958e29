"""SQLite files with odd schemas and odd contents."""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import Limits


def make_database(folder: Path, *statements: str, name: str = "odd.sqlite") -> Path:
    """Write a SQLite file in `folder` with `statements` run in it."""
    path = folder / name
    change(path, *statements)
    return path


def change(path: Path, *statements: str) -> None:
    """Run `statements` in a SQLite file."""
    with closing(sqlite3.connect(path)) as connection:
        # Without a transaction each CREATE TABLE waits for the disk.
        connection.execute("BEGIN")
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def make_table(folder: Path, columns: str, rows: Iterable[Sequence[object]], *, table: str = "things") -> Path:
    """Write a SQLite file with one table that holds `rows`."""
    path = make_database(folder, f"CREATE TABLE {table} ({columns})")
    with closing(sqlite3.connect(path)) as connection:
        for row in rows:
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
    return path


def students_among_machines(folder: Path, machines: int) -> Source:
    """Students, allergies and the table between them, among `machines` tables that have nothing to do with them."""
    names = [f"machine_{number:02}" for number in range(machines)]
    path = make_database(
        folder,
        "CREATE TABLE student (id INTEGER PRIMARY KEY, first TEXT)",
        *(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, voltage REAL, weight REAL)" for name in names),
        "CREATE TABLE allergy (id INTEGER PRIMARY KEY, kind TEXT)",
        "CREATE TABLE has (s INTEGER REFERENCES student (id), a INTEGER REFERENCES allergy (id))",
    )
    return open_url(f"sqlite:///{path}")


def empty_database(folder: Path) -> Path:
    """A database without a table."""
    return make_database(folder, "PRAGMA user_version = 1", name="empty.sqlite")


def empty_table(folder: Path) -> Path:
    """A database whose one table has no row."""
    return make_database(folder, "CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, visitor TEXT, minutes INTEGER)")


def wide_table(folder: Path, columns: int = 500) -> Path:
    """A table of sensor readings with this many measures, and a table that its foreign key points to."""
    measures = ", ".join(f"measure_{number} REAL" for number in range(columns))
    values = ", ".join(str(number) for number in range(columns))
    return make_database(
        folder,
        "CREATE TABLE sites (site_id INTEGER PRIMARY KEY, site_name TEXT)",
        f"CREATE TABLE readings (reading_id INTEGER PRIMARY KEY, site_id INTEGER REFERENCES sites, {measures})",
        "INSERT INTO sites VALUES (1, 'North')",
        f"INSERT INTO readings VALUES (1, 1, {values})",
    )


def strange_names(folder: Path) -> Path:
    """Tables and columns named with spaces, quotes, reserved words, a dot, and in Russian and Chinese."""
    return make_database(
        folder,
        """CREATE TABLE "order details"
            ("unit price" REAL, "group" TEXT, "say ""hi""\" TEXT, "it's" TEXT, "a.b" INTEGER)""",
        "INSERT INTO \"order details\" VALUES (2.5, 'north', 'hello', 'apostrophe', 7)",
        'CREATE TABLE "select" ("from" TEXT, "where" INTEGER)',
        "INSERT INTO \"select\" VALUES ('here', 1)",
        "CREATE TABLE клиенты (имя TEXT, город TEXT)",
        "INSERT INTO клиенты VALUES ('Анна', 'Москва')",
        "CREATE TABLE 订单 (编号 INTEGER, 金额 REAL)",
        "INSERT INTO 订单 VALUES (1, 99.5)",
    )


def many_tables(folder: Path, count: int = 150) -> Path:
    """So many tables that they do not fit into 2,000 tokens; one of them, `planets`, has two rows."""
    crowd = (
        f"CREATE TABLE archive_{number} (entry_id INTEGER PRIMARY KEY, description_{number} TEXT, amount_{number} REAL)"
        for number in range(count)
    )
    return make_database(
        folder,
        *crowd,
        "CREATE TABLE planets (planet TEXT, moons INTEGER)",
        "INSERT INTO planets VALUES ('Mars', 2), ('Jupiter', 95)",
    )


def url(path: Path) -> str:
    """The SQLAlchemy URL of a SQLite file."""
    return f"sqlite:///{path}"


def open_url(
    url: str,
    limits: Limits = Limits(1, 10),  # noqa: B008 - frozen
    *,
    cache_dir: Path | None = None,
    refresh_after_s: float = 300,
    profile_budget_s: float = 3,
    question: str = "",
    **settings: object,
) -> Source:
    """Open the source behind `url`, whatever its account may do; `settings` are those of a source."""
    given = SourceSettings.model_validate({"url": url, "allow_writable_account": True, **settings})
    return open_source(
        given,
        limits,
        cache_dir=cache_dir,
        refresh_after_s=refresh_after_s,
        profile_budget_s=profile_budget_s,
        question=question,
    )
