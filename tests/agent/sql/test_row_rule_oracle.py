"""Hidden rows have no effect that a user can see: not on rows, errors or error texts.

Each of 200 statements per engine runs twice: on a table with rows that the rule hides, and on one without them. The
hidden rows contain values on which casts, divisions and patterns fail.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from datasphinx.agent.engines import engine_of
from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sources.reflect import reflect
from datasphinx.agent.sql.compare import is_ordered
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.execute import RowAccess, execute
from datasphinx.agent.sql.row_rules import RowRules
from datasphinx.agent.types import Limits
from tests.support.heavy import heavy, sample
from tests.support.servers import FOUR_ENGINES, SERVERS, administer, prepared

pytestmark = pytest.mark.integration

STATEMENTS = sample(200, 40)
SCHEMAS = {"sqlite": "main", "duckdb": "main", "postgres": "public"}

COLUMNS = {
    "id": "INT PRIMARY KEY", "region": "VARCHAR(20)", "owner": "VARCHAR(20)", "team": "VARCHAR(20)", "level": "INT",
    "active": "BOOLEAN", "closed": "VARCHAR(20)", "note": "VARCHAR(60)", "mixed": "VARCHAR(60)", "divisor": "INT",
    "big": "BIGINT", "pattern": "VARCHAR(20)", "doc": "VARCHAR(60)", "path": "VARCHAR(20)", "day": "VARCHAR(20)",
    "mark": "VARCHAR(5)",
}  # fmt: skip
"""Every rule tells rows apart by the first seven columns; statements compute with the others."""

VISIBLE = ("n", "ann", "north-1", 3, True, None)
HIDDEN = ("s", "eve", "south-1", 30, False, "yes")
GOOD = [
    ("5", "7", 2, 3, "a", '{"a": 1}', "$.a", "2024-02-03", "!"),
    ("12", "8", 5, 11, "b+", "[1, 2]", "$.b", "2023-12-31", "?"),
    ("40", "abc", 7, 20, "[ab]", '{"a": 40}', "$[0]", "2020-01-01", "#"),
]
BAD = [
    ("secret-alpha", "secret-alpha", 0, -(2**63), "(", "{secret", "secret", "2024-99-99", "!!"),
    ("12x", "9", 0, 2**62, "[z", "not json", "$[", "yesterday", "??"),
    ("", "", -1, 5_000_000_000, "*", "", "", "", ""),
    ("99999999999999999999", "1", 0, -1, "a{2,1}", "{", "$..", "0000-00-00", "##"),
]
RULES = [
    "region = :region",
    "region IN ('n', 'm')",
    "region = :region OR region = 'm' OR owner = 'nobody'",
    "LOWER(TRIM(region)) = :region",
    "COALESCE(NULLIF(region, ''), 'z') = 'n'",
    "EXISTS (SELECT 1 FROM ro_staff WHERE ro_staff.name = ro_deals.owner)",
    "owner IN (SELECT name FROM ro_staff WHERE ro_staff.region = :region)",
    "owner NOT IN (SELECT name FROM ro_former)",
    "(SELECT COUNT(*) FROM ro_staff WHERE ro_staff.name = ro_deals.owner) > 0",
    "level BETWEEN 1 AND 9",
    "level >= 1 AND level < 10",
    "team LIKE 'north%'",
    "closed IS NULL",
    "closed IS NULL AND region = :region",
    "active",
    "NOT (region <> 'n' OR level > 9)",
    "CASE WHEN region = 'n' THEN 1 ELSE 0 END = 1",
    "id IN (SELECT deal FROM ro_shared)",
    "EXISTS (SELECT 1 FROM ro_shared AS shared WHERE shared.deal = ro_deals.id)",
    "NOT EXISTS (SELECT 1 FROM ro_former WHERE ro_former.name = ro_deals.owner)",
    "level < (SELECT MAX(other.level) FROM ro_staff AS other WHERE other.region <> ro_deals.team) + 3",
]
_SEVERAL_ROWS = "(SELECT ro_staff.level FROM ro_staff WHERE ro_staff.region = t.region)"
EXPRESSIONS = {
    "sqlite": [
        "JSON_EXTRACT(t.doc, '$.a')", "JSON_EXTRACT('{}', t.path)", "ABS(t.big)", "JSON_ARRAY_LENGTH(t.doc)",
        "LENGTH(JSON(t.doc))", "JSON_EXTRACT(t.mixed, '$')", _SEVERAL_ROWS,
        "JSON_TYPE(t.doc, t.path)",
    ],
    "duckdb": [
        "CAST(t.note AS INT)", "CAST(t.mixed AS INT)", "t.big * t.big", "YEAR(CAST(t.day AS DATE))", _SEVERAL_ROWS,
        "CASE WHEN REGEXP_MATCHES('aab', t.pattern) THEN 1 ELSE 0 END", "CAST(t.big AS INT)", "LN(t.divisor)",
        "SQRT(t.divisor)", "CHR(CAST(t.big AS INT))", "YEAR(STRPTIME(t.day, '%Y-%m-%d'))", "ABS(t.big)",
    ],
    "postgres": [
        "CAST(t.note AS INT)", "CAST(t.mixed AS INT)", "100 / t.divisor", "100 % t.divisor", "t.big * t.big",
        "EXP(t.big)", "LN(t.divisor)", "SQRT(t.divisor)", "LENGTH(REGEXP_REPLACE('aab', t.pattern, ''))",
        "CASE WHEN 'aab' ~ t.pattern THEN 1 ELSE 0 END", "LENGTH(CAST(CAST(t.doc AS JSONB) AS TEXT))", _SEVERAL_ROWS,
        "EXTRACT(YEAR FROM CAST(t.day AS DATE))", "CAST(t.big AS INT)", "CAST(t.note AS NUMERIC)",
        "CASE WHEN t.note LIKE 's%t\\' THEN 1 ELSE 2 END", "POWER(t.divisor, -1)", "CHR(CAST(t.big AS INT))",
    ],
    "mysql": [
        "EXP(t.big)", "EXP(IF(t.note LIKE 'secret%', 1000, 1))", "t.big * 9223372036854775807", _SEVERAL_ROWS,
        "(t.note REGEXP t.pattern)", "POW(t.big, 300)", "COT(t.divisor)", "ABS(t.big)",
        "LENGTH(ST_GEOMFROMTEXT(t.doc))",
        "IF(t.note LIKE 'secret-a%', (SELECT 1 UNION ALL SELECT 2), 1)", "JSON_EXTRACT(t.doc, t.path)",
        "(t.big + 9223372036854775000)", "(t.mixed REGEXP t.mixed)",
    ],
}  # fmt: skip
for _expressions in EXPRESSIONS.values():
    _expressions += ["t.big", "t.divisor"]
TEMPLATES = [
    "SELECT COUNT(*) FROM ro_deals t WHERE {e} > 0",
    "SELECT COUNT(*) FROM ro_deals t WHERE t.id = 2 AND {e} > 0",
    "SELECT t.id FROM ro_deals t WHERE t.note LIKE 'secret%' AND {e} > 0 ORDER BY t.id",
    "SELECT COUNT(*) FROM ro_deals t WHERE t.region = 's' OR {e} > 0",
    "SELECT COUNT(*) FROM ro_deals t WHERE NOT ({e} > 0 AND t.region = 'n')",
    "SELECT t.id, {e} FROM ro_deals t ORDER BY t.id",
    "SELECT t.id FROM ro_deals t ORDER BY {e}, t.id",
    "SELECT {e} AS v, COUNT(*) FROM ro_deals t GROUP BY {e} ORDER BY 1",
    "SELECT t.region, COUNT(*) FROM ro_deals t GROUP BY t.region HAVING MAX({e}) > 0",
    "SELECT t.region FROM ro_deals t GROUP BY t.region, t.note HAVING t.region = 'n' AND COUNT({e}) > 0",
    "SELECT COUNT(*) FROM ro_staff s JOIN ro_deals t ON {e} > s.level",
    "SELECT COUNT(*) FROM ro_staff s LEFT JOIN ro_deals t ON t.owner = s.name AND {e} > 0",
    "SELECT COUNT(*) FROM ro_deals t JOIN ro_staff s ON s.name = t.owner WHERE {e} > s.level",
    "SELECT COUNT(*) FROM ro_deals t JOIN ro_deals u ON u.id = t.id WHERE {e} > 0",
    "SELECT SUM(CASE WHEN t.region = 's' THEN {e} ELSE 0 END) FROM ro_deals t",
    "SELECT COUNT(*) FROM ro_deals t WHERE CASE WHEN t.region = 's' THEN {e} ELSE 1 END > 0",
    "SELECT COUNT(*) FILTER (WHERE {e} > 0) FROM ro_deals t",
    "SELECT t.id, RANK() OVER (ORDER BY {e}) FROM ro_deals t ORDER BY t.id",
    "SELECT COUNT(*) FROM ro_staff s WHERE EXISTS (SELECT 1 FROM ro_deals t WHERE t.owner = s.name AND {e} > 0)",
    "SELECT COUNT(*) FROM ro_staff s WHERE s.level IN (SELECT {e} FROM ro_deals t)",
    "SELECT s.name FROM ro_staff s WHERE s.level < (SELECT MAX({e}) FROM ro_deals t WHERE t.id > 1) ORDER BY s.name",
    "WITH x AS (SELECT t.id, {e} AS v FROM ro_deals t) SELECT COUNT(*) FROM x WHERE v > 0",
    "SELECT x.id FROM (SELECT t.id, t.region, {e} AS v FROM ro_deals t) x WHERE x.region = 's' OR v > 0 ORDER BY 1",
    "SELECT t.id FROM ro_deals t WHERE {e} > 0 UNION ALL SELECT t.id FROM ro_deals t WHERE {e} < 0 ORDER BY 1",
    "SELECT DISTINCT {e} AS v FROM ro_deals t ORDER BY 1",
    "SELECT t.id FROM ro_deals t WHERE t.id IN (SELECT u.id FROM ro_deals u WHERE u.big <> 0) AND {e} > 0 ORDER BY 1",
]  # fmt: skip
LEAKS = {
    "sqlite": (RULES[5], "SELECT COUNT(*) FROM ro_deals t WHERE JSON_EXTRACT(t.doc, '$.a') > 0"),
    "postgres": (RULES[5], "SELECT COUNT(*) FROM ro_deals t WHERE CAST(t.note AS INT) > 0"),
    "mysql": (RULES[0], "SELECT t.id FROM ro_deals t WHERE t.id = 1 AND EXP(IF(t.note LIKE 'secret-a%', 1000, 1)) > 0"),
}
"""Statements that tell what is in a hidden row, where nothing keeps their conditions from it."""
LIMITS = Limits(20, 1000)

Outcome = tuple[Any, ...]


@contextmanager
def tables(name: str, folder: Path, *, hidden: bool) -> Iterator[tuple[Database, Catalog]]:
    """Create the tables on one engine, with or without the hidden rows."""
    url = SERVERS.get(name) or f"{name}:///{folder}/{'all' if hidden else 'visible'}.{name}"
    drop = ["DROP TABLE IF EXISTS ro_deals, ro_staff, ro_former, ro_shared"] if name in SERVERS else []
    with prepared(url, drop=drop) as made:
        fill(made, name, hidden=hidden)
        made.dispose()
        database = Database(url)
        yield database, reflect(database, schemas=[SCHEMAS[name]] if name in SCHEMAS else None)
        database.engine.dispose()


def fill(made: Engine, name: str, *, hidden: bool) -> None:
    with made.begin() as connection:
        columns = ", ".join(f"{column} {kind}" for column, kind in COLUMNS.items())
        connection.execute(text(f"CREATE TABLE ro_deals ({columns})"))
        connection.execute(text("CREATE TABLE ro_staff (name VARCHAR(20), region VARCHAR(20), level INT)"))
        connection.execute(text("CREATE TABLE ro_former (name VARCHAR(20))"))
        connection.execute(text("CREATE TABLE ro_shared (deal INT)"))
        connection.execute(text("INSERT INTO ro_staff VALUES ('ann', 'n', 3), ('bob', 's', 4), ('cat', 's', 5)"))
        connection.execute(text("INSERT INTO ro_former VALUES ('eve')"))
        rows = [row for pair in zip([*BAD], [*GOOD, GOOD[0]], strict=True) for row in pair]
        values = ", ".join(f":{column}" for column in COLUMNS)
        for number, row in enumerate([*rows, *rows], 1):
            visible = row in GOOD
            if visible or hidden:
                cells = (number, *(VISIBLE if visible else HIDDEN), *row)
                connection.execute(
                    text(f"INSERT INTO ro_deals VALUES ({values})"), dict(zip(COLUMNS, cells, strict=True))
                )
            if visible:
                connection.execute(text("INSERT INTO ro_shared VALUES (:deal)"), {"deal": number})
    if name in SERVERS:
        # Statistics with hidden values, and the plans that depend on them.
        administer(made, "ANALYZE ro_deals" if name == "postgres" else "ANALYZE TABLE ro_deals")


def statements(name: str) -> list[tuple[str, str]]:
    """Return reproducible pairs of a rule and a statement that cover every rule and template."""
    chosen = random.Random(f"row rules on {name}")
    templates = [template for template in TEMPLATES if name != "mysql" or "FILTER" not in template]
    pairs = list(product(RULES, templates))
    chosen.shuffle(pairs)
    return [(rule, sql.replace("{e}", chosen.choice(EXPRESSIONS[name]))) for rule, sql in pairs[:STATEMENTS]]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bool], list[Outcome]]:
    """Return the visible outcome of each statement on one engine, with or without the hidden rows."""

    @cache
    def outcomes(name: str, hidden: bool) -> list[Outcome]:
        with tables(name, tmp_path_factory.mktemp(name), hidden=hidden) as (database, catalog):
            rules = {rule: RowRules({"ro_deals": rule}, catalog.dialect, catalog) for rule in RULES}
            return [
                outcome(sql, database, catalog, RowAccess(rules[rule], {"region": "n"}))
                for rule, sql in statements(name)
            ]

    return outcomes


def outcome(sql: str, database: Database, catalog: Catalog, access: RowAccess) -> Outcome:
    try:
        rows = execute(sql, database, catalog, LIMITS, access=access)["rows"]
        # Without ORDER BY the order depends on the plan, which depends on statistics.
        return "rows", rows if is_ordered(sql, catalog.dialect) else sorted(rows, key=repr)
    except DatasphinxError as error:
        assert error.__cause__ is None and error.__context__ is None
        return "error", error.code, str(error)


@pytest.mark.parametrize("name", ["sqlite", *heavy("duckdb", "postgres", "mysql")])
def test_hidden_rows_change_neither_rows_nor_errors(name: str, seen: Callable[[str, bool], list[Outcome]]) -> None:
    compared = zip(statements(name), seen(name, True), seen(name, False), strict=True)

    assert [(*statement, one, other) for statement, one, other in compared if one != other] == []


@pytest.mark.parametrize("name", ["sqlite", *heavy("duckdb", "postgres", "mysql")])
def test_the_statements_are_worth_running(name: str, seen: Callable[[str, bool], list[Outcome]]) -> None:
    codes = [found[1] for found in seen(name, False) if found[0] == "error"]

    assert codes.count("statement_failed") > STATEMENTS / 50
    assert set(codes) <= {"statement_failed"}
    assert len(codes) < STATEMENTS / 2


@pytest.mark.parametrize("name", ["sqlite", *FOUR_ENGINES[-2:]])
def test_without_the_barrier_a_user_sees_them(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(engine_of(name)), "with_barrier", lambda engine, rows, cte: rows)
    rule, sql = LEAKS[name]
    outcomes = []
    for hidden in (True, False):
        with tables(name, tmp_path, hidden=hidden) as (database, catalog):
            access = RowAccess(RowRules({"ro_deals": rule}, catalog.dialect, catalog), {"region": "n"})
            outcomes.append(outcome(sql, database, catalog, access))

    assert outcomes[0] != outcomes[1]
