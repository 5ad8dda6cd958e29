"""Nobody waits for the answer any more: the run ends, with its statement, and what was asked is not answered."""

import asyncio
import json
import socket
import threading
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from datasphinx.agent.errors import StatementCancelled
from tests.agent.server.leaving import UNBOUNDED, Held, broken_off, client
from tests.agent.server.mcp.clients import MODES, talk
from tests.agent.server.serving import ASKED, COUNT, serving
from tests.agent.sql.engines import ENDLESS
from tests.support.eventually import eventually
from tests.support.heavy import heavy
from tests.support.server_process import request_of

ROUTES = ["events", "invoke", *heavy("stream", "stream_events", "batch")]


def body_for(route: str, asked: dict[str, Any]) -> dict[str, Any]:
    return {"events": asked, "batch": {"inputs": [asked]}}.get(route, {"input": asked})


def test_a_cancelled_mcp_call_stops_its_statement(
    cache_dir: Path, statements: tuple[threading.Semaphore, list[Any]]
) -> None:
    begun, outcomes = statements

    async def leave(mcp: Client, tool: str, given: dict[str, Any]) -> None:
        call = asyncio.create_task(mcp.call_tool(tool, given))
        assert await asyncio.to_thread(begun.acquire, timeout=20)
        call.cancel()
        await asyncio.wait([call])

    calls = [("datasphinx_ask", ASKED), ("datasphinx_run_sql", {"sql": ENDLESS})]
    with serving(cache_dir, {"GeneratedSQL": [{**COUNT, "sql": ENDLESS}]}, run_sql=True, **UNBOUNDED) as server:
        for number, (mode, (tool, given)) in enumerate(product(MODES, calls), 1):
            talk(server, partial(leave, tool=tool, given=given), mode=mode)
            eventually(lambda number=number: len(outcomes) == number)  # type: ignore[misc]
    assert [type(outcome) for outcome in outcomes] == [StatementCancelled] * 4


@pytest.mark.parametrize("route", ROUTES)
def test_a_client_that_leaves_stops_its_statement(
    cache_dir: Path, route: str, statements: tuple[threading.Semaphore, list[Any]]
) -> None:
    begun, outcomes = statements
    with serving(cache_dir, {"GeneratedSQL": [{**COUNT, "sql": ENDLESS}]}, **UNBOUNDED) as server:
        with client(server, f"/agent/{route}", body_for(route, ASKED)):
            assert begun.acquire(timeout=20)
        eventually(lambda: outcomes)
    assert [type(outcome) for outcome in outcomes] == [StatementCancelled]


def test_a_client_that_leaves_stops_the_statement_it_wrote(
    cache_dir: Path, statements: tuple[threading.Semaphore, list[Any]]
) -> None:
    begun, outcomes = statements
    with serving(cache_dir, run_sql=True, **UNBOUNDED) as server:
        with client(server, "/sql", {"sql": ENDLESS}):
            assert begun.acquire(timeout=20)
        eventually(lambda: outcomes)
    assert [type(outcome) for outcome in outcomes] == [StatementCancelled]


@pytest.mark.parametrize("route", ROUTES)
def test_a_client_that_leaves_asks_no_model_any_more(cache_dir: Path, route: str) -> None:
    held = Held(lambda _: COUNT)
    with serving(cache_dir, {"GeneratedSQL": [held, COUNT]}, enable_sql_validation=True) as server:
        with client(server, f"/agent/{route}", body_for(route, ASKED)):
            assert held.begun.wait(20)
        eventually(lambda: broken_off(server, "agent") == 1)
        held.left.set()
        assert server.invoke(**ASKED)["status"] == "ok"
        asked = [call.schema_name for call in server.model.calls]
    assert asked == ["GeneratedSQL", "GeneratedSQL", "SQLValidation"]


def test_a_thread_is_as_it_was(cache_dir: Path) -> None:
    held = Held(lambda _: COUNT)
    with serving(cache_dir, {"GeneratedSQL": [COUNT, held, COUNT]}) as server:
        thread = server.invoke(**ASKED)["thread_id"]
        with client(server, "/agent/invoke", {"input": {"question": "And now?", "thread_id": thread}}):
            assert held.begun.wait(20)
        eventually(lambda: broken_off(server, "agent") == 1)
        # The thread is free before the call of the model has ended.
        assert server.invoke(question="And then?", thread_id=thread)["status"] == "ok"
        held.left.set()
        turns = server.http.get(f"/threads/{thread}").json()["turns"]
    assert [turn["question"] for turn in turns] == [ASKED["question"], "And then?"]


def test_a_client_that_stays_is_answered_on_the_same_connection(cache_dir: Path) -> None:
    with serving(cache_dir) as server, client(server, "/agent/invoke", {"input": ASKED}) as connection:
        first = answer_on(connection)
        request = request_of("/agent/invoke", {"input": ASKED})
        connection.sendall(request[:-10])
        connection.sendall(request[-10:])
        second = answer_on(connection)
    assert first["output"]["sql"] == second["output"]["sql"] == COUNT["sql"]


def answer_on(connection: socket.socket) -> dict[str, Any]:
    head, _, body = connection.recv(65536).partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    while len(body) < length:
        body += connection.recv(65536)
    answer: dict[str, Any] = json.loads(body)
    return answer
