"""What a question may cost, in counts: statements, parses, transactions, model calls."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event
from sqlglot import exp
from sqlglot.parser import Parser

from datasphinx.agent.conversation.conversations import Conversations
from datasphinx.agent.conversation.sqlite_threads import SqliteThreads
from datasphinx.agent.conversation.threads import SERIALIZER
from datasphinx.agent.sources import source
from datasphinx.agent.sql import names
from tests.conftest import MakeAgent, ScriptedAgent

pytestmark = [pytest.mark.integration, pytest.mark.stored_record]

QUESTION = "Which channels had the most delivered orders?"
SQL = """\
select c.name as channel, count(*) as orders
from orders o
  join channels c on c.code = o.channel -- the name of the channel
where o.status = 'delivered' and o.order_id <> {number}
group by c.code, c.name order by orders desc"""
"""A statement that is printed in another form than it is written in."""


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """The number of parses, qualifications and copies of statements, of searches for stored values, of serializations
    of threads, and of transactions that write to the record.
    """
    counted: Counter[str] = Counter()

    def count(name: str, of: Any, attribute: str) -> None:
        original = getattr(of, attribute)

        def counting(*arguments: Any, **options: Any) -> Any:
            counted[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(of, attribute, counting)

    count("parses", Parser, "parse")
    count("qualifications", names, "qualify")
    count("copies", exp.Select, "copy")

    count("value searches", source, "linked_values")
    count("serializations", SERIALIZER, "dumps_typed")

    def committed(connection: Connection) -> None:
        counted["transactions"] += bool(connection.get_execution_options().get("writes"))

    event.listen(Engine, "commit", committed)
    yield counted
    event.remove(Engine, "commit", committed)


@pytest.fixture
def agent(scripted: MakeAgent, monkeypatch: pytest.MonkeyPatch) -> Callable[[], ScriptedAgent]:
    """A maker of agents that have answered a question before."""
    # On a slow machine, a question may take longer than its events are buffered.
    monkeypatch.setattr("datasphinx.agent.services.RECORD_DELAY_S", 600)

    def make() -> ScriptedAgent:
        statements = [{"sql": SQL.format(number=number)} for number in (1, 2)]
        made = scripted({"GeneratedSQL": statements})
        assert made.ask("What were the numbers of delivered orders by channel?")["status"] == "ok"
        return made

    return make


def test_a_question_parses_and_qualifies_its_statement_once(
    agent: Callable[[], ScriptedAgent], counts: Counter[str]
) -> None:
    warm = agent()
    counts.clear()
    assert warm.ask(QUESTION)["status"] == "ok"

    # The guard parses the text of the model, and the text printed from its tree, which runs.
    assert counts["parses"] == 2
    assert counts["qualifications"] == 1
    # Printed twice; read in both forms by the code that shares a tree; qualified.
    assert counts["copies"] == 5


def test_a_question_writes_its_record_in_two_transactions(
    agent: Callable[[], ScriptedAgent], counts: Counter[str]
) -> None:
    warm = agent()
    counts.clear()
    output = warm.ask(QUESTION)

    assert output["audit"]["recorded"]
    assert counts["transactions"] == 2
    assert warm.services.store
    kinds = [event.kind for event in warm.services.store.run(output["audit"]["trace_id"])]
    assert (kinds[0], kinds[-1]) == ("run", "output") and len(kinds) > 10


def test_a_question_searches_its_stored_values_once(agent: Callable[[], ScriptedAgent], counts: Counter[str]) -> None:
    warm = agent()
    counts.clear()
    assert warm.ask(QUESTION)["status"] == "ok"

    assert counts["value searches"] == 1


def test_a_question_and_a_follow_up_serialize_their_thread_once_each(
    scripted: MakeAgent, counts: Counter[str], tmp_path: Path
) -> None:
    graph = scripted({"GeneratedSQL": [{"sql": SQL.format(number=1)}, {"sql": "", "output_type": "dataframe"}]}).graph
    conversations = Conversations(graph, SqliteThreads(tmp_path))
    [*_, (_, first)] = conversations.stream({"question": QUESTION})
    assert counts["serializations"] == 1

    [*_, (_, second)] = conversations.stream({"question": "as a table"}, first["thread_id"])
    assert counts["serializations"] == 2
    assert second["tables"] == first["tables"] and second["run_id"] != first["run_id"]
