"""Database servers of the tests, and the engines that tests of row rules run on."""

import os
from importlib.util import find_spec

import pytest

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
