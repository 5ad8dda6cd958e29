"""What is done about a bad statement without the model, and where it ends the question instead of asking again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from tests.agent.sql.engines import MYSQL_URL, POSTGRES_URL, mysql, postgres
from tests.agent.walk import COUNT, HOW_MANY, calls, final, nodes, prompts, updates_of, walk
from tests.conftest import MakeAgent, ScriptedAgent
from tests.support.databases import change, make_database, url

pytestmark = pytest.mark.integration


def notes(agent: ScriptedAgent, question: str = HOW_MANY, **given: Any) -> list[str]:
    return agent.ask(question, **given)["audit"]["notes"]


# Repairs


@pytest.mark.parametrize(
    ("sql", "runs"),
    [
        ("SELECT TOP 1 status FROM orders", "SELECT status FROM orders LIMIT 1"),
        ("SELECT MAX(TotalAmount) AS m FROM orders", 'SELECT MAX("total_amount") AS m FROM orders'),
        ("SELECT COUNT(*) AS n FROM Order_", 'SELECT COUNT(*) AS n FROM "orders"'),
        ("SELECT COUNT(DISTINCT YEAR(ordered_on)) AS n FROM orders",
         "SELECT COUNT(DISTINCT CAST(STRFTIME('%Y', ordered_on) AS INTEGER)) AS n FROM orders"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("validation", [True, False])
def test_a_repaired_statement_costs_no_further_call(scripted: MakeAgent, sql: str, runs: str, validation: bool) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": sql}]}, enable_sql_validation=validation)
    output = agent.ask(HOW_MANY)

    assert output["error"] is None
    assert output["sql"] == runs
    assert calls(agent) == ({"GeneratedSQL": 1, "SQLValidation": 1} if validation else {"GeneratedSQL": 1})
    assert any(text.startswith("repaired without the model: ") for text in output["audit"]["notes"])


def test_a_plain_statement_is_left_as_it_is(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": "select  COUNT(*) as n\nfrom ORDERS"}]})
    output = agent.ask(HOW_MANY)

    assert output["sql"] == "select  COUNT(*) as n\nfrom ORDERS"
    assert output["audit"]["notes"] == []


# Warnings


LOST = {"sql": "SELECT order_id FROM orders WHERE status = 'canceled'"}


def test_warnings_are_told_to_the_model_that_checks(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [LOST]})
    agent.ask("Which orders were cancelled?")

    (seen,) = prompts(agent, "SQLValidation")
    assert "no row of orders has 'canceled' in status; nearest: 'cancelled'" in seen


STATUS = "FROM orders WHERE status = 'canceled'"


@pytest.mark.parametrize("columns", ["order_id", "COUNT(*)", "SUM(total_amount)"])
def test_value_that_is_not_stored_is_corrected_once(scripted: MakeAgent, columns: str) -> None:
    wrong = {"sql": f"SELECT {columns} {STATUS}"}
    right = {"sql": wrong["sql"].replace("canceled", "cancelled")}
    agent = scripted({"GeneratedSQL": [wrong, right]}, enable_sql_validation=False)
    output = agent.ask(HOW_MANY)

    assert output["sql"] == right["sql"]
    assert output["tables"][0]["rows"][0][0]
    assert "no row of orders has 'canceled' in status; nearest: 'cancelled'" in prompts(agent, "GeneratedSQL")[1]
    again = scripted({"GeneratedSQL": [wrong, wrong]}, enable_sql_validation=False)
    assert again.ask(HOW_MANY)["sql"] == wrong["sql"]


def test_zero_without_similar_values_is_an_answer(scripted: MakeAgent) -> None:
    agent = scripted(
        {"GeneratedSQL": [{"sql": "SELECT COUNT(*) FROM customers WHERE city = 'Xqzwvvkj'"}]},
        enable_sql_validation=False,
    )
    assert agent.ask("How many customers live in Xqzwvvkj?")["value"] == 0
    assert calls(agent) == {"GeneratedSQL": 1}


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionError()])
def test_an_empty_result_is_still_an_answer(scripted: MakeAgent, error: Exception) -> None:
    output = scripted({"GeneratedSQL": [LOST, error]}).ask(HOW_MANY)

    assert output["error"] is None
    assert output["sql"] == LOST["sql"]


# The end of the loop


@pytest.mark.parametrize(
    ("sql", "again", "named"),
    [
        ("SELECT SUM(total_amunt) FROM orders", "select sum(TOTAL_AMUNT)\nfrom orders -- again", "total_amunt"),
        ("SELECT abs(-9223372036854775808) FROM orders", "SELECT ABS(-9223372036854775808) FROM ORDERS", "overflow"),
        ("DROP TABLE orders", "drop table  orders", "DROP"),
    ],
    ids=["name", "database", "stop word"],
)
def test_a_refused_statement_that_comes_again_ends_the_question(
    scripted: MakeAgent, sql: str, again: str, named: str
) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": sql}, {"sql": again}, COUNT]})
    steps = walk(agent)

    assert nodes(steps)[-2:] == ["generate_sql", "answer"]
    assert final(steps)["error"]["code"] == "sql_not_generated"
    assert named in final(steps)["answer"]
    assert calls(agent)["GeneratedSQL"] == 2
    assert len([run for step in final(steps)["audit"]["steps"] for run in step["statements"]]) <= 1


@pytest.mark.parametrize("sql", ["SELECT name FROM sqlite_master", "SELECT * FROM pragma_table_info('orders')"])
def test_the_catalog_of_the_engine_ends_the_question(scripted: MakeAgent, sql: str) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": sql}, COUNT]})
    output = agent.ask(HOW_MANY)

    assert output["error"]["code"] == "system_catalog_refused"
    assert calls(agent) == {"GeneratedSQL": 1}


# Permission


def may_not_read(agent: ScriptedAgent, source: str) -> None:
    output = agent.ask("How many entries are in sphinx_secret?", source=source)

    assert output["error"]["code"] == "permission_denied"
    assert "sphinx_secret" in output["answer"]
    assert calls(agent) == {"GeneratedSQL": 1}


SECRET = {"sql": "SELECT COUNT(*) AS n FROM sphinx_secret"}


@pytest.mark.postgres
def test_permission_is_not_asked_for_again_on_postgres(scripted: MakeAgent) -> None:
    clean = (
        "DROP TABLE IF EXISTS sphinx_secret",
        "DO $$ BEGIN IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'sphinx_guest')"
        " THEN DROP OWNED BY sphinx_guest; DROP ROLE sphinx_guest; END IF; END $$",
    )
    agent = scripted({"GeneratedSQL": [SECRET, COUNT]}, enable_sql_validation=False)
    with postgres(Path()) as server:
        for statement in (*clean, "CREATE TABLE sphinx_secret (n INTEGER)", "CREATE ROLE sphinx_guest LOGIN"):
            server.admin(statement)
        guest = make_url(POSTGRES_URL).set(username="sphinx_guest").render_as_string(hide_password=False)
        may_not_read(agent, guest)
        agent.services.source(guest).close()
        for statement in clean:
            server.admin(statement)


@pytest.mark.mysql
def test_permission_is_not_asked_for_again_on_mariadb(scripted: MakeAgent) -> None:
    """The right is taken after the schema was read: MariaDB shows nobody a table that he may not read."""
    users = "'sphinx_guest'@'127.0.0.1', 'sphinx_guest'@'localhost'"
    agent = scripted({"GeneratedSQL": [SECRET, COUNT]}, enable_sql_validation=False)
    with mysql(Path()) as server:
        server.admin("CREATE OR REPLACE TABLE sphinx_secret (n INTEGER)")
        server.admin("CREATE OR REPLACE TABLE sphinx_open (n INTEGER)")
        server.admin(f"DROP USER IF EXISTS {users}")
        server.admin(f"CREATE USER {users}")
        server.admin(f"GRANT SELECT ON test.sphinx_secret TO {users}")
        server.admin(f"GRANT SELECT ON test.sphinx_open TO {users}")
        guest = make_url(MYSQL_URL).set(username="sphinx_guest").render_as_string(hide_password=False)
        agent.services.source(guest)
        server.admin(f"REVOKE SELECT ON test.sphinx_secret FROM {users}")
        may_not_read(agent, guest)
        agent.services.source(guest).close()
        server.admin(f"DROP USER {users}")
        server.admin("DROP TABLE sphinx_secret, sphinx_open")


# A schema that changes


class TestSchemaChange:
    """Between the reading of the catalog and the query."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Iterator[Path]:
        yield make_database(
            tmp_path,
            "CREATE TABLE shops (id INTEGER PRIMARY KEY, state TEXT)",
            "CREATE TABLE staff (name TEXT, shop_id INTEGER)",
            "INSERT INTO shops VALUES (1, 'TX')",
        )

    def ask(self, scripted: MakeAgent, path: Path, changes: list[str], *statements: str) -> tuple[ScriptedAgent, Any]:
        answers = [{"sql": sql} for sql in statements]
        agent = scripted({"GeneratedSQL": answers}, enable_sql_validation=False)
        agent.services.source(url(path))
        change(path, *changes)
        return agent, walk(agent, "Which states have shops?", source=url(path))

    def test_a_new_column_is_found_without_another_call(self, scripted: MakeAgent, path: Path) -> None:
        changes = ["ALTER TABLE shops ADD COLUMN region TEXT DEFAULT 'south'"]
        agent, steps = self.ask(scripted, path, changes, "SELECT region FROM shops")

        assert final(steps)["tables"][0]["rows"] == [["south"]]
        assert calls(agent) == {"GeneratedSQL": 1}
        assert updates_of(steps, "execute_sql")[0]["relevant_tables"]["shops"] == ["id", "state", "region"]
        assert updates_of(steps, "execute_sql")[0]["audit"]["notes"] == ["the schema has changed and was read again"]

    def test_a_column_that_is_gone_is_asked_for_with_the_fresh_schema(self, scripted: MakeAgent, path: Path) -> None:
        changes = ["ALTER TABLE shops RENAME COLUMN state TO territory"]
        agent, steps = self.ask(scripted, path, changes, "SELECT state FROM shops", "SELECT territory FROM shops")

        assert final(steps)["tables"][0]["rows"] == [["TX"]]
        first, second = prompts(agent, "GeneratedSQL")
        assert "territory" not in first
        assert "territory TEXT" in second

    def test_a_table_that_is_gone_is_left_out(self, scripted: MakeAgent, path: Path) -> None:
        changes = ["DROP TABLE shops", "CREATE TABLE branches (state TEXT)", "INSERT INTO branches VALUES ('CA')"]
        agent, steps = self.ask(scripted, path, changes, "SELECT state FROM shops", "SELECT state FROM branches")

        assert final(steps)["tables"][0]["rows"] == [["CA"]]
        assert "table branches" in prompts(agent, "GeneratedSQL")[1]
        assert "table shops\n" not in prompts(agent, "GeneratedSQL")[1]

    def test_a_schema_that_did_not_change_is_read_once(
        self, scripted: MakeAgent, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read: list[str | None] = []
        agent = scripted({"GeneratedSQL": [{"sql": f"SELECT colour{n} FROM shops"} for n in range(4)]})
        monkeypatch.setattr(agent.services, "refresh", read.append)
        steps = walk(agent, "Which states have shops?", source=url(path))

        assert final(steps)["error"]["code"] == "sql_not_generated"
        assert read == [url(path)]
