"""Database servers of the tests, and the engines that tests of row rules run on."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest
from sqlalchemy import URL, Engine, create_engine
from sqlalchemy.exc import OperationalError

POSTGRES_URL = os.environ.get("TEST_POSTGRES_URL", "postgresql+psycopg://postgres@127.0.0.1:5432/test")
MYSQL_URL = os.environ.get("TEST_MYSQL_URL", "mysql+pymysql://root@127.0.0.1:3306/test")

SERVERS = {"postgres": POSTGRES_URL, "mysql": MYSQL_URL}
URLS = {
    "sqlite": "sqlite://",
    **SERVERS,
    **({"duckdb": "duckdb:///:memory:"} if find_spec("duckdb") else {}),
}

FOUR_ENGINES = [
    "sqlite",
    *(["duckdb"] if find_spec("duckdb") else []),
    pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("mysql", marks=pytest.mark.mysql),
]
STORES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
ON_EVERY_STORE = pytest.mark.parametrize("store", STORES, indirect=True)


def administer(engine: Engine, *statements: str) -> None:
    """Run statements as they are, each at once."""
    with engine.connect() as connection:
        for statement in statements:
            connection.execution_options(no_parameters=True).exec_driver_sql(statement)


@contextmanager
def prepared(url: str | URL, create: Iterable[str] = (), drop: Sequence[str] = (), **options: Any) -> Iterator[Engine]:
    """Run `drop` and `create` on a database, and `drop` again at the end; skip the test if no server answers."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT", **options)
    try:
        engine.connect().close()
    except OperationalError as error:
        engine.dispose()
        pytest.skip(f"no server answers: {error.orig}")
    administer(engine, *drop, *create)
    yield engine
    if drop:
        administer(engine, *drop)
    engine.dispose()
