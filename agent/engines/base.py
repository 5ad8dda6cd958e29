"""The class of an engine: its differences from others are attributes and methods, each with a default."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import ascii_lowercase, ascii_uppercase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.parser import Parser

from datasphinx.agent.engines.privileges import Grants
from datasphinx.agent.engines.spelling import Spelling
from datasphinx.agent.engines.store import Store
from datasphinx.agent.types import Limits

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Inspector
    from sqlalchemy import Dialect as SQLAlchemyDialect
    from sqlalchemy import Engine as SQLAlchemyEngine
    from sqlglot.optimizer.scope import Scope

EngineStatus = Literal["tested", "emulated", "untested"]
"""How an engine is tested: with the engine itself, with a compatible one, or not at all beyond the guard."""


ErrorKind = Literal["unknown name", "type", "syntax", "permission", "timeout", "connection", "resource", "other"]

_SQLSTATE_KINDS: Mapping[int | str, ErrorKind] = {
    **dict.fromkeys(("28", "42501"), "permission"),
    **dict.fromkeys(("42703", "42P01", "42702", "3F000"), "unknown name"),
    **dict.fromkeys(("42883", "42804", "42846", "22P02", "22007", "22008"), "type"),
    **dict.fromkeys(("42601", "42803", "42P10"), "syntax"),
    **dict.fromkeys(("57014", "25P03", "55P03"), "timeout"),
    **dict.fromkeys(("08", "57P"), "connection"),
    **dict.fromkeys(("53", "54"), "resource"),
}
_SQLSTATE_CAUSES: Mapping[int | str, str] = {
    "22012": "division_by_zero",
    "22003": "number_out_of_range",
    **dict.fromkeys(("22P02", "22018"), "value_not_converted"),
    **dict.fromkeys(("22007", "22008"), "date_invalid"),
    "2201B": "regex_invalid",
    **dict.fromkeys(("22025", "22019"), "like_invalid"),
    "2203": "json_invalid",
    "21000": "subquery_rows",
    "22": "argument_invalid",
}
_CONNECTION_CAUSES: Mapping[int | str, str] = {
    "08P01": "connection_option_refused",
    **dict.fromkeys(("28P01", "28000"), "account_refused"),
    "53300": "connections_exhausted",
    "3D000": "database_unknown",
    "57P03": "database_starting",
    "PermissionError": "database_file_not_readable",
}

CONNECT_TIMEOUT_S = 10
STOP_S = 2.0
"""Time for a cancelled statement to end before its connection is closed."""
_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def fold_case(name: str) -> str:
    """Return `name` with ASCII letters in lower case, as engines fold names; other letters keep their case.

    >>> fold_case("Größe \N{KELVIN SIGN}")
    'größe \N{KELVIN SIGN}'
    """
    return name.translate(_ASCII_LOWER)


def read_names(path: Traversable) -> frozenset[str]:
    """Return the lines of a file that are not comments; none if there is no such file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return frozenset(line for line in lines if line and not line.startswith("#"))


def print_at_time_zone(self: Any, node: exp.AtTimeZone) -> str:
    """Print AT TIME ZONE as it is written."""
    return f"{self.sql(node, 'this')} AT TIME ZONE {self.sql(node, 'zone')}"


def timeout_of(limits: Limits) -> float:
    """Return the time limit in seconds; above 0, which means no limit on all engines."""
    return max(limits.timeout_s, 0.001)


def at_connect(pool: "SQLAlchemyEngine", statement: str) -> None:
    """Run `statement` on new connections of `pool`."""
    from sqlalchemy import event

    @event.listens_for(pool, "connect", insert=True)
    def run(connection: Any, record: Any) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute(statement)
        connection.commit()


def with_version(name: str, dialect: "SQLAlchemyDialect") -> str:
    """Return `name` with the version that the server has told; without it before the first connection."""
    version = [str(part) for part in getattr(dialect, "server_version_info", None) or () if isinstance(part, int)]
    return f"{name} {'.'.join(version[:2])}".strip()


Named = TypeVar("Named", bound=exp.Expr)

TableName = tuple[str, str]
"""Schema and name of a table."""


@dataclass(frozen=True)
class Storage:
    """Tables that share rows with others.

    Row rules have to hold for every table that shows the same rows: partitions, inheritance children, merge tables and
    virtual tables.
    """

    parents: Mapping[TableName, tuple[TableName, ...]] = field(default_factory=dict)
    """Partitions and inheritance children, with the tables that also show their rows."""
    shared: frozenset[TableName] = frozenset()
    """Tables that may show rows of any other table."""
    definitions: Mapping[TableName, str] = field(default_factory=dict)
    """Texts that name the tables whose rows a table in `shared` may show, where the engine has them."""


def materialized(query: exp.Query, cte: str) -> exp.Select:
    """Return a SELECT of all rows of `query`, as a materialised common table expression `cte`."""
    definition = exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(cte)), materialized=True)
    outer = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.table_(cte)))
    outer.set("with_", exp.With(expressions=[definition]))
    return outer


class SystemQuery(NamedTuple):
    """A statement over one system table, whose name and columns the guard has to know; none if `table` is empty."""

    sql: str
    table: str = ""
    schema: str | None = None
    columns: tuple[str, ...] = ()


class Engine:
    """A database engine. A default says what most engines do, or is the cautious choice."""

    name: ClassVar[str] = ""
    """Name of the engine, with which its URLs begin."""
    other_schemes: ClassVar[tuple[str, ...]] = ()
    """Other beginnings of its URLs."""
    dialect: str = ""
    """The name of its dialect in sqlglot."""
    otel_name: ClassVar[str] = ""
    """Its name in the conventions of OpenTelemetry; empty if it is `name`."""
    other_dialects: ClassVar[tuple[str, ...]] = ()
    """Other names of its dialect, in tools and in statements to lint."""
    driver: ClassVar[str] = ""
    """The dialect and driver of SQLAlchemy, as in a URL."""
    sqlalchemy_dialect: ClassVar[tuple[str, str] | None] = None
    """Module and class of a dialect of SQLAlchemy that is part of this project."""
    packages: ClassVar[tuple[str, ...]] = ()
    """The packages of the driver and of the dialect of SQLAlchemy."""
    extra: ClassVar[str] = ""
    """The extra that installs these packages; by default it has the name of the engine."""
    status: ClassVar[EngineStatus] = "untested"
    worker_cursor: ClassVar[str] = ""
    """The function of `datasphinx.agent.sql.worker` that opens its databases in a process of their own; empty for
    servers.
    """
    file_signature: ClassVar[tuple[int, bytes] | None] = None
    """The offset of the bytes that identify its files, and these bytes; None if a database is no file."""
    is_folder: ClassVar[bool] = False
    """Whether a database is a folder, which one process opens at a time."""

    # Names

    ignores_case: ClassVar[bool] = False
    """Whether names are compared without regard to case, quoted names included."""
    folds_unquoted: ClassVar[bool] = False
    """Whether unquoted names are folded to lower case, and quoted ones compared as they are."""
    folds_with: ClassVar[bool] = False
    """Whether the case of the names in WITH is ignored, but not that of tables."""
    inner_with_hides_outer: ClassVar[bool] = False
    """Whether some version does not see a WITH in the definitions of another one inside it."""
    arm_hides_with: ClassVar[bool] = False
    """Whether an arm of a set operation with its own WITH does not see that of the first arm."""
    recurses_in_later_arms: ClassVar[bool] = False
    """Whether all arms of a recursive UNION but the first may refer to the WITH."""
    reuses_aliases: ClassVar[bool] = False
    """Whether an output may refer to the alias of another output."""
    usual_schema: ClassVar[str] = ""
    """The schema that the names of tables have by default, as far as all databases have one."""

    # The guard

    system_columns: ClassVar[frozenset[str]] = frozenset()
    """Columns that every table has, in lower case."""
    bare_session_functions: ClassVar[frozenset[str]] = frozenset()
    """Session functions written like a column; a table may also have a column of this name, if quoted."""
    quotes_make_columns: ClassVar[bool] = False
    """Whether a quoted name is never a session function."""
    in_reads_tables: ClassVar[bool] = False
    """Whether `x IN name` reads the table of this name."""
    in_list_reads_tables: ClassVar[bool] = False
    """Whether `x IN (name)` reads the table of this name."""
    row_functions: ClassVar[frozenset[str] | None] = None
    """Functions that may be called in FROM; None if those are the allowed functions."""
    table_calls_functions: ClassVar[bool] = False
    """Whether TABLE(f(x)) in FROM calls f."""
    function_schemas: ClassVar[frozenset[str]] = frozenset()
    """Schemas of the engine's own functions, which may precede a call."""
    calls_by_name: ClassVar[Mapping[str, int]] = MappingProxyType({})
    """Functions that call a function named by an argument, with the index of that argument."""
    dot_may_call: ClassVar[bool] = False
    """Whether `x.f` may call the function f, if x has no such column or field."""
    exists_needs_no_columns: ClassVar[bool] = False
    """Whether the SELECT in EXISTS may name no columns."""
    format_takes_number: ClassVar[bool] = False
    """Whether FORMAT formats a number, with at most 38 decimals or 4,000 characters."""
    reads_separated_digits: ClassVar[bool] = False
    """Whether every version reads 1_000 as a number."""
    has_plan_hints: ClassVar[bool] = False
    """Whether hints affect only the plan; they are not printed."""
    substitutes_variables: ClassVar[bool] = False
    """Whether variables ${...} are replaced before parsing, even within strings and quoted names."""
    has_ambiguous_escapes: ClassVar[bool] = False
    """Whether a setting decides if a backslash in a string is an escape."""
    comment_needs_blank: ClassVar[bool] = False
    """Whether -- begins a comment only before white space."""

    # Parsing and printing

    has_isnull: ClassVar[bool] = False
    """Whether x ISNULL is x IS NULL; elsewhere ISNULL is an alias."""
    recurses_without_keyword: ClassVar[bool] = False
    """Whether a common table expression may refer to itself without RECURSIVE."""
    has_trim_from: ClassVar[bool] = False
    """Whether there is TRIM(LEADING FROM x)."""
    has_dual: ClassVar[bool] = False
    """Whether FROM DUAL is the same as no FROM."""
    has_limit_percent: ClassVar[bool] = False
    """Whether there is LIMIT 10%."""
    parser_mixins: ClassVar[tuple[type[Parser], ...]] = ()
    """Bases of the parser before sqlglot's."""
    generator_mixins: ClassVar[tuple[type[Generator], ...]] = ()
    """Bases of the generator before sqlglot's."""
    transforms: ClassVar[Mapping[type[exp.Expr], Callable[..., str]]] = MappingProxyType({})
    """Functions that print nodes to which sqlglot gives another meaning."""
    type_names: ClassVar[Mapping[exp.DType, str]] = MappingProxyType({})
    """Names of types that sqlglot replaces by others."""

    # Columns, values and types

    has_exact_columns: ClassVar[bool] = False
    """Whether columns of a table may differ in case alone."""
    stores_lower_case: ClassVar[bool] = False
    """Whether ASCII letters of unquoted names are stored in lower case."""
    preserves_case: ClassVar[bool] = False
    """Whether unquoted names keep their case."""
    has_unit_words: ClassVar[bool] = False
    """Whether functions take units of time as words."""
    reads_unknown_names_as_text: ClassVar[bool] = False
    """Whether a name in double quotes that is no column is a text."""
    double_quotes_are_text: ClassVar[bool] = False
    """Whether double quotes enclose a text."""
    aliases_hide_columns: ClassVar[bool] = False
    """Whether an alias hides a column of its name in the whole query."""
    enforces_types: ClassVar[bool] = True
    """Whether a column has only values of its type; elsewhere a number is compared with a column of text as a text,
    text is converted to numbers in calculations, and functions of dates read a number as a Julian day.
    """
    ignores_case_of_text: ClassVar[bool] = False
    """Whether text is compared without regard to case."""
    compares_strictly: ClassVar[bool] = False
    """Whether comparisons of text with numbers are rejected; elsewhere text that is no number becomes zero or NULL."""
    rejects_number_for_text: ClassVar[bool] = False
    """Whether a comparison of a text column with a numeric literal is rejected too."""
    has_numeric_booleans: ClassVar[bool] = False
    """Whether Boolean values are numbers."""
    divides_integers: ClassVar[bool] = False
    """Whether `1 / 2` is 0."""
    sums_long_integers_exactly: ClassVar[bool] = False
    """Whether the sum of BIGINT is a NUMERIC."""
    has_time_zones: ClassVar[bool] = True
    """Whether the functions of the current time are in another zone than UTC."""

    # Queries

    groups_strictly: ClassVar[bool] = False
    """Whether incomplete grouping is always rejected. MySQL does so in its default mode, MariaDB does not."""
    grouping_follows_key: ClassVar[bool] = False
    """Whether a grouped primary key determines all columns of its table, by rule or in effect."""
    has_row_of_extreme: ClassVar[bool] = False
    """Whether a single MIN or MAX determines the row of columns that are not grouped."""
    orders_distinct_by_outputs: ClassVar[bool] = False
    """Whether SELECT DISTINCT may be ordered by outputs only."""
    has_ties: ClassVar[bool] = False
    """Whether there is LIMIT or FETCH with WITH TIES."""
    pipes_are_or: ClassVar[bool] = False
    """Whether || is OR."""
    confusion_rank: ClassVar[int] = 0
    """Place among the dialects that models write in place of another, the most frequent first; 0 for the others."""

    # Query specs

    spelling: ClassVar[Spelling | None] = None
    """How query specs are spelled; None if they cannot be compiled for the engine."""

    # Connections and sessions

    driver_arguments: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Arguments of the driver for a connection."""
    pool_options: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Options of SQLAlchemy for the pool of connections."""
    checks_url: ClassVar[bool] = False
    """Whether the dialect of SQLAlchemy reads files with credentials and checks parameters of the URL."""
    closes_slowly: ClassVar[bool] = False
    """Whether closing a cursor reads all rows that are left."""
    needs_parameters_for_options: ClassVar[bool] = False
    """Whether execution options are passed on with parameters only, and %% is then read as %."""

    # Errors

    error_kinds: ClassVar[Mapping[int | str, ErrorKind]] = MappingProxyType(_SQLSTATE_KINDS)
    """The kinds of errors by a number, the name of an exception or result code, or the beginning of a SQLSTATE; by
    default, the SQLSTATE values of the standard and of PostgreSQL."""
    error_causes: ClassVar[Mapping[int | str, str]] = MappingProxyType(_SQLSTATE_CAUSES)
    """Codes of messages why a value cannot be computed, by number or beginning of a SQLSTATE."""
    connection_causes: ClassVar[Mapping[int | str, str]] = MappingProxyType(_CONNECTION_CAUSES)
    """Codes of messages why no connection is opened, by a number, a SQLSTATE, or the name of an exception or result
    code."""

    # System catalogs

    routines: ClassVar[str] = ""
    """Query for the names of user-defined functions, macros, operators and casts; empty if there is none."""
    schema_is_database: ClassVar[bool] = False
    """Whether schemas are databases, of which only that of the URL is read."""
    system_schemas: ClassVar[frozenset[str]] = frozenset(
        {
            "information_schema", "performance_schema", "pg_catalog", "pg_toast", "mysql", "sys", "system", "temp",
            "guest", "account_usage", "snowflake",
        }
    )  # fmt: skip
    """Schemas of engines, which are not part of the catalog and which no statement may read, in lower case."""
    read_only_account: ClassVar[str] = ""
    """Statements that create a read-only account, with `{database}` for the name of the database."""
    statistics: ClassVar[SystemQuery | None] = None
    """Query for schema, name and number of rows of tables, as the engine estimates them."""
    zone: ClassVar[SystemQuery | None] = None
    """Query for the time zone of a session: its name, or the minutes east of UTC."""
    moment_type: ClassVar[str] = ""
    """Beginning of the names of types of moments that do not say so; empty if there are none."""
    has_exact_distances: ClassVar[bool] = False
    """Whether the difference of two moments is the time between them, not between their local times in the session."""

    # Row rules

    has_barrier: ClassVar[bool] = False
    """Whether `with_barrier` has a construct into which no condition of the statement is pushed."""
    barrier_limit: ClassVar[int] = 0
    """Largest number for LIMIT, below which no condition is pushed: it would change the result."""
    text_bytes: ClassVar[str] = ""
    """The text `x` as bytes or in a collation that compares these; empty if text is compared by bytes."""
    names_outputs_by_text: ClassVar[bool] = False
    """Whether an output without an alias is named by its text."""
    max_output_name: ClassVar[int] = 0
    """Maximum length of the names of columns in derived tables, in characters; 0 if there is none."""
    has_only_basic_names: ClassVar[bool] = False
    """Whether names have only characters of the Basic Multilingual Plane."""
    driver_kinds: ClassVar[Mapping[Any, str]] = MappingProxyType({})
    """Types, as the driver codes them, whose values it returns in another form; see `conversions_of`."""

    # Sources over HTTP, and the tables of this project

    store: ClassVar[Store] = Store()
    """How the tables of this project are kept in it."""
    url_options: ClassVar[frozenset[str] | None] = None
    """Options of a URL that an operator may add over HTTP: others can name files, libraries or statements. None if no
    URL is accepted: BigQuery uses the identity of the server, and chDB creates folders."""
    has_form: ClassVar[bool] = False
    """Whether host, port, database and user, or a file, make a URL."""
    covers_grammar: ClassVar[bool] = False
    """Whether statements in no certain dialect are read in this one: together these cover most of the others."""

    def table_name(self, name: str) -> str:
        """Return the name of a table as the engine compares it."""
        return fold_case(name) if self.ignores_case else name

    def stored_name(self, name: exp.Expr) -> str:
        """Return the identifier `name` as the engine looks it up."""
        folds = self.ignores_case or (self.folds_unquoted and not name.args.get("quoted"))
        return fold_case(name.name) if folds else name.name

    @cached_property
    def allowed_functions(self) -> frozenset[str]:
        """Functions that a statement may call, in lower case: `allowed/<dialect>.txt` beside the class or its base."""
        packages = [base.__module__.rpartition(".")[0] for base in type(self).__mro__]
        paths = (files(package) / "allowed" / f"{self.dialect}.txt" for package in packages if package)
        return next((read_names(path) for path in paths if path.is_file()), frozenset())

    def base_name(self, name: str) -> str:
        """Return the name of a called function as `allowed_functions` has it."""
        return name.lower()

    def stored_spelling(self, name: str) -> str:
        """Return an unquoted name as the engine stores it: with ASCII letters in its case."""
        return fold_case(name) if self.stores_lower_case else name

    def folded_for_sqlglot(self, name: Named) -> Named:
        """Return a quoted column or table with names in the case to which sqlglot folds those that refer to it."""
        return normalize_identifiers(name, dialect=self.dialect)

    def accepts_unknown_column(self, column: exp.Column, scope: "Scope") -> bool:
        """Return whether the engine may accept `column`, which no source of `scope` has."""
        return False

    def rewritten_call(self, node: exp.Expr) -> exp.Expr:
        """Return a call of a function that the engine lacks as one that it has; other nodes unchanged."""
        return node

    def period(self, day: exp.Expr, by: str) -> exp.Expr:
        """Return the period of a date, with `by` day, week, month, quarter or year; its first day, or as text."""
        if self.spelling:
            return self.spelling.period_text(self.spelling.as_date(day), by)
        return exp.TimestampTrunc(this=exp.cast(day, "date"), unit=exp.var(by.upper()))

    def day(self, text: str) -> exp.Expr:
        """Return a date, given as ISO text."""
        literal = exp.Literal.string(text)
        return self.spelling.cast(literal, "date") if self.spelling else exp.cast(literal, "date")

    def connection_url(self, url: "URL") -> "URL":
        """Return the URL to connect to for that of a user."""
        return url

    def prepare_pool(self, pool: "SQLAlchemyEngine") -> None:
        """Make the connections of a new pool begin, and end, in the same state.

        The guard parses a statement by the default rules of its dialect. Settings of a server, role, database or URL
        can change these rules for the server (the meaning of a backslash or double quote, or the function that a name
        calls), so sessions are set to the defaults; here already, before SQLAlchemy asks how names are quoted.
        """

    def setup_statements(self, connection: "Connection", limits: Limits) -> tuple[str, ...]:
        """Return the statements that make a session read-only, limit the next statement and set the parser.

        They are constants: no text of a user or model is inserted.
        """
        return ()

    def limit_driver(self, connection: "Connection", limits: Limits) -> dict[str, Any]:
        """Set the limits that the driver enforces; return execution options of the next statement for the others."""
        return {}

    def stop(self, pool: "SQLAlchemyEngine", driver: Any) -> None:
        """Ask the server to stop the statement on the connection `driver`; by default its own limit has to do."""

    def product(self, dialect: "SQLAlchemyDialect") -> str:
        """Return name and version for prompts, from what SQLAlchemy's `dialect` has read of the server."""
        return self.dialect

    @property
    def in_worker(self) -> bool:
        """Whether statements run in a worker process."""
        return bool(self.worker_cursor)

    def default_schema(self, url: "URL") -> str | None:
        """Return the schema of unqualified names; None if SQLAlchemy's inspector reports it."""
        return None

    def user_routines(self, connection: "Connection") -> frozenset[str]:
        """Return the names of user-defined functions, macros, operators and casts; see `ReadableNames.routines`."""
        rows = connection.exec_driver_sql(self.routines).fetchall() if self.routines else []
        names = (str(name).lower() for (name, *_) in rows)
        return frozenset(name if "::" in name else name.rpartition(".")[2] for name in names)

    def composite_fields(self, connection: "Connection") -> frozenset[tuple[str, str]]:
        """Return (column, field) pairs of columns with a composite type or an array of one, in lower case.

        They matter where a field after a dot may be a call.
        """
        return frozenset()

    def composite_types(self, connection: "Connection") -> frozenset[tuple[str, str, str, str]]:
        """Return schema, table, column and type of columns with a type that SQLAlchemy does not know."""
        return frozenset()

    def columns(self, inspector: "Inspector", tables: Sequence[str]) -> Iterable[tuple[Any, list[Any]]] | None:
        """Return each of `tables` of the default schema with its columns as SQLAlchemy does; None to read with it."""
        return None

    def foreign_keys(self, connection: "Connection", tables: Sequence[str]) -> Mapping[Any, list[Any]] | None:
        """Return the foreign keys of `tables` of the default schema as SQLAlchemy does; None to read them with it."""
        return None

    def comments(self, connection: "Connection", tables: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the comments on columns of `tables` of the default schema that SQLAlchemy does not read."""
        return {}

    def storage(self, connection: "Connection", default: str) -> Storage:
        """Return the tables that share rows, as far as the engine reports them.

        Raises:
            SQLAlchemyError: the engine does not answer.
        """
        return Storage()

    def grants(self, connection: "Connection") -> Grants:
        """Return the privileges of the account other than read access."""
        return Grants(known=False)

    def with_barrier(self, rows: exp.Select, cte: str) -> exp.Select:
        """Return the query `rows`, whose condition is a row rule, so that the engine evaluates this one first.

        An optimiser may evaluate conditions in any order and push them into subqueries. A condition that raises an
        error on a hidden row then reveals its contents. `cte` is a name that is free for a common table expression.
        """
        rows.set("limit", exp.Limit(expression=exp.Literal.number(self.barrier_limit)))
        return rows

    def compares_by_bytes(self, types: Iterable[str]) -> bool:
        """Return whether text of these types of columns is compared by bytes."""
        return not self.text_bytes

    def open_file(self, path: str) -> Any:
        """Return a read-only connection of the driver to a database file, for engines that run in workers."""
        raise NotImplementedError(self.name)
