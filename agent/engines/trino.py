"""Trino."""

from typing import TYPE_CHECKING

from sqlglot import exp

from datasphinx.agent.engines.base import Engine, Storage, print_at_time_zone, timeout_of
from datasphinx.agent.types import Limits

if TYPE_CHECKING:
    from sqlalchemy import Connection


class Trino(Engine):
    """Trino."""

    name = "trino"
    dialect = "trino"
    driver = "trino"
    packages = ("trino",)
    ignores_case = True
    system_columns = frozenset({"$path", "$file_size", "$file_modified_time", "$partition", "$bucket"})
    quotes_make_columns = True
    other_dialects = ("presto",)
    has_trim_from = True
    transforms = {exp.AtTimeZone: print_at_time_zone}
    compares_strictly = True
    rejects_number_for_text = True
    divides_integers = True
    groups_strictly = True
    has_ties = True
    read_only_account = """{{"catalogs": [{{"user": "datasphinx", "catalog": ".*", "allow": "read-only"}}]}}
(in the rules file of the coordinator: access-control.name=file)"""
    has_barrier = True
    barrier_limit = 2**63 - 1
    url_options = frozenset()
    stores_lower_case = True

    def setup_statements(self, connection: "Connection", limits: Limits) -> tuple[str, ...]:
        """Set the time limit."""
        return (f"SET SESSION query_max_run_time = '{timeout_of(limits)}s'",)

    def storage(self, connection: "Connection", default: str) -> Storage:
        """Return the materialized views."""
        rows = connection.exec_driver_sql("SELECT schema_name, name FROM system.metadata.materialized_views")
        return Storage(shared=frozenset((str(schema), str(name)) for schema, name in rows))
