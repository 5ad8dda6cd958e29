"""The endpoint of the commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fake_openai import FakeOpenAI


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> Iterator[FakeOpenAI]:
    """A fake endpoint that the settings name."""
    with FakeOpenAI() as fake:
        fake.configure(monkeypatch, cache_dir)
        yield fake
