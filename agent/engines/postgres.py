"""PostgreSQL."""

from agent.engines.base import Engine, fold_case


class PostgreSQL(Engine):
    """PostgreSQL, with psycopg."""

    name = "postgresql"
    other_schemes = ("postgres",)
    dialect = "postgres"
    driver = "postgresql+psycopg"
    packages = ("psycopg",)
    extra = "postgres"
    status = "tested"
    folds_unquoted = True
    system_columns = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"})
    bare_session_functions = frozenset({"user"})
    quotes_make_columns = True
    function_schemas = frozenset({"pg_catalog"})
    dot_may_call = True
    exists_needs_no_columns = True
    usual_schema = "public"
    has_isnull = True
    has_trim_from = True
    has_exact_columns = True
    compares_strictly = True
    rejects_number_for_text = True
    divides_integers = True
    sums_long_integers_exactly = True
    groups_strictly = True
    grouping_follows_key = True
    has_ties = True
    confusion_rank = 2

    def stored_spelling(self, name: str) -> str:
        """Return `name` in lower case."""
        return fold_case(name)
