"""Database engines: everything that differs between them, one file for each.

An engine is a subclass of `datasphinx.agent.engines.base.Engine`, found through the entry-point group
`datasphinx.engines` under its name. The engines of this package are registered in the same way.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, BinaryIO

from datasphinx.agent.plugins import plugins

if TYPE_CHECKING:
    from datasphinx.agent.engines.base import Engine

GROUP = "datasphinx.engines"
FILES_ENGINE = "duckdb"
"""The engine of datasets, and of sources over files."""
OWN = {
    "sqlite": "datasphinx.agent.engines.sqlite:SQLite",
    "duckdb": "datasphinx.agent.engines.duckdb:DuckDB",
    "postgresql": "datasphinx.agent.engines.postgres:PostgreSQL",
    "mysql": "datasphinx.agent.engines.mysql:MySQL",
    "mariadb": "datasphinx.agent.engines.mysql:MariaDB",
    "clickhouse": "datasphinx.agent.engines.clickhouse:ClickHouse",
    "chdb": "datasphinx.agent.engines.clickhouse:ChDB",
    "trino": "datasphinx.agent.engines.trino:Trino",
    "spark": "datasphinx.agent.engines.spark:Spark",
    "redshift": "datasphinx.agent.engines.redshift:Redshift",
    "snowflake": "datasphinx.agent.engines.snowflake:Snowflake",
    "bigquery": "datasphinx.agent.engines.bigquery:BigQuery",
    "databricks": "datasphinx.agent.engines.spark:Databricks",
    "mssql": "datasphinx.agent.engines.mssql:SQLServer",
}
"""The entry points of this package."""


@cache
def engines() -> "Mapping[str, Engine]":
    """Return all engines by name; those of this package come first."""
    return {name: entry.load()() for name, entry in plugins(GROUP, OWN).items()}


def _engines_by_dialect() -> "Mapping[str, Engine]":
    """Return the engines by the names of their dialects, which sqlglot knows too.

    The first engine of a dialect has the name of sqlglot. An engine of another package with the same dialect has a name
    of its own, so that statements for it are read and checked by its attributes.
    """
    from sqlglot.dialects.dialect import Dialect

    found: dict[str, Engine] = {}
    for name, engine in engines().items():
        dialect = engine.dialect
        if dialect in found and name not in OWN:
            dialect = f"{dialect}:{name}"
            Dialect.classes[dialect] = type(Dialect.get_or_raise(engine.dialect))
        found.setdefault(dialect, engine)
    return found


@cache
def dialect_of(engine: "Engine") -> str:
    """Return the name of the dialect of `engine`, by which `engine_of` finds it or an engine with the same rules."""
    return next((name for name, each in _engines_by_dialect().items() if each is engine), engine.dialect)


@cache
def engine_of(dialect: str) -> "Engine":
    """Return the engine of a dialect, named as by sqlglot or `dialect_of`; one with the defaults if there is none."""
    from datasphinx.agent.engines.base import Engine

    other = Engine()
    other.dialect = dialect
    return _engines_by_dialect().get(dialect, other)


@cache
def engine_called(scheme: str) -> "Engine | None":
    """Return the engine whose URLs begin with `scheme`, with any driver after a plus sign; None if there is none."""
    name = scheme.partition("+")[0].lower()
    return next((engine for key, engine in engines().items() if name in (key, *engine.other_schemes)), None)


def engine_of_file(file: BinaryIO) -> "Engine | None":
    """Return the engine whose database a file is, by its next bytes; None for another file."""
    start = file.read(32)
    for engine in engines().values():
        if engine.file_signature:
            offset, signature = engine.file_signature
            if start[offset:].startswith(signature):
                return engine
    return None
