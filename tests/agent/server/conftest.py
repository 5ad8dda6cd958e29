"""A server as most of these tests ask it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.server.serving import Served, serving


@pytest.fixture(scope="module")
def shared_server(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose model always counts the orders, for all tests of a file, with its own data directory."""
    with serving(cache_dir, data_dir=tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def served(shared_server: Served) -> Served:
    """The server of the file, as if its model had not been called."""
    shared_server.model.calls.clear()
    return shared_server
