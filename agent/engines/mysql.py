"""MySQL and MariaDB, which have one dialect."""

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import TokenType

from datasphinx.agent.engines.base import (
    CONNECT_TIMEOUT_S,
    STOP_S,
    Engine,
    EngineStatus,
    Storage,
    SystemQuery,
    at_connect,
    timeout_of,
    with_version,
)
from datasphinx.agent.engines.privileges import Grants, shown_grants
from datasphinx.agent.engines.spelling import ISO_FORMATS, Spelling, function_call
from datasphinx.agent.engines.store import Store
from datasphinx.agent.types import Limits

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy import Dialect as SQLAlchemyDialect
    from sqlalchemy import Engine as SQLAlchemyEngine
    from sqlalchemy.types import TypeEngine


class _Spelling(Spelling):
    dialect = "mysql"
    types = {"number": "DOUBLE", "date": "DATE", "datetime": "DATETIME(6)", "text": "CHAR"}
    integer = "SIGNED"
    formatter = "DATE_FORMAT"
    formats = {**ISO_FORMATS, "week": "%x-W%v"}
    lacks = frozenset({"percentile"})
    crowds_windows = True
    formulas = {
        **{part: f"{part.upper()}(x)" for part in ("year", "quarter", "month", "day", "hour", "minute")},
        "iso_week": "WEEK(x, 3)",
        "weekday": "(WEEKDAY(x) + 1)",
        "seconds_of_time": "TIME_TO_SEC(x)",
        "seconds": "TO_SECONDS(x)",
        "duration": "SEC_TO_TIME(x)",
        "days_between": "DATEDIFF(stop, start)",
        "length": "CHAR_LENGTH(x)",
        "initcap": "(SELECT GROUP_CONCAT(CONCAT(UPPER(SUBSTRING(word, 1, 1)), SUBSTRING(word, 2)) "
        "ORDER BY place SEPARATOR ' ') FROM JSON_TABLE(CONCAT('[', REPLACE(JSON_QUOTE(x), ' ', '\",\"'), ']'), "
        "'$[*]' COLUMNS(place FOR ORDINALITY, word TEXT PATH '$')) AS words)",
    }

    def concatenate(self, parts: Sequence[exp.Expr]) -> exp.Expr:
        return function_call("CONCAT", *parts)

    def nulls_last(self, terms: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Sort by a condition first: MariaDB has no NULLS LAST, and sqlglot no translation in windows."""
        made: list[exp.Expr] = []
        for term in terms:
            is_descending = term.args.get("desc")
            if not is_descending:
                is_null = self.formula("CASE WHEN x IS NULL THEN 1 ELSE 0 END", x=term.this)
                made.append(exp.Ordered(this=is_null, nulls_first=True))
            made.append(exp.Ordered(this=term.this.copy(), desc=is_descending, nulls_first=not is_descending))
        return made


class _IntervalFunction(Parser):
    """Parser of INTERVAL(n, 1, 10) as a call."""

    def _parse_interval(self, require_interval: bool = True, parse_function_unit: bool = True) -> Any:
        index = self._index
        if self._match_pair(TokenType.INTERVAL, TokenType.L_PAREN):
            arguments = self._parse_csv(self._parse_disjunction)
            if len(arguments) > 1 and self._match(TokenType.R_PAREN):
                return exp.Anonymous(this="INTERVAL", expressions=arguments)
            self._retreat(index)
        return super()._parse_interval(require_interval, parse_function_unit)


_MODES = (
    "ANSI_QUOTES", "PIPES_AS_CONCAT", "NO_BACKSLASH_ESCAPES", "IGNORE_SPACE", "HIGH_NOT_PRECEDENCE",
    "EMPTY_STRING_IS_NULL", "ANSI", "ORACLE", "MSSQL", "DB2", "POSTGRESQL", "MAXDB", "MYSQL323", "MYSQL40",
)  # fmt: skip
"""SQL modes of MySQL and MariaDB that affect parsing, and combinations that contain one of them."""


_TABLES = """
    SELECT table_schema, table_name, engine FROM information_schema.tables
    WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')
    AND table_schema NOT IN ('mysql', 'performance_schema', 'sys')"""
_LOCAL_ENGINES = {
    "INNODB", "MYISAM", "ARIA", "MEMORY", "HEAP", "ARCHIVE", "CSV", "ROCKSDB", "TOKUDB", "COLUMNSTORE", "S3", "NDB",
    "NDBCLUSTER",
}  # fmt: skip
"""Storage engines whose tables hold their own rows, unlike MRG_MYISAM, FEDERATED, CONNECT or SPIDER."""


class _Store(Store):
    commits_ddl = True

    def arguments(self, connect_s: int, response_s: int) -> dict[str, Any]:
        """Limit the connection, reading and writing."""
        return {"connect_timeout": connect_s, "read_timeout": response_s, "write_timeout": response_s}

    def long_text(self) -> "TypeEngine[str]":
        """Return the type for more than 64 KB."""
        from sqlalchemy.dialects.mysql import LONGTEXT

        return LONGTEXT()


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
    parser_mixins = (_IntervalFunction,)
    transforms = {exp.RegexpLike: lambda self, node: self.binary(node, "REGEXP")}
    preserves_case = True
    double_quotes_are_text = True
    ignores_case_of_text = True
    has_numeric_booleans = True
    grouping_follows_key = True
    pipes_are_or = True
    confusion_rank = 1
    spelling = _Spelling()
    closes_slowly = True
    # From the server error references of MySQL and MariaDB.
    error_kinds = {
        **dict.fromkeys((1044, 1045, 1142, 1143, 1227, 1370, 1410), "permission"),
        **dict.fromkeys((1052, 1054, 1049, 1051, 1109, 1146, 1305), "unknown name"),
        **dict.fromkeys((1292, 1366, 1367, 1411), "type"),
        **dict.fromkeys((1064, 1055, 1140, 1149, 1248), "syntax"),
        **dict.fromkeys((1205, 1317, 1969, 3024), "timeout"),
        **dict.fromkeys((1040, 1053, 1927, 2002, 2003, 2006, 2013), "connection"),
        **dict.fromkeys((1021, 1037, 1038, 1041, 1114, 1104, 3), "resource"),
    }
    error_causes = {
        1365: "division_by_zero",
        **dict.fromkeys((1264, 1690), "number_out_of_range"),
        **dict.fromkeys((1292, 1366, 1411), "value_not_converted"),
        **dict.fromkeys((1139, *range(3685, 3700)), "regex_invalid"),
        **dict.fromkeys((*range(3140, 3160), *range(4035, 4043)), "json_invalid"),
        1242: "subquery_rows",
        **dict.fromkeys((1210, 1367, 1416, 3037, 3055, 4079), "argument_invalid"),
    }
    connection_causes = {
        **dict.fromkeys((3159, 4151), "tls_required"),
        **dict.fromkeys((1044, 1045, 1129, 1130, 1698), "account_refused"),
        **dict.fromkeys((1040, 1203, 1226), "connections_exhausted"),
        1049: "database_unknown",
    }
    # In character sets such as gbk, a backslash may be the second byte of a character.
    driver_arguments = {"connect_timeout": CONNECT_TIMEOUT_S, "charset": "utf8mb4"}
    routines = "SELECT routine_name FROM information_schema.routines WHERE routine_schema = DATABASE()"
    schema_is_database = True
    read_only_account = """CREATE USER 'datasphinx'@'%' IDENTIFIED BY '...';
GRANT SELECT, SHOW VIEW ON `{database}`.* TO 'datasphinx'@'%';"""
    statistics = SystemQuery(
        "SELECT table_schema, table_name, table_rows FROM information_schema.tables WHERE table_type = 'BASE TABLE'",
        "tables",
        "information_schema",
        ("table_schema", "table_name", "table_rows", "table_type"),
    )
    zone = SystemQuery("SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW()) AS zone")
    moment_type = "timestamp"
    text_bytes = "CAST(CONVERT(x USING utf8mb4) AS BINARY)"
    names_outputs_by_text = True
    max_output_name = 64
    has_only_basic_names = True
    driver_kinds = {11: "clock", 16: "bits"}
    has_barrier = True
    barrier_limit = 2**64 - 1
    url_options = frozenset({"charset"})
    has_form = True
    store = _Store()
    covers_grammar = True

    def prepare_pool(self, pool: "SQLAlchemyEngine") -> None:
        """Set the parser."""
        at_connect(pool, _parser_settings())

    def setup_statements(self, connection: "Connection", limits: Limits) -> tuple[str, ...]:
        """Begin a read-only transaction with a time limit."""
        timeout_s = timeout_of(limits)
        mariadb = getattr(connection.dialect, "is_mariadb", False)
        limit = f"max_statement_time = {timeout_s}" if mariadb else f"max_execution_time = {int(timeout_s * 1000)}"
        # Set for the session, since DDL ends a transaction that was started as read-only.
        return (
            f"{_parser_settings()}, SESSION {limit}",
            "SET SESSION TRANSACTION READ ONLY",
            "ROLLBACK",
            "START TRANSACTION",
        )

    def stop(self, pool: "SQLAlchemyEngine", driver: Any) -> None:
        """Kill the statement on another connection."""
        positional, named = pool.dialect.create_connect_args(pool.url)
        connection: Any = pool.dialect.connect(*positional, **{**named, "connect_timeout": STOP_S})
        with closing(connection), connection.cursor() as cursor:
            cursor.execute(f"KILL QUERY {int(driver.thread_id())}")

    def product(self, dialect: "SQLAlchemyDialect") -> str:
        """Return the name with the version of the server: both have one dialect, but not the same functions."""
        return with_version("MariaDB" if getattr(dialect, "is_mariadb", False) else "MySQL", dialect)

    def storage(self, connection: "Connection", default: str) -> Storage:
        """Return the tables whose storage engine does not hold their rows."""
        rows = connection.exec_driver_sql(_TABLES)
        return Storage(
            shared=frozenset((str(s), str(n)) for s, n, engine in rows if str(engine).upper() not in _LOCAL_ENGINES)
        )

    def grants(self, connection: "Connection") -> Grants:
        """Read SHOW GRANTS; named locks are open to every account."""
        return Grants(shown_grants(connection), ("named locks (GET_LOCK)",))


class MariaDB(MySQL):
    """MariaDB, with PyMySQL."""

    name = "mariadb"
    driver = "mariadb+pymysql"
    status = "tested"


def _parser_settings() -> str:
    """Return a SET statement that removes only the modes above; further assignments may be appended."""
    modes = "CONCAT(',', @@SESSION.sql_mode, ',')"
    for mode in _MODES:
        modes = f"REPLACE({modes}, ',{mode},', ',')"
    character_sets = "character_set_client = utf8mb4, SESSION character_set_results = utf8mb4"
    return f"SET SESSION sql_mode = TRIM(BOTH ',' FROM {modes}), SESSION {character_sets}, SESSION sql_auto_is_null = 0"
