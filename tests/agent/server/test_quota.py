"""What a tenant may ask: counted in SQLite or in PostgreSQL, exactly, by any number at once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from datasphinx.agent.errors import LimitReached, Unavailable
from datasphinx.agent.server.quota import Quota, UsageCounter
from datasphinx.agent.settings import TenantSettings
from datasphinx.agent.storage.database import SharedDatabase
from tests.agent.record.stores import fresh_url
from tests.agent.sql.engines import POSTGRES_URL
from tests.support.round_robin import RoundRobin
from tests.support.servers import STORES

MIDNIGHT = 86_400.0 * 20_000
KEEPERS = pytest.mark.parametrize("opened", STORES, indirect=True)
Opened = Callable[[TenantSettings], Quota]


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Opens the quota of one tenant, each time as another process has it."""
    with fresh_url(request.param, tmp_path) as url:
        yield lambda allowed: Quota(SharedDatabase(url), "acme", allowed)


def call(tokens: int = 0, usd: float | None = None) -> Any:
    return {"prompt_tokens": tokens, "completion_tokens": 0, "cost_usd": usd}


def at_once(works: list[Callable[[], Any]]) -> list[Any]:
    """What each gives; True stands for a limit that was reached."""

    def done(work: Callable[[], Any]) -> Any:
        try:
            return work()
        except LimitReached:
            return True

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(done, works))


# What is counted


def test_a_minute_and_a_day_go_by() -> None:
    allowed = TenantSettings(questions_per_minute=3, tokens_per_day=100, usd_per_day=1.5)
    kept, now = "", MIDNIGHT + 86_000

    def admit(questions: int, after_s: float = 0, **spent: Any) -> None:
        nonlocal kept, now
        now += after_s
        count = UsageCounter.read(kept, now)
        count.admit(questions, allowed, now)
        count.spend(call(**spent))
        kept = count.write()

    admit(2)
    with pytest.raises(LimitReached) as caught:
        admit(2, after_s=10)
    assert caught.value.seconds == 50
    admit(1)
    admit(2, after_s=51, tokens=100)
    with pytest.raises(LimitReached) as caught:
        admit(1)
    assert "100 tokens" in caught.value.limit and caught.value.seconds == 339
    admit(1, after_s=339, usd=1.5)
    with pytest.raises(LimitReached):
        admit(1)


def test_more_than_a_minute_allows_is_never_admitted() -> None:
    count, allowed = UsageCounter(), TenantSettings(questions_per_minute=3)
    with pytest.raises(LimitReached):
        count.admit(4, allowed, MIDNIGHT)
    count.admit(3, allowed, MIDNIGHT)


def test_cents_add_up_to_their_dollar() -> None:
    count = UsageCounter()
    for _ in range(10):
        count = UsageCounter.read(count.write(), MIDNIGHT)
        count.spend(call(usd=0.1))
    with pytest.raises(LimitReached):
        count.admit(1, TenantSettings(usd_per_day=1), MIDNIGHT)


# Where it is kept


@KEEPERS
def test_several_processes_count_together(opened: Opened) -> None:
    quotas = [opened(TenantSettings(questions_per_minute=20, tokens_per_day=10**9, usd_per_day=1)) for _ in range(3)]
    refused = at_once([lambda each=each: each.admit(1) for each in quotas * 12])
    assert refused.count(True) == 16
    at_once([lambda each=each: each.spend(call(7, 0.003)) for each in quotas * 12])
    with quotas[0].counting() as (count, _):
        assert (count.tokens, str(count.usd)) == (7 * 36, "0.108")


@KEEPERS
def test_tenants_count_apart_and_batches_whole(opened: Opened, tmp_path: Path) -> None:
    mine = opened(TenantSettings(questions_per_minute=3))
    mine.admit(2)
    with pytest.raises(LimitReached) as caught:
        mine.admit(2)
    assert 1 <= caught.value.seconds <= 60
    mine.admit(1)


@pytest.mark.postgres
def test_another_tenant_has_a_row_of_its_own(tmp_path: Path) -> None:
    allowed = TenantSettings(questions_per_minute=1)
    with fresh_url("postgres", tmp_path) as url:
        database = SharedDatabase(url)
        Quota(database, "acme", allowed).admit(1)
        Quota(database, "beta", allowed).admit(1)
        with pytest.raises(LimitReached):
            Quota(database, "acme", allowed).admit(1)


@pytest.mark.postgres
def test_a_database_that_is_away_and_comes_back(tmp_path: Path) -> None:
    with fresh_url("postgres", tmp_path) as url, RoundRobin([make_url(POSTGRES_URL).port or 5432]) as proxy:
        through = make_url(url).set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)
        allowed = TenantSettings(questions_per_minute=2, tokens_per_day=100)
        quota = Quota(SharedDatabase(through), "acme", allowed)
        quota.admit(1)
        proxy.cut()
        with pytest.raises(Unavailable):
            quota.admit(1)
        with pytest.raises(Unavailable):
            quota.spend(call(50))
        proxy.mend()
        quota.admit(1)
        quota.spend(call(49))
        with quota.counting() as (count, _):
            assert count.tokens == 99
        with pytest.raises(LimitReached):
            quota.admit(1)


@pytest.mark.postgres
def test_processes_that_begin_together_make_the_tables_once(tmp_path: Path) -> None:
    with fresh_url("postgres", tmp_path) as url:
        quotas = [Quota(SharedDatabase(url), "acme", TenantSettings(questions_per_minute=5)) for _ in range(4)]
        assert at_once([lambda each=each: each.admit(1) for each in quotas]) == [None] * 4
