"""Similarity of meaning between the words of a question and of a schema, computed from embeddings."""

import threading
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from datasphinx.agent.core.locked_property import locked_property
from datasphinx.agent.retrieval.arrays import Arrays
from datasphinx.agent.retrieval.postings import Postings
from datasphinx.agent.retrieval.query import QuestionTerms

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Vectors = NDArray[np.float32]

_MIN_SIMILARITY = 0.45
_MAX_SIMILAR_WORDS = 8
_TINY = 1e-6
_STORED = ("centre", "word_vectors", "table_vectors")


class Embedder(Protocol):
    """Converts texts to vectors; the cosine of two vectors is the similarity of their texts."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""


def identity_of(embedder: Embedder | None) -> str | None:
    """Return the embedder's `identity`, which names its vector space; None if unknown, empty without embedder."""
    return "" if embedder is None else getattr(embedder, "identity", None)


class PackagedEmbedder:
    """Static token vectors (256 dimensions) from the package `wordllama`.

    The vector of a text is the mean of its tokens. Only the files of the package are read: its own loader may access
    the network.
    """

    def __init__(self, folder: Path) -> None:
        """Set the package's directory; its files are loaded by the first texts, which a stored index does not need."""
        self._folder, self._lock = folder, threading.RLock()
        self.identity = f"wordllama {version('wordllama')} l2_supercat_256"

    @locked_property
    def _files(self) -> tuple["Tokenizer", NDArray[Any]]:
        """The tokenizer, and the vector of each token."""
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
        tokenizer.no_padding()
        return tokenizer, load_file(self._folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row of length 1 for each text; a text without tokens yields zeros."""
        tokenizer, of_tokens = self._files
        vectors = np.zeros((len(texts), of_tokens.shape[1]), np.float32)
        for row, encoding in enumerate(tokenizer.encode_batch(list(texts), add_special_tokens=False)):
            if encoding.ids:
                vectors[row] = of_tokens[encoding.ids].astype(np.float32).mean(axis=0)
        return _unit(vectors)


@lru_cache(maxsize=1)
def packaged_embedder() -> PackagedEmbedder | None:
    """Return the embedder of the extra `semantic`, loaded once; None if the extra is not installed."""
    specs = [find_spec(name) for name in ("wordllama", "tokenizers", "safetensors")]
    package = specs[0]
    if not all(specs) or package is None or package.origin is None:
        return None
    return PackagedEmbedder(Path(package.origin).parent)


class SchemaEmbeddings:
    """Embeddings of a schema: a vector for each word of its names and comments, and their mean for each table.

    The mean of all words is subtracted first, because all words of a schema share a common component (the simple form
    of "all but the top", Mu and Viswanath 2018). Tables are composed of their words, so even ten thousand tables
    require only one embedding for each word of the vocabulary.
    """

    def __init__(self, postings: Postings, embedder: Embedder, arrays: Arrays | None = None) -> None:
        """Embed the vocabulary of `postings` in one call, or restore the arrays returned by `arrays`."""
        self._embedder = embedder
        self._words = [term for term in postings.slots if term in postings.spellings and not term.isdigit()]
        if arrays is None:
            self._embed(postings)
        else:
            self._centre, self._vectors, self._tables = (arrays[name] for name in _STORED)

    def arrays(self) -> Arrays:
        """Return the vectors as arrays for a file."""
        return dict(zip(_STORED, (self._centre, self._vectors, self._tables), strict=True))

    def embed_question(self, terms: QuestionTerms) -> tuple[Vectors, list[str]]:
        """Return the vectors of the question's words and the words themselves; calls the embedder once."""
        words = [word for word in terms.words if not word.isdigit()]
        if not words or not self._words:
            return np.zeros((0, self._vectors.shape[1]), np.float32), []
        raw = self._embedder.embed([terms.spellings.get(word, word) for word in words])
        return self._subtract_centre(raw), words

    def similar_words(self, vectors: Vectors) -> list[dict[str, float]]:
        """Return for each vector up to eight similar words of the schema, with shares above 0 and at most 1."""
        if not len(vectors):
            return []
        similarity = vectors @ self._vectors.T
        count = min(_MAX_SIMILAR_WORDS, len(self._words))
        best = np.argpartition(-similarity, count - 1, axis=1)[:, :count]
        return [
            {
                self._words[index]: float(row[index] - _MIN_SIMILARITY) / (1 - _MIN_SIMILARITY)
                for index in sorted(columns)
                if row[index] > _MIN_SIMILARITY
            }
            for row, columns in zip(similarity, best.tolist(), strict=True)
        ]

    def nearest(self, vectors: Vectors) -> float:
        """Return the cosine of the most similar pair of one of `vectors` and a word of the schema; 0 without any."""
        return float((vectors @ self._vectors.T).max(initial=0.0)) if len(vectors) else 0.0

    def table_similarity(self, vectors: Vectors, weights: Iterable[float]) -> NDArray[np.float32]:
        """Return the cosine between each table and the weighted mean of `vectors`."""
        if not len(vectors):
            return np.zeros(len(self._tables), np.float32)
        mean = np.average(vectors, axis=0, weights=list(weights)).astype(np.float32)
        return np.asarray(self._tables @ (mean / max(float(np.linalg.norm(mean)), _TINY)), np.float32)

    def _embed(self, postings: Postings) -> None:
        texts = [postings.spellings[word] for word in self._words]
        raw = self._embedder.embed(texts) if texts else np.zeros((0, 1), np.float32)
        self._centre = raw.mean(axis=0) if len(raw) else np.zeros(1, np.float32)
        self._vectors = self._subtract_centre(raw)
        sums = np.zeros((postings.tables, self._vectors.shape[1]), np.float32)
        for word, vector in zip(self._words, self._vectors, strict=True):
            sums[postings.lookup(word)[0]] += vector
        self._tables = _unit(sums)

    def _subtract_centre(self, raw: Vectors) -> Vectors:
        # A text unknown to the embedder has a zero vector, which is similar to nothing.
        return np.where(raw.any(axis=1, keepdims=True), _unit(raw - self._centre), np.float32(0))


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, _TINY), np.float32)
