"""PostgreSQL."""

from sqlglot import exp

from agent.engines.base import Engine, fold_case
from agent.engines.spelling import Spelling, literal


class _Spelling(Spelling):
    dialect = "postgres"
    types = {**Spelling.types, "number": "DOUBLE PRECISION"}
    decimal = "DECIMAL"
    formatter = "TO_CHAR"
    formats = {
        "day": "YYYY-MM-DD",
        "week": 'IYYY-"W"IW',
        "month": "YYYY-MM",
        "quarter": 'YYYY-"Q"Q',
        "year": "YYYY",
    }
    # An empty text has no words.
    words_in_capitals = (
        "COALESCE((SELECT STRING_AGG(UPPER(SUBSTRING(word, 1, 1)) || SUBSTRING(word, 2), ' ' ORDER BY place) "
        "FROM UNNEST(STRING_TO_ARRAY(lower_text, ' ')) WITH ORDINALITY AS words(word, place)), lower_text)"
    )

    def typed_null(self, name: str) -> exp.Expr:
        """Cast NULL, which is text otherwise."""
        return exp.cast(exp.null(), exp.DataType.build(name, dialect=self.dialect, udt=True), copy=False)

    def bound_text(self, placeholder: exp.Expr) -> exp.Expr:
        """Say that it is a text."""
        return self.cast(placeholder, "text")

    def duration(self, node: exp.Expr) -> exp.Expr:
        return exp.Mul(this=exp.Paren(this=node), expression=exp.Interval(this=literal("1 second")))

    def percentile(self, node: exp.Expr, fraction: float) -> exp.Expr:
        order = exp.Order(expressions=[exp.Ordered(this=node)])
        return exp.WithinGroup(this=exp.PercentileCont(this=literal(fraction)), expression=order)


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
    spelling = _Spelling()

    def stored_spelling(self, name: str) -> str:
        """Return `name` in lower case."""
        return fold_case(name)
