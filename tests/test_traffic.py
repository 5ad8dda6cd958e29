"""Some minutes of a team's traffic in half a minute: nothing is left behind, and every answer is right."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.traffic import ALLOWED, measured
from tests.agent.record.stores import fresh_url
from tests.support.servers import STORES

pytestmark = [pytest.mark.heavy, pytest.mark.process]


@pytest.fixture(params=STORES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | None]:
    """Where threads, files and record are kept."""
    if request.param == "sqlite":
        yield None
        return
    with fresh_url("postgres", tmp_path) as url:
        yield url


def test_traffic_leaves_nothing_behind(tmp_path: Path, database: str | None) -> None:
    figures = asyncio.run(measured(tmp_path, seconds=10, hours=0.05, database=database))

    assert figures["wrong"] == {} and figures["requests"] > 200
    assert figures["leaks"] == {}, figures
    assert figures["grown"].keys() == ALLOWED.keys() and figures["in_the_end"]["running"] == 0
