"""Similarity of meaning, with fixed vectors and with the packaged ones."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from datasphinx.agent.retrieval import semantic
from datasphinx.agent.retrieval.index import SchemaIndex
from datasphinx.agent.retrieval.semantic import PackagedEmbedder, packaged_embedder
from datasphinx.agent.schema.catalog import Catalog, Column, Table

MEANINGS = {"doctor": 0, "physician": 0, "врач": 0, "invoice": 1, "bill": 1, "planet": 2, "star": 3}


class KnownMeanings:
    """Words of one meaning have one vector; all others none."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        vectors = np.zeros((len(texts), 4), np.float32)
        for row, text in enumerate(texts):
            if text.rstrip("s") in MEANINGS:
                vectors[row, MEANINGS[text.rstrip("s")]] = 1
        return vectors


CATALOG = Catalog(
    "sqlite", {name: Table(name, (Column("id", "INTEGER"),)) for name in ("physician", "bill", "planet", "star")}
)


def test_another_word_of_the_same_meaning_is_met_only_with_an_embedder() -> None:
    assert SchemaIndex(CATALOG).rank("the doctors") == []
    assert SchemaIndex(CATALOG, KnownMeanings()).rank("the doctors") == ["physician"]


def test_a_question_in_another_language_meets_by_meaning() -> None:
    assert SchemaIndex(CATALOG, KnownMeanings()).rank("Где врач?") == ["physician"]


def test_the_word_itself_comes_before_its_like() -> None:
    catalog = Catalog("sqlite", {**CATALOG.tables, "doctors": Table("doctors", (Column("id", "INTEGER"),))})

    assert SchemaIndex(catalog, KnownMeanings()).rank("the doctors")[:2] == ["doctors", "physician"]


def test_a_question_is_one_call_and_a_schema_another() -> None:
    embedder = KnownMeanings()
    index = SchemaIndex(CATALOG, embedder)
    index.rank("doctors and invoices")

    assert len(embedder.calls) == 2
    assert set(embedder.calls[1]) == {"doctors", "invoices"}


def test_a_word_of_like_meaning_mentions_the_catalog() -> None:
    question = "Is the doctor in?"

    assert not SchemaIndex(CATALOG).mentions(question)
    assert SchemaIndex(CATALOG, KnownMeanings()).mentions(question)
    assert not SchemaIndex(CATALOG, KnownMeanings()).mentions("What is the weather like?")


@pytest.mark.parametrize("catalog", [Catalog("sqlite", {}), CATALOG])
def test_a_question_or_a_schema_without_words(catalog: Catalog) -> None:
    index = SchemaIndex(catalog, KnownMeanings())

    assert index.rank("17") == index.rank("") == []
    assert SchemaIndex(Catalog("sqlite", {}), KnownMeanings()).rank("doctors") == []


def test_without_the_package_there_is_no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    packaged_embedder.cache_clear()
    monkeypatch.setattr(semantic, "find_spec", lambda name: None)

    assert packaged_embedder() is None
    packaged_embedder.cache_clear()


def test_the_package_says_which_it_is_before_its_files_are_read(tmp_path: Path) -> None:
    pytest.importorskip("wordllama", reason="the extra `semantic` is not installed")

    assert PackagedEmbedder(tmp_path).identity.startswith("wordllama")


@pytest.fixture(scope="module")
def packaged() -> PackagedEmbedder:
    pytest.importorskip("wordllama", reason="the extra `semantic` is not installed")
    found = packaged_embedder()
    assert found
    return found


def test_the_package_knows_what_is_alike(packaged: PackagedEmbedder) -> None:
    singer, vocalist, invoice, nothing = packaged.embed(["singer", "vocalist", "invoice", ""])

    assert singer @ vocalist > singer @ invoice
    assert np.linalg.norm(singer) == pytest.approx(1, abs=1e-5)
    assert not nothing.any()


def test_the_package_is_loaded_once_and_says_the_same_each_time(packaged: PackagedEmbedder) -> None:
    assert packaged_embedder() is packaged
    assert (packaged.embed(["customer"]) == packaged.embed(["client", "customer"])[1]).all()
