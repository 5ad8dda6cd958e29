"""Meaning: words of a question meet other words of the schema by the nearness of their vectors."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agent.catalog.archive import Arrays
from agent.catalog.asked import Asked
from agent.catalog.postings import Postings

Vectors = NDArray[np.float32]

_NEAR = 0.45
_NEAREST = 8
_TINY = 1e-6


class Embedder(Protocol):
    """Turns texts into vectors whose angle says how near they are in meaning."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""


def identity_of(embedder: Embedder | None) -> str | None:
    """Return what tells the vectors of one embedder from another's: its `identity`; None where it has none to tell."""
    return "" if embedder is None else getattr(embedder, "identity", None)


class PackagedEmbedder:
    """The static token vectors (256 dimensions) that the package `wordllama` brings: a text is the mean of its tokens.

    Only the package's files are read. Its own loader looks for the tokenizer in a folder that the wheel does not have
    and then asks the network.
    """

    def __init__(self, folder: Path) -> None:
        """Load the files in `folder`, that of the package."""
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
        self._tokenizer.no_padding()
        self._vectors = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
        self.identity = f"wordllama {version('wordllama')} l2_supercat_256"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text, of length 1; a text without tokens has zeros."""
        found = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        for row, encoded in enumerate(self._tokenizer.encode_batch(list(texts), add_special_tokens=False)):
            if encoded.ids:
                found[row] = self._vectors[encoded.ids].astype(np.float32).mean(axis=0)
        return _unit(found)


@lru_cache(maxsize=1)
def packaged_embedder() -> PackagedEmbedder | None:
    """Return the embedder of the extra `semantic`, loaded once; None where the extra is not installed."""
    found = [find_spec(name) for name in ("wordllama", "tokenizers", "safetensors")]
    package = found[0]
    if not all(found) or package is None or package.origin is None:
        return None
    return PackagedEmbedder(Path(package.origin).parent)


class Meanings:
    """The vectors of a schema: one for each word of its names and comments, and of each table their mean.

    The mean of all words is taken off first, since the words of a schema are alike in being words of a schema (the
    simple form of "all but the top", Mu and Viswanath 2018). Tables are composed of their words, so that ten thousand
    of them cost no more calls than their vocabulary.
    """

    def __init__(self, postings: Postings, embedder: Embedder, stored: Arrays | None = None) -> None:
        """Embed the vocabulary of `postings`, which is one call, or take what `arrays` gave before.

        Raises:
            UNUSABLE: what is stored belongs to other postings.
        """
        self._embedder = embedder
        self._words = [term for term in postings.slots if term in postings.spellings and not term.isdigit()]
        if stored is None:
            self._embed(postings)
        else:
            self._restore(postings, stored)

    def arrays(self) -> Arrays:
        """Return the vectors as arrays, for a file."""
        return {"centre": self._centre, "word_vectors": self._vectors, "table_vectors": self._tables}

    def of_question(self, asked: Asked) -> tuple[Vectors, list[str]]:
        """Return the vectors of the question's words, and the words that they belong to: one call of the embedder."""
        known = [word for word in asked.words if not word.isdigit()]
        if not known or not self._words:
            return np.zeros((0, self._vectors.shape[1]), np.float32), []
        raw = self._embedder.embed([asked.spellings.get(word, word) for word in known])
        return self._centred(raw), known

    def near_words(self, vectors: Vectors) -> list[dict[str, float]]:
        """Return for each vector up to eight words of the schema with their nearness: above 0, at most 1."""
        if not len(vectors):
            return []
        similar = vectors @ self._vectors.T
        count = min(_NEAREST, len(self._words))
        best = np.argpartition(-similar, count - 1, axis=1)[:, :count]
        return [self._above(row, sorted(columns)) for row, columns in zip(similar, best.tolist(), strict=True)]

    def nearness(self, vectors: Vectors, weights: Iterable[float]) -> NDArray[np.float32]:
        """Return the cosine between each table and the weighted mean of `vectors`, as a row."""
        if not len(vectors):
            return np.zeros(len(self._tables), np.float32)
        mean = np.average(vectors, axis=0, weights=list(weights)).astype(np.float32)
        return np.asarray(self._tables @ (mean / max(float(np.linalg.norm(mean)), _TINY)), np.float32)

    def _embed(self, postings: Postings) -> None:
        texts = [postings.spellings[word] for word in self._words]
        raw = self._embedder.embed(texts) if texts else np.zeros((0, 1), np.float32)
        self._centre = raw.mean(axis=0) if len(raw) else np.zeros(1, np.float32)
        self._vectors = self._centred(raw)
        self._tables = self._compose(postings)

    def _restore(self, postings: Postings, stored: Arrays) -> None:
        self._centre, self._vectors, self._tables = (
            stored[name] for name in ("centre", "word_vectors", "table_vectors")
        )
        width = len(self._centre)
        shapes = (self._centre.shape, self._vectors.shape, self._tables.shape)
        if shapes != ((width,), (len(self._words), width), (postings.tables, width)):
            raise ValueError("the vectors are of other words or tables")
        if {array.dtype for array in (self._centre, self._vectors, self._tables)} != {np.dtype(np.float32)}:
            raise TypeError("not vectors")

    def _centred(self, raw: Vectors) -> Vectors:
        # A text that the embedder knows nothing of has zeros, and stays unlike everything.
        return np.where(raw.any(axis=1, keepdims=True), _unit(raw - self._centre), np.float32(0))

    def _above(self, similar: NDArray[np.float32], columns: list[int]) -> dict[str, float]:
        return {self._words[at]: float(similar[at] - _NEAR) / (1 - _NEAR) for at in columns if similar[at] > _NEAR}

    def _compose(self, postings: Postings) -> Vectors:
        sums = np.zeros((postings.tables, self._vectors.shape[1]), np.float32)
        for word, vector in zip(self._words, self._vectors, strict=True):
            sums[postings.of(word)[0]] += vector
        return _unit(sums)


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, _TINY), np.float32)
