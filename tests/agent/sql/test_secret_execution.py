"""Statements on secret columns of a DuckDB file: errors, column names and the record."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from datasphinx.agent.errors import DatasphinxError, StatementFailed, StatementRefused
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.support.databases import open_url
from tests.support.steps import recorded

pytestmark = pytest.mark.integration

MARK = "swordfish"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with two secret columns, which no test changes."""
    path = tmp_path_factory.mktemp("secret") / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE customers (id INTEGER, name VARCHAR, email VARCHAR, salary INTEGER)")
        connection.execute(f"INSERT INTO customers VALUES (1, 'Ann', '{MARK}@x.io', 4321)")
        connection.execute("CREATE TABLE other (id INTEGER, email INTEGER)")
        connection.execute("INSERT INTO other VALUES (1, 2)")
        connection.execute("CREATE TABLE notes (id INTEGER, note VARCHAR)")
        connection.execute("INSERT INTO notes VALUES (1, 'hello')")
    return path


@contextmanager
def opened(path: Path, **settings: Any) -> Iterator[Source]:
    source = open_url(
        f"duckdb:///{path}", Limits(20, 100), secret_columns=["customers.email", "customers.salary"], **settings
    )
    yield source
    source.close()


@pytest.fixture(scope="module")
def source(path: Path) -> Iterator[Source]:
    with opened(path) as source:
        yield source


@pytest.fixture(scope="module")
def ruled(path: Path) -> Iterator[Source]:
    """The file with row rules."""
    with opened(path, row_rules={"notes": "id = 1"}) as source:
        yield source


ERRORS = [
    "SELECT CAST(email || ' permission denied' AS INTEGER) FROM customers",
    "SELECT CAST(email || ' interrupted' AS INTEGER) FROM customers",
    "SELECT CAST(email || ''' permission denied ''' AS INTEGER) FROM customers",
    "SELECT COUNT(*) FROM customers NATURAL JOIN other",
    "SELECT CAST(COLUMNS('em.*') AS INTEGER) FROM customers",
    "SELECT CAST(COLUMNS(x -> x LIKE 'em%') AS INTEGER) FROM customers",
    "SELECT CAST(#3 AS INTEGER) FROM customers",
    "SELECT CAST(c AS INTEGER) FROM (SELECT email AS c FROM customers) AS t",
]


@pytest.mark.parametrize("sql", ERRORS)
@pytest.mark.parametrize("name", ["source", "ruled"])
def test_errors_do_not_quote_values(
    request: pytest.FixtureRequest, name: str, sql: str, caplog: pytest.LogCaptureFixture
) -> None:
    source: Source = request.getfixturevalue(name)
    with recorded() as (step, events), pytest.raises(DatasphinxError) as caught:
        source.execute(sql)
    error = caught.value
    assert isinstance(error, StatementFailed | StatementRefused)
    assert error.__cause__ is None and error.__context__ is None
    shown = [str(error), error.message("zh"), repr(error.details()), repr(events), repr(step.statements), caplog.text]
    assert MARK not in "".join([*shown, *traceback.format_exception_only(error)])


def test_the_text_of_an_error_on_other_tables_is_shown(source: Source) -> None:
    with pytest.raises(StatementFailed, match="hello"):
        source.execute("SELECT CAST(note AS INTEGER) FROM notes")


PIVOTS = [
    "PIVOT customers ON email USING COUNT(*)",
    "PIVOT customers ON name USING COUNT(*)",
    "PIVOT customers ON email IN (SELECT email FROM other) USING COUNT(*)",
    "PIVOT (SELECT 1 AS a, salary AS e FROM customers) ON e USING MAX(a)",
    "WITH c AS (SELECT email AS e FROM customers) PIVOT c ON e USING COUNT(*)",
    "WITH c AS (SELECT email AS name FROM customers) SELECT * FROM (PIVOT c ON name USING COUNT(*))",
    "PIVOT (SELECT o.id AS i FROM other AS o JOIN customers AS c ON o.id = c.salary) ON i USING COUNT(*)",
]


@pytest.mark.parametrize("sql", PIVOTS)
def test_a_pivot_does_not_name_columns_after_values(source: Source, sql: str) -> None:
    with pytest.raises(StatementRefused, match="secret_names"):
        source.execute(sql)


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("PIVOT customers ON salary IN (1, 2) USING COUNT(*) GROUP BY id", ["id", "1", "2"]),
        ("PIVOT notes ON note USING MAX(id)", ["hello"]),
    ],
)
def test_other_pivots_run(source: Source, sql: str, columns: list[str]) -> None:
    result = source.execute(sql)
    assert result["columns"] == columns


def test_an_unpivot_of_secrets_is_masked(source: Source) -> None:
    result = source.execute("UNPIVOT (SELECT id, email FROM customers) ON email INTO NAME n VALUE v")
    assert result["secret"] == [0, 1, 2]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g.i FROM range(9999) AS g(i) JOIN customers AS c ON g.i = c.salary",
        "SELECT FIRST_VALUE(g.i) OVER (ORDER BY ABS(g.i - c.salary)) FROM customers AS c, range(9999) AS g(i) LIMIT 1",
        "SELECT i FROM (SELECT UNNEST(range(9999)) AS i, salary AS s FROM customers) WHERE i = s",
        "SELECT COUNT(*) FROM range(9999) AS g(i) JOIN customers AS c ON g.i < c.salary",
    ],
)
def test_a_value_found_by_a_condition_is_secret(source: Source, sql: str) -> None:
    result = source.execute(sql)
    assert (result["rows"], result["secret"]) == ([[4321]], [0])
