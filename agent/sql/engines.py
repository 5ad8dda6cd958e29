"""Supported database engines: driver, installation extra and sqlglot dialect."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from sqlalchemy import URL, make_url
from sqlalchemy.dialects import registry
from sqlalchemy.exc import ArgumentError

from agent.core.redact import without_password
from agent.core.text import valid_text
from agent.errors import ConfigurationError, DriverMissing, SourceNotFound
from agent.messages import Message

EngineStatus = Literal["tested", "emulated", "untested"]
"""How an engine is tested: with the engine itself, with a compatible one, or not at all beyond the guard."""


@dataclass(frozen=True)
class EngineKind:
    """A supported engine. `packages` contain its driver and SQLAlchemy dialect; `extra` installs them."""

    packages: tuple[str, ...]
    extra: str
    scheme: str
    dialect: str
    status: EngineStatus = "tested"
    in_worker: bool = False
    """Whether statements run in a worker process; True for embedded engines, which run in the calling process."""


ENGINES = {
    "sqlite": EngineKind((), "", "sqlite", "sqlite", in_worker=True),
    "duckdb": EngineKind(("duckdb",), "duckdb", "duckdb", "duckdb", in_worker=True),
    "postgresql": EngineKind(("psycopg",), "postgres", "postgresql+psycopg", "postgres"),
    "mysql": EngineKind(("pymysql",), "mysql", "mysql+pymysql", "mysql", "emulated"),
    "mariadb": EngineKind(("pymysql",), "mysql", "mariadb+pymysql", "mysql"),
    "clickhouse": EngineKind(("clickhouse_connect",), "clickhouse", "clickhousedb", "clickhouse", "emulated"),
    "chdb": EngineKind(("chdb", "chdb_sqlalchemy"), "clickhouse", "chdb", "clickhouse", in_worker=True),
    "trino": EngineKind(("trino",), "trino", "trino", "trino", "untested"),
    "spark": EngineKind(("pyhive", "thrift_sasl"), "spark", "spark", "spark"),
    "redshift": EngineKind(("psycopg",), "redshift", "redshift", "redshift", "emulated"),
    "snowflake": EngineKind(("snowflake.sqlalchemy",), "snowflake", "snowflake", "snowflake", "emulated"),
    "bigquery": EngineKind(("sqlalchemy_bigquery",), "bigquery", "bigquery", "bigquery", "untested"),
    "databricks": EngineKind(("databricks.sqlalchemy",), "databricks", "databricks", "databricks", "untested"),
    "mssql": EngineKind(("pyodbc",), "mssql", "mssql+pyodbc", "tsql", "untested"),
}
"""Engines by URL scheme."""

_OTHER_SCHEMES = {"postgres": "postgresql", "clickhousedb": "clickhouse", "hive": "spark", "sqlserver": "mssql"}

registry.register("duckdb", "agent.sql.duckdb_dialect", "DuckDBDialect")
registry.register("spark", "agent.sql.spark_dialect", "SparkDialect")
registry.register("redshift", "agent.sql.redshift_dialect", "RedshiftDialect")


def parse_url(text: str) -> tuple[URL, EngineKind]:
    """Parse a database URL; return it with the driver set, and its engine.

    Raises:
        SourceNotFound: `text` is not a valid URL.
        ConfigurationError: the engine is not supported.
        DriverMissing: the driver of this engine is not installed.
    """
    if valid_text(text) != text:
        raise SourceNotFound(without_password(valid_text(text)), Message("url_not_unicode"))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise SourceNotFound(without_password(text), Message("not_a_url")) from error
    scheme = url.drivername.partition("+")[0]
    kind = ENGINES.get(_OTHER_SCHEMES.get(scheme, scheme))
    if kind is None:
        supported = ", ".join(ENGINES)
        raise ConfigurationError(
            "DATASPHINX_SOURCE", Message("engine_not_supported", engine=scheme, supported=supported)
        )
    for package in kind.packages:
        if not _is_installed(package):
            raise DriverMissing(package, kind.extra)
    return url.set(drivername=kind.scheme), kind


def engine_status(url: str) -> EngineStatus | None:
    """Return how the engine of `url` is tested; None if it is no URL of a supported engine."""
    scheme = url.partition("://")[0].partition("+")[0].lower()
    kind = ENGINES.get(_OTHER_SCHEMES.get(scheme, scheme))
    return kind.status if kind else None


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the parent of the package is missing
        return False
