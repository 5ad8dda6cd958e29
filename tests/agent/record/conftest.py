"""An empty database for a record."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.record.stores import ENGINES, fresh_url


@pytest.fixture(params=ENGINES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database of each engine."""
    with fresh_url(request.param, tmp_path) as made:
        yield made
