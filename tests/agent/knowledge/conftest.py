"""The sample shop as a source, and knowledge written into files for a test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from pydantic import SecretStr

from datasphinx.agent.knowledge.folder import read_folder
from datasphinx.agent.knowledge.knowledge import Knowledge
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import Limits

Write = Callable[..., Path]
Open = Callable[[str], Source]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a knowledge file into the folder `knowledge` of the test; return the folder."""

    def written(text: str, name: str = "shop.yml") -> Path:
        folder = tmp_path / "knowledge"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(dedent(text), encoding="utf-8")
        return folder

    return written


@pytest.fixture
def read(write: Write) -> Callable[[str], Knowledge]:
    """Read knowledge from a text; its places are in `knowledge/shop.yml`."""
    return lambda text: read_folder(write(text), "knowledge")


@pytest.fixture
def shop(cache_dir: Path, read: Callable[[str], Knowledge]) -> Iterator[Open]:
    """Open the sample shop with knowledge from a text."""
    opened: list[Source] = []

    def open_shop(text: str) -> Source:
        settings = SourceSettings(url=SecretStr(shop_url(cache_dir)))
        opened.append(open_source(settings, Limits(60, 100), cache_dir=cache_dir, knowledge=read(text)))
        return opened[-1]

    yield open_shop
    for source in opened:
        source.close()
