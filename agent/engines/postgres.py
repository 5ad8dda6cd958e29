"""PostgreSQL."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from agent.engines.base import CONNECT_TIMEOUT_S, STOP_S, Engine, at_connect, fold_case, timeout_of, with_version
from agent.engines.spelling import Spelling, literal
from agent.types import Limits

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy import Dialect as SQLAlchemyDialect
    from sqlalchemy import Engine as SQLAlchemyEngine


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


_PARSER_SETTINGS = {
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "client_encoding": "'UTF8'",
}
"""PostgreSQL settings that affect parsing, with their defaults."""

_PATH = """SELECT pg_catalog.set_config('search_path', COALESCE((
SELECT pg_catalog.string_agg(pg_catalog.quote_ident(s), ', ')
FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) AS s
WHERE s OPERATOR(pg_catalog.<>) 'pg_catalog'::pg_catalog.name), ''), {local})"""
"""Statement that keeps the schemas of the search path and makes pg_catalog come first, as it does if the path does not
name it. No function or operator of another schema then replaces one of pg_catalog.
"""


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
    explain = "EXPLAIN (FORMAT JSON) "
    # DISCARD ALL at check-in would drop prepared statements.
    driver_arguments = {"connect_timeout": CONNECT_TIMEOUT_S, "prepare_threshold": None}
    pool_options = {"pool_reset_on_return": None}
    tells_version = True

    def stored_spelling(self, name: str) -> str:
        """Return `name` in lower case."""
        return fold_case(name)

    def prepare_pool(self, pool: "SQLAlchemyEngine") -> None:
        """Set the parser, and discard the state of the session when a connection comes back.

        A rollback alone would keep settings changed by `set_config`, advisory locks and prepared plans.
        """
        from sqlalchemy import event

        at_connect(pool, "; ".join(_parser_settings("SESSION")))

        @event.listens_for(pool, "reset")
        def discard(connection: Any, record: Any, state: Any) -> None:
            if state.terminate_only:
                return
            connection.rollback()
            connection.autocommit = True
            connection.execute("DISCARD ALL")
            # DISCARD ALL restores the settings of the role and database.
            connection.execute("; ".join(_parser_settings("SESSION")))
            connection.autocommit = False

    def setup_statements(self, connection: "Connection", limits: Limits) -> tuple[str, ...]:
        """Begin a read-only transaction with a time limit."""
        timeout = f"SET LOCAL statement_timeout = {int(timeout_of(limits) * 1000)}"
        return ("; ".join(("SET TRANSACTION READ ONLY", timeout, *_parser_settings("LOCAL"))),)

    def stop(self, pool: "SQLAlchemyEngine", driver: Any) -> None:
        """Cancel the statement."""
        driver.cancel_safe(timeout=STOP_S)

    def planned_rows(self, plan: Sequence[Any]) -> float:
        """Read the only row, a JSON tree."""
        return max(float(node["Plan Rows"]) for node in _nodes(plan[0][0][0]["Plan"]))

    def product(self, dialect: "SQLAlchemyDialect") -> str:
        """Return the name with the version of the server."""
        return with_version("PostgreSQL", dialect)


def _parser_settings(scope: Literal["SESSION", "LOCAL"]) -> list[str]:
    path = _PATH.format(local=str(scope == "LOCAL").lower())
    return [*(f"SET {scope} {name} = {value}" for name, value in _PARSER_SETTINGS.items()), path]


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)
