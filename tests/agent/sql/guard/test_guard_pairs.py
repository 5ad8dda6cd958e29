"""Verdicts of the guard on ordinary and forbidden statements of four engines; accepted ones keep their meaning."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from datasphinx.agent.engines import engine_of
from datasphinx.agent.sql.guard import RULES, check, sanitize, stop_words
from tests.agent.sql.guard.engines import ENGINES, MARKS, Run, running
from tests.fixtures import Pair, read_pairs
from tests.support import function_lists

DIALECTS = ("sqlite", "postgres", "mysql", "duckdb")
NAMES = ("customers", "orders", "products", "order_items", "events", "employees")
TABLES = {*NAMES, *(f"{schema}.{name}" for schema in ("main", "public") for name in NAMES)}
ALLOWED = [(dialect, pair) for dialect in DIALECTS for pair in read_pairs(f"guard/allowed_{dialect}.sql")]
REFUSED = [
    (dialect, pair)
    for dialect in (*DIALECTS, "clickhouse", "spark", "trino")
    for pair in read_pairs(f"guard/refused_{dialect}.sql")
]


def shown(case: tuple[str, Pair]) -> str:
    return f"{case[0]}: {case[1].sql[:60]}"


@pytest.mark.parametrize("case", REFUSED, ids=shown)
def test_forbidden_statements_are_refused_by_name(case: tuple[str, Pair]) -> None:
    dialect, pair = case
    findings = check(pair.sql, dialect, TABLES)
    rule, _, word = pair.expected.partition(" ")

    assert rule in {finding.rule for finding in findings}
    assert not word or word in stop_words(findings)


LIKE_READABLE = {"orders", "hr.employees", "tokens"}


@pytest.mark.parametrize(
    ("dialect", "table", "names"),
    [
        # Files and system tables are refused without a schema too.
        ("duckdb", "'x.csv'", None),
        ("duckdb", "x.csv", None),
        ("spark", "csv.`x.csv`", None),
        ("sqlite", "dbstat", None),
        ("trino", "system.runtime.queries", None),
        ("trino", '"orders$files"', None),
        ("postgres", "pg_catalog.pg_authid", None),
        # These names only look like those of readable tables.
        ("postgres", '"ORDERS"', LIKE_READABLE),
        ("postgres", '"hr.employees"', LIKE_READABLE),
        ("mysql", "ORDERS", LIKE_READABLE),
        ("sqlite", '"hr.employees"', LIKE_READABLE),
        ("duckdb", "to\u212aens", LIKE_READABLE),
    ],
)
def test_other_tables_are_refused(dialect: str, table: str, names: set[str] | None) -> None:
    assert {finding.rule for finding in check(f"SELECT * FROM {table}", dialect, names)} == {"catalog_tables"}


def test_names_are_compared_as_the_engine_folds_them() -> None:
    assert check("SELECT * FROM Orders", "postgres", {"orders"}) == ()
    assert check('SELECT * FROM "Orders"', "postgres", {"Orders"}) == ()
    assert check("SELECT * FROM [ORDERS]", "sqlite", {"orders"}) == ()
    assert check('SELECT * FROM HR."Employees"', "duckdb", {"hr.employees"}) == ()


@pytest.mark.parametrize("case", ALLOWED, ids=shown)
def test_ordinary_statements_are_approved_and_again_as_they_stand_then(case: tuple[str, Pair]) -> None:
    text, findings = sanitize(case[1].sql, case[0], TABLES)

    assert findings == ()
    assert sanitize(text, case[0], TABLES) == (text, ())


@pytest.fixture(params=[each for each in ENGINES if each.values != ("clickhouse",)], scope="module")
def live(request: pytest.FixtureRequest) -> Iterator[tuple[str, Run]]:
    """An engine with the shop tables."""
    with running(request.param, shop(request.param), "guard_pairs") as run:
        yield request.param, run


def shop(dialect: str) -> list[str]:
    """Statements that create the tables of the pairs, with a few rows."""
    moment = {"sqlite": "TEXT", "mysql": "DATETIME"}.get(dialect, "TIMESTAMP")
    json_type = {"sqlite": "TEXT", "postgres": "JSONB"}.get(dialect, "JSON")
    statements = (Path(__file__).resolve().parents[3] / "fixtures/guard/shop.sql").read_text(encoding="utf-8")
    return [
        part.replace("MOMENT", moment).replace("DOCUMENT", json_type)
        for part in statements.split(";\n")
        if part.strip()
    ]


def test_what_runs_says_the_same_as_what_was_written(live: tuple[str, Run]) -> None:
    dialect, run = live
    different = []
    for pair in (pair for name, pair in ALLOWED if name == dialect):
        try:
            before, after = (
                sorted(map(str, run(sql)[1])) for sql in (pair.sql, sanitize(pair.sql, dialect, TABLES)[0])
            )
        except Exception as error:
            different.append((pair.sql, str(error)))
            continue
        if before != after and "random" not in pair.expected:
            different.append((pair.sql, f"{before[:2]} {after[:2]}"))
    assert different == []


# Function lists

MUST_NOT = {
    "sqlite": {"load_extension", "zeroblob", "randomblob", "readfile", "writefile", "fts3_tokenizer", "changes"},
    "postgres": {"pg_sleep", "set_config", "current_setting", "nextval", "lo_export", "pg_notify", "query_to_xml",
                 "pg_read_file", "dblink", "txid_current", "version", "array_fill", "ts_stat", "setseed"},
    "mysql": {"sleep", "benchmark", "load_file", "get_lock", "release_lock", "nextval", "user", "database", "version",
              "last_insert_id", "updatexml", "master_pos_wait", "connection_id", "is_free_lock"},
    "duckdb": {"read_csv", "read_text", "getenv", "current_setting", "getvariable", "nextval", "sleep_ms", "write_log",
               "query", "query_table", "glob", "json_execute_serialized_sql", "list_resize", "version"},
    "clickhouse": {"sleep", "sleepeachrow", "file", "url", "remote", "dictget", "currentuser", "hostname", "getsetting",
                   "joinget", "throwif", "version", "getmacro", "catboostevaluate", "filesystemavailable"},
    "spark": {"reflect", "java_method", "current_user", "input_file_name", "version", "raise_error", "read_files"},
    "trino": {"current_user", "query", "system", "fail", "version"},
}  # fmt: skip


@pytest.mark.parametrize("dialect", MUST_NOT)
def test_no_list_has_what_acts_or_tells_of_the_session(dialect: str) -> None:
    names = engine_of(dialect).allowed_functions

    assert len(names) > 100
    assert not names & MUST_NOT[dialect]


SOURCES: dict[str, Callable[[], list[function_lists.Function]]] = {
    name: lambda read=read: list(read())  # type: ignore[misc]
    for name, read in function_lists.SOURCES.items()
    if find_spec({"duckdb": "duckdb", "clickhouse": "chdb"}.get(name, "sqlalchemy"))
}


@pytest.mark.parametrize(
    "dialect", [pytest.param(name, marks=[MARKS[name]] if name in MARKS else []) for name in SOURCES]
)
def test_the_list_has_no_function_that_its_engine_calls_impure(dialect: str) -> None:
    """The list may also contain functions of other versions, which `SYNTAX` names."""
    try:
        functions = SOURCES[dialect]()
    except OperationalError as error:
        pytest.skip(f"no {dialect} server answers: {error.orig}")
    generated, stored = set(function_lists.harmless(dialect, functions)), engine_of(dialect).allowed_functions
    dangerous = {each.name.lower() for each in functions if function_lists.danger(each)}

    assert stored & dangerous - set(function_lists.SYNTAX[dialect].split()) == set()
    assert len(stored & generated) > 0.8 * len(generated | stored)


@pytest.mark.parametrize(
    "function",
    [
        function_lists.Function("ts_stat", False, ("query",), ("text",)),
        function_lists.Function("stable_query", True, ("query",), ("text", "xml")),
        function_lists.Function("table_size", True, ("tbl",), ("text", "bigint")),
        function_lists.Function("relation_size", True, (), ("regclass", "bigint")),
        function_lists.Function("read_config", True, ("path",), ("text", "text")),
        function_lists.Function("dict_get", True, ("dict_name", "key"), ()),
        function_lists.Function("apply_all", True, ("list", "function_name"), ()),
    ],
    ids=lambda function: function.name,
)
def test_a_function_is_left_off_the_list_by_its_properties(function: function_lists.Function) -> None:
    harmless = function_lists.Function(function.name, True, ("x",), ("text", "text"))

    assert function_lists.danger(function)
    assert function.name not in function_lists.harmless("postgres", [function, harmless])
    assert function.name in function_lists.harmless("postgres", [harmless])


def test_each_rule_of_the_guard_stops_a_statement_of_the_pairs() -> None:
    seen = {pair.expected.split()[0] for _, pair in REFUSED}
    reported_otherwise = {
        "listed_sources",
        "no_bare_table_lists",
        "no_attribute_calls",
        "no_user_casts",
        "known_clauses",
    }
    rules = {rule.__name__ for rule in RULES} - reported_otherwise - {"known_clauses"}

    assert rules <= seen | {"single_statement"}
