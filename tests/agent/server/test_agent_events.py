"""Event streaming of the Agent Server protocol: commands to a thread, and the events of its runs."""

import asyncio
import json
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client, get_sync_client

from tests.agent.server.asking import HOW_MANY, statement_for
from tests.agent.server.keys import ACME, BETA, KEYS
from tests.agent.server.leaving import Held
from tests.agent.server.serving import ASKED, COUNT, Served, serving
from tests.support.best_customer import BEST, BY_AMOUNT
from tests.support.servers import ON_EVERY_STORE

ENDS = ("completed", "failed", "interrupted")


# The model counts the orders, and asks back who is the best.
ANSWERS = {"GeneratedSQL": [statement_for]}


@pytest.fixture
def thread() -> str:
    return str(uuid.uuid4())


def command(http: httpx.Client, thread: str, method: str, **params: Any) -> httpx.Response:
    return http.post(f"/threads/{thread}/commands", json={"id": 7, "method": method, "params": params})


def ask(http: httpx.Client, thread: str, question: str, **params: Any) -> dict[str, Any]:
    said = {"type": "human", "content": question}
    started = command(http, thread, "run.start", assistant_id="agent", input={"messages": [said]}, **params)
    assert started.status_code == 200, started.text
    return started.json()


def events(http: httpx.Client, thread: str, *channels: str, **wanted: Any) -> list[dict[str, Any]]:
    """Return the events up to the end of the run."""
    found = list[dict[str, Any]]()
    body = {"channels": ["lifecycle", *channels], **wanted}
    with http.stream("POST", f"/threads/{thread}/stream/events", json=body) as response:
        for line in response.iter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line.removeprefix("data: ")))
                if found[-1]["params"]["data"].get("event") in ENDS:
                    break
    return found


def methods(found: list[dict[str, Any]]) -> list[str]:
    return [event["method"] for event in found]


def test_the_events_of_a_run_are_those_of_the_wanted_channels(served: Served, thread: str) -> None:
    started = ask(served.http, thread, HOW_MANY)
    found = events(served.http, thread, "values", "messages", "checkpoints", "custom:started", "tools", "tasks")
    assert started == {
        "type": "success",
        "id": 7,
        "result": {"run_id": found[0]["event_id"].partition(":")[0]},
        "meta": {"applied_through_seq": found[0]["seq"] - 1},
    }
    assert list(dict.fromkeys(methods(found))) == ["lifecycle", "custom", "messages", "checkpoints", "values"]
    said = {
        event["params"]["data"]["event"]: event["params"]["data"] for event in found if event["method"] == "messages"
    }
    assert said["content-block-delta"]["delta"]["text"] == "Orders: 10,127"
    (values,) = (event["params"]["data"] for event in found if event["method"] == "values")
    assert (values["sql"], values["messages"][-1]["id"]) == (COUNT["sql"], said["message-start"]["id"])
    numbers = [event["seq"] for event in found]
    assert numbers == sorted({*numbers})
    # The same events again, all or those after one.
    assert [event["event_id"] for event in events(served.http, thread)] == [
        event["event_id"] for event in found if event["method"] == "lifecycle"
    ]
    assert methods(events(served.http, thread, "values", since=numbers[-3])) == ["values", "lifecycle"]
    updates = [event["params"]["data"] for event in events(served.http, thread, "updates", namespaces=[[]])[1:-1]]
    assert [updates[0]["node"], updates[-1]["node"]] == ["retrieve_tables", "answer"]
    assert updates[-1]["values"]["answer"] == values["answer"]


def test_a_clarifying_question_is_answered_or_ends(served: Served, thread: str) -> None:
    ask(served.http, thread, BEST)
    found = events(served.http, thread, "input", "values")
    assert methods(found) == ["lifecycle", "values", "input.requested", "lifecycle"]
    assert found[-1]["params"]["data"] == {"event": "interrupted"}
    asked = found[2]["params"]["data"]
    assert asked["payload"]["action_request"]["args"]["options"] == ["by orders", "by amount"]
    answer = {"interrupt_id": asked["interrupt_id"], "namespace": [], "response": "2"}
    started = command(served.http, thread, "input.respond", **answer).json()
    answered = events(served.http, thread, "values", since=started["meta"]["applied_through_seq"])
    assert answered[1]["params"]["data"]["sql"] == BY_AMOUNT
    assert answered[-1]["params"]["data"] == {"event": "completed"}
    again = command(
        served.http, thread, "input.respond", interrupt_id=asked["interrupt_id"], goto="__end__", response=None
    )
    assert again.status_code == 422

    ask(served.http, thread, BEST)
    (asked,) = (event for event in events(served.http, thread, "input") if event["method"] == "input.requested")
    interrupt = asked["params"]["data"]["interrupt_id"]
    ends = command(
        served.http, thread, "input.respond", responses=[{"interrupt_id": interrupt, "response": {"type": "ignore"}}]
    )
    assert ends.status_code == 200
    assert events(served.http, thread)[-1]["params"]["data"] == {"event": "completed"}
    assert served.http.get(f"/threads/{thread}/state").json()["next"] == []


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("run.start", {"assistant_id": "agent", "input": {**ASKED, "sql_request": "SELECT 1"}}),
        ("run.start", {"assistant_id": "nobody", "input": ASKED}),
        ("run.start", {"assistant_id": "agent", "input": ASKED, "config": {"configurable": {"checkpoint_id": "link"}}}),
        ("input.respond", {"interrupt_id": "1", "response": "1", "update": {"sql_request": "SELECT 1"}}),
        ("input.respond", {"interrupt_id": "1", "response": "1", "goto": "execute_sql"}),
        ("input.respond", {"goto": [{"node": "execute_sql", "input": {}}]}),
        ("input.respond", {}),
        ("state.fork", {"checkpoint_id": "1"}),
    ],
)
def test_a_command_writes_input_keys_only(served: Served, thread: str, method: str, params: Any) -> None:
    with get_sync_client(url=served.url) as client:
        client.runs.wait(thread, "agent", input={"question": BEST}, if_not_exists="create")
    calls = len(served.model.calls)
    refused = command(served.http, thread, method, **params)
    assert (refused.status_code, refused.json()["code"]) == (422, "input_invalid")
    assert len(served.model.calls) == calls
    assert served.http.post(f"/threads/{thread}/stream/events", json={"channels": ["thoughts"]}).status_code == 422


@ON_EVERY_STORE
def test_a_stream_opened_at_another_process_says_where_the_run_is(
    cache_dir: Path, thread: str, store: dict[str, Any]
) -> None:
    held = Held(lambda _: COUNT)
    with ExitStack() as stack:
        first, second = (stack.enter_context(serving(cache_dir, {"GeneratedSQL": [held]}, **store)) for _ in range(2))
        ask(first.http, thread, HOW_MANY)
        assert held.begun.wait(20)
        elsewhere = second.http.post(f"/threads/{thread}/stream/events", json={"channels": ["values"]})
        assert (elsewhere.status_code, elsewhere.json()["code"]) == (404, "run_elsewhere")
        held.left.set()
        assert events(first.http, thread)[-1]["params"]["data"] == {"event": "completed"}
        # Both follow the runs that they have themselves.
        ask(second.http, thread, HOW_MANY)
        assert events(second.http, thread)[-1]["params"]["data"] == {"event": "completed"}


@pytest.mark.heavy
def test_the_clients_for_python_follow_a_thread(served: Served, thread: str) -> None:
    url = served.url
    with get_sync_client(url=url) as client, client.threads.stream(thread, assistant_id="agent") as stream:
        stream.run.start(input=ASKED)
        assert [str(message.text) for message in stream.messages] == ["Orders: 10,127"]
        assert stream.output["sql"] == COUNT["sql"]

    async def clarify() -> None:
        async with get_client(url=url) as client, client.threads.stream(assistant_id="agent") as stream:
            await stream.run.start(input={"question": BEST})
            async for event in stream.subscribe(["input"]):
                assert event["method"] == "input.requested"
            assert stream.interrupts[0]["value"]["action_request"]["args"]["options"] == ["by orders", "by amount"]
            await stream.run.respond("2")
            assert (await stream.output)["sql"] == BY_AMOUNT

    asyncio.run(clarify())


def test_a_branch_continues_from_a_checkpoint(served: Served, thread: str) -> None:
    ask(served.http, thread, HOW_MANY)
    (at,) = (event for event in events(served.http, thread, "checkpoints") if event["method"] == "checkpoints")
    parent = at["params"]["data"]["parent_id"]
    ask(served.http, thread, BEST, config={"configurable": {"checkpoint_id": parent, "thread_id": thread}})
    forked = events(served.http, thread, "values")[1]["params"]["data"]
    assert (forked["question"], forked["status"]) == (BEST, "clarification")
    history = served.http.post(f"/threads/{thread}/history", json={}).json()
    assert [state["parent_checkpoint"]["checkpoint_id"] for state in history] == [parent, parent]


@pytest.mark.heavy
def test_a_failed_run_says_why(cache_dir: Path, thread: str) -> None:
    held = Held(lambda _: COUNT)
    with serving(cache_dir, {"GeneratedSQL": [held]}, max_question_s=1) as server:
        ask(server.http, thread, HOW_MANY)
        assert command(server.http, thread, "run.start", assistant_id="agent", input=ASKED).status_code == 409
        ended = events(server.http, thread)[-1]["params"]["data"]
        held.left.set()
    assert ended["event"] == "failed" and "1.5 s" in ended["error"]


def test_a_stream_waits_for_runs_until_the_server_ends(cache_dir: Path, thread: str) -> None:
    with ExitStack() as client:
        with serving(cache_dir) as server:
            url, wanted = f"{server.url}/threads/{thread}/stream/events", {"channels": ["lifecycle"]}
            http = client.enter_context(httpx.Client(timeout=30, verify=False))
            response = client.enter_context(http.stream("POST", url, json=wanted))
            found = (line for line in response.iter_lines() if line.startswith("data: "))
            for _ in range(2):
                ask(server.http, thread, HOW_MANY)
                seen = [json.loads(next(found)[6:])["params"]["data"] for _ in range(2)]
                assert seen == [{"event": "running"}, {"event": "completed"}]
        # A server that waited for the stream would not have ended.
        assert [*found] == []


def test_a_stream_without_runs_ends_in_time(served: Served, thread: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.server.runs._IDLE_S", 0.1)
    ended = served.http.post(f"/threads/{thread}/stream/events", json={"channels": ["values"]})
    assert (ended.status_code, ended.text) == (200, "")


def test_a_tenant_has_the_events_of_its_own_threads(cache_dir: Path, thread: str) -> None:
    with serving(cache_dir, api_keys=KEYS, tenants={"acme": {"questions_per_minute": 1}, "beta": {}}) as server:
        for key, question in ((ACME, HOW_MANY), (BETA, HOW_MANY)):
            server.http.headers["X-Api-Key"] = key
            started = ask(server.http, thread, question)
            found = events(server.http, thread)
            assert {event["event_id"].partition(":")[0] for event in found} == {started["result"]["run_id"]}
        server.http.headers["X-Api-Key"] = ACME
        refused = command(server.http, thread, "run.start", assistant_id="agent", input=ASKED)
        assert refused.status_code == 429
