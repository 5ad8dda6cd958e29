"""What many questions at once get from a server whose databases fail in the middle of them, and when they are back."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
from sqlalchemy import make_url

from tests.agent.record.stores import fresh_url
from tests.agent.sql.engines import POSTGRES_URL, EngineUnderTest, shop
from tests.support.eventually import eventually
from tests.support.fake_openai import Reply
from tests.support.round_robin import RoundRobin
from tests.support.server_process import ServerProcess, free_port, server_process
from tests.support.slow_model import SlowModel
from tests.support.under_load import HoldingModel, Said, ask_for, asking_back, at_rest, check_own, go_on, right_reply

pytestmark = [pytest.mark.heavy, pytest.mark.process, pytest.mark.postgres]

NUMBERS = range(100, 160)
POOL = 15
"""Connections to a source that a server has at most."""
AT_REST = 5 + 8 + 1 + 4
"""Connections that a server keeps open at most: to the source, to threads, for its claims on them, and for boards and
usage in the same database, which it opens when the first of them is due."""
PLAIN_URL = make_url(POSTGRES_URL).set(drivername="postgresql").render_as_string(hide_password=False)
EVEN, ODD = NUMBERS[::2], NUMBERS[1::2]
TALKS = range(101, 221, 2)


def right(schema: str, prompt: str) -> Reply:
    return right_reply(schema, prompt, "sphinx_numbers", "n")


def asks_back(schema: str, prompt: str) -> Reply:
    return asking_back(schema, prompt, "sphinx_numbers", "n")


class Warm(NamedTuple):
    """A server that has answered so many at once, and the ways to its databases."""

    server: ServerProcess
    model_port: int
    source: RoundRobin
    threads: RoundRobin
    shop: EngineUnderTest


def settings(cache_dir: Path, model_port: int) -> dict[str, str]:
    return {
        "DATASPHINX_CACHE_DIR": str(cache_dir),
        "DATASPHINX_LLM_BASE_URL": f"http://127.0.0.1:{model_port}/v1",
        "DATASPHINX_LLM_MODEL": "fake",
        "DATASPHINX_ENABLE_SQL_VALIDATION": "false",
    }


@pytest.fixture(scope="module")
def warm(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    postgres = make_url(POSTGRES_URL).port or 5432
    with (
        RoundRobin([postgres]) as source,
        RoundRobin([postgres]) as threads,
        shop("postgres", folder) as engine,
        fresh_url("postgres", folder) as threads_url,
    ):
        named = {"url": by_way_of(source, engine.url), "allow_writable_account": True}
        given = settings(cache_dir, port) | {
            "DATASPHINX_SOURCES": json.dumps({"shop": named}),
            "DATASPHINX_THREADS_URL": by_way_of(threads, threads_url),
        }
        with server_process(folder, given) as server:
            ready = Warm(server, port, source, threads, engine)
            assert answered(ready) == {"ok"}
            yield ready


def answered(warm: Warm) -> set[str]:
    """How so many questions at once end when all is well."""

    async def told() -> set[str]:
        async with SlowModel(right, 0.1, warm.model_port):
            return check_own(NUMBERS, await ask_for(warm.server.port, NUMBERS))

    return asyncio.run(told())


def by_way_of(proxy: RoundRobin, url: str) -> str:
    return make_url(url).set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)


# The source


def test_a_source_that_is_cut_off_in_the_middle(warm: Warm) -> None:
    async def told() -> list[set[str]]:
        async with HoldingModel(right, warm.model_port) as model:
            held = asyncio.create_task(ask_for(warm.server.port, ODD))
            before = check_own(EVEN, await ask_for(warm.server.port, EVEN))
            await model.has_at_once(len(ODD))
            warm.source.cut()
            model.let_go.set()
            found = [before, check_own(ODD, await held), check_own(NUMBERS, await ask_for(warm.server.port, NUMBERS))]
            warm.source.mend()
            return found

    assert asyncio.run(told()) == [{"ok"}, {"source_unreachable"}, {"source_unreachable"}]
    assert answered(warm) == {"ok"}
    at_rest(warm.server, AT_REST)


def test_sessions_that_are_ended_in_mid_statement(warm: Warm) -> None:
    locked = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%sphinx_numbers%'"

    def end_all_that_wait() -> None:
        eventually(lambda: warm.shop.admin(f"SELECT count(*) {locked}")[0][0] == POOL)
        warm.shop.admin(f"SELECT pg_terminate_backend(pid) {locked}")

    async def told() -> list[str]:
        async with SlowModel(right, 0, warm.model_port):
            with psycopg.connect(PLAIN_URL) as holder:
                holder.execute("LOCK TABLE sphinx_numbers IN ACCESS EXCLUSIVE MODE")
                asked = asyncio.create_task(ask_for(warm.server.port, NUMBERS))
                await asyncio.to_thread(end_all_that_wait)
            said = await asked
            check_own(NUMBERS, said)
            return [each.how for each in said]

    found = asyncio.run(told())
    assert sorted(set(found)) == ["ok", "source_unreachable"] and found.count("source_unreachable") == POOL
    assert answered(warm) == {"ok"}
    at_rest(warm.server, AT_REST)


# The store of threads


def test_a_store_of_threads_that_is_cut_off_between_question_and_answer(warm: Warm) -> None:
    async def told() -> tuple[list[Said], list[Said], list[Said], list[Said]]:
        async with SlowModel(asks_back, 0, warm.model_port):
            asked = await ask_for(warm.server.port, TALKS, clarify="always")
            warm.threads.cut()
            lost = await go_on(warm.server.port, asked, "1")
            new = await ask_for(warm.server.port, TALKS)
            warm.threads.mend()
            return asked, lost, new, await go_on(warm.server.port, asked, "1")

    asked, lost, new, back = asyncio.run(told())
    assert {each.how for each in asked} == {"clarification"}
    assert {each.how for each in [*lost, *new]} == {"threads_unavailable"}
    assert check_own(TALKS, back) == {"ok"}
    assert [each.thread_id for each in back] == [each.thread_id for each in asked]
    at_rest(warm.server, AT_REST)


def test_a_store_of_threads_that_is_cut_off_in_the_middle_of_runs(warm: Warm) -> None:
    async def told() -> tuple[list[Said], list[Said], list[Said]]:
        async with SlowModel(asks_back, 0, warm.model_port):
            asked = await ask_for(warm.server.port, TALKS, clarify="always")
        async with HoldingModel(right, warm.model_port) as model:
            going = asyncio.create_task(go_on(warm.server.port, asked, "the one I named"))
            await model.has_at_once(len(TALKS))
            warm.threads.cut()
            model.let_go.set()
            lost = await going
            warm.threads.mend()
            return asked, lost, await go_on(warm.server.port, asked, "the one I named")

    asked, lost, back = asyncio.run(told())
    assert {each.how for each in lost} == {"threads_unavailable"}
    assert check_own(TALKS, back) == {"ok"}
    assert [each.thread_id for each in back] == [each.thread_id for each in asked]
    at_rest(warm.server, AT_REST)


# The record


def test_a_record_that_is_cut_off_in_the_middle(cache_dir: Path, tmp_path: Path) -> None:
    postgres = make_url(POSTGRES_URL).port or 5432
    with RoundRobin([postgres]) as record, fresh_url("postgres", tmp_path) as url:

        async def told() -> list[set[str]]:
            async with HoldingModel(lambda *call: right_reply(*call, "orders", "order_id"), free_port()) as model:
                given = settings(cache_dir, model.port) | {"DATASPHINX_RECORD_URL": by_way_of(record, url)}
                with server_process(tmp_path, given) as server:
                    held = asyncio.create_task(ask_for(server.port, ODD))
                    before = check_own(EVEN, await ask_for(server.port, EVEN))
                    await model.has_at_once(len(ODD))
                    record.cut()
                    model.let_go.set()
                    cut_off = check_own(ODD, await held), check_own(NUMBERS, await ask_for(server.port, NUMBERS))
                    record.mend()
                    return [before, *cut_off, check_own(EVEN, await ask_for(server.port, EVEN))]

        # What has begun is answered; what cannot be recorded from its beginning is not asked.
        assert asyncio.run(told()) == [{"ok"}, {"ok"}, {"record_unavailable"}, {"ok"}]
