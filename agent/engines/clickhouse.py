"""ClickHouse, as a server and in the process."""

from typing import ClassVar

from agent.engines.base import Engine, EngineStatus


class ClickHouse(Engine):
    """A ClickHouse server."""

    name = "clickhouse"
    other_schemes: ClassVar[tuple[str, ...]] = ("clickhousedb",)
    dialect = "clickhouse"
    driver = "clickhousedb"
    packages: ClassVar[tuple[str, ...]] = ("clickhouse_connect",)
    extra = "clickhouse"
    status: ClassVar[EngineStatus] = "emulated"


class ChDB(ClickHouse):
    """ClickHouse's engine over a folder, in worker processes."""

    name = "chdb"
    other_schemes = ()
    driver = "chdb"
    packages = ("chdb", "chdb_sqlalchemy")
    status = "tested"
    in_worker = True
