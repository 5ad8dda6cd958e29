"""Dialects that write down what they have read: sqlglot's, but for spellings that would change what a statement says.

sqlglot translates between engines, and so reads some functions into one form for all. Within one engine that can lose
something (SQLite's `mod` of fractions is not its `%`) or make what another version of the engine does not know
(MariaDB has no REGEXP_LIKE). Each exception stands here; a test runs statements of every dialect in both spellings.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import ErrorLevel
from sqlglot.generators.mysql import MySQLGenerator
from sqlglot.generators.postgres import PostgresGenerator
from sqlglot.generators.sqlite import SQLiteGenerator
from sqlglot.parser import Parser
from sqlglot.parsers.clickhouse import ClickHouseParser
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.parsers.sqlite import SQLiteParser
from sqlglot.tokenizer_core import Token, TokenType

_IN_TYPE = {TokenType.NUMBER, TokenType.COMMA}
_STRINGS = {
    TokenType.STRING, TokenType.NATIONAL_STRING, TokenType.RAW_STRING, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING,
}  # fmt: skip
_INTERVAL = re.compile(r"[-+]?[\d.]+\s*[a-z]+")
_FORMAT = re.compile(r"(?=.*%[a-z])[\w\s%:/.,-]+")
_FROM_STRING = "from_string"
"""Mark on an alias that was written as a string: `AS 'Number of orders'`."""


def _without(functions: dict[str, Callable[..., Any]], *names: str) -> dict[str, Callable[..., Any]]:
    """Return `functions` without `names`, which are then kept as they are written."""
    return {name: build for name, build in functions.items() if name not in names}


def _plain_cast(generator: SQLiteGenerator, node: exp.Cast) -> str:
    return f"CAST({generator.sql(node, 'this')} AS {generator.sql(node, 'to')})"


def _current_timestamp(generator: PostgresGenerator, node: exp.CurrentTimestamp) -> str:
    return f"CURRENT_TIMESTAMP({generator.sql(node, 'this')})" if node.this else "CURRENT_TIMESTAMP"


class _StringAliases(Parser):
    """Marks aliases written as strings, which MySQL, SQLite and DuckDB accept, and prints as quoted names."""

    def _parse_string_as_identifier(self) -> exp.Identifier | None:
        identifier = super()._parse_string_as_identifier()
        if identifier is not None:
            identifier.meta[_FROM_STRING] = True
        return identifier

    def _parse_id_var(self, any_token: bool = True, tokens: Collection[TokenType] | None = None) -> exp.Expr | None:
        is_string = self._curr is not None and self._curr.token_type == TokenType.STRING
        identifier = super()._parse_id_var(any_token, tokens)
        if is_string and identifier is not None:
            identifier.meta[_FROM_STRING] = True
        return identifier


class _FaithfulMySQLParser(_StringAliases, MySQLParser):
    FUNCTIONS = _without(MySQLParser.FUNCTIONS, "MEDIAN", "TO_DAYS", "MONTHNAME", "TO_CHAR")


class _FaithfulMySQLGenerator(MySQLGenerator):
    TRANSFORMS = {
        **MySQLGenerator.TRANSFORMS,
        exp.RegexpLike: lambda generator, node: generator.binary(node, "REGEXP"),
    }


class _FaithfulMySQL(MySQL):
    Parser = _FaithfulMySQLParser
    Generator = _FaithfulMySQLGenerator


class _FaithfulPostgresParser(PostgresParser):
    FUNCTIONS = _without(PostgresParser.FUNCTIONS, "DATE_BIN")
    FUNCTION_PARSERS = _without(PostgresParser.FUNCTION_PARSERS, "DATE_PART")


class _FaithfulPostgresGenerator(PostgresGenerator):
    TRANSFORMS = {**PostgresGenerator.TRANSFORMS, exp.CurrentTimestamp: _current_timestamp}


class _FaithfulPostgres(Postgres):
    Parser = _FaithfulPostgresParser
    Generator = _FaithfulPostgresGenerator


class _FaithfulSQLiteParser(_StringAliases, SQLiteParser):
    FUNCTIONS = _without(SQLiteParser.FUNCTIONS, "MOD", "LOG10", "LOG2")


class _FaithfulSQLiteGenerator(SQLiteGenerator):
    # The type names decide the affinity of a CAST in SQLite, so NUMERIC and REAL are not the same.
    TYPE_MAPPING = {
        **SQLiteGenerator.TYPE_MAPPING,
        exp.DataType.Type.DECIMAL: "DECIMAL",
        exp.DataType.Type.BOOLEAN: "BOOLEAN",
    }
    TRANSFORMS = {**SQLiteGenerator.TRANSFORMS, exp.Cast: _plain_cast}


class _FaithfulSQLite(SQLite):
    Parser = _FaithfulSQLiteParser
    Generator = _FaithfulSQLiteGenerator


class _FaithfulClickHouseParser(ClickHouseParser):
    FUNCTIONS = _without(ClickHouseParser.FUNCTIONS, "RAND", "RANDCANONICAL")


class _FaithfulClickHouse(ClickHouse):
    Parser = _FaithfulClickHouseParser


class _FaithfulDuckDBParser(_StringAliases, DuckDBParser):
    FUNCTIONS = _without(DuckDBParser.FUNCTIONS, "TIME_BUCKET", "DATE_BIN")


class _FaithfulDuckDB(DuckDB):
    Parser = _FaithfulDuckDBParser


_FAITHFUL: dict[str, type[Dialect]] = {
    "clickhouse": _FaithfulClickHouse,
    "duckdb": _FaithfulDuckDB,
    "mysql": _FaithfulMySQL,
    "postgres": _FaithfulPostgres,
    "sqlite": _FaithfulSQLite,
}


def faithful(dialect: str) -> Dialect:
    """Return the dialect that reads and writes the SQL of `dialect` without changing what it says.

    Raises:
        ValueError: sqlglot knows no such dialect.
    """
    return Dialect.get_or_raise(_FAITHFUL.get(dialect, dialect))


def loses_literals(before: Sequence[Token], after: Sequence[Token], tree: exp.Expr) -> bool:
    """Return whether a string or number of the tokens `before` is missing in `after`, the tokens of the printed `tree`.

    A string that a generator prints without its quotes would become SQL. Allowed to change are aliases that were
    written as strings, the spelling of intervals and of date formats, and keys that become JSON paths.
    """
    aliases = Counter(node.name.casefold() for node in tree.find_all(exp.Identifier) if _FROM_STRING in node.meta)
    if _literals_in(after) + aliases.total() < _literals_in(before):
        return True
    kept = Counter(token.text.casefold() for token in after if token.token_type in _STRINGS)
    lost = Counter(token.text.casefold() for token in before if token.token_type in _STRINGS) - kept - aliases
    return not all(_INTERVAL.fullmatch(text) or _FORMAT.fullmatch(text) or _is_key(text, kept) for text in lost)


def _is_key(text: str, kept: Counter[str]) -> bool:
    return bool(re.fullmatch(r"\w+", text)) and f"$.{text}" in kept


def _literals_in(tokens: Sequence[Token]) -> int:
    """Return how many strings and numbers are among `tokens`.

    Numbers of a type, as in CHAR(20), do not count: an engine without lengths of types loses nothing with them.
    """
    count, of_type, before = 0, False, TokenType.BREAK
    for token in tokens:
        kind = token.token_type
        of_type = (before in Parser.TYPE_TOKENS) if kind == TokenType.L_PAREN else of_type and kind in _IN_TYPE
        count += kind == TokenType.STRING or (kind == TokenType.NUMBER and not of_type)
        before = kind
    return count


def print_statement(tree: exp.Expr, dialect: str) -> str:
    """Return `tree` as SQL of `dialect` without remarks, names and strings as they were, parameters as `:name`.

    Raises:
        sqlglot.errors.SqlglotError: a node has no spelling in this dialect.
    """
    generator = faithful(dialect).generator(
        comments=False, unsupported_level=ErrorLevel.RAISE, normalize_functions=False
    )
    return generator.generate(tree.transform(_spelt) if tree.find(exp.Placeholder) else tree)


def _spelt(node: exp.Expr) -> exp.Expr:
    """Return a named parameter as it is written here in every dialect; what has a type or no name stays as it is."""
    is_named = isinstance(node, exp.Placeholder) and bool(node.name) and not node.args.get("kind")
    return exp.Var(this=f":{node.name}") if is_named else node
