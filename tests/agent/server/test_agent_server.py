"""The Agent Server protocol, as LangGraph's own clients speak it."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command
from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.client import SyncLangGraphClient
from langgraph_sdk.errors import NotFoundError
from typing_extensions import TypedDict

from datasphinx.agent.conversation.conversations import BEGINNING
from datasphinx.agent.errors import StatementCancelled
from tests.agent.server.asking import HOW_MANY, statement_for
from tests.agent.server.keys import ACME, BETA, KEYS
from tests.agent.server.leaving import UNBOUNDED, Held, broken_off
from tests.agent.server.leaving import client as leaving
from tests.agent.server.serving import ASKED, COUNT, Served, serving
from tests.agent.sql.engines import ENDLESS
from tests.support.best_customer import BEST, BY_AMOUNT, BY_ORDERS
from tests.support.eventually import eventually
from tests.support.npm import node

MODES: Any = ["values", "updates", "messages", "messages-tuple", "custom", "events"]


# The model counts the orders, and asks back who is the best.
ANSWERS = {"GeneratedSQL": [statement_for]}


@pytest.fixture
def client(served: Served) -> Iterator[SyncLangGraphClient]:
    with get_sync_client(url=served.url) as client:
        yield client


@pytest.fixture
def thread(client: SyncLangGraphClient) -> str:
    return client.threads.create()["thread_id"]


def turns(values: Any) -> list[tuple[str, str]]:
    return [(message["type"], message["content"]) for message in values["messages"]]


def ids(states: list[Any]) -> list[tuple[str, str | None]]:
    return [
        (state["checkpoint"]["checkpoint_id"], (state["parent_checkpoint"] or {}).get("checkpoint_id"))
        for state in states
    ]


def test_the_assistants_are_the_graphs(client: SyncLangGraphClient) -> None:
    found = client.assistants.search()
    assert [each["graph_id"] for each in found] == ["agent", "analyst", "report"]
    assert client.assistants.get("agent") == client.assistants.get(found[0]["assistant_id"]) == found[0]
    schemas = client.assistants.get_schemas("agent")
    assert "question" in schemas["input_schema"]["properties"] and "sql" in schemas["output_schema"]["properties"]
    assert "sql_request" not in json.dumps(schemas)


def test_a_conversation_with_a_clarifying_question(client: SyncLangGraphClient, thread: str) -> None:
    assert client.threads.get(thread)["status"] == "idle" and client.threads.get_history(thread) == []
    first = client.runs.wait(thread, "agent", input=ASKED)
    asked = client.runs.wait(thread, "agent", input={"question": BEST})
    (interrupt,) = asked["__interrupt__"]
    assert first["sql"] == COUNT["sql"]
    assert interrupt["value"]["action_request"]["args"]["options"] == ["by orders", "by amount"]
    assert client.threads.get(thread)["status"] == "interrupted"
    state = client.threads.get_state(thread)
    assert (state["next"], state["interrupts"]) == (["await_clarification"], [interrupt])

    answered = client.runs.wait(thread, "agent", command={"resume": {interrupt["id"]: "2"}})
    assert answered["sql"] == BY_AMOUNT
    followed = client.runs.wait(thread, "agent", input={"question": "only the top two"})
    assert len(followed["tables"][0]["rows"]) == 2

    history = client.threads.get_history(thread)
    assert [state["values"]["sql"] for state in history] == [followed["sql"], BY_AMOUNT, None, COUNT["sql"]]
    (one, two), (two_, three), (three_, four), (four_, beginning) = ids(history)
    assert (two, three, four, beginning) == (two_, three_, four_, BEGINNING)
    assert client.threads.get_history(thread, limit=1, before={"configurable": {"checkpoint_id": two}})[0]["next"] == [
        "await_clarification"
    ]
    assert client.threads.get_state(thread, checkpoint_id=four)["values"]["answer"] == first["answer"]

    fork = client.runs.wait(thread, "agent", command={"resume": "1"}, checkpoint_id=three)
    assert fork["sql"] == BY_ORDERS
    assert ids(client.threads.get_history(thread))[0][1] == three and len(client.threads.get_history(thread)) == 5
    assert client.threads.search(metadata={"graph_id": "agent"})[0]["values"]["sql"] == BY_ORDERS
    assert client.threads.search(metadata={"graph_id": "report"}) == []
    client.threads.delete(thread)
    with pytest.raises(NotFoundError):
        client.threads.get(thread)


@pytest.mark.parametrize(
    "answer",
    [
        "2",
        2,
        [{"type": "response", "args": "by amount"}],
        {"clarification_answer": "2", "output_type": "dataframe"},
        {"decisions": [{"type": "edit", "edited_action": {"name": "answer", "args": {"answer": "by amount"}}}]},
        {"decisions": [{"type": "reject", "message": "2"}]},
    ],
)
def test_the_forms_of_an_answer(client: SyncLangGraphClient, thread: str, answer: Any) -> None:
    client.runs.wait(thread, "agent", input={"question": BEST})
    assert client.runs.wait(thread, "agent", command={"resume": answer})["sql"] == BY_AMOUNT


@pytest.mark.parametrize("command", [{"goto": "__end__"}, {"resume": [{"type": "ignore", "args": None}]}])
def test_a_clarifying_question_ends_without_an_answer(
    served: Served, client: SyncLangGraphClient, thread: str, command: Any
) -> None:
    def ask(text: str) -> Any:
        return client.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": text}]})

    asked = ask(BEST)["__interrupt__"][0]["id"]
    calls = len(served.model.calls)
    ended = client.runs.wait(thread, "agent", command=command)
    assert (ended["status"], ended["sql"], ended["clarification"]) == ("ok", None, None)
    assert "__interrupt__" not in ended and len(turns(ended)) == 2 and len(served.model.calls) == calls
    state = client.threads.get_state(thread)
    assert (state["next"], state["interrupts"], state["parent_checkpoint"]["checkpoint_id"]) == ([], [], asked)
    assert client.threads.get(thread)["status"] == "idle"
    with pytest.raises(httpx.HTTPStatusError) as nothing:
        client.runs.wait(thread, "agent", command=command)
    assert (nothing.value.response.status_code, nothing.value.response.json()["code"]) == (409, "nothing_asked")
    # What follows is a question, and the thread has no run more.
    assert ask(HOW_MANY)["sql"] == COUNT["sql"]
    runs = served.http.get(f"/threads/{thread.replace('-', '')}/history").json()["runs"]
    assert [(run["question"], run["status"]) for run in runs] == [(HOW_MANY, "ok"), (BEST, "clarification")]


def test_a_chat_page_sends_messages_and_accepts_the_first_option(client: SyncLangGraphClient, thread: str) -> None:
    said = {"type": "human", "id": "m1", "content": [{"type": "text", "text": HOW_MANY}]}
    first = client.runs.wait(thread, "agent", input={"messages": [said]})
    assert turns(first) == [("human", HOW_MANY), ("ai", first["answer"])] and first["messages"][0]["id"] == "m1"
    client.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": BEST}]})
    accepted = client.runs.wait(thread, "agent", command={"resume": [{"type": "accept", "args": None}]})
    assert accepted["sql"] == BY_ORDERS and len(turns(accepted)) == 5


def test_tables_and_charts_are_ui_messages_of_their_answers(
    served: Served, client: SyncLangGraphClient, thread: str
) -> None:
    def ask(text: str) -> Any:
        return client.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": text}]})

    listed = ask("List the orders by status")
    drawn = ask("Show the orders by status as a bar chart")
    table, chart = drawn["ui"]
    answers = [message["id"] for message in drawn["messages"] if message["type"] == "ai"]
    assert [listed["ui"], [each["metadata"]["message_id"] for each in drawn["ui"]]] == [[table], answers]
    assert chart["props"]["option"] == drawn["charts"][0]["option"]
    assert served.http.get(chart["props"]["image"]).headers["content-type"] == "image/png"
    assert table["props"]["rows"] == listed["tables"][0]["rows"][:20] and table["props"]["row_count"] == 4
    for name in ("chart", "table"):
        shown = served.http.post("/ui/agent", json={"name": name})
        assert (shown.status_code, "{{shadowRootId}}" in shown.text) == (200, True)
    assert served.http.post("/ui/agent", json={"name": "</script>"}).status_code == 422
    assert served.http.post("/ui/nobody", json={"name": "chart"}).status_code == 422


def test_a_chat_page_edits_the_first_question_and_asks_again(client: SyncLangGraphClient, thread: str) -> None:
    first = client.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": HOW_MANY}]})
    beginning = client.threads.get_history(thread)[0]["parent_checkpoint"]
    again = client.runs.wait(thread, "agent", checkpoint=beginning)
    assert again["answer"] == first["answer"] and len(turns(again)) == 2
    said = {"messages": [{"role": "user", "content": BEST}]}
    edited = client.runs.wait(thread, "agent", input=said, checkpoint=beginning)
    assert edited["__interrupt__"] and turns(edited)[0] == ("human", BEST) and len(turns(edited)) == 2
    assert [state["parent_checkpoint"] for state in client.threads.get_history(thread)] == [beginning] * 3
    with pytest.raises(httpx.HTTPStatusError, match="422"):
        client.runs.wait(thread, "agent", checkpoint=client.threads.get_history(thread)[0]["checkpoint"])


def test_a_stream_has_the_events_of_each_mode(client: SyncLangGraphClient, thread: str) -> None:
    said = {"messages": [{"role": "user", "content": HOW_MANY}]}
    events: dict[str, list[Any]] = {}
    for event in client.runs.stream(thread, "agent", input=said, stream_mode=MODES):
        events.setdefault(event.event, []).append(event.data)
    (values,) = events["values"]
    assert [*events] == ["metadata", "custom", "events", "updates", "messages", "messages/complete", "values"]
    assert events["custom"][0] == {"event": "started", "data": {"node": "retrieve_tables", "attempt": 1}}
    assert [name for update in events["updates"] for name in update][-1] == "answer"
    assert {event["event"] for event in events["events"]} == {"on_chain_start", "on_chain_end"}
    assert events["messages"][0][0]["content"] == values["answer"] and values["messages"][-1]["type"] == "ai"
    assert events["messages"][0][0]["id"] == values["messages"][-1]["id"]

    only = [
        event.event for event in client.runs.stream(thread, "agent", input={"question": BEST}, stream_mode="updates")
    ]
    assert {*only} == {"metadata", "updates"}


def test_the_asynchronous_client_joins_and_forks(served: Served) -> None:
    async def talk() -> None:
        async with get_client(url=served.url) as client:
            thread = (await client.threads.create())["thread_id"]
            run = await client.runs.create(thread, "agent", input=ASKED)
            joined = await client.runs.join(thread, run["run_id"])
            assert joined["sql"] == COUNT["sql"]
            assert (await client.runs.get(thread, run["run_id"]))["status"] == "success"
            assert [each["run_id"] for each in await client.runs.list(thread)] == [run["run_id"]]
            events = [event.event async for event in client.runs.join_stream(thread, run["run_id"])]
            assert events == ["metadata", "values"]
            last = await client.threads.get_state(thread)
            updated = await client.threads.update_state(thread, {"question": BEST})
            assert (await client.threads.get_state(thread))["next"] == ["begin"]
            asked = await client.runs.wait(thread, "agent", input=None)
            assert asked["__interrupt__"] and updated["checkpoint"]["checkpoint_id"]
            history = served.http.get(f"/threads/{thread.replace('-', '')}/history").json()["runs"]
            assert [each["question"] for each in history] == [BEST, HOW_MANY]
            fork = await client.runs.wait(thread, "agent", input=ASKED, checkpoint=last["checkpoint"])
            assert fork["answer"] == joined["answer"]
            alone = await client.runs.wait(None, "agent", input=ASKED)
            assert alone["answer"] == joined["answer"]

    asyncio.run(talk())


@pytest.mark.parametrize(
    "given",
    [
        {"input": {**ASKED, "sql_request": "SELECT 1"}},
        {"input": {**ASKED, "validation": {"is_valid": True}}},
        {"input": {**ASKED, "attempts": []}},
        {"input": {**ASKED, "files": ["/etc/passwd"]}},
        {"input": {**ASKED, "source": "sqlite:////etc/passwd"}},
        {"input": {"messages": [{"role": "user", "content": HOW_MANY}], "result": {}}},
        {"input": {"messages": [{"role": "assistant", "content": "5"}]}},
        {"input": {}},
        {"command": {"goto": "execute_sql"}},
        {"command": {"resume": "1", "goto": [{"node": "execute_sql", "input": {}}]}},
        {"command": {"resume": "1", "goto": "__end__"}},
        {"command": {"goto": ["__end__"]}},
        {"command": {"goto": "__end__", "update": {"sql_request": "SELECT 1"}}},
        {"command": {}},
        {"command": {"update": {"sql_request": "SELECT 1"}}},
        {"input": ASKED, "context": {"model": "other"}},
        {"input": ASKED, "webhook": "http://127.0.0.1:1/"},
        {"input": ASKED, "interrupt_before": ["execute_sql"]},
        {"input": ASKED, "checkpoint_id": "link"},
        {"input": ASKED, "stream_mode": "thoughts"},
    ],
)
def test_a_client_writes_input_keys_only(served: Served, thread: str, given: dict[str, Any]) -> None:
    refused = served.http.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "agent", **given})
    assert (refused.status_code, refused.json()["code"]) == (422, "input_invalid")
    if values := given.get("input"):
        updated = served.http.post(f"/threads/{thread}/state", json={"values": values})
        assert updated.status_code == (422 if values != ASKED else 200)
    assert not served.model.calls


def test_what_there_is_not(client: SyncLangGraphClient, thread: str) -> None:
    missing = "0" * 8 + "-0000-0000-0000-" + "0" * 12
    with pytest.raises(httpx.HTTPStatusError, match="422"):
        client.runs.wait(thread, "nobody", input=ASKED)
    for ask in (client.runs.wait, client.runs.create):
        with pytest.raises(httpx.HTTPStatusError) as unknown:
            ask(missing, "agent", input=ASKED)
        assert unknown.value.response.status_code == 404
    for known in (client.runs.get, client.runs.join, client.runs.cancel):
        with pytest.raises((NotFoundError, httpx.HTTPStatusError)) as elsewhere:
            known(thread, missing)
        assert elsewhere.value.response.json()["code"] == "run_elsewhere"
    client.runs.wait(thread, "agent", input=ASKED)
    with pytest.raises(NotFoundError):
        client.threads.get_state(thread, checkpoint_id=missing)
    with pytest.raises(httpx.HTTPStatusError, match="422"):
        client.runs.wait(thread, "analyst", input=ASKED)
    # A command is no question: there is nothing to answer.
    assert client.runs.wait(thread, "agent", command={"resume": "1"})["error"]["code"] == "nothing_asked"


def test_a_run_is_cancelled_and_its_thread_is_as_it_was(
    cache_dir: Path, statements: tuple[threading.Semaphore, list[Any]]
) -> None:
    begun, outcomes = statements
    answers = {"GeneratedSQL": [COUNT, {**COUNT, "sql": ENDLESS}]}
    with serving(cache_dir, answers, **UNBOUNDED) as server, get_sync_client(url=server.url) as client:
        thread = client.threads.create()["thread_id"]
        client.runs.wait(thread, "agent", input=ASKED)
        before = client.threads.get_state(thread)
        run = client.runs.create(thread, "agent", input={"question": "And now?"})
        assert begun.acquire(timeout=20)
        assert client.threads.get(thread)["status"] == "busy"
        with pytest.raises(httpx.HTTPStatusError, match="409"):
            client.runs.wait(thread, "agent", input=ASKED)
        client.runs.cancel(thread, run["run_id"], wait=True)
        assert client.runs.get(thread, run["run_id"])["status"] == "interrupted"
        assert client.threads.get_state(thread) == before
        eventually(lambda: outcomes)
    assert [type(outcome) for outcome in outcomes] == [StatementCancelled]


@pytest.mark.parametrize("route", ["stream", "wait"])
@pytest.mark.parametrize("continues", [False, True])
def test_a_client_that_leaves_ends_its_run_unless_it_says_otherwise(
    cache_dir: Path, route: str, continues: bool
) -> None:
    held = Held(lambda _: COUNT)
    with serving(cache_dir, {"GeneratedSQL": [held]}) as server, get_sync_client(url=server.url) as client:
        thread = client.threads.create()["thread_id"]
        body = {"assistant_id": "agent", "input": ASKED, **({"on_disconnect": "continue"} if continues else {})}
        with leaving(server, f"/threads/{thread}/runs/{route}", body):
            assert held.begun.wait(20)
            (run,) = client.runs.list(thread)
        if not continues:
            eventually(lambda: broken_off(server, "agent") == 1)
        held.left.set()
        client.runs.join(thread, run["run_id"])
        assert (client.runs.get(thread, run["run_id"])["status"] == "success") == continues
        assert bool(client.threads.get_history(thread)) == continues


@pytest.mark.heavy
def test_a_run_that_takes_too_long_ends_with_an_error(
    cache_dir: Path, statements: tuple[threading.Semaphore, list[Any]]
) -> None:
    answers = {"GeneratedSQL": [{**COUNT, "sql": ENDLESS}]}
    settings = {**UNBOUNDED, "max_question_s": 1}
    with serving(cache_dir, answers, **settings) as server, get_sync_client(url=server.url) as client:
        thread = client.threads.create()["thread_id"]
        events = [*client.runs.stream(thread, "agent", input=ASKED)]
        with pytest.raises(Exception, match="request_timeout"):
            client.runs.wait(thread, "agent", input=ASKED)
    assert (events[-1].event, events[-1].data["error"]) == ("error", "request_timeout")


@pytest.mark.heavy
def test_threads_runs_and_limits_are_those_of_a_tenant(cache_dir: Path) -> None:
    tenants = {"acme": {"questions_per_minute": 2}, "beta": {}}
    with (
        serving(cache_dir, api_keys=KEYS, tenants=tenants) as server,
        get_sync_client(url=server.url, api_key=ACME) as acme,
        get_sync_client(url=server.url, api_key=BETA) as beta,
        get_sync_client(url=server.url, api_key=None) as nobody,
    ):
        thread = acme.threads.create()["thread_id"]
        run = acme.runs.create(thread, "agent", input=ASKED)
        assert acme.runs.join(thread, run["run_id"])["sql"] == COUNT["sql"]
        for refused in (
            lambda: beta.threads.get(thread),
            lambda: beta.threads.get_state(thread),
            lambda: beta.threads.get_history(thread),
            lambda: beta.threads.update_state(thread, ASKED),
            lambda: beta.threads.delete(thread),
            lambda: beta.runs.wait(thread, "agent", input=ASKED),
            lambda: beta.runs.join(thread, run["run_id"]),
            lambda: beta.runs.cancel(thread, run["run_id"]),
        ):
            with pytest.raises(httpx.HTTPStatusError) as unknown:
                refused()
            assert unknown.value.response.status_code == 404
        assert beta.threads.search() == [] and len(acme.threads.search()) == 1
        # A thread with the same id is another one.
        own = beta.runs.wait(thread, "agent", input=ASKED, if_not_exists="create")
        assert own["sql"] and len(acme.threads.get_history(thread)) == len(beta.threads.get_history(thread)) == 1
        acme.runs.wait(thread, "agent", input=ASKED)
        with pytest.raises(httpx.HTTPStatusError, match="429"):
            acme.runs.wait(thread, "agent", input=ASKED)
        assert acme.threads.get(thread)["status"] == "idle"
        with pytest.raises(httpx.HTTPStatusError) as unknown:
            nobody.threads.search()
        assert unknown.value.response.status_code == 401


class Parent(TypedDict, total=False):
    question: str
    answer: str
    sql: str


def test_a_remote_graph_is_a_node_of_another(client: SyncLangGraphClient) -> None:
    remote = RemoteGraph("agent", sync_client=client)
    parent = StateGraph(Parent).add_node("ask", remote).add_edge(START, "ask").compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "01234567-89ab-cdef-0123-456789abcdef"}}
    assert parent.invoke({"question": HOW_MANY}, config)["sql"] == COUNT["sql"]
    # The state of the parent has the answer, too, and is sent as a whole.
    asked = parent.invoke({"question": BEST}, config)
    assert asked["__interrupt__"][0].value["action_request"]["action"]

    thread: Any = {"configurable": {"thread_id": "01234567-89ab-cdef-0123-456789abcdee"}}
    remote.invoke({"question": BEST}, thread)
    assert remote.get_state(thread).next == ("await_clarification",)
    assert remote.invoke(Command(resume="1"), thread)["sql"] == BY_ORDERS
    states = [*remote.get_state_history(thread)]
    assert len(states) == 2 and states[0].parent_config
    forked = remote.update_state(states[1].config, {"question": HOW_MANY})
    assert remote.get_state(forked).next == ("begin",)
    assert remote.invoke(None, thread)["error"] is None
    remote.invoke({"question": BEST}, thread)
    assert remote.invoke(Command(goto=END), thread)["status"] == "ok" and not remote.get_state(thread).next


@pytest.mark.heavy
@pytest.mark.process
def test_the_client_for_javascript(served: Served) -> None:
    assert node("ask.mjs", served.url) == {
        "options": ["by orders", "by amount"],
        "answered": BY_AMOUNT,
        "states": 2,
        "forked": COUNT["sql"],
        "joined": COUNT["sql"],
        "status": "success",
        "streamed": ["clarification", BY_AMOUNT],
    }
