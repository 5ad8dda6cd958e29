"""SQLAlchemy dialect for Amazon Redshift over psycopg, which PostgreSQL's catalog queries do not run on.

Redshift derives from PostgreSQL 8.0: it lacks the functions and columns of the system catalogs that SQLAlchemy's
dialect for PostgreSQL reads. The queries here use only what both have. Tables of external schemas and columns of
late-binding views are not in these catalogs.
"""

from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine.default import DefaultDialect

from datasphinx.agent.engines.catalog_queries import CatalogQueries

_IN_SCHEMA = """
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = :schema"""
_COMMENT = """
LEFT JOIN pg_catalog.pg_description d ON d.objoid = c.oid
AND CAST(d.classoid AS pg_catalog.regclass) = CAST('pg_catalog.pg_class' AS pg_catalog.regclass) AND d.objsubid = """
_SCHEMAS = "SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE 'pg!_%' ESCAPE '!' ORDER BY nspname"


class RedshiftDialect(CatalogQueries, PGDialect_psycopg):
    """Reflection of tables, views, columns, declared keys, which Redshift does not enforce, and comments."""

    name = "redshift"
    supports_statement_cache = True

    # Redshift lists its materialized views as views.
    relations = f"""
    SELECT c.relname, CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' ELSE 'table' END,
    d.description {_IN_SCHEMA} {_COMMENT} 0
    WHERE c.relkind IN ('r', 'p', 'v', 'm') ORDER BY c.relname"""
    definitions = f"SELECT c.relname, pg_catalog.pg_get_viewdef(c.oid) {_IN_SCHEMA} WHERE c.relkind IN ('v', 'm')"
    columns = f"""
    SELECT c.relname, a.attname, UPPER(pg_catalog.format_type(a.atttypid, a.atttypmod)), NOT a.attnotnull, NULL,
    d.description, a.attnum {_IN_SCHEMA}
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped {_COMMENT} a.attnum
    WHERE c.relkind IN ('r', 'p', 'v', 'm') ORDER BY c.relname, a.attnum"""
    keys = f"""
    SELECT c.relname, CASE k.contype WHEN 'p' THEN 'PRIMARY KEY' ELSE 'FOREIGN KEY' END, k.conkey, tn.nspname,
    t.relname, k.confkey {_IN_SCHEMA}
    JOIN pg_catalog.pg_constraint k ON k.conrelid = c.oid AND k.contype IN ('p', 'f')
    LEFT JOIN pg_catalog.pg_class t ON t.oid = k.confrelid
    LEFT JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace
    ORDER BY c.relname, k.conname"""

    # PostgreSQL's dialect reads the catalogs in bulk; these read one table at a time, from cached queries of a schema.
    get_multi_columns = DefaultDialect.get_multi_columns  # type: ignore[assignment]
    get_multi_pk_constraint = DefaultDialect.get_multi_pk_constraint  # type: ignore[assignment]
    get_multi_foreign_keys = DefaultDialect.get_multi_foreign_keys  # type: ignore[assignment]
    get_multi_table_comment = DefaultDialect.get_multi_table_comment  # type: ignore[assignment]

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"use_native_hstore": False, **options})  # type: ignore[no-untyped-call]

    def _get_server_version_info(self, connection: Connection) -> tuple[int, ...]:
        return (8, 0, 2)

    def _set_backslash_escapes(self, connection: Connection) -> None:
        self._backslash_escapes = True

    def get_schema_names(self, connection: Connection, **_: Any) -> list[str]:
        """Return all schemas but those of the system."""
        return [str(name) for (name,) in connection.execute(text(_SCHEMAS))]
