"""A model that is reached by HTTP, the real embedded one, and the record of their calls."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.audit.step import ModelCall, Step, current_step, new_audit
from agent.errors import DriverMissing, EmbeddedModelUnavailable
from agent.models.chat import connect_model
from agent.models.client import ModelClient
from agent.models.local import embedded_endpoint
from agent.settings import load_settings
from tests.fake_openai import FakeOpenAI

Connect = Callable[..., ModelClient]


@pytest.fixture(scope="session")
def user_cache() -> Path:
    """The user's own cache; of the session, so that it is read before the machine's settings are hidden from tests."""
    return load_settings().cache_dir


@pytest.fixture(scope="session")
def endpoint(user_cache: Path) -> str:
    """The base URL of the real embedded model; skips where it cannot be had, and fails in CI."""
    return _started(user_cache, adapter=True)


@pytest.fixture(scope="session")
def base_endpoint(user_cache: Path) -> str:
    """The base URL of the model that the embedded one was trained from."""
    return _started(user_cache, adapter=False)


def _started(cache: Path, *, adapter: bool) -> str:
    try:
        return embedded_endpoint(cache, adapter=adapter)
    except (DriverMissing, EmbeddedModelUnavailable) as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0)


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def connect(server: FakeOpenAI, no_waiting: None) -> Connect:
    def make(**overrides: Any) -> ModelClient:
        return connect_model(load_settings(**{"llm_base_url": server.base_url, "llm_model": "gpt-4o", **overrides}))

    return make


@pytest.fixture
def calls() -> Iterator[list[ModelCall]]:
    step = Step("generate_sql", new_audit("t"))
    token = current_step.set(step)
    yield step.calls
    current_step.reset(token)
