from pathlib import Path

import pytest

from datasphinx.agent.sample.shop import build_shop


@pytest.fixture(scope="package")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.sqlite"
    build_shop(path)
    return path
