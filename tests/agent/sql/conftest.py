"""Fixtures: an engine with a small shop, and a source on it; `over` selects the engines of a test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.sources.source import Source
from agent.types import Limits
from tests.agent.sql.engines import EngineUnderTest, shop
from tests.databases import open_url


@pytest.fixture
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EngineUnderTest]:
    with shop(request.param, tmp_path) as made:
        yield made


@pytest.fixture
def source(engine: EngineUnderTest) -> Iterator[Source]:
    opened = open_url(engine.url, Limits(30, 100))
    yield opened
    opened.close()
