"""A cached index ranks like a new one, and other files are refused."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from datasphinx.agent.retrieval.index import IndexCache, SchemaIndex
from datasphinx.agent.retrieval.semantic import Embedder
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table

QUESTIONS = (
    "the amount of each order in Paris",
    "Which customers bought leather goods?",
    "doctors per city",
    "custmer adresses",
    "сумма заказа",
    "每天的订单有多少",
    "",
)


def table(name: str, *columns: str, comment: str | None = None, references: str | None = None) -> Table:
    keys = (ForeignKey((columns[0],), references, ("id",)),) if references else ()
    return Table(name, tuple(Column(column, "TEXT") for column in columns), foreign_keys=keys, comment=comment)


TABLES = (
    table("customers", "id", "full_name", "city"),
    table("orders", "customer_id", "amount", references="customers"),
    table("t_417", "id", "x", comment="parking \udcff tickets"),
    table("leather_goods", "id", "order_id", references="orders"),
    table("physician", "id"),
    table("订单数量", "日期"),
    table("заказы", "сумма"),
)
CATALOG = Catalog("sqlite", {each.key: each for each in TABLES}, values={("customers", "city"): ("Paris", "New York")})
KEYS = list(CATALOG.tables)


class Meanings:
    """Knows doctors and physicians to be alike; `identity` is told."""

    def __init__(self, identity: str) -> None:
        self.identity, self.calls = identity, 0

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.calls += 1
        alike = [text.startswith(("doctor", "physician")) for text in texts]
        return np.array([[each, 0.5, len(text) % 3] for each, text in zip(alike, texts, strict=True)], np.float32)


class Nameless:
    """An embedder that does not say which it is."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.ones((len(texts), 2), np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "x.index"


def assert_equal(one: SchemaIndex, other: SchemaIndex, questions: Sequence[str]) -> None:
    for question in questions:
        assert one.mentions(question) is other.mentions(question)
        for fuzzy in (0, 1, 2):
            assert one.rank(question, fuzzy=fuzzy) == other.rank(question, fuzzy=fuzzy)
            assert one.scores(question) == other.scores(question)
            assert one.frequencies(question) == other.frequencies(question)


def stored(path: Path, catalog: Catalog, embedder: Embedder | None) -> tuple[SchemaIndex, SchemaIndex]:
    """The index as it is built, and as it is read from its file."""
    built = SchemaIndex(catalog, embedder)
    IndexCache(path, embedder).store(built, "digest")
    read = IndexCache(path, embedder).load(list(catalog.tables), "digest")
    assert read is not None
    return built, read


@pytest.mark.parametrize("embedder", [None, Meanings("a")], ids=["words", "meaning"])
def test_it_ranks_as_the_one_that_was_built(path: Path, embedder: Embedder | None) -> None:
    built, read = stored(path, CATALOG, embedder)

    assert_equal(built, read, QUESTIONS)
    assert built.with_neighbours(KEYS[:1]) == read.with_neighbours(KEYS[:1]) == ["customers", "orders"]
    assert read.connected(["customers", "leather_goods"]) == ["customers", "leather_goods", "orders"]
    assert built.rank("doctors") == (["physician"] if embedder else [])


def test_reading_it_asks_the_embedder_nothing(path: Path) -> None:
    embedder = Meanings("a")
    IndexCache(path, embedder).store(SchemaIndex(CATALOG, embedder), "digest")
    assert embedder.calls == 1
    assert IndexCache(path, embedder).load(KEYS, "digest")
    assert embedder.calls == 1


@pytest.mark.parametrize(
    "load",
    [
        lambda path: IndexCache(path, Meanings("a")).load(KEYS, "another catalog"),
        lambda path: IndexCache(path, Meanings("another model")).load(KEYS, "digest"),
        lambda path: IndexCache(path, None).load(KEYS, "digest"),
        lambda path: IndexCache(path, Nameless()).load(KEYS, "digest"),
    ],
)
def test_the_index_of_something_else_is_thrown_away(path: Path, load: Callable[[Path], object]) -> None:
    stored(path, CATALOG, Meanings("a"))
    assert load(path) is None
    assert not path.exists()


def test_an_embedder_that_does_not_say_which_it_is_has_no_file(path: Path) -> None:
    IndexCache(path, Nameless()).store(SchemaIndex(CATALOG, Nameless()), "digest")
    assert not path.exists()


def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "in_the_way").write_text("")
    cache = IndexCache(tmp_path / "in_the_way" / "x.index", None)
    cache.store(SchemaIndex(CATALOG), "digest")
    assert cache.load(KEYS, "digest") is None
