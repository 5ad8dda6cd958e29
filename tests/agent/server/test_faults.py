"""What a server does when the model, a source or the store of threads fails, under load, and when it is back."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from datasphinx.agent.server.app import create_app
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.record.stores import fresh_url
from tests.agent.server.serving import COUNT, running, serving
from tests.agent.sql.engines import shop
from tests.conftest import VALID
from tests.support.best_customer import ASKS, BEST
from tests.support.fake_openai import Reply
from tests.support.round_robin import RoundRobin
from tests.support.server_process import ask, free_port
from tests.support.slow_model import SlowModel

AT_ONCE = 8


CLOSES = {"Connection": "close"}


def right(schema: str, prompt: str) -> Reply:
    return Reply(COUNT if schema == "GeneratedSQL" else VALID, headers=CLOSES)


@pytest.fixture
def proxy() -> Iterator[RoundRobin]:
    """A way to the PostgreSQL server that can be cut."""
    from tests.agent.sql.engines import POSTGRES_URL

    with RoundRobin([make_url(POSTGRES_URL).port or 5432]) as through:
        yield through


def by_way_of(proxy: RoundRobin, url: str) -> str:
    return make_url(url).set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)


async def codes(port: int, count: int = AT_ONCE, **given: Any) -> set[str | None]:
    """The codes of the errors of this many questions at once; None stands for an answer."""
    asked = {"question": "How many orders were placed?", **given}
    outputs = await asyncio.gather(*(ask(port, **asked) for _ in range(count)))
    return {output["error"] and output["error"]["code"] for output in outputs}


# The model


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("wrong", "delay_s", "code"),
    [
        (Reply(status=500), 0, "model_unreachable"),
        (Reply(COUNT), 5, "model_unreachable"),
        (Reply("I would rather talk about the weather."), 0, "sql_not_generated"),
        (Reply(body="<html>502 Bad Gateway</html>"), 0, "model_unreachable"),
        (Reply(COUNT, cut=20), 0, "model_unreachable"),
    ],
    ids=["fails", "hangs", "talks", "page", "breaks off"],
)
def test_a_model_that_fails_all_at_once_and_is_mended(cache_dir: Path, wrong: Reply, delay_s: float, code: str) -> None:
    async def told() -> tuple[set[str | None], set[str | None]]:
        async with SlowModel(lambda schema, prompt: replace(wrong, headers=CLOSES), delay_s) as model:
            settings = load_settings(
                cache_dir=cache_dir, llm_base_url=model.base_url, llm_model="fake", llm_timeout_s=0.3
            )
            with running(create_app(Services(settings, any_source=False))) as url:
                port = int(url.rpartition(":")[2])
                failed = await codes(port)
                model.answer, model.delay_s = right, 0
                return failed, await codes(port)

    assert asyncio.run(told()) == ({code}, {None})


@pytest.mark.heavy
def test_a_model_that_is_down_and_comes_back(cache_dir: Path) -> None:
    model = SlowModel(right, 0, free_port())

    async def told() -> tuple[set[str | None], set[str | None]]:
        settings = load_settings(cache_dir=cache_dir, llm_base_url=model.base_url, llm_model="fake")
        with running(create_app(Services(settings, any_source=False))) as url:
            port = int(url.rpartition(":")[2])
            failed = await codes(port)
            async with model:
                return failed, await codes(port)

    assert asyncio.run(told()) == ({"model_unreachable"}, {None})


# A source


@pytest.mark.heavy
@pytest.mark.postgres
def test_a_source_that_is_killed_and_comes_back(cache_dir: Path, tmp_path: Path, proxy: RoundRobin) -> None:
    counts = {**COUNT, "sql": "SELECT COUNT(*) AS orders FROM sphinx_orders"}
    with shop("postgres", tmp_path) as engine:
        sources = {"shop": {"url": by_way_of(proxy, engine.url), "allow_writable_account": True}}
        with serving(cache_dir, {"GeneratedSQL": [counts]}, sources=sources) as server:
            port, found = server.http.base_url.port, []
            assert port
            for change in (proxy.mend, proxy.cut, proxy.mend):
                change()
                found.append(asyncio.run(codes(port, source="shop")))

    assert found == [{None}, {"source_unreachable"}, {None}]


# The store of threads


@pytest.mark.heavy
@pytest.mark.postgres
def test_a_thread_goes_on_when_its_store_is_back(cache_dir: Path, tmp_path: Path, proxy: RoundRobin) -> None:
    def cut(_: Any) -> dict[str, Any]:
        proxy.cut()
        return COUNT

    with fresh_url("postgres", tmp_path) as url:
        answers = {"GeneratedSQL": [ASKS, cut, COUNT]}
        with serving(cache_dir, answers, threads_url=by_way_of(proxy, url)) as server:
            thread = server.invoke(question=BEST)["thread_id"]
            answer = {"thread_id": thread, "clarification_answer": "the oldest"}
            in_mid_run, away = server.invoke(**answer), server.invoke(**answer)
            proxy.mend()
            back = server.invoke(**answer)

    assert [output["error"]["code"] for output in (in_mid_run, away)] == ["threads_unavailable"] * 2
    assert (back["status"], back["sql"], back["thread_id"]) == ("ok", COUNT["sql"], thread)
