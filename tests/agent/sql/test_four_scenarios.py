"""What validation is for, with default settings on the engines: fields and years that are not those of the question."""

from collections.abc import Iterator
from typing import Any

import pytest

from datasphinx.agent.sql.layout import in_lines
from tests.agent.sql.engines import SERVERS, EngineUnderTest, over
from tests.agent.walk import calls
from tests.conftest import VALID, MakeAgent

TABLES = (
    "CREATE TABLE sphinx_products (product_id INTEGER PRIMARY KEY, product_name VARCHAR(20))",
    "INSERT INTO sphinx_products VALUES (1, 'Lamp'), (2, 'Desk')",
    "CREATE TABLE sphinx_people (name VARCHAR(20), age INTEGER)",
    "INSERT INTO sphinx_people VALUES ('Ann', 31), ('Bob', 42)",
    "CREATE TABLE sphinx_sales (sale_id INTEGER PRIMARY KEY, product_id INTEGER, sold_on DATE, amount INTEGER)",
    "INSERT INTO sphinx_sales VALUES (1, 1, DATE '2023-05-01', 100), (2, 2, DATE '2024-05-01', 700)",
)
NAMES = ("sphinx_products", "sphinx_people", "sphinx_sales")
IDS = "SELECT product_id FROM sphinx_sales ORDER BY amount DESC"
BY_NAME = (
    "SELECT p.product_name FROM sphinx_sales AS s JOIN sphinx_products AS p ON p.product_id = s.product_id "
    "ORDER BY s.amount DESC"
)
NAME, NAME_AND_AGE = "SELECT name FROM sphinx_people", "SELECT name, age FROM sphinx_people"
OF_2023 = "SELECT SUM(amount) AS total FROM sphinx_sales WHERE sold_on BETWEEN '2023-01-01' AND '2023-12-31'"
OF_2024 = OF_2023.replace("2023", "2024")


@pytest.fixture(scope="module")
def sold(engine: EngineUnderTest) -> Iterator[EngineUnderTest]:
    # Files go with their folder.
    drop = [f"DROP TABLE IF EXISTS {name}" for name in NAMES if engine.name in SERVERS]
    for statement in (*drop, *TABLES):
        engine.admin(statement)
    yield engine
    for statement in drop:
        engine.admin(statement)


@over(("sqlite", "duckdb", "postgres", "mysql"))
@pytest.mark.parametrize(
    ("question", "written", "corrected", "first_row"),
    [
        ("What is the name and age of each person?", NAME_AND_AGE, "", ["Ann", 31]),
        ("The product name of each sale, the largest amount first", IDS, BY_NAME, ["Desk"]),
        ("What is the name and age of each person?", NAME, NAME_AND_AGE, ["Ann", 31]),
        ("What are the total sales in 2024?", OF_2023, OF_2024, [700]),
    ],
    ids=["right", "id for the name", "missing age", "wrong year"],
)
def test_doubtful_statements_are_corrected_and_right_ones_are_not_asked_about(
    sold: EngineUnderTest,
    scripted: MakeAgent,
    question: str,
    written: str,
    corrected: str,
    first_row: list[Any],
) -> None:
    verdict = {"is_valid": False, "reason": "no", "issues": ["no"], "corrected_sql": corrected}
    answers: dict[str, Any] = {"GeneratedSQL": [{"sql": written}], "SQLValidation": [verdict, VALID]}
    agent = scripted(answers, enable_sql_validation=None, allow_writable_account=True)
    output = agent.ask(question, source=sold.url)

    sql = in_lines(corrected or written, sold.name)
    assert (output["error"], output["sql"], output["status"]) == (None, sql, "ok")
    first = output["tables"][0]["rows"][0]
    assert [int(value) if str(value).isdecimal() else value for value in first] == first_row
    assert calls(agent).get("SQLValidation", 0) == (2 if corrected else 0)
    assert output["checked"] is bool(corrected)
