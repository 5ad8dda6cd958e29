"""A server as most of these tests ask it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.server.serving import Served, serving


@pytest.fixture
def served(cache_dir: Path) -> Iterator[Served]:
    """A server whose model always counts the orders."""
    with serving(cache_dir) as server:
        yield server
