from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import URL

from datasphinx.agent.evals.datasets import Question
from datasphinx.agent.sources.source import Source
from tests.databases import open_url


@pytest.fixture
def shop(databases: Path) -> Iterator[Source]:
    """The database of products, opened."""
    source = open_url(URL.create("sqlite", database=str(databases / "shop.sqlite")).render_as_string())
    yield source
    source.close()


@pytest.fixture
def question() -> Callable[..., Question]:
    """A maker of questions about the shop, by the statement that answers them."""

    def make(sql: str, asked: str = "Which product is best?", name: str = "q") -> Question:
        return Question(name, "shop", asked, sql)

    return make
