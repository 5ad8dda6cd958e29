"""The input `sql_only`: the statement is written and checked, and nothing of the model is executed."""

import pytest

from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.layout import in_lines
from tests.agent.walk import COUNT, HOW_MANY, calls, final, nodes, walk
from tests.conftest import MakeAgent

LONG = "SELECT customer_id, COUNT(*) AS n FROM orders WHERE status <> 'cancelled' GROUP BY customer_id ORDER BY n"


@pytest.fixture(autouse=True)
def no_execution(monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(*args: object, **options: object) -> None:
        raise AssertionError("a statement is executed")

    monkeypatch.setattr(Source, "execute", execute)


def test_the_statement_is_returned_without_rows(scripted: MakeAgent) -> None:
    output = scripted({"GeneratedSQL": [COUNT]}).ask(HOW_MANY, sql_only=True)

    assert output["answer"] == "The query was written and checked, but not executed."
    assert (output["sql"], output["status"], output["error"]) == (COUNT["sql"], "ok", None)
    assert output["tables"] == [] and output["value"] is None


def test_a_long_statement_is_in_lines(scripted: MakeAgent) -> None:
    output = scripted({"GeneratedSQL": [{"sql": LONG}]}).ask("Which customers ordered?", sql_only=True)

    assert output["sql"] == in_lines(LONG, "sqlite") != LONG


def test_a_statement_with_an_error_is_written_again(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": "SELECT SUM(nothing) FROM orders"}, COUNT]})

    steps = walk(agent, sql_only=True)

    assert nodes(steps).count("generate_sql") == 2
    assert final(steps)["sql"] == COUNT["sql"]


def test_a_refused_statement_is_an_error(scripted: MakeAgent) -> None:
    output = scripted({"GeneratedSQL": [{"sql": "DROP TABLE orders"}] * 9}).ask(HOW_MANY, sql_only=True)

    assert output["error"]["code"] == "sql_not_generated"


def test_readings_and_candidates_are_not_compared(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT]})

    output = agent.ask("Who is our best customer?", sql_only=True, clarify="always", effort="high")

    assert (output["sql"], output["clarification"]) == (COUNT["sql"], None)
    assert calls(agent)["GeneratedSQL"] == 1
