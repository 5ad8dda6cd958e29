"""A server as most of these tests ask it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.server.serving import Served, serving


@pytest.fixture(scope="module", autouse=True)
def routes(request: pytest.FixtureRequest) -> Iterator[str]:
    """Serves the routes of LangServe without it, as in an installation with the extra `serve`; see `EITHER_ROUTES`."""
    served_by = getattr(request, "param", "datasphinx")
    with pytest.MonkeyPatch.context() as patch:
        if served_by == "datasphinx":
            # An import of it fails.
            patch.setitem(sys.modules, "langserve", None)
        yield served_by


@pytest.fixture(scope="module")
def shared_server(routes: str, cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose model always counts the orders, for all tests of a file, with its own data directory."""
    with serving(cache_dir, data_dir=tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def served(shared_server: Served) -> Served:
    """The server of the file, as if its model had not been called."""
    shared_server.model.calls.clear()
    return shared_server
