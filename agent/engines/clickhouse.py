"""ClickHouse, as a server and in the process."""

import re
from typing import ClassVar

from agent.engines.base import Engine, EngineStatus

_COMBINATORS = re.compile(r"(?:If|Array|Map|Merge|ForEach|Distinct|OrNull|OrDefault|ArgMin|ArgMax|Resample)+$")
"""Combinator suffixes of aggregate functions."""


class ClickHouse(Engine):
    """A ClickHouse server."""

    name = "clickhouse"
    other_schemes: ClassVar[tuple[str, ...]] = ("clickhousedb",)
    dialect = "clickhouse"
    driver = "clickhousedb"
    packages: ClassVar[tuple[str, ...]] = ("clickhouse_connect",)
    extra = "clickhouse"
    status: ClassVar[EngineStatus] = "emulated"
    arm_hides_with = True
    reuses_aliases = True
    system_columns = frozenset({"_file", "_path", "_database", "_table"})
    in_reads_tables = True
    in_list_reads_tables = True
    row_functions = frozenset({"numbers", "values", "generateseries", "generate_series"})
    calls_by_name = dict.fromkeys(("arrayreduce", "arrayreduceinranges"), 0)
    reads_separated_digits = True
    usual_schema = "default"

    def base_name(self, name: str) -> str:
        """Leave out combinators of aggregates that are not part of a listed name."""
        return name.lower() if name.lower() in self.allowed_functions else _COMBINATORS.sub("", name).lower()


class ChDB(ClickHouse):
    """ClickHouse's engine over a folder, in worker processes."""

    name = "chdb"
    other_schemes = ()
    driver = "chdb"
    packages = ("chdb", "chdb_sqlalchemy")
    status = "tested"
    in_worker = True
