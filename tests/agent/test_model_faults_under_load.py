"""What many questions at once get from a server whose model fails in the middle of them, and when it is back."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.fake_openai import Reply
from tests.support.server_process import ServerProcess, free_port, server_process
from tests.support.slow_model import SlowModel
from tests.support.under_load import CLOSES, HoldingModel, ask_for, at_rest, check_own, number_in, right_reply

pytestmark = [pytest.mark.heavy, pytest.mark.process]

NUMBERS = range(100, 160)
EVEN, ODD = NUMBERS[::2], NUMBERS[1::2]
GARBAGE = (
    Reply("I would rather talk about the weather.", headers=CLOSES),
    Reply(body="<html>502 Bad Gateway</html>", headers=CLOSES),
    Reply({"sql": 7, "assumptions": "none"}, headers=CLOSES),
    Reply({"sql": "DROP TABLE orders", "assumptions": [], "off_topic": False}, headers=CLOSES),
    Reply({"sql": "SELECT 1", "assumptions": []}, headers=CLOSES, cut=20),
)


def right(schema: str, prompt: str) -> Reply:
    return right_reply(schema, prompt, "orders", "order_id")


def garbage(schema: str, prompt: str) -> Reply:
    return GARBAGE[number_in(prompt) // 2 % len(GARBAGE)]


class Warm(NamedTuple):
    """A server that has answered so many at once, where its model listens, and what it takes at rest."""

    server: ServerProcess
    model_port: int
    connections: int
    threads: int


@pytest.fixture(scope="module")
def warm(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    port = free_port()
    settings = {
        "DATASPHINX_CACHE_DIR": str(cache_dir),
        "DATASPHINX_LLM_BASE_URL": f"http://127.0.0.1:{port}/v1",
        "DATASPHINX_LLM_MODEL": "fake",
        "DATASPHINX_LLM_TIMEOUT_S": "2",
    }
    with server_process(tmp_path_factory.mktemp("server"), settings) as server:

        async def warmed_up() -> set[str]:
            async with SlowModel(right, 0.5, port):
                return check_own(NUMBERS, await ask_for(server.port, NUMBERS))

        assert asyncio.run(warmed_up()) == {"ok"}
        at_rest(server, 0)
        yield Warm(server, port, len(server.connections()), server.threads())


async def goes_down(model: HoldingModel) -> None:
    await model.close()


async def hangs(model: HoldingModel) -> None:
    """Nobody is let go."""


async def talks_garbage(model: HoldingModel) -> None:
    model.answer = garbage
    model.let_go.set()


@pytest.mark.parametrize(
    ("fault", "codes"),
    [
        (goes_down, {"model_unreachable"}),
        (hangs, {"model_unreachable"}),
        (talks_garbage, {"model_unreachable", "sql_not_generated"}),
    ],
)
def test_a_model_that_fails_in_the_middle(
    warm: Warm, fault: Callable[[HoldingModel], Awaitable[None]], codes: set[str]
) -> None:
    async def told() -> tuple[set[str], set[str], set[str]]:
        async with HoldingModel(right, warm.model_port) as model:
            held = asyncio.create_task(ask_for(warm.server.port, ODD))
            before = check_own(EVEN, await ask_for(warm.server.port, EVEN))
            await model.has_at_once(len(ODD))
            await fault(model)
            failed = check_own(ODD, await held)
        async with SlowModel(right, 0.1, warm.model_port):
            return before, failed, check_own(NUMBERS, await ask_for(warm.server.port, NUMBERS))

    assert asyncio.run(told()) == ({"ok"}, codes, {"ok"})
    at_rest(warm.server, warm.connections)
    assert warm.server.threads() <= warm.threads + len(NUMBERS) // 4


def test_clients_that_all_leave_in_the_middle(warm: Warm) -> None:
    async def told() -> tuple[int, set[str]]:
        async with HoldingModel(right, warm.model_port) as model:
            held = asyncio.create_task(ask_for(warm.server.port, ODD, clarify="always"))
            await model.has_at_once(len(ODD))
            held.cancel()
            await asyncio.to_thread(at_rest, warm.server, len(ODD))
            model.let_go.set()
            after = check_own(NUMBERS, await ask_for(warm.server.port, NUMBERS))
            return model.calls, after

    # Of those that left, the review that had begun is the last call; no statement follows.
    assert asyncio.run(told()) == (len(ODD) + len(NUMBERS), {"ok"})
    at_rest(warm.server, warm.connections)
