"""SQL dialects that parse and print a statement without changing its meaning.

sqlglot normalises functions to translate between engines. Within one engine this can change a result (SQLite's `mod` of
fractions is not its `%`) or print a function that another version lacks (MariaDB has no REGEXP_LIKE). The classes below
disable such normalisations; a test runs statements of every dialect in both spellings.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

from sqlglot import exp, parser
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel
from sqlglot.generator import Generator
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from agent.errors import PackageConflict
from agent.schema.catalog import fold_case

_IN_TYPE = {TokenType.NUMBER, TokenType.COMMA}
_STRINGS = {
    TokenType.STRING, TokenType.NATIONAL_STRING, TokenType.RAW_STRING, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING,
}  # fmt: skip
_INTERVAL = re.compile(r"[-+]?[\d.]+\s*[a-z]+")
_FORMAT = re.compile(r"(?=.*%[a-z])[\w\s%:/.,-]+")
_UNITS = {"year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond"}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FOLDS_NAMES = {"postgres", "redshift", "trino"}
"""Engines that fold unquoted names to lower case and compare quoted ones as they are, or as lower case."""
_FROM_STRING = "from_string"
"""Meta key of an alias written as a string, such as `AS 'Number of orders'`."""


def _without(functions: dict[str, Callable[..., Any]], *names: str) -> dict[str, Callable[..., Any]]:
    """Return `functions` without `names`, so that sqlglot keeps these functions unchanged."""
    return {name: build for name, build in functions.items() if name not in names}


class _StringAliases(Parser):
    """Parser that marks aliases written as strings (MySQL, SQLite, DuckDB), which are printed as quoted names."""

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


_AroundCall = exp.Window | exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls
"""Nodes around a call that are written after it."""


class _Method(exp.Expression):
    """A call after a dot, while its operand is parsed."""

    arg_types = {"this": True}


class _Methods(Parser):
    """Parser that reads the method calls of DuckDB, `x.f(y)`, as the calls `f(x, y)` that they are."""

    def _parse_field(
        self, any_token: bool = False, tokens: Collection[TokenType] | None = None, anonymous_func: bool = False
    ) -> exp.Expr | None:
        field = super()._parse_field(any_token, tokens, anonymous_func)
        # Another node than a function keeps sqlglot from changing the columns of the operand into names.
        is_call = anonymous_func and isinstance(field, exp.Func | _AroundCall)
        return _Method(this=field) if is_call else field

    def _parse_column_ops(self, this: exp.Expr | None) -> exp.Expr | None:
        parsed = super()._parse_column_ops(this)
        operands = [node for node in parsed.walk() if _has_method(node)] if parsed else []
        for node in reversed(operands):
            call = _without_methods(node)
            parsed = call if node is parsed else parsed
            node.replace(call)
        return parsed


def _has_method(node: exp.Expr) -> bool:
    return any(isinstance(part, _Method) for part in node.iter_expressions())


def _without_methods(node: exp.Expr) -> exp.Expr:
    """Return the column or dot `node` with calls instead of methods; `a.b.f()` is parsed as the column f() of a.b."""
    operand: exp.Expr | None = None
    names: list[Any] = []
    for part in node.parts if isinstance(node, exp.Column) else (node.this, node.expression):
        if isinstance(part, _Method):
            operand = _call(part.this, operand or exp.column(*reversed(names)))
        elif operand is None and isinstance(node, exp.Column):
            names.append(part)
        else:
            operand = exp.Dot(this=operand, expression=part) if operand else part
    assert operand
    return operand


def _call(call: exp.Expr, operand: exp.Expr) -> exp.Expr:
    """Return `call` with `operand` as its first argument; the guard refuses calls that cannot have one."""
    function = call
    while isinstance(function, _AroundCall):
        function = function.this
    if not isinstance(function, exp.Anonymous):
        return exp.Dot(this=operand, expression=call)
    function.set("expressions", [operand, *function.expressions])
    return call


# A process uses one or two dialects, and importing one of sqlglot takes up to 30 ms.
def _clickhouse() -> type[Dialect]:
    from sqlglot.dialects.clickhouse import ClickHouse
    from sqlglot.parsers.clickhouse import ClickHouseParser

    class ExactParser(ClickHouseParser):
        FUNCTIONS = _without(ClickHouseParser.FUNCTIONS, "RAND", "RANDCANONICAL")

    class ExactClickHouse(ClickHouse):
        Parser = ExactParser

    return ExactClickHouse


def _duckdb() -> type[Dialect]:
    from sqlglot.dialects.duckdb import DuckDB
    from sqlglot.parsers.duckdb import DuckDBParser

    class ExactParser(_Methods, _StringAliases, DuckDBParser):
        FUNCTIONS = _without(DuckDBParser.FUNCTIONS, "TIME_BUCKET", "DATE_BIN")

    class ExactDuckDB(DuckDB):
        Parser = ExactParser

    return ExactDuckDB


def _mysql() -> type[Dialect]:
    from sqlglot.dialects.mysql import MySQL
    from sqlglot.generators.mysql import MySQLGenerator
    from sqlglot.parsers.mysql import MySQLParser

    class ExactParser(_StringAliases, MySQLParser):
        FUNCTIONS = _without(MySQLParser.FUNCTIONS, "MEDIAN", "TO_DAYS", "MONTHNAME", "TO_CHAR")

    class ExactGenerator(MySQLGenerator):
        TRANSFORMS = {
            **MySQLGenerator.TRANSFORMS,
            exp.RegexpLike: lambda generator, node: generator.binary(node, "REGEXP"),
        }

    class ExactMySQL(MySQL):
        Parser = ExactParser
        Generator = ExactGenerator

    return ExactMySQL


def _postgres() -> type[Dialect]:
    from sqlglot.dialects.postgres import Postgres
    from sqlglot.generators.postgres import PostgresGenerator
    from sqlglot.parsers.postgres import PostgresParser

    class ExactParser(PostgresParser):
        FUNCTIONS = _without(PostgresParser.FUNCTIONS, "DATE_BIN")
        FUNCTION_PARSERS = _without(PostgresParser.FUNCTION_PARSERS, "DATE_PART")

    class ExactGenerator(PostgresGenerator):
        TRANSFORMS = {
            **PostgresGenerator.TRANSFORMS,
            exp.CurrentTimestamp: lambda self, node: (
                f"CURRENT_TIMESTAMP{f'({self.sql(node.this)})' if node.this else ''}"
            ),
        }

    class ExactPostgres(Postgres):
        Parser = ExactParser
        Generator = ExactGenerator

    return ExactPostgres


def _sqlite() -> type[Dialect]:
    from sqlglot.dialects.sqlite import SQLite
    from sqlglot.generators.sqlite import SQLiteGenerator
    from sqlglot.parsers.sqlite import SQLiteParser

    class ExactParser(_StringAliases, SQLiteParser):
        FUNCTIONS = _without(SQLiteParser.FUNCTIONS, "MOD", "LOG10", "LOG2")

    class ExactGenerator(SQLiteGenerator):
        # In SQLite the type name of a CAST decides its affinity, so NUMERIC and REAL differ.
        TYPE_MAPPING = {
            **SQLiteGenerator.TYPE_MAPPING,
            exp.DataType.Type.DECIMAL: "DECIMAL",
            exp.DataType.Type.BOOLEAN: "BOOLEAN",
        }
        TRANSFORMS = {
            **SQLiteGenerator.TRANSFORMS,
            exp.Cast: lambda self, node: f"CAST({self.sql(node, 'this')} AS {self.sql(node, 'to')})",
        }

    class ExactSQLite(SQLite):
        Parser = ExactParser
        Generator = ExactGenerator

    return ExactSQLite


def _snowflake() -> type[Dialect]:
    from sqlglot.dialects.snowflake import Snowflake
    from sqlglot.generators.snowflake import SnowflakeGenerator

    class ExactGenerator(SnowflakeGenerator):
        def identifier_sql(self, expression: exp.Identifier) -> str:
            """Print a quoted name without upper-case letters in upper case.

            SQLAlchemy, and thus the catalog, has names that Snowflake stores in upper case in lower case.
            """
            name = expression.name
            if expression.args.get("quoted") and name == name.lower():
                expression = exp.Identifier(this=name.upper(), quoted=True)
            return str(super().identifier_sql(expression))

    class ExactSnowflake(Snowflake):
        Generator = ExactGenerator

    return ExactSnowflake


def _tsql() -> type[Dialect]:
    from sqlglot.dialects.tsql import TSQL
    from sqlglot.parsers.tsql import TSQLParser

    class ExactParser(TSQLParser):
        FUNCTIONS = _without(TSQLParser.FUNCTIONS, "DATENAME", "SYSDATETIME", "SYSDATETIMEOFFSET")

    class ExactTSQL(TSQL):
        Parser = ExactParser

    return ExactTSQL


_EXACT_DIALECTS: dict[str, Callable[[], type[Dialect]]] = {
    "clickhouse": _clickhouse,
    "duckdb": _duckdb,
    "mysql": _mysql,
    "postgres": _postgres,
    "snowflake": _snowflake,
    "sqlite": _sqlite,
    "tsql": _tsql,
}


@cache
def exact_dialect(dialect: str) -> Dialect:
    """Return the sqlglot dialect that parses and prints the SQL of `dialect` without changing its meaning.

    Raises:
        ValueError: sqlglot does not support this dialect.
        PackageConflict: the compiled sqlglot is installed, whose parsers cannot be extended.
    """
    if dialect in _EXACT_DIALECTS and str(parser.__file__).endswith((".so", ".pyd")):
        raise PackageConflict("sqlglotc")
    return Dialect.get_or_raise(_EXACT_DIALECTS[dialect]() if dialect in _EXACT_DIALECTS else dialect)


def loses_literals(before: Sequence[Token], after: Sequence[Token], tree: exp.Expr, dialect: str) -> bool:
    """Return whether printing lost a string or number: compare the tokens `before` and `after` printing `tree`.

    A string that is printed without its quotes would become SQL. Aliases written as strings, intervals, date formats,
    keys that become JSON paths, and units of dates on Snowflake (DATEDIFF('day', ...)) may change their spelling.
    """
    aliases = Counter(node.name.casefold() for node in tree.find_all(exp.Identifier) if _FROM_STRING in node.meta)
    if dialect == "snowflake":
        units = (token.text.casefold() for token in before if token.token_type in _STRINGS)
        printed_units = Counter(node.name.casefold() for node in tree.find_all(exp.Var))
        aliases += printed_units & Counter(unit for unit in units if unit in _UNITS)
    if _literals_in(after) + aliases.total() < _literals_in(before):
        return True
    printed = Counter(token.text.casefold() for token in after if token.token_type in _STRINGS)
    lost = Counter(token.text.casefold() for token in before if token.token_type in _STRINGS) - printed - aliases
    keys = {text for text in lost if re.fullmatch(r"\w+", text) and f"$.{text}" in printed}
    return not all(_INTERVAL.fullmatch(text) or _FORMAT.fullmatch(text) for text in lost.keys() - keys)


def _literals_in(tokens: Sequence[Token]) -> int:
    """Return the number of string and number tokens.

    Type lengths such as CHAR(20) do not count: some engines have none, and nothing is lost there.
    """
    count, in_type, before = 0, False, TokenType.BREAK
    for token in tokens:
        kind = token.token_type
        in_type = (before in Parser.TYPE_TOKENS) if kind == TokenType.L_PAREN else in_type and kind in _IN_TYPE
        count += kind == TokenType.STRING or (kind == TokenType.NUMBER and not in_type)
        before = kind
    return count


def print_statement(tree: exp.Expr, dialect: str) -> str:
    """Return `tree` as SQL of `dialect`, without comments and with parameters as `:name`.

    Raises:
        sqlglot.errors.SqlglotError: `dialect` cannot express a node of the tree.
    """
    generator = _quoting_generator(dialect)(
        dialect=exact_dialect(dialect), comments=False, unsupported_level=ErrorLevel.RAISE, normalize_functions=False
    )
    return generator.generate(tree.transform(_named_placeholder) if tree.find(exp.Placeholder) else tree)


@cache
def _quoting_generator(dialect: str) -> type[Generator]:
    """Return the generator of `dialect`, quoting every name whose characters engines may read in different ways."""
    base: Any = exact_dialect(dialect).generator_class

    class QuotingGenerator(base):  # type: ignore[misc]
        def identifier_sql(self, expression: exp.Identifier) -> str:
            if not expression.args.get("quoted") and not _PLAIN_NAME.fullmatch(expression.name):
                expression = exp.Identifier(this=_stored_spelling(expression.name, dialect), quoted=True)
            return str(super().identifier_sql(expression))

    return QuotingGenerator


def _stored_spelling(name: str, dialect: str) -> str:
    """Return the unquoted `name` as the engine stores it: with ASCII letters in its case."""
    if dialect == "snowflake":
        return name.upper()
    return fold_case(name) if dialect in _FOLDS_NAMES else name


def _named_placeholder(node: exp.Expr) -> exp.Expr:
    """Print a named parameter as `:name`; leave typed or unnamed placeholders unchanged."""
    is_named = isinstance(node, exp.Placeholder) and bool(node.name) and not node.args.get("kind")
    return exp.Var(this=f":{node.name}") if is_named else node


def with_negations(tree: exp.Expr) -> exp.Expr:
    """Return `tree` with `NOT LIKE` and `IS NOT NULL` as negations of LIKE and IS, changed in place.

    sqlglot parses them as `exp.Not` or as a comparison with the argument `negate`, depending on the dialect. On
    PostgreSQL, `IS NOT NULL` of a row is more than the negation of IS NULL: a tree in this form is for reading only.
    """
    for node in [node for node in tree.find_all(exp.Like, exp.ILike, exp.Is) if node.args.get("negate")]:
        node.set("negate", None)
        condition = node.parent if isinstance(node.parent, exp.Escape) else node
        negation = exp.Not(this=condition.copy())
        if condition is tree:
            return negation
        condition.replace(negation)
    return tree
