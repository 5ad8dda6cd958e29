"""MySQL and MariaDB, which have one dialect."""

from typing import ClassVar

from agent.engines.base import Engine, EngineStatus


class MySQL(Engine):
    """MySQL, with PyMySQL."""

    name = "mysql"
    dialect = "mysql"
    driver = "mysql+pymysql"
    packages = ("pymysql",)
    extra = "mysql"
    status: ClassVar[EngineStatus] = "emulated"


class MariaDB(MySQL):
    """MariaDB, with PyMySQL."""

    name = "mariadb"
    driver = "mariadb+pymysql"
    status = "tested"
