"""Three small datasets with names in three scripts, quotes and blanks, as plain rows and on every engine."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.schema.catalog import Column, Table
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.agent.sql.engines import _run
from tests.support.databases import open_url
from tests.support.servers import SERVERS, prepared


class Data(NamedTuple):
    """A table: its columns with a type that all engines know, and its rows."""

    columns: dict[str, str]
    rows: list[tuple[Any, ...]]


D, T = date, datetime
DATA = {
    "qs_orders": Data(
        {
            "id": "INTEGER",
            "customer_id": "INTEGER",
            "status": "VARCHAR(40)",
            "日期": "DATE",
            "created": "DATETIME",
            "unit price": "DECIMAL(10,2)",
            "количество": "INTEGER",
            "paid": "BOOLEAN",
            'note "x"': "VARCHAR(40)",
        },
        [
            (1, 1, "open", D(2023, 12, 31), T(2024, 1, 1, 0, 0, 0), Decimal("2.50"), 4, True, "50% off"),
            (2, 1, "paid", D(2024, 1, 1), T(2024, 1, 31, 23, 59, 59), Decimal("10.00"), 1, True, "it's"),
            (3, 2, "paid", D(2024, 1, 15), T(2024, 2, 1, 0, 0, 0), Decimal("0.99"), 7, False, "a_b"),
            (4, 3, "late", D(2024, 2, 29), T(2024, 2, 29, 12, 30, 0), Decimal("5.25"), 2, None, "ПРИВЕТ"),
            (5, 2, None, None, None, None, 3, False, None),
            (
                6,
                None,
                "open",
                D(2024, 3, 31),
                T(2024, 3, 31, 18, 0, 0),
                Decimal("7.10"),
                0,
                True,
                "'; DROP TABLE x; --",
            ),
            (7, 3, "paid", D(2024, 4, 1), T(2024, 4, 1, 0, 0, 0), Decimal("1.00"), None, True, "back\\slash!"),
            (8, 1, "late", D(2024, 12, 30), T(2024, 12, 30, 8, 15, 30), Decimal("3.33"), 3, False, "axb"),
            (9, 9, "paid", D(2025, 1, 1), T(2025, 1, 1, 0, 0, 1), Decimal("20.00"), 5, True, "Привет, 世界"),
        ],
    ),
    "qs_customers": Data(
        {"id": "INTEGER", "имя": "VARCHAR(40)", "城市": "VARCHAR(40)", "region id": "INTEGER", "status": "VARCHAR(40)"},
        [
            (1, "Анна", "北京", 1, "gold"),
            (2, "Bo", "上海", 2, "new"),
            (3, "Cy", "北京", None, "gold"),
            (4, "Dee", None, 1, "new"),
        ],
    ),
    "qs_regions": Data(
        {"id": "INTEGER", "region": "VARCHAR(40)"},
        [(1, "North"), (2, "South")],
    ),
    "qs_prices": Data(
        {"code": "VARCHAR(40)", "day": "VARCHAR(40)", "price": "DECIMAL(10,2)"},
        [
            ("007", "2024-01-15", Decimal("1.50")),
            (" 2 ", "2024-02-29 12:00", Decimal("2.50")),
            ("3.0", "29.02.2024", Decimal("4.00")),
            ("x1", None, Decimal("8.00")),
            ("1-2", "2024-04-01", Decimal("16.00")),
            (None, "", Decimal("32.00")),
            ("2", "2024-01-01", Decimal("64.00")),
        ],
    ),
    "qs_returns": Data(
        {"账号": "VARCHAR(40)", "月份": "DATE", "退货数量": "INTEGER", "产品质量": "INTEGER", "物流异常": "INTEGER"},
        [
            ("甲", D(2024, 1, 1), 10, 4, 1),
            ("甲", D(2024, 2, 1), 14, 6, 0),
            ("甲", D(2024, 3, 1), 7, 1, 2),
            ("乙", D(2024, 1, 1), 3, 0, 0),
            ("乙", D(2024, 2, 1), 0, 0, 0),
            ("乙", D(2024, 3, 1), None, 2, 5),
            ("丙", D(2024, 2, 1), 20, 10, 10),
        ],
    ),
}
NAMES = {
    "orders": "qs_orders", "customers": "qs_customers", "regions": "qs_regions", "returns": "qs_returns",
    "prices": "qs_prices",
}  # fmt: skip


def datasets(main: str = "orders", tables: Any = None, results: dict[str, Any] | None = None) -> Datasets:
    """The datasets over `tables`, by default as the types above have it, and the results of the specs `results`."""
    known = tables or {
        key: Table(key, tuple(Column(name, kind) for name, kind in data.columns.items())) for key, data in DATA.items()
    }
    specs = {name: read_spec(spec) for name, spec in (results or {}).items()}
    return Datasets(main, {name: known[key] for name, key in NAMES.items()}, specs)


TYPES = {
    "duckdb": {"DATETIME": "TIMESTAMP"},
    "postgres": {"DATETIME": "TIMESTAMP"},
    "mysql": {"DATETIME": "DATETIME(6)"},
    "sqlite": {},
    "clickhouse": {
        "INTEGER": "Int32",
        "VARCHAR(40)": "String",
        "DATE": "Date",
        "DATETIME": "DateTime64(6)",
        "DECIMAL(10,2)": "Decimal(10,2)",
        "BOOLEAN": "Bool",
    },
}


def statements(dialect: str) -> Iterator[str]:
    """What makes the tables."""
    mark = "`" if dialect == "mysql" else '"'
    # By its default collation MariaDB does not tell cases apart, which the other engines do.
    end = {"mysql": " COLLATE utf8mb4_bin", "clickhouse": " ENGINE = MergeTree ORDER BY tuple()"}.get(dialect, "")
    for key, data in DATA.items():
        columns = []
        for name, kind in data.columns.items():
            own = TYPES[dialect].get(kind, kind)
            own = f"Nullable({own})" if dialect == "clickhouse" and name != "id" else own
            columns.append(f"{mark}{name.replace(mark, mark * 2)}{mark} {own}")
        yield f"DROP TABLE IF EXISTS {key}"
        yield f"CREATE TABLE {key} ({', '.join(columns)}){end}"
        rows = ", ".join(f"({', '.join(literal(value, dialect) for value in row)})" for row in data.rows)
        yield f"INSERT INTO {key} VALUES {rows}"


def literal(value: Any, dialect: str) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, int | Decimal):
        return str(value)
    text = str(value).replace("'", "''")
    return f"'{text}'" if dialect in {"duckdb", "postgres", "sqlite"} else "'{}'".format(text.replace("\\", "\\\\"))


ENGINES = [
    "duckdb",
    pytest.param("sqlite", marks=pytest.mark.heavy),
    pytest.param("postgres", marks=[pytest.mark.heavy, pytest.mark.postgres]),
    pytest.param("mysql", marks=[pytest.mark.heavy, pytest.mark.mysql]),
    pytest.param("clickhouse", marks=[pytest.mark.heavy, pytest.mark.clickhouse]),
]
"""The engines of query specs, as parameters of tests."""


@contextmanager
def engine(dialect: str, folder: Path) -> Iterator[tuple[str, Callable[[str], Any]]]:
    """Yield a URL and what runs a statement there with all rights."""
    if dialect == "duckdb":
        import duckdb

        with closing(duckdb.connect(str(folder / "specs.duckdb"))) as connection:
            yield f"duckdb:///{folder / 'specs.duckdb'}", connection.execute
    elif dialect == "sqlite":
        import sqlite3

        with closing(sqlite3.connect(folder / "specs.sqlite", isolation_level=None)) as connection:
            yield f"sqlite:///{folder / 'specs.sqlite'}", connection.execute
    elif dialect == "clickhouse":
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        pytest.importorskip("chdb_sqlalchemy", reason="the extra chdb is not installed")
        url = f"chdb:///{folder / 'clickhouse'}"
        made = create_engine(url, poolclass=NullPool)
        yield url, lambda sql: _run(made, sql)
        made.dispose()
    else:
        with prepared(SERVERS[dialect]) as made:
            yield SERVERS[dialect], lambda sql: _run(made, sql)


@contextmanager
def loaded(dialect: str, folder: Path, limits: Limits = Limits(10, 20_000), **settings: Any) -> Iterator[Source]:  # noqa: B008 - frozen
    """Yield a source with the tables in it, which are dropped after on a server."""
    with engine(dialect, folder) as (url, admin):
        for statement in statements(dialect):
            admin(statement)
    source = open_url(url, limits, **settings)
    try:
        yield source
    finally:
        source.close()
        if dialect in {"postgres", "mysql"}:
            with engine(dialect, folder) as (_, admin):
                for key in DATA:
                    admin(f"DROP TABLE IF EXISTS {key}")
