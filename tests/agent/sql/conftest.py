"""Fixtures: an engine with a small shop, and a source on it; `over` selects the engines of a test.

The tests of a module share both. A test that creates tables of its own drops them.
"""

from collections.abc import Iterator

import pytest

from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.agent.sql.engines import EngineUnderTest, shop
from tests.support.databases import open_url


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineUnderTest]:
    with shop(request.param, tmp_path_factory.mktemp(request.param)) as made:
        yield made


@pytest.fixture(scope="module")
def source(engine: EngineUnderTest) -> Iterator[Source]:
    opened = open_url(engine.url, Limits(30, 100), connect_args=engine.connect_args)
    yield opened
    opened.close()
