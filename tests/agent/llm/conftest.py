"""A model that is reached by HTTP, and the record of its calls."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from datasphinx.agent.connect import connect_model
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.record.step import ModelCall, Step, new_audit, recorded_on
from datasphinx.agent.settings import load_settings
from tests.support.fake_openai import FakeOpenAI

Connect = Callable[..., ModelClient]


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0)


@pytest.fixture(scope="module")
def shared_server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def server(shared_server: FakeOpenAI) -> FakeOpenAI:
    """The server of the module, without answers and as if it had not been asked."""
    shared_server.answers, shared_server.default = [], None
    shared_server.requests, shared_server.headers = [], []
    return shared_server


@pytest.fixture
def connect(server: FakeOpenAI, no_waiting: None) -> Connect:
    def make(**overrides: Any) -> ModelClient:
        return connect_model(load_settings(**{"llm_base_url": server.base_url, "llm_model": "gpt-4o", **overrides}))

    return make


@pytest.fixture
def calls() -> Iterator[list[ModelCall]]:
    step = Step("generate_sql", new_audit("t"))
    with recorded_on(step):
        yield step.calls
