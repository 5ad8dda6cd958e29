"""The analyst over the tables of a database, in place of files."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from sqlalchemy import create_engine, make_url
from sqlalchemy.exc import OperationalError

from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from datasphinx.agent.settings import SourceSettings
from tests.agent.analysis.conftest import MakeAnalyst, calls, step, tools
from tests.agent.sql.engines import POSTGRES_URL

QUESTION = "How much did customers of each city order?"
BY_CITY = {
    "joins": [{"dataset": "customers", "on": {"customer_id": "customer_id"}}],
    "group_by": ["city"],
    "aggregations": [{"as": "total", "agg": "sum", "col": "amount"}],
    "sort": [{"by": "total", "desc": True}],
}


@pytest.fixture
def shop(tmp_path: Path) -> str:
    """The URL of a DuckDB file with customers, their orders, and passwords that nobody asked for."""
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, city VARCHAR)")
        connection.execute(
            "CREATE TABLE orders (order_id INTEGER, customer_id INTEGER REFERENCES customers, amount INTEGER)"
        )
        connection.execute("INSERT INTO customers VALUES (1, 'Oslo'), (2, 'Bergen')")
        connection.execute("INSERT INTO orders VALUES (1, 1, 30), (2, 2, 40), (3, 1, 50)")
    return f"duckdb:///{path}"


def by_city(**changes: Any) -> dict[str, Any]:
    return step("run_query", dataset_id="orders", query={**BY_CITY, **changes})


def test_tables_of_a_database_are_asked_as_datasets_are(analyst: MakeAnalyst, shop: str) -> None:
    agent = analyst([by_city(), step("finish", answer="{1.city} ordered {1.total}, {2.city} {2.total}.")])
    output = agent.ask(QUESTION, source=shop)

    assert output["error"] is None
    assert output["answer"] == "Oslo ordered 80, Bergen 40."
    assert output["tables"][0]["rows"] == [["Oslo", 80], ["Bergen", 40]]
    assert tools(output) == ["get_schema", "get_schema", "run_query"]


def test_the_model_is_told_the_keys_between_the_tables(analyst: MakeAnalyst, shop: str) -> None:
    agent = analyst([step("finish", cannot_answer="no")])
    agent.ask(QUESTION, source=shop)
    (prompt,) = agent.prompts()

    assert '"foreign_keys": [{"columns": ["customer_id"], "dataset_id": "customers"' in prompt
    assert '"row_count": 3' in prompt


def test_what_was_cleared_up_is_asked_of_the_same_database(analyst: MakeAnalyst, shop: str) -> None:
    asking = step("ask_user", question="Which total?", options=["of all orders", "of the last"])
    agent = analyst([asking, by_city(), step("finish", answer="")], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    asked = agent.graph.invoke({"question": QUESTION, "source": shop}, thread)
    output = agent.graph.invoke({"question": QUESTION, "clarification_answer": "of all orders"}, thread)

    assert asked["clarification"]["question"] == "Which total?"
    assert output["tables"][0]["rows"] == [["Oslo", 80], ["Bergen", 40]]


def test_a_database_and_a_file_are_not_asked_together(analyst: MakeAnalyst, returns: str) -> None:
    output = analyst().ask(QUESTION, source="postgresql://reader:hidden@127.0.0.1/shop", files=[returns])

    assert output["error"]["code"] == "sources_not_together"
    assert "hidden" not in output["error"]["message"]


def test_a_database_without_tables_is_an_error(analyst: MakeAnalyst, tmp_path: Path) -> None:
    path = tmp_path / "empty.duckdb"
    duckdb.connect(str(path)).close()
    assert analyst().ask(QUESTION, source=f"duckdb:///{path}")["error"]["code"] == "source_empty"


@pytest.fixture
def partly_closed(tmp_path: Path, shop: str) -> SourceSettings:
    """The shop with a table that a rule closes, a view that has no rule, and a rule on the orders."""
    with duckdb.connect(shop.removeprefix("duckdb:///")) as connection:
        connection.execute(
            "CREATE TABLE city_budgets (city VARCHAR, customer_id INTEGER REFERENCES customers, amount INTEGER)"
        )
        connection.execute("INSERT INTO city_budgets VALUES ('Oslo', 1, 31337)")
        connection.execute("CREATE VIEW city_orders AS SELECT * FROM orders JOIN customers USING (customer_id)")
    rules = {"city_budgets": "deny", "orders": "amount < :most"}
    return SourceSettings(url=shop, row_rules=rules, row_parameters={"most": 50})


def test_open_tables_are_asked_where_others_are_closed(analyst: MakeAnalyst, partly_closed: SourceSettings) -> None:
    closed = [step("get_schema", dataset_id=name) for name in ("city_budgets", "city_orders")]
    agent = analyst([*closed, by_city(), step("finish", answer="")], sources={"shop": partly_closed})
    output = agent.ask("How much did customers of each city order, and what are the city budgets?", source="shop")

    assert output["error"] is None
    assert output["tables"][0]["rows"] == [["Bergen", 40], ["Oslo", 30]]
    assert [call["error"] is None for call in calls(output, "get_schema")] == [True, True, False, False]
    prompts = "".join(agent.prompts())
    assert "31337" not in prompts
    assert "city_budgets" not in agent.prompts()[0] and "city_orders" not in agent.prompts()[0]


def test_an_opened_view_is_asked(analyst: MakeAnalyst, partly_closed: SourceSettings) -> None:
    opened = partly_closed.model_copy(update={"row_rules": {**partly_closed.row_rules, "city_orders": "true"}})
    total = {"aggregations": [{"as": "total", "agg": "sum", "col": "amount"}]}
    agent = analyst(
        [step("run_query", dataset_id="city_orders", query=total), step("finish", answer="")], sources={"shop": opened}
    )
    assert agent.ask("What is the total amount of the city orders?", source="shop")["value"] == 120


def test_a_source_whose_tables_are_all_closed_is_an_error(analyst: MakeAnalyst, shop: str) -> None:
    settings = SourceSettings(url=shop, row_rules={"orders": "deny", "customers": "false"})
    output = analyst(sources={"shop": settings}).ask(QUESTION, source="shop")
    assert output["error"]["code"] == "not_permitted"


@pytest.mark.heavy
@pytest.mark.postgres
def test_tables_that_the_account_may_not_read_are_left_out(analyst: MakeAnalyst) -> None:
    role, tables = "sphinx_analyst_reader", "sphinx_ordered, sphinx_wages"
    drop = (f"DROP TABLE IF EXISTS {tables}", f"DROP ROLE IF EXISTS {role}")
    engine = create_engine(POSTGRES_URL, isolation_level="AUTOCOMMIT")
    create = (
        *drop,
        f"CREATE ROLE {role} LOGIN",
        "CREATE TABLE sphinx_ordered (city TEXT, amount INTEGER)",
        "INSERT INTO sphinx_ordered VALUES ('Oslo', 3), ('Oslo', 4)",
        "CREATE TABLE sphinx_wages (city TEXT, amount INTEGER)",
        f"GRANT SELECT ON sphinx_ordered TO {role}",
    )
    total = {"aggregations": [{"as": "total", "agg": "sum", "col": "amount"}]}
    url = make_url(POSTGRES_URL).set(username=role).render_as_string(hide_password=False)
    agent = analyst(
        [
            step("run_query", dataset_id="sphinx_wages", query=total),
            step("run_query", dataset_id="sphinx_ordered", query=total),
            step("finish", answer=""),
        ],
        sources={"shop": SourceSettings(url=url)},
    )
    try:
        with engine.connect() as connection:
            for statement in create:
                connection.exec_driver_sql(statement)
        output = agent.ask("What is the total amount ordered and the total wages?", source="shop")
        assert output["error"] is None
        assert output["value"] == 7
        with engine.connect() as connection:
            connection.exec_driver_sql(f"REVOKE SELECT ON sphinx_ordered FROM {role}")
        assert agent.ask("What is the total amount ordered?", source="shop")["error"]["code"] == "permission_denied"
    except OperationalError as error:
        pytest.skip(f"no PostgreSQL answers: {error.orig}")
    finally:
        agent.services.source("shop").close()
        with engine.connect() as connection:
            for statement in drop:
                connection.exec_driver_sql(statement)
        engine.dispose()


@pytest.mark.parametrize("stored_record", [True])
def test_a_run_on_a_database_is_replayed_on_it(analyst: MakeAnalyst, shop: str, tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    shutil.copy(shop.removeprefix("duckdb:///"), other)
    with duckdb.connect(str(other)) as connection:
        connection.execute("INSERT INTO orders VALUES (4, 2, 100)")
    agent = analyst([by_city(), step("finish", answer="{list.city:total}")], record=True)
    trace_id = agent.ask(QUESTION, source=shop)["audit"]["trace_id"]
    settings = agent.services.settings

    assert replay(open_store(settings), trace_id, settings).differences == []
    differences = replay(open_store(settings), trace_id, settings, f"duckdb:///{other}").differences
    assert "statement result_hash" in {each.what for each in differences}
