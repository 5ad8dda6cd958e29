"""MySQL and MariaDB, which have one dialect."""

from collections.abc import Sequence
from typing import ClassVar

from sqlglot import exp

from agent.engines.base import Engine, EngineStatus
from agent.engines.spelling import ISO_FORMATS, Spelling, function_call, literal


class _Spelling(Spelling):
    dialect = "mysql"
    types = {"number": "DOUBLE", "date": "DATE", "datetime": "DATETIME(6)", "text": "CHAR"}
    integer = "SIGNED"
    formatter = "DATE_FORMAT"
    formats = {**ISO_FORMATS, "week": "%x-W%v"}
    length = "CHAR_LENGTH"
    has_percentiles = False
    crowds_windows = True
    words_in_capitals = (
        "(SELECT GROUP_CONCAT(CONCAT(UPPER(SUBSTRING(word, 1, 1)), SUBSTRING(word, 2)) ORDER BY place SEPARATOR ' ') "
        "FROM JSON_TABLE(CONCAT('[', REPLACE(JSON_QUOTE(lower_text), ' ', '\",\"'), ']'), '$[*]' COLUMNS(place "
        "FOR ORDINALITY, word TEXT PATH '$')) AS words)"
    )

    def seconds(self, node: exp.Expr, kind: str) -> exp.Expr:
        return function_call("TIME_TO_SEC" if kind == "time" else "TO_SECONDS", node)

    def duration(self, node: exp.Expr) -> exp.Expr:
        return function_call("SEC_TO_TIME", node)

    def concatenate(self, parts: Sequence[exp.Expr]) -> exp.Expr:
        return function_call("CONCAT", *parts)

    def date_part(self, node: exp.Expr, part: str) -> exp.Expr:
        if part == "iso_week":
            return function_call("WEEK", node, 3)
        if part == "weekday":
            return exp.Paren(this=exp.Add(this=function_call("WEEKDAY", node), expression=literal(1)))
        return function_call(part.upper(), node)

    def days_between(self, start: exp.Expr, end: exp.Expr) -> exp.Expr:
        return function_call("DATEDIFF", end, start)

    def add_days(self, day: exp.Expr, days: exp.Expr) -> exp.Expr:
        return function_call("ADDDATE", day, days)

    def nulls_last(self, terms: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Sort by a condition first: MariaDB has no NULLS LAST, and sqlglot no translation in windows."""
        made: list[exp.Expr] = []
        for term in terms:
            if not term.args.get("desc"):
                is_null = exp.Case().when(exp.Is(this=term.this.copy(), expression=exp.Null()), literal(1))
                made.append(exp.Ordered(this=is_null.else_(literal(0)), nulls_first=True))
            made.append(
                exp.Ordered(this=term.this.copy(), desc=term.args.get("desc"), nulls_first=not term.args.get("desc"))
            )
        return made


class MySQL(Engine):
    """MySQL, with PyMySQL."""

    name = "mysql"
    dialect = "mysql"
    driver = "mysql+pymysql"
    packages = ("pymysql",)
    extra = "mysql"
    status: ClassVar[EngineStatus] = "emulated"
    folds_with = True
    inner_with_hides_outer = True
    quotes_make_columns = True
    row_functions = frozenset({"json_table"})
    format_takes_number = True
    comment_needs_blank = True
    has_trim_from = True
    has_dual = True
    has_interval_function = True
    keeps_cast_types = True
    transforms = {exp.RegexpLike: lambda self, node: self.binary(node, "REGEXP")}
    preserves_case = True
    double_quotes_are_text = True
    ignores_case_of_text = True
    has_numeric_booleans = True
    grouping_follows_key = True
    pipes_are_or = True
    confusion_rank = 1
    spelling = _Spelling()


class MariaDB(MySQL):
    """MariaDB, with PyMySQL."""

    name = "mariadb"
    driver = "mariadb+pymysql"
    status = "tested"
