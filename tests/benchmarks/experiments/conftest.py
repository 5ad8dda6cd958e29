import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from datasphinx.agent.evals.datasets import Question
from datasphinx.agent.sources.source import Source
from tests.support.databases import open_url, url

SHOP = """
CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT, price REAL, stock TEXT);
INSERT INTO product VALUES (1, 'tea', 2.5, '7'), (2, 'coffee', 4.0, '9'), (3, 'cocoa', 3.0, NULL);
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Source]:
    """A database of products, opened."""
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection:
        connection.executescript(SHOP)
    source = open_url(url(tmp_path / "shop.sqlite"))
    yield source
    source.close()


@pytest.fixture
def question() -> Callable[..., Question]:
    """A maker of questions about the shop, by the statement that answers them."""

    def make(sql: str, asked: str = "Which product is best?", name: str = "q") -> Question:
        return Question(name, "shop", asked, sql)

    return make
