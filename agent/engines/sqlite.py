"""SQLite."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import TokenType

from datasphinx.agent.engines.base import Engine, Storage, SystemQuery, materialized
from datasphinx.agent.engines.read_only import connect_read_only
from datasphinx.agent.engines.spelling import TEXT_OF_SECONDS, Spelling, function_call
from datasphinx.agent.engines.store import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection, Inspector
    from sqlalchemy import Dialect as SQLAlchemyDialect
    from sqlglot.optimizer.scope import Scope


_TIME_FORMATS = {"YEAR": "%Y", "MONTH": "%m", "DAY": "%d", "HOUR": "%H", "MINUTE": "%M", "SECOND": "%S", "DOW": "%w"}
_STARTS = {"YEAR": "%Y-01-01", "MONTH": "%Y-%m-01", "DAY": "%Y-%m-%d"}
_DATETIME_FORMAT = "%Y-%m-%d %H:%M:%f"
_QUARTER = "(CAST(STRFTIME('%m', x) AS INTEGER) + 2) / 3"
_THURSDAY = "DATE(x, '-3 days', 'weekday 4')"
"""The Thursday of a date's week: a week belongs to the year of its Thursday (ISO 8601)."""
_ISO_WEEK = f"((CAST(STRFTIME('%j', {_THURSDAY}) AS INTEGER) - 1) / 7 + 1)"
_PARTS = {
    **{
        part: f"CAST(STRFTIME('{form}', x) AS INTEGER)"
        for part, form in (("year", "%Y"), ("month", "%m"), ("day", "%d"), ("hour", "%H"), ("minute", "%M"))
    },
    "quarter": _QUARTER,
    "iso_week": _ISO_WEEK,
    "weekday": "((CAST(STRFTIME('%w', x) AS INTEGER) + 6) % 7 + 1)",
}
_PERIODS = {
    "day": "STRFTIME('%Y-%m-%d', x)",
    "week": f"STRFTIME('%Y', {_THURSDAY}) || '-W' || SUBSTR('0' || {_ISO_WEEK}, -2)",
    "month": "STRFTIME('%Y-%m', x)",
    "quarter": f"STRFTIME('%Y', x) || '-Q' || ({_QUARTER})",
    "year": "STRFTIME('%Y', x)",
}


class _StringAliases(Parser):
    """Parser of a string after a string as its alias; sqlglot joins both."""

    def _parse_primary(self) -> exp.Expr | None:
        if self._curr and self._curr.token_type == TokenType.STRING == self._next.token_type:
            self._advance()
            return exp.Literal.string(self._prev.text)
        return super()._parse_primary()


_ROW_IDS = {"rowid", "oid", "_rowid_"}


class _Spelling(Spelling):
    """The spelling of SQLite, which stores dates and times as text and has no decimals."""

    dialect = "sqlite"
    types = {"number": "REAL", "text": "TEXT"}
    integer = "INTEGER"
    decimal = "NUMERIC"
    lacks = frozenset({"stddev", "variance", "percentile"})
    any_text = "*"
    formulas = {
        **_PARTS,
        "seconds_of_time": "(CAST(STRFTIME('%s', x) AS INTEGER) - CAST(STRFTIME('%s', '00:00') AS INTEGER))",
        "seconds": "CAST(STRFTIME('%s', x) AS INTEGER)",
        "duration": TEXT_OF_SECONDS,
        "days_between": "CAST(JULIANDAY(stop) - JULIANDAY(start) AS INTEGER)",
        "initcap": "(SELECT GROUP_CONCAT(UPPER(SUBSTRING(value, 1, 1)) || SUBSTRING(value, 2), ' ') FROM "
        "JSON_EACH('[' || REPLACE(JSON_QUOTE(x), ' ', '\",\"') || ']'))",
    }

    def as_date(self, node: exp.Expr) -> exp.Expr:
        return self.formula("DATE(x)", x=node)

    def as_comparable(self, node: exp.Expr, kind: str) -> exp.Expr:
        """Return a date or time in one form, however it is stored."""
        if kind == "date":
            return self.as_date(node)
        return (
            function_call("STRFTIME", _DATETIME_FORMAT, node)
            if kind == "datetime"
            else super().as_comparable(node, kind)
        )

    def datetime_text(self, time: datetime) -> str:
        """Return a time in that form."""
        return time.isoformat(sep=" ", timespec="milliseconds")

    def contains(self, node: exp.Expr, pattern: exp.Expr) -> exp.Expr:
        return exp.Glob(this=node, expression=pattern)

    def pattern(self, text: str) -> str:
        """Return the GLOB pattern that matches `text` in any case; LIKE and LOWER handle only ASCII."""
        parts = []
        for character in text:
            cases = dict.fromkeys((character, character.lower(), character.upper()))
            single = [variant for variant in cases if len(variant) == 1]
            parts.append(f"[{''.join(single)}]" if len(single) > 1 or character in "*?[" else character)
        return "".join(parts)

    def is_number(self, text: exp.Expr, bind: Callable[[str], exp.Expr]) -> exp.Expr:
        """Allow digits with at most one point, and a sign before them; LTRIM removes all signs."""
        return self.formula(
            "LENGTH(x) - LENGTH(rest) <= 1 AND NOT rest GLOB '*[^0-9.]*' AND rest GLOB '[0-9]*' "
            "AND NOT rest GLOB '*.*.*'",
            x=text,
            rest=self.formula("LTRIM(x, '+-')", x=text),
        )

    def period_text(self, node: exp.Expr, by: str) -> exp.Expr:
        return self.formula(_PERIODS[by], x=node)

    def round_number(self, node: exp.Expr, digits: int) -> exp.Expr:
        """Round like a decimal with ten decimal places."""
        if not digits:
            return self.formula("ROUND(ROUND(x, 10))", x=node)
        scale = float(10**digits)
        return self.formula(f"(ROUND(ROUND((x) * {scale}, {10 - digits})) / {scale})", x=node)


_FOREIGN_KEYS = """
    SELECT t.name, f.id, f."table", f."from",
        coalesce(f."to", (SELECT name FROM pragma_table_info(f."table", 'main') WHERE pk = f.seq + 1))
    FROM (
        SELECT name, (length(sql) - length(replace(upper(sql), 'FOREIGN KEY', ''))) / 11 AS constraints
        FROM main.sqlite_master WHERE type = 'table' AND name IN :tables
    ) AS t JOIN pragma_foreign_key_list(t.name, 'main') AS f
    ORDER BY t.name, CASE WHEN f.id < t.constraints THEN -1 - f.id ELSE f.id END, f.seq"""
"""Foreign keys in the order of SQLAlchemy: table constraints as written, then those of columns, the last first.

SQLite omits the target columns if they are the target's primary key.
"""
_COLUMNS = """
    SELECT t.name, c.name, c.type, c."notnull", c.dflt_value, c.pk, c.hidden
    FROM main.sqlite_master AS t JOIN pragma_table_xinfo(t.name, 'main') AS c
    WHERE t.type IN ('table', 'view') AND t.name IN :tables AND c.hidden <> 1
    ORDER BY t.name, c.cid"""
"""The columns that SQLAlchemy returns; `hidden` is above 1 for generated ones."""
_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"


class _Store(Store):
    is_file = True


class SQLite(Engine):
    """SQLite, in worker processes."""

    name = "sqlite"
    dialect = "sqlite"
    driver = "sqlite"
    status = "tested"
    worker_cursor = "sqlite_cursor"
    file_signature = (0, b"SQLite format 3\0")
    ignores_case = True
    recurses_in_later_arms = True
    quotes_make_columns = True
    in_reads_tables = True
    row_functions = frozenset({"json_each", "json_tree", "generate_series"})
    usual_schema = "main"
    has_isnull = True
    parser_mixins = (_StringAliases,)
    # The name of the type in a CAST decides its affinity, so NUMERIC and REAL differ.
    transforms = {exp.Cast: lambda self, node: f"CAST({self.sql(node, 'this')} AS {self.sql(node, 'to')})"}
    type_names = {exp.DType.DECIMAL: "DECIMAL", exp.DType.BOOLEAN: "BOOLEAN"}
    preserves_case = True
    reads_unknown_names_as_text = True
    enforces_types = False
    has_numeric_booleans = True
    divides_integers = True
    has_time_zones = False
    grouping_follows_key = True
    has_row_of_extreme = True
    confusion_rank = 3
    spelling = _Spelling()
    # An error with a code is classified by the code alone, since its message may quote data. No account lacks a
    # privilege: the connection to the file is read-only.
    error_kinds = {
        **dict.fromkeys(("SQLITE_AUTH", "SQLITE_PERM"), "other"),
        "SQLITE_INTERRUPT": "timeout",
        **dict.fromkeys(("SQLITE_NOMEM", "SQLITE_TOOBIG", "SQLITE_FULL"), "resource"),
        "SQLITE_MISMATCH": "type",
    }
    connection_causes = {
        **Engine.connection_causes,
        **dict.fromkeys(("SQLITE_BUSY", "SQLITE_LOCKED"), "database_in_use"),
        **dict.fromkeys(("SQLITE_NOTADB", "SQLITE_CORRUPT"), "not_a_database"),
        **dict.fromkeys(
            ("SQLITE_READONLY_CANTINIT", "SQLITE_READONLY_DIRECTORY", "SQLITE_READONLY"), "wal_not_readable"
        ),
        **dict.fromkeys(("SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_IOERR"), "database_file_not_readable"),
    }
    schema_is_database = True
    statistics = SystemQuery("SELECT NULL, tbl, stat FROM sqlite_stat1", "sqlite_stat1", None, ("tbl", "stat"))
    text_bytes = "(x) COLLATE BINARY"
    names_outputs_by_text = True
    has_barrier = True
    url_options = frozenset()
    has_form = True
    store = _Store()
    covers_grammar = True

    def accepts_unknown_column(self, column: exp.Column, scope: "Scope") -> bool:
        """Accept row identifiers, texts in double quotes, and a full-text table that is named like a column of it."""
        name = column.name.lower()
        is_text = bool(column.this.args.get("quoted")) and isinstance(column.parent, exp.Binary | exp.In | exp.Between)
        is_table = isinstance(column.parent, exp.Match) and name in map(str.lower, scope.sources)
        return name in _ROW_IDS or (not column.table and (is_text or is_table))

    def rewritten_call(self, node: exp.Expr) -> exp.Expr:
        """Rewrite EXTRACT, YEAR and the like as STRFTIME, DATE_TRUNC as the first day of a period, LEFT and RIGHT."""
        if isinstance(node, exp.Left):
            return function_call("SUBSTR", node.this, exp.Literal.number(1), node.expression)
        if isinstance(node, exp.Right):
            return function_call("SUBSTR", node.this, exp.Neg(this=node.expression))
        if isinstance(node, exp.DateTrunc | exp.TimestampTrunc):
            pattern = _STARTS.get(node.text("unit").upper())
            return function_call("STRFTIME", pattern, node.this) if pattern else node
        if isinstance(node, exp.Extract):
            pattern, value = _TIME_FORMATS.get(node.name.upper()), node.expression
        elif isinstance(node, exp.Year | exp.Month | exp.Day | exp.Hour | exp.Minute | exp.Second):
            pattern, value = _TIME_FORMATS[node.key.upper()], node.this
        else:
            return node
        return exp.cast(function_call("STRFTIME", pattern, value), "INTEGER") if pattern else node

    def product(self, dialect: "SQLAlchemyDialect") -> str:
        """Return the name with the version of the library."""
        return f"SQLite {sqlite3.sqlite_version}"

    def columns(self, inspector: "Inspector", tables: Sequence[str]) -> Iterator[tuple[Any, list[Any]]]:
        """Read them at once, and the first table with each type, and generated columns, with SQLAlchemy."""
        from sqlalchemy import Connection, bindparam, text

        assert isinstance(inspector.bind, Connection)
        statement = text(_COLUMNS).bindparams(bindparam("tables", expanding=True))
        cursor = inspector.bind.execute(statement, {"tables": list(tables)}).cursor
        # The garbage collector follows the rows of SQLAlchemy, but not those of the driver.
        rows = cursor.fetchall() if cursor else ()
        types: dict[str, Any] = {}
        found: list[Any]
        for table, group in groupby(rows, key=itemgetter(0)):
            columns = list(group)
            if types.keys() >= {row[2] for row in columns} and not any(row[6] for row in columns):
                found = [
                    {
                        "name": name,
                        "type": types[kind],
                        "nullable": not is_required,
                        "default": default,
                        "primary_key": position,
                    }
                    for _, name, kind, is_required, default, position, _ in columns
                ]
            else:
                found = inspector.get_columns(table)
                types |= {row[2]: column["type"] for row, column in zip(columns, found, strict=True)}
            yield (None, table), found

    def foreign_keys(self, connection: "Connection", tables: Sequence[str]) -> Mapping[Any, list[Any]]:
        """Read them at once; SQLAlchemy would scan the whole schema for each table."""
        from sqlalchemy import bindparam, text

        keys: dict[tuple[None, str], dict[int, dict[str, Any]]] = {}
        statement = text(_FOREIGN_KEYS).bindparams(bindparam("tables", expanding=True))
        rows = connection.execute(statement, {"tables": list(tables)})
        for table, number, target, column, target_column in rows:
            key = keys.setdefault((None, table), {}).setdefault(
                number,
                {"referred_table": target, "referred_schema": None, "constrained_columns": [], "referred_columns": []},
            )
            key["constrained_columns"].append(column)
            key["referred_columns"] += [target_column] if target_column else []
        return {name: list(references.values()) for name, references in keys.items()}

    def comments(self, connection: "Connection", tables: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the comments in the statements that created `tables`, which are stored as they were written."""
        wanted = set(tables)
        # Parsing takes a millisecond for each table.
        written = connection.exec_driver_sql(f"{_TABLES} AND (instr(sql, '--') OR instr(sql, '/*'))")
        return {str(name): _comments(str(sql)) for name, sql in written if name in wanted}

    def storage(self, connection: "Connection", default: str) -> Storage:
        """Return virtual tables and their shadow tables, which are in the schema `default`."""
        tables = {str(name): str(sql or "") for name, sql in connection.exec_driver_sql(_TABLES)}
        virtual = [name for name, sql in tables.items() if re.match(r"\s*CREATE\s+VIRTUAL\b", sql, re.IGNORECASE)]
        # A virtual table stores its rows in shadow tables, whose names begin with its name and an underscore.
        definitions = {
            (default, name): tables[owner]
            for owner in virtual
            for name in tables
            if name == owner or name.lower().startswith(f"{owner}_".lower())
        }
        return Storage(shared=frozenset(definitions), definitions=definitions)

    def with_barrier(self, rows: exp.Select, cte: str) -> exp.Select:
        """Use a materialised CTE, which the documentation calls an optimisation fence."""
        return materialized(rows, cte)

    def open_file(self, path: str) -> Any:
        """Return a connection with the library of Python."""
        return connect_read_only(path)


def _comments(sql: str) -> dict[str, str]:
    """Return the comments on columns in a CREATE TABLE statement; none if it cannot be parsed.

    A comment belongs to the column of which it is a part, that ends on its line, or that begins after it.
    """
    try:
        columns = [*parse_one(sql, dialect="sqlite").find_all(exp.ColumnDef)]
    except (SqlglotError, RecursionError):
        return {}
    found = {
        column.name: dict.fromkeys(text.strip() for node in column.walk() for text in node.comments or ())
        for column in columns
    }
    return {name: "; ".join(texts) for name, texts in found.items() if texts}
