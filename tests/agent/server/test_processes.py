"""`datasphinx serve` as processes: several on one database, and one that is killed in the middle of a conversation."""

import asyncio
import json
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agent.record.stores import fresh_url
from tests.agent.server.serving import ASKED, COUNT
from tests.agent.sql.engines import SESSIONS, shop
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT
from tests.support.eventually import eventually
from tests.support.fake_openai import FakeOpenAI, Reply
from tests.support.server_process import free_port, listens, sending, server_process
from tests.support.servers import ON_EVERY_STORE
from tests.support.under_load import HoldingModel, Said, ask_for, asking_back, check_own, go_on

pytestmark = [pytest.mark.heavy, pytest.mark.process]


@pytest.fixture
def model() -> Iterator[FakeOpenAI]:
    """A model that asks back what "the best" means, and else counts the orders."""

    def answer(request: dict[str, Any]) -> Any:
        prompt = str(request["messages"])
        if "only the top two" in prompt:
            return {**COUNT, "sql": BY_AMOUNT.replace("LIMIT 3", "LIMIT 2")}
        return ASKS if BEST in prompt else COUNT

    with FakeOpenAI(default=answer) as server:
        yield server


@pytest.fixture
def settings(cache_dir: Path, model: FakeOpenAI) -> dict[str, str]:
    """What every server of a test is started with."""
    return model.variables(cache_dir, enable_sql_validation="false")


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Variables that name an empty store of threads and record."""
    with fresh_url(request.param, tmp_path) as url:
        yield {"DATASPHINX_THREADS_URL": url, "DATASPHINX_RECORD_URL": url} if request.param == "postgres" else {}


def invoke(url: str, **given: Any) -> dict[str, Any]:
    """Return the output of one question, asked on a connection of its own."""
    response = httpx.post(f"{url}/agent/invoke", json={"input": given}, timeout=30, verify=False)
    assert response.status_code == 200, response.text
    return response.json()["output"]


def all_of(client: socket.socket) -> bytes:
    """Return what comes on the connection to its end."""
    return b"".join(iter(lambda: client.recv(65536), b""))


@ON_EVERY_STORE
def test_threads_go_on_after_their_server_was_killed(
    settings: dict[str, str], store: dict[str, str], tmp_path: Path
) -> None:
    numbers = range(101, 181, 2)

    async def told() -> tuple[list[Said], list[Said], list[Said]]:
        async with HoldingModel(lambda *call: asking_back(*call, "orders", "order_id"), free_port()) as model:
            model.let_go.set()
            given = {**settings, **store, "DATASPHINX_LLM_BASE_URL": model.base_url}
            with server_process(tmp_path / "server", given) as server:
                asked = await ask_for(server.port, numbers, clarify="always")
                model.let_go.clear()
                going = asyncio.create_task(go_on(server.port, asked, "the one I named"))
                await model.has_at_once(len(asked))
                assert server.stop(signal.SIGKILL) == -signal.SIGKILL
                lost = await going
                model.let_go.set()
            with server_process(tmp_path / "server", given) as server:
                return asked, lost, await go_on(server.port, asked, "the one I named")

    asked, lost, back = asyncio.run(told())
    assert {each.how for each in asked} == {"clarification"}
    assert {each.how for each in lost} == {"not_answered"}
    assert check_own(numbers, back) == {"ok"}
    assert [each.thread_id for each in back] == [each.thread_id for each in asked]


@pytest.mark.postgres
@pytest.mark.parametrize("route", ["invoke", "batch"])
def test_a_client_that_leaves_stops_its_statement(
    settings: dict[str, str], model: FakeOpenAI, tmp_path: Path, route: str
) -> None:
    with shop("postgres", tmp_path) as engine:
        sources = {"shop": {"url": engine.url, "allow_writable_account": True}}
        given = {**settings, "DATASPHINX_SOURCES": json.dumps(sources)}
        # Its plan has fewer rows than are refused.
        model.default = {**COUNT, "sql": f"{engine.slow} WHERE a.n BETWEEN 1 AND 300"}
        body = {"input": ASKED} if route == "invoke" else {"inputs": [ASKED]}

        def runs() -> bool:
            return bool(engine.admin(SESSIONS["postgres"]))

        with server_process(tmp_path / "server", given) as server:
            with sending(server.port, f"/agent/{route}", body):
                # Reading the schema streams statements too, so the model must have written its own first.
                eventually(lambda: bool(model.schemas) and runs())
            eventually(lambda: not runs())
            broken_off = 'datasphinx_questions_total{graph="agent",status="broken_off"} 1.0'
            eventually(lambda: broken_off in httpx.get(f"{server.url}/metrics", verify=False).text)

    assert model.schemas == ["GeneratedSQL"]


def test_a_server_that_is_told_to_stop_answers_what_it_was_asked(
    settings: dict[str, str], model: FakeOpenAI, tmp_path: Path
) -> None:
    go_on, begun = threading.Event(), threading.Semaphore(0)
    asked = {"invoke": {"input": ASKED}, "batch": {"inputs": [ASKED]}, "events": ASKED, "stream": {"input": ASKED}}

    def hang(request: dict[str, Any]) -> Reply:
        begun.release()
        return Reply(COUNT, hang=go_on)

    model.default = hang
    with server_process(tmp_path / "server", settings) as server, ExitStack() as stack:
        clients = [stack.enter_context(sending(server.port, f"/agent/{route}", asked[route])) for route in asked]
        assert all(begun.acquire(timeout=20) for _ in clients)
        server.process.send_signal(signal.SIGTERM)
        eventually(lambda: not listens(server.port))
        # What waits for a stop may look for it only every half second.
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(1)
        go_on.set()
        answers = [all_of(client).decode() for client in clients]
        code = server.process.wait(20)

    assert code == 0
    for answer in answers:
        assert answer.startswith("HTTP/1.1 200") and COUNT["sql"] in answer and '"status":"ok"' in answer
