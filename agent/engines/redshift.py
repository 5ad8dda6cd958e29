"""Amazon Redshift."""

from agent.engines.base import Engine, fold_case


class Redshift(Engine):
    """Amazon Redshift, with psycopg."""

    name = "redshift"
    dialect = "redshift"
    driver = "redshift"
    sqlalchemy_dialect = ("agent.engines.redshift_dialect", "RedshiftDialect")
    packages = ("psycopg",)
    extra = "redshift"
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

    def stored_spelling(self, name: str) -> str:
        """Return `name` in lower case."""
        return fold_case(name)

    def folded_for_sqlglot(self, name: str) -> str:
        """Return `name` in lower case."""
        return name.lower()
