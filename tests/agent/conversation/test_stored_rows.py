"""A result is stored once for each run: not at each step, and hardly larger than its rows."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from datasphinx.agent.conversation.conversations import Conversations
from datasphinx.agent.conversation.sqlite_threads import SqliteThreads
from datasphinx.agent.conversation.threads import SERIALIZER
from datasphinx.agent.graph import build_graph
from tests.conftest import MakeAgent
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT

pytestmark = pytest.mark.integration

ORDERS = {"sql": "SELECT * FROM orders ORDER BY order_id LIMIT 200", "assumptions": [], "off_topic": False}
AS_TABLE, AS_CHART = {"sql": "", "output_type": "dataframe"}, {"sql": "", "output_type": "plot"}
LIST = "List all orders"
THREAD: Any = {"configurable": {"thread_id": "1"}}


def test_a_checkpointer_gets_one_checkpoint_for_each_run(scripted: MakeAgent) -> None:
    agent, saver = scripted({"GeneratedSQL": [ORDERS, AS_TABLE, AS_CHART]}), InMemorySaver()
    graph = build_graph(agent.services, saver)
    for question in (LIST, "as a table", "as a bar chart"):
        output = graph.invoke({"question": question}, THREAD)
        assert output["error"] is None and output["tables"]
    states = [each.checkpoint["channel_values"] for each in saver.list(THREAD)]
    assert [len(each["tables"][0]["rows"]) for each in states] == [len(output["tables"][0]["rows"])] * 3
    assert not any("result" in each["given"] for each in states)
    assert not any(len(each.pending_writes or ()) for each in saver.list(THREAD))


def test_each_step_is_stored_on_request(scripted: MakeAgent) -> None:
    agent, saver = scripted({"GeneratedSQL": [ORDERS]}), InMemorySaver()
    build_graph(agent.services, saver).invoke({"question": LIST}, THREAD, durability="async")
    assert len(list(saver.list(THREAD))) > 5


def test_a_question_back_is_resumed_from_its_only_checkpoint(scripted: MakeAgent) -> None:
    agent, saver = scripted({"GeneratedSQL": [ASKS]}), InMemorySaver()
    graph = build_graph(agent.services, saver)
    assert graph.invoke({"question": BEST}, THREAD)["clarification"]
    assert len(list(saver.list(THREAD))) == 1
    assert graph.invoke(Command(resume="by amount"), THREAD)["sql"] == BY_AMOUNT


def test_a_run_in_the_store_is_hardly_larger_than_its_rows(scripted: MakeAgent, tmp_path: Path) -> None:
    agent, threads = scripted({"GeneratedSQL": [ORDERS, AS_TABLE]}), SqliteThreads(tmp_path)
    *_, (_, reply) = Conversations(agent.graph, threads).stream({"question": LIST})
    ((size,),) = threads.rows("SELECT sum(length(checkpoint)) FROM checkpoints", ())
    assert size < 1.2 * len(json.dumps(reply["tables"][0]["rows"]))  # type: ignore[index]
    *_, (_, again) = Conversations(agent.graph, threads).stream({"question": "as a table"}, reply["thread_id"])  # type: ignore[index]
    assert again["tables"] == reply["tables"]  # type: ignore[index]


def test_values_of_earlier_versions_are_read() -> None:
    state = {"question": LIST, "tables": [{"rows": [[1, "ä"]]}]}
    assert SERIALIZER.loads_typed(JsonPlusSerializer().dumps_typed(state)) == state
    assert SERIALIZER.loads_typed(SERIALIZER.dumps_typed(state)) == state
