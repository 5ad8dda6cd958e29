"""The real embedded model."""

import os
from pathlib import Path

import pytest

from datasphinx.agent.embedded.server import Endpoint, embedded_endpoint
from datasphinx.agent.embedded.tiers import TIERS
from datasphinx.agent.embedded.weights import weights_path
from datasphinx.agent.errors import DriverMissing, Unavailable
from datasphinx.agent.settings import load_settings


@pytest.fixture(scope="session")
def user_cache(clean_environment: dict[str, str]) -> Path:
    """The user's own cache folder, where the weights are; the only setting of the machine that tests use."""
    return Path(clean_environment.get("DATASPHINX_CACHE_DIR") or load_settings().cache_dir)


@pytest.fixture(scope="session")
def endpoint(user_cache: Path) -> Endpoint:
    """The server of the real embedded model; skips where it cannot be had, and fails in CI."""
    return _started(user_cache, adapter=True)


@pytest.fixture(scope="session")
def base_endpoint(user_cache: Path) -> Endpoint:
    """The server of the model that the embedded one was trained from."""
    return _started(user_cache, adapter=False)


def _started(cache: Path, *, adapter: bool) -> Endpoint:
    # No test reads from the network.
    if weights_path(cache, TIERS["base"].weights).is_file():
        try:
            return embedded_endpoint(cache, adapter=adapter)
        except (DriverMissing, Unavailable) as error:
            reason = str(error)
    else:
        reason = "the weights are not downloaded; `datasphinx model pull base` does it"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
