"""Limits of a tenant over processes: on one data directory, and on one PostgreSQL with a data directory each."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from datasphinx.agent.record.store import Store, sqlite_url
from datasphinx.agent.server.quota import Quota
from datasphinx.agent.settings import TenantSettings
from datasphinx.agent.storage.database import SharedDatabase
from tests.agent.record.stores import fresh_url
from tests.agent.server.keys import ACME, BETA, KEYS
from tests.agent.server.serving import ASKED, COUNT
from tests.support.fake_openai import FakeOpenAI
from tests.support.server_process import ServerProcess, server_process

pytestmark = [pytest.mark.heavy, pytest.mark.process]

AT_ONCE = 60


class Together:
    """Two servers that count together, and where the count and the record are kept."""

    def __init__(self, servers: list[ServerProcess], counts: Quota, record: Store) -> None:
        self.servers, self.counts, self.record = servers, counts, record

    def ask(self, number: int, tenant: str = "acme") -> httpx.Response:
        """Ask a server by turns."""
        url = f"{self.servers[number % 2].url}/agent/invoke"
        headers = {"Authorization": f"Bearer {ACME if tenant == 'acme' else BETA}"}
        return httpx.post(url, json={"input": ASKED}, headers=headers, timeout=60, verify=False)

    def ask_at_once(self, count: int) -> list[httpx.Response]:
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(self.ask, range(count)))


@pytest.fixture(params=["one data directory", pytest.param("one postgres", marks=pytest.mark.postgres)])
def together(request: pytest.FixtureRequest, cache_dir: Path, tmp_path: Path) -> Iterator[Any]:
    """Starts both servers with these limits."""
    with FakeOpenAI(default=lambda _: COUNT) as model, ExitStack() as stack:

        def start(**limits: Any) -> Together:
            folders = [tmp_path / "one", tmp_path / "other"]
            tenants = json.dumps({"acme": limits, "beta": {}})
            keys = {"api_keys": json.dumps(KEYS), "tenants": tenants}
            given = model.variables(cache_dir, enable_sql_validation="false", **keys)
            if request.param == "one postgres":
                url = stack.enter_context(fresh_url("postgres", tmp_path))
                given |= {"DATASPHINX_THREADS_URL": url, "DATASPHINX_RECORD_URL": url}
                database, record = SharedDatabase(url), Store(url)
            else:
                own = tmp_path / "data/tenants/acme"
                given["DATASPHINX_DATA_DIR"] = str(tmp_path / "data")
                database, record = SharedDatabase(sqlite_url(own, "quota")), Store(sqlite_url(own))
            servers = [stack.enter_context(server_process(folder, given)) for folder in folders]
            return Together(servers, Quota(database, "acme", TenantSettings()), record)

        yield start


def test_of_many_questions_at_once_just_so_many_are_answered(together: Any) -> None:
    servers = together(questions_per_minute=25)
    answers = servers.ask_at_once(AT_ONCE)
    refused = [each for each in answers if each.status_code == 429]

    assert ([each.status_code for each in answers].count(200), len(refused)) == (25, AT_ONCE - 25)
    for each in refused:
        assert each.headers["content-type"] == "application/problem+json"
        assert 1 <= int(each.headers["retry-after"]) <= 60
        assert (each.json()["code"], each.json()["status"]) == ("limit_reached", 429)
    assert servers.ask(0, "beta").json()["output"]["status"] == "ok"


def test_tokens_are_counted_exactly_and_end_the_day(together: Any) -> None:
    servers = together(tokens_per_day=1)
    answers = [each for each in servers.ask_at_once(20) if each.status_code == 200]
    told = [servers.ask(number) for number in range(2)]

    assert {each.json()["output"]["status"] for each in answers} == {"ok"}
    audits = [each.json()["output"]["audit"] for each in answers]
    spent = sum(audit["prompt_tokens"] + audit["completion_tokens"] for audit in audits)
    calls = [event.content for event in servers.record.scan() if event.kind == "llm"]
    with servers.counts.counting() as (count, _):
        assert count.tokens == spent > 0
    assert spent == sum(call["prompt_tokens"] + call["completion_tokens"] for call in calls)
    for each in told:
        assert (each.status_code, each.json()["code"]) == (429, "limit_reached")
        assert 1 <= int(each.headers["retry-after"]) <= 86_400
