"""Amazon Redshift."""

from typing import TYPE_CHECKING, Any

from datasphinx.agent.engines.base import CONNECT_TIMEOUT_S, STOP_S, Engine, timeout_of
from datasphinx.agent.types import Limits

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy import Engine as SQLAlchemyEngine


class Redshift(Engine):
    """Amazon Redshift, with psycopg."""

    name = "redshift"
    dialect = "redshift"
    driver = "redshift"
    sqlalchemy_dialect = ("datasphinx.agent.engines.redshift_dialect", "RedshiftDialect")
    packages = ("psycopg",)
    status = "emulated"
    ignores_case = True
    system_columns = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid"})
    bare_session_functions = frozenset({"user"})
    quotes_make_columns = True
    function_schemas = frozenset({"pg_catalog"})
    dot_may_call = True
    has_ambiguous_escapes = True
    usual_schema = "public"
    has_isnull = True
    has_trim_from = True
    has_unit_words = True
    compares_strictly = True
    divides_integers = True
    sums_long_integers_exactly = True
    groups_strictly = True
    driver_arguments = {"connect_timeout": CONNECT_TIMEOUT_S, "prepare_threshold": None}
    # The driver begins transactions with BEGIN READ ONLY.
    pool_options = {"execution_options": {"postgresql_readonly": True}}
    routines = """SELECT proname FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE nspname NOT IN ('pg_catalog', 'information_schema')"""
    read_only_account = """CREATE USER datasphinx PASSWORD '...';
GRANT USAGE ON SCHEMA public TO datasphinx;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO datasphinx;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO datasphinx;"""
    url_options = frozenset({"sslmode"})
    has_form = True
    stores_lower_case = True

    def setup_statements(self, connection: "Connection", limits: Limits) -> tuple[str, ...]:
        """Set the time limit."""
        return (f"SET LOCAL statement_timeout = {int(timeout_of(limits) * 1000)}",)

    def stop(self, pool: "SQLAlchemyEngine", driver: Any) -> None:
        """Cancel the statement."""
        driver.cancel_safe(timeout=STOP_S)
