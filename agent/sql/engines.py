"""The engines that can be asked: driver, extra, and the name that sqlglot has for their SQL."""

from dataclasses import dataclass
from importlib.util import find_spec

from sqlalchemy import URL, make_url
from sqlalchemy.dialects import registry
from sqlalchemy.exc import ArgumentError

from agent.errors import ConfigurationError, DriverMissing, SourceNotFound
from agent.sql.redact import without_password
from agent.text import valid_text


@dataclass(frozen=True)
class EngineKind:
    """How an engine is reached. `packages` hold driver and SQLAlchemy dialect, `extra` brings them."""

    packages: tuple[str, ...]
    extra: str
    scheme: str
    dialect: str
    in_worker: bool = False
    """True where a statement runs in a worker process, since the engine runs in the process that calls it."""


ENGINES = {
    "sqlite": EngineKind((), "", "sqlite", "sqlite", in_worker=True),
    "duckdb": EngineKind(("duckdb", "duckdb_sqlalchemy"), "duckdb", "duckdb", "duckdb", in_worker=True),
    "postgresql": EngineKind(("psycopg",), "postgres", "postgresql+psycopg", "postgres"),
    "mysql": EngineKind(("pymysql",), "mysql", "mysql+pymysql", "mysql"),
    "mariadb": EngineKind(("pymysql",), "mysql", "mariadb+pymysql", "mysql"),
    "clickhouse": EngineKind(("clickhouse_connect",), "clickhouse", "clickhousedb", "clickhouse"),
    "chdb": EngineKind(("chdb", "chdb_sqlalchemy"), "clickhouse", "chdb", "clickhouse"),
    "trino": EngineKind(("trino",), "trino", "trino", "trino"),
    "spark": EngineKind(("pyhive", "thrift_sasl"), "spark", "spark", "spark"),
}
"""Engines by the scheme of the URL that users write."""

_OTHER_SCHEMES = {"postgres": "postgresql", "clickhousedb": "clickhouse", "hive": "spark"}

registry.register("spark", "agent.sql.spark_dialect", "SparkDialect")


def parse_url(text: str) -> tuple[URL, EngineKind]:
    """Return the URL in `text` with the driver that is used here, and the kind of its engine.

    Raises:
        SourceNotFound: `text` is no URL.
        ConfigurationError: no read-only connection is known for this engine.
        DriverMissing: the driver of this engine is not installed.
    """
    if valid_text(text) != text:
        raise SourceNotFound(without_password(valid_text(text)), "its URL is not valid Unicode text")
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise SourceNotFound(without_password(text), "that is no URL such as sqlite:///shop.db") from error
    scheme = url.drivername.partition("+")[0]
    kind = ENGINES.get(_OTHER_SCHEMES.get(scheme, scheme))
    if kind is None:
        known = ", ".join(ENGINES)
        raise ConfigurationError(
            "DATASPHINX_SOURCE", f"no read-only connection is known for {scheme}, only for {known}"
        )
    for package in kind.packages:
        if find_spec(package) is None:
            raise DriverMissing(package, kind.extra)
    return url.set(drivername=kind.scheme), kind
